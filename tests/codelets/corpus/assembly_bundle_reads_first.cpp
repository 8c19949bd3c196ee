// Inline assembly: both instructions of a bundle read what was there before it.
#include <ipudef.h>
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float, VectorLayout::SPAN, 8>> in;
  Output<Vector<float, VectorLayout::SPAN, 8>> out;
  bool compute() {
    register const float *from asm("$m2") = &in[0];
    register float *to asm("$m3") = &out[0];
    unsigned left = in.size() / 2 - 1;
    const float two = 2;
    asm volatile(R"l(
      ld64step $a0:1, $mzero, %[from]+=, 1
    again%=:
      {
        ld64step $a0:1, $mzero, %[from]+=, 1
        f32v2mul $a2:3, %[two]:B, $a0:1
      }
      {
        st64step $a2:3, $mzero, %[to]+=, 1
        f32v2add $a2:3, $a2:3, $a2:3
      }
      brnzdec %[left], again%=
    )l"
                 : [from] "+r"(from), [to] "+r"(to), [left] "+r"(left)
                 : [two] "r"(two)
                 : "memory", "$a0:1", "$a2:3");
    return true;
  }
};
