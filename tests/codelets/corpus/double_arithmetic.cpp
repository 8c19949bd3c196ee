// double, which tiles emulate.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = static_cast<float>(1.0 / (1.0 / static_cast<double>(in[i])));
    return true;
  }
};
