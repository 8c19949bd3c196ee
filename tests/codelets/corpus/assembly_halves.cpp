// Inline assembly: halves, conversions and functions.
#include <ipudef.h>
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;
  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) {
      float result;
      asm(R"(
        f32tof16 $a0, %[x]          # x in the lower half
        f16v2add $a1, $a0:BL, $a0:BL
        f16v2sum $a2, $a1           # 2 x + 2 x
        f32mul $a2, $a2, $a2
        f32sqrt %[result], $a2
      )"
          : [result] "=r"(result)
          : [x] "r"(in[i])
          : "$a0", "$a1", "$a2");
      out[i] = result;
    }
    return true;
  }
};
