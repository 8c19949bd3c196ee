// Sums of outer products, and reading the accumulators.
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
    const float2 zero = {0.0f, 0.0f};
    for (unsigned i = 0; i < 8; ++i) __builtin_ipu_f32v2gina(zero, 0);
    for (unsigned i = 0; i < in.size() / 2; ++i) __builtin_ipu_f32v2aop(x[i], x[i], 0);
    y[0] = __builtin_ipu_f32v2gina(zero, 0);
    y[1] = __builtin_ipu_f32v2gina(zero, 0);
    for (unsigned i = 2; i < in.size() / 2; ++i) y[i] = zero;
    return true;
  }
};
