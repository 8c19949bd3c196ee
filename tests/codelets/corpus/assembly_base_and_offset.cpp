// Inline assembly: loads and stores at a base and an offset; a mask that the compiler knows.
#include <ipu_builtins.h>
#include <poplar/Vertex.hpp>

using namespace poplar;

template <typename T>
inline T load(const T *base, unsigned offset) {
  T result;
  asm volatile(R"l(  ld32 %[result], %[base], %[offset]
      )l"
               : [ result ] "=r"(result)
               : [ base ] "r"(base), [ offset ] "r"(offset)
               :);
  return result;
}

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;
  bool compute() {
    static constexpr unsigned mask = CSR_W_FP_CLR__ZAACC__MASK << CSR_W_FP_CLR__ZAACC__SHIFT;
    int bits;
    asm("setzi %0, %[mask]" : "=r"(bits) : [mask] "n"(mask));
    for (unsigned i = 0; i < in.size(); ++i) {
      const float value = load(&in[0], i);
      asm volatile("st32 %[value], %[at], 0" : : [value] "r"(value), [at] "r"(&out[i]) : "memory");
    }
    out[0] = bits;
    return true;
  }
};
