// <cmath> comes with <poplar/Vertex.hpp>.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = sqrtf(in[i]) + std::abs(-1.0f);
    return true;
  }
};
