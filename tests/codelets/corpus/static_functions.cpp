// Static functions of the class.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  static float square(float x) { return x * x; }

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = square(in[i]);
    return true;
  }
};
