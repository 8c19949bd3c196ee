// Inline assembly: macros of the assembler, of this statement and of one before it.
#include <arch/gc_tile_defines.h>
#include <ipudef.h>
#include <poplar/Vertex.hpp>

using namespace poplar;

static __attribute__((always_inline)) unsigned repeats(unsigned count) {
  return count & CSR_W_REPEAT_COUNT__VALUE__MASK;
}

class Feature : public Vertex {
 public:
  Input<Vector<float, VectorLayout::SPAN, 8>> in;
  Output<Vector<float, VectorLayout::SPAN, 8>> out;
  bool compute() {
    const float *from = &in[0];
    float *to = &out[0];
    const unsigned count = repeats(in.size() / 2);
    asm volatile(R"(
      .macro twice TO OF
        f32v2add \TO, \OF, \OF
      .endm
    )" ::);
    asm volatile(R"(
      .macro both OPERANDS:vararg
        f32v2add \OPERANDS
      .endm
      nop
      rpt %[count], (2f - 1f) / 8 - 1
    1:
      { ld64step $a0:1, $mzero, %[from]+=, 1 ; fnop }
      { nop ; twice $a2:3, $a0:1 }
      { nop
        both $a2:3, $a2:3, $a0:1 }
      { st64step $a2:3, $mzero, %[to]+=, 1 ; fnop }
    2:
      .purgem both
    )"
                 : [from] "+r"(from), [to] "+r"(to)
                 : [count] "r"(count)
                 : "memory", "$a0:1", "$a2:3");
    return true;
  }
};
