// Inline assembly: scaled sums that are stored while the next are loaded.
#include <ipu_builtins.h>
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float, VectorLayout::SPAN, 8>> in;
  Output<Vector<float, VectorLayout::SPAN, 8>> out;
  bool compute() {
    const unsigned rounds = out.size() / 2 - 2;
    const float scale = 3;
    float2 last;
    uint2 addresses = __builtin_ipu_tapack(&in[0], &in[0], &out[0]);
    __asm__ volatile(
        "{ ld2x64pace $a0:1, $a2:3, %[at]+=, $mzero, 0; uput $TAS, %[scale] }\n"
        "{ ld2x64pace $a0:1, $a2:3, %[at]+=, $mzero, 0; f32v2axpy %[last], $a0:1, $a2:3 }\n"
        "{ ld2x64pace $a0:1, $a2:3, %[at]+=, $mzero, 0; f32v2axpy %[last], $a0:1, $a2:3 }\n"
        "  nop\n"
        "  rpt %[rounds], (2f - 1f)/8 - 1\n"
        "1:\n"
        "{ ld2xst64pace $a0:3, %[last], %[at]+=, $mzero, 0; f32v2axpy %[last], $a0:1, $a2:3 }\n"
        "2:\n"
        "{ st64pace %[last], %[at]+=, $mzero, 0; f32v2gina %[last], $azeros, 0 }\n"
        "  st64pace %[last], %[at]+=, $mzero, 0\n"
        : [last] "=r"(last), [at] "+r"(addresses)
        : [rounds] "r"(rounds), [scale] "r"(scale)
        : "memory", "$a0:1", "$a2:3");
    return true;
  }
};
