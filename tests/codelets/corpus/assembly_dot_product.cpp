// Inline assembly: a dot product of pairs in a hardware loop, with packed addresses.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float, VectorLayout::SPAN, 8>> in;
  Output<Vector<float>> out;
  bool compute() {
    const float *x = &in[0], *y = &in[0];
    const unsigned pairs = in.size() / 2;
    float sum = 1;
    asm volatile(R"(
        setzi $a0, 8
        {
          tapack $m0:1, %[x], %[y], $mzero
          uput $FP_CLR, $a0   // the accumulators
        }
        ld2x64pace $a0:1, $a2:3, $m0:1+=, $mzero, 0b0000
        add $m2, %[pairs], -1
        .align 8
        {
          rpt $m2, (2f - 1f) / 8 - 1
          fnop
        }
      1:
        {
          ld2x64pace $a0:1, $a2:3, $m0:1+=, $mzero, 0b0000
          f32v2mac $a0:1, $a2:3
        }
      2:
        f32v2mac $a0:1, $a2:3
        f32v2gina $a4:5, $azeros, 0
        f32add %[sum], %[sum], $a4
        f32add %[sum], %[sum], $a5
      )"
                 : [sum] "+r"(sum)
                 : [x] "r"(x), [y] "r"(y), [pairs] "r"(pairs)
                 : "memory", "$m0:1", "$m2", "$a0:1", "$a2:3", "$a4:5");
    for (unsigned i = 0; i < out.size(); ++i) out[i] = sum;
    return true;
  }
};
