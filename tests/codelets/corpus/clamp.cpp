// Built-in clamp between a pair of limits.
#include <poplar/Vertex.hpp>
#include <ipu_builtins.h>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    const float2 *x = reinterpret_cast<const float2 *>(&in[0]);
    float2 *y = reinterpret_cast<float2 *>(&out[0]);
    for (unsigned i = 0; i < in.size() / 2; ++i) y[i] = __builtin_ipu_clamp(x[i], float2{2.0f, 5.0f}) + float2{__builtin_ipu_f32clamp(x[i][0], float2{0.0f, 1.0f}), 0.0f};
    return true;
  }
};
