// Inline assembly: words, branches and labels; the larger of each number and its index.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;
  bool compute() {
    for (unsigned i = 0; i < out.size(); ++i) {
      const int given = static_cast<int>(in[i]) % 5;
      int larger, bits = 0, left = given;
      asm("  cmpslt $m0, %1, %2\n"
          "  mov %0, %1\n"
          "  brz $m0, .Ldone%=\n"
          "  mov %0, %2\n"
          ".Ldone%=:\n"
          : "=r"(larger)
          : "r"(given), "r"(i));
      // As many ones as the number says.
      asm volatile(
          "  bri 2f\n"
          "1:\n"
          "  shl %[bits], %[bits], 1   # one more\n"
          "  or %[bits], %[bits], 1\n"
          "2:\n"
          "  brnzdec %[left], 1b\n"
          : [bits] "+r"(bits), [left] "+r"(left));
      out[i] = larger + 100 * bits;
    }
    return true;
  }
};
