// Built-in max, min, absmax and absadd.
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
    for (unsigned i = 0; i < in.size() / 2; ++i) y[i] = __builtin_ipu_max(x[i], float2{4.0f, 4.0f}) + __builtin_ipu_f32v2min(x[i], -x[i]) + __builtin_ipu_absadd(x[i], x[i]) - __builtin_ipu_absmax(x[i], -x[i]);
    return true;
  }
};
