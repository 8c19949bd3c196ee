// Built-in comparisons give masks for the built-in bit operations.
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
    for (unsigned i = 0; i < in.size() / 2; ++i) y[i] = __builtin_ipu_and(x[i], __builtin_ipu_cmpgt(x[i], float2{3.0f, 3.0f}));
    return true;
  }
};
