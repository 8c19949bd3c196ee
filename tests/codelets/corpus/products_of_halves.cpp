// Built-in cmac: sums of products of halves in the accumulators.
#include <ipu_builtins.h>
#include <poplar/Vertex.hpp>
#include <tilearch.h>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;
  bool compute() {
    __builtin_ipu_uput(CSR_W_FP_CLR__ZAACC__MASK << CSR_W_FP_CLR__ZAACC__SHIFT, CSR_W_FP_CLR__INDEX);
    for (unsigned i = 0; i < in.size(); i += 4) {
      const half4 x = {(half)in[i], (half)in[i + 1], (half)in[i + 2], (half)in[i + 3]};
      __builtin_ipu_cmac(x, x);
    }
    const float2 sums = __builtin_ipu_gina(float2{0, 0}, 0);
    for (unsigned i = 0; i < out.size(); ++i) out[i] = sums[0] + sums[1];
    return true;
  }
};
