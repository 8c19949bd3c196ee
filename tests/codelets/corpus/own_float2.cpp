// A struct float2 of the source's own.
#include <poplar/Vertex.hpp>

using namespace poplar;

struct float2 {
  float x, y;
};

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) {
      float2 pair{in[i], 2.0f};
      out[i] = pair.x * pair.y;
    }
    return true;
  }
};
