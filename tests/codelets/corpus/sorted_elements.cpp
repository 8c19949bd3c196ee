// Built-in sort8x8, sort8, sort4x32 and roll32: every other element of two operands, and those in the middle.
#include <poplar/Vertex.hpp>
#include <ipu_builtins.h>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    const bool bytes = __builtin_ipu_sort8x8lo(0x04030201u, 0x08070605u) == 0x07050301u &&
                       __builtin_ipu_sort8x8hi(0x04030201u, 0x08070605u) == 0x08060402u &&
                       __builtin_ipu_sort8(0x04030201u) == 0x04020301u;
    const float2 *x = reinterpret_cast<const float2 *>(&in[0]);
    float2 *y = reinterpret_cast<float2 *>(&out[0]);
    for (unsigned i = 0; i < in.size() / 2; ++i) {
      const float2 low = __builtin_ipu_sort4x32lo(x[i], x[0]), high = __builtin_ipu_sort4x32hi(x[i], x[0]);
      const float2 middle = __builtin_ipu_roll32(low, high);
      y[i] = float2{high[0] + middle[0], low[0] + middle[1] + (bytes ? 1 : 0)};
    }
    return true;
  }
};
