// A comparison of vectors gives masks.
#include <poplar/Vertex.hpp>
#include <ipudef.h>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    const float2 *x = reinterpret_cast<const float2 *>(&in[0]);
    float2 *y = reinterpret_cast<float2 *>(&out[0]);
    for (unsigned i = 0; i < in.size() / 2; ++i) {
      const long2 larger = static_cast<long2>(x[i] > float2{3.0f, 3.0f});
      y[i] = float2{larger[0] ? 1.0f : 0.0f, larger[1] ? 1.0f : 0.0f};
    }
    return true;
  }
};
