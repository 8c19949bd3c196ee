/* The compiler's builtin functions of IPU targets, in the arithmetic of the host. Names, arguments and results are those
   of Graphcore's published compiler (clang/lib/Headers/ipu_builtins.h and its tests of builtins in
   graphcore/llvm-project-fork); what a name does is what tests/codelets/corpus shows. Those that C programs may use stand
   first: C has no overloading. */
#pragma once

#include <ipudef.h>
#include <popvision_worker.h>
#include <tilearch.h>

/* An instruction as a function of its own, which is counted as one issue slot and its floating-point operations. */
#define POPVISION_INSTRUCTION(RESULT, NAME, ARGUMENTS, FLOPS)                                                    \
  __attribute__((noinline)) static RESULT popvision_assembly_##NAME ARGUMENTS {                                  \
    __asm__ volatile("# popvision bundle 1 1 " #FLOPS);
/* And the one behind it that moves its result to the other registers, or makes a number of it: the code that the
   published compiler's tests of builtins expect. */
#define POPVISION_SECOND __asm__ volatile("# popvision bundle 1 1 0")

static inline float popvision_spread(void) { return (float)(popvision_random() >> 40) / 16777216.0f - 0.5f; }
POPVISION_INSTRUCTION(unsigned, urand32, (void), 0)
  POPVISION_SECOND;
  return (unsigned)(popvision_random() >> 32);
}
POPVISION_INSTRUCTION(unsigned long long, urand64, (void), 0)
  POPVISION_SECOND;
  POPVISION_SECOND;
  return popvision_random();
}
POPVISION_INSTRUCTION(float, urand_f32, (void), 0)
  POPVISION_SECOND;
  return popvision_spread();
}
POPVISION_INSTRUCTION(half, urand_f16, (void), 0)
  POPVISION_SECOND;
  return (half)popvision_spread();
}
static inline unsigned __builtin_ipu_urand32(void) { return popvision_assembly_urand32(); }
static inline unsigned long long __builtin_ipu_urand64(void) { return popvision_assembly_urand64(); }
/* Evenly spread over [-0.5, 0.5), as on a tile. */
static inline float __builtin_ipu_urand_f32(void) { return popvision_assembly_urand_f32(); }
static inline half __builtin_ipu_urand_f16(void) { return popvision_assembly_urand_f16(); }
/* Two numbers of a normal distribution: Box and Muller (1958), where a tile sums twelve uniform ones. */
POPVISION_INSTRUCTION(float2, f32v2grand, (void), 0)
  float radius = __builtin_sqrtf(-2.0f * __builtin_logf(0.5f - popvision_spread()));
  float angle = 6.28318530718f * popvision_spread();
  float2 pair = {radius * __builtin_cosf(angle), radius * __builtin_sinf(angle)};
  return pair;
}
static inline float2 __builtin_ipu_f32v2grand(void) { return popvision_assembly_f32v2grand(); }

static inline unsigned __builtin_ipu_get_tile_id(void) { return popvision_tile(); }
/* Of a MultiVertex; another vertex that asks ends the run with a sentence. */
static inline unsigned __builtin_ipu_get_worker_id(void) { return popvision_worker(); }
static inline int __builtin_ipu_is_worker_mode(void) { return 1; }
static inline float __builtin_ipu_rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }

static inline float __builtin_ipu_f16tof32(half x) { return (float)x; }
static inline half __builtin_ipu_f32tof16(float x) { return (half)x; }

/* Words of bytes. */
static inline unsigned __builtin_ipu_bitrev8(unsigned x) {
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  return (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
}
static inline unsigned __builtin_ipu_swap8(unsigned x) { return (x >> 8 & 0x00ff00ffu) | (x & 0x00ff00ffu) << 8; }

#ifdef __cplusplus
/* The begin of an instruction as a function of its own, of some slots and floating-point operations. */
#define POPVISION_MARK(SLOTS, FLOPS) __asm__ volatile("# popvision bundle 1 %c0 %c1" ::"i"(SLOTS), "i"(FLOPS))
#include <poplar/VectorTypes.hpp>
#include <type_traits>

#include <popvision_tile.hpp>

namespace popvision {

template <class Bits, class Number>
Bits bits_of(Number number) {
  static_assert(sizeof(Bits) == sizeof(Number), "as many bits");
  Bits bits;
  __builtin_memcpy(&bits, &number, sizeof bits);
  return bits;
}

}  // namespace popvision

/* Registers by their numbers. */
namespace popvision {
constexpr bool is_read(int index) {
  return index == tile::WORKER_STATUS || index == tile::COUNTER_LOW || index == tile::COUNTER_HIGH;
}
template <int index>
unsigned read_register() {
  if constexpr (index == tile::WORKER_STATUS) return popvision_worker();
  else if constexpr (index == tile::COUNTER_LOW) return __builtin_ipu_get_scount_l();
  else return __builtin_ipu_get_scount_u();
}
// Weights of the matrix products from where the supervisor says, one or two of a row's pairs.
template <int words>
[[gnu::noinline]] void popvision_assembly_weights(int index) {
  asm volatile("# popvision bundle 1 1 0");
  Weights &shared = weights();
  __builtin_memcpy(&shared.words[index / 4 & 15][2 * (index & 3)], reinterpret_cast<void *>(shared.next), 4 * words);
  shared.next += 4 * words;
}
template <class Address>
void put_register(Address value) {
  weights().next = (long long)value;
}
}  // namespace popvision
#define __builtin_ipu_get(index)                                                                                 \
  ({                                                                                                             \
    static_assert(popvision::is_read(index), "of a tile's registers, codelets can read $WSR and $SCOUNT here");  \
    popvision::read_register<(index)>();                                                                         \
  })
#define __builtin_ipu_put(value, index)                                                                          \
  ({                                                                                                             \
    static_assert((index) == popvision::tile::WEIGHTS_ADDRESS,                                                   \
                  "of a supervisor's registers, codelets can write $CCCSLOAD here");                             \
    popvision::put_register(value);                                                                              \
  })
inline void __builtin_ipu_ld64putcs(int index) { popvision::popvision_assembly_weights<2>(index); }
inline void __builtin_ipu_ld128putcs(int index) { popvision::popvision_assembly_weights<4>(index); }
#define __builtin_ipu_uput(value, index)                                                                         \
  ({                                                                                                             \
    constexpr int popvision_low = (index) & 0xff;                                                                \
    static_assert(popvision_low == popvision::tile::SCALE || popvision_low == popvision::tile::CLEAR,            \
                  "of a worker's registers, codelets can write $TAS and $FP_CLR here");                          \
    popvision::tile::write_arithmetic(popvision_low, popvision::bits_of<unsigned>(value));                       \
  })
#define __builtin_ipu_uputf(value, index) __builtin_ipu_uput(static_cast<float>(value), index)

/* Accumulators: what each does is published with the software model of them in graphcore-research's tessellate-ipu,
   which also says that the hardware does not use the last argument of aop. */
namespace popvision {
// A vector in words, for an instruction.
struct Words {
  unsigned words[4] = {};
  Words() = default;
  template <class V>
  explicit Words(V value) {
    __builtin_memcpy(words, &value, sizeof value);
  }
  template <class V>
  V as() const {
    V value;
    __builtin_memcpy(&value, words, sizeof value);
    return value;
  }
};
}  // namespace popvision
template <class T, int odd>
__attribute__((noinline)) static T popvision_assembly_gina(T value) {
  POPVISION_MARK(1, 0);
  using Element = std::remove_reference_t<decltype(value[0])>;
  popvision::Words before;
  popvision::tile::shift_accumulators<Element>(before.words, popvision::Words(value).words, odd);
  return before.as<T>();
}
POPVISION_INSTRUCTION(float2, axpy, (float2 y, float2 x), 4)
  popvision::Words before;
  popvision::tile::scaled_sum(before.words, popvision::Words(x).words, popvision::Words(y).words);
  return before.as<float2>();
}
POPVISION_INSTRUCTION(void, aop, (float2 x, float2 y), 8)
  popvision::tile::outer_product(popvision::Words(x).words, popvision::Words(y).words);
}
POPVISION_INSTRUCTION(void, cmac2, (half2 x, half2 y), 4)
  popvision::tile::products_of_halves<2>(popvision::Words(x).words, popvision::Words(y).words);
}
POPVISION_INSTRUCTION(void, cmac4, (half4 x, half4 y), 8)
  popvision::tile::products_of_halves<4>(popvision::Words(x).words, popvision::Words(y).words);
}
inline float2 __builtin_ipu_f32v2axpy(float2 y, float2 x) { return popvision_assembly_axpy(y, x); }
inline void __builtin_ipu_f32v2aop(float2 x, float2 y, int) { popvision_assembly_aop(x, y); }
inline void __builtin_ipu_f16v2cmac(half2 x, half2 y) { popvision_assembly_cmac2(x, y); }
inline void __builtin_ipu_f16v4cmac(half4 x, half4 y) { popvision_assembly_cmac4(x, y); }
inline void __builtin_ipu_cmac(half2 x, half2 y) { popvision_assembly_cmac2(x, y); }
inline void __builtin_ipu_cmac(half4 x, half4 y) { popvision_assembly_cmac4(x, y); }
POPVISION_INSTRUCTION(float2, f16v2tof32, (half2 v), 0)
  return float2{static_cast<float>(v[0]), static_cast<float>(v[1])};
}
POPVISION_INSTRUCTION(half2, f32v2tof16, (float2 v), 0)
  return half2{static_cast<half>(v[0]), static_cast<half>(v[1])};
}
POPVISION_INSTRUCTION(unsigned, shuf8x8, (unsigned x, unsigned y), 0)
  return popvision::tile::mixed(x, y);
}
inline float2 __builtin_ipu_f16v2tof32(half2 v) { return popvision_assembly_f16v2tof32(v); }
inline half2 __builtin_ipu_f32v2tof16(float2 v) { return popvision_assembly_f32v2tof16(v); }
inline unsigned __builtin_ipu_shuf8x8lo(unsigned x, unsigned y) { return popvision_assembly_shuf8x8(x, y); }
inline unsigned __builtin_ipu_shuf8x8hi(unsigned x, unsigned y) { return popvision_assembly_shuf8x8(x >> 16, y >> 16); }
/* Three addresses in one value, for loads and stores of inline assembly that step them. */
inline uint2 __builtin_ipu_tapack(const void *x, const void *y, const void *z) {
  const auto number = [](const void *pointer) { return reinterpret_cast<long long>(pointer); };
  const long long made = popvision::tile::packed({number(x), number(y), number(z)});
  return uint2{static_cast<unsigned>(made), 0};
}
/* Phases of the matrix products with all four engines, as instructions name them. */
enum {
  TAMP_F32_E4_P0,
  TAMP_F32_E4_P1,
  TAMP_F32_E4_P2,
  TAMP_F32_E4_P3,
  TAMP_F32_E4_P4,
  TAMP_F32_E4_P5,
  TAMP_F32_E4_P6,
  TAMP_F32_E4_P7
};
enum { TAMP_F16V4_E4_P0, TAMP_F16V4_E4_P1, TAMP_F16V4_E4_P2, TAMP_F16V4_E4_P3 };

enum { TSLIC_F16V4_1x4_W0, TSLIC_F16V4_1x4_W1, TSLIC_F16V4_1x4_W2, TSLIC_F16V4_1x4_W3 };
enum { TSLIC_F16V4_1x3_W0 = 4, TSLIC_F16V4_1x3_W1, TSLIC_F16V4_1x3_W2, TSLIC_F16V4_1x3_W3 };

/* Index 1 is the odd accumulators; public code reads the second pair of a shift with 4 as with 0. */
void popvision_other_accumulators()
    __attribute__((error("codelets can read accumulators with index 0, 1 and 4 here, which shifts those behind them")));
#define POPVISION_GINA(TYPED, VECTOR)                                                                            \
  inline VECTOR __builtin_ipu_##TYPED##gina(VECTOR value, int index) {                                           \
    if (__builtin_constant_p(index) && index & ~5) popvision_other_accumulators();                               \
    if (index & ~5) __builtin_trap();                                                                            \
    return index & 1 ? popvision_assembly_gina<VECTOR, 1>(value) : popvision_assembly_gina<VECTOR, 0>(value);        \
  }                                                                                                              \
  inline VECTOR __builtin_ipu_gina(VECTOR value, int index) { return __builtin_ipu_##TYPED##gina(value, index); }
POPVISION_GINA(f32v2, float2)
POPVISION_GINA(f16v2, half2)
#undef POPVISION_GINA

/* Halves, bytes and words of two operands, and elements that stay by chance. */
#define POPVISION_OF_WORDS(NAME, FORMULA)                                                                        \
  POPVISION_INSTRUCTION(unsigned, NAME, (unsigned x, unsigned y), 0)                                             \
    return FORMULA;                                                                                              \
  }                                                                                                              \
  inline unsigned __builtin_ipu_##NAME(unsigned x, unsigned y) { return popvision_assembly_##NAME(x, y); }
POPVISION_OF_WORDS(sort8x8lo, popvision::tile::even_bytes(x, y))
POPVISION_OF_WORDS(sort8x8hi, popvision::tile::even_bytes(x >> 8, y >> 8))
#undef POPVISION_OF_WORDS
inline unsigned __builtin_ipu_sort8(unsigned x) { return popvision_assembly_sort8x8lo(x, x >> 8); }
#define POPVISION_OF_PAIRS(NAME, FIRST, SECOND)                                                                  \
  POPVISION_INSTRUCTION(float2, NAME, (float2 x, float2 y), 0)                                                   \
    return float2{x[FIRST], y[SECOND]};                                                                          \
  }                                                                                                              \
  inline float2 __builtin_ipu_##NAME(float2 x, float2 y) { return popvision_assembly_##NAME(x, y); }
POPVISION_OF_PAIRS(sort4x32lo, 0, 0)
POPVISION_OF_PAIRS(sort4x32hi, 1, 1)
POPVISION_OF_PAIRS(roll32, 1, 0)
#undef POPVISION_OF_PAIRS
#define POPVISION_MASKED(TYPED, VECTOR, ELEMENT)                                                                 \
  POPVISION_INSTRUCTION(VECTOR, TYPED##rmask, (VECTOR v, float probability), 0)                                  \
    popvision::Words kept;                                                                                       \
    popvision::tile::masked<ELEMENT, sizeof(VECTOR) / sizeof(ELEMENT)>(                                          \
        kept.words, popvision::Words(v).words, popvision::Words(probability).words);                             \
    return kept.as<VECTOR>();                                                                                    \
  }                                                                                                              \
  inline VECTOR __builtin_ipu_##TYPED##rmask(VECTOR v, float p) { return popvision_assembly_##TYPED##rmask(v, p); } \
  inline VECTOR __builtin_ipu_rmask(VECTOR v, float p) { return popvision_assembly_##TYPED##rmask(v, p); }
POPVISION_MASKED(f32v2, float2, float)
POPVISION_MASKED(f16v4, half4, half)
#undef POPVISION_MASKED

/* A function of single elements for vectors of them, under its overloaded name and under that of each type: an
   instruction for 8 bytes. */
#define POPVISION_OF_TYPE_TWO(NAME, TYPED, VECTOR, ELEMENT)                                                      \
  __attribute__((noinline)) static VECTOR popvision_assembly_##TYPED##NAME(VECTOR v, VECTOR w) {                 \
    POPVISION_MARK(1, sizeof(VECTOR) / sizeof(ELEMENT));                                                         \
    return poplar::host::by_element<VECTOR>([](ELEMENT x, ELEMENT y) { return popvision::NAME(x, y); }, v, w);   \
  }                                                                                                              \
  inline VECTOR __builtin_ipu_##NAME(VECTOR v, VECTOR w) { return popvision_assembly_##TYPED##NAME(v, w); }      \
  inline VECTOR __builtin_ipu_##TYPED##NAME(VECTOR v, VECTOR w) { return __builtin_ipu_##NAME(v, w); }

/* Functions of one float, and of two halves at once in as many slots as published estimators have for half of four. */
#define POPVISION_FUNCTION(NAME, SLOTS, FORMULA)                                                                 \
  namespace popvision {                                                                                          \
  template <class T>                                                                                             \
  T NAME(T element) {                                                                                            \
    const float x = static_cast<float>(element);                                                                 \
    return static_cast<T>(FORMULA);                                                                              \
  }                                                                                                              \
  }                                                                                                              \
  inline float __builtin_ipu_##NAME(float x) { return popvision::NAME(x); }                                      \
  inline float __builtin_ipu_f32##NAME(float x) { return popvision::NAME(x); }                                   \
  __attribute__((noinline)) static half2 popvision_assembly_f16v2##NAME(half2 v) {                               \
    POPVISION_MARK(SLOTS, 2);                                                                                    \
    return poplar::host::by_element<half2>([](half x) { return popvision::NAME(x); }, v);                        \
  }                                                                                                              \
  inline half2 __builtin_ipu_##NAME(half2 v) { return popvision_assembly_f16v2##NAME(v); }                       \
  inline half2 __builtin_ipu_f16v2##NAME(half2 v) { return popvision_assembly_f16v2##NAME(v); }
POPVISION_FUNCTION(exp, 2, __builtin_expf(x))
POPVISION_FUNCTION(exp2, 2, __builtin_exp2f(x))
POPVISION_FUNCTION(ln, 2, __builtin_logf(x))
POPVISION_FUNCTION(log2, 2, __builtin_log2f(x))
POPVISION_FUNCTION(tanh, 2, __builtin_tanhf(x))
POPVISION_FUNCTION(sigm, 3, 1.0f / (1.0f + __builtin_expf(-x)))
#undef POPVISION_FUNCTION

#define POPVISION_FUNCTION(NAME, FORMULA)                                                                        \
  namespace popvision {                                                                                          \
  template <class T>                                                                                             \
  T NAME(T first, T second) {                                                                                    \
    const float x = static_cast<float>(first), y = static_cast<float>(second);                                   \
    return static_cast<T>(FORMULA);                                                                              \
  }                                                                                                              \
  }                                                                                                              \
  POPVISION_INSTRUCTION(float, f32##NAME, (float x, float y), 1)                                                 \
    return popvision::NAME(x, y);                                                                                \
  }                                                                                                              \
  inline float __builtin_ipu_##NAME(float x, float y) { return popvision_assembly_f32##NAME(x, y); }             \
  inline float __builtin_ipu_f32##NAME(float x, float y) { return __builtin_ipu_##NAME(x, y); }                  \
  POPVISION_OF_TYPE_TWO(NAME, f32v2, float2, float)                                                              \
  POPVISION_OF_TYPE_TWO(NAME, f16v2, half2, half)                                                                \
  POPVISION_OF_TYPE_TWO(NAME, f16v4, half4, half)
POPVISION_FUNCTION(absadd, __builtin_fabsf(x) + __builtin_fabsf(y))
POPVISION_FUNCTION(absmax, __builtin_fmaxf(__builtin_fabsf(x), __builtin_fabsf(y)))
POPVISION_FUNCTION(max, __builtin_fmaxf(x, y))
POPVISION_FUNCTION(min, __builtin_fminf(x, y))
#undef POPVISION_FUNCTION

/* Comparisons: all bits of an element set where it holds. */
#define POPVISION_COMPARISON(NAME, OPERATOR)                                                                     \
  namespace popvision {                                                                                          \
  inline float NAME(float x, float y) { return bits_of<float>(x OPERATOR y ? ~0u : 0u); }                        \
  inline half NAME(half x, half y) {                                                                             \
    return bits_of<half>(static_cast<unsigned short>(x OPERATOR y ? 0xffff : 0));                                \
  }                                                                                                              \
  }                                                                                                              \
  POPVISION_INSTRUCTION(float, f32##NAME, (float x, float y), 1)                                                 \
    return popvision::NAME(x, y);                                                                                \
  }                                                                                                              \
  inline float __builtin_ipu_##NAME(float x, float y) { return popvision_assembly_f32##NAME(x, y); }             \
  inline float __builtin_ipu_f32##NAME(float x, float y) { return __builtin_ipu_##NAME(x, y); }                  \
  POPVISION_OF_TYPE_TWO(NAME, f32v2, float2, float)                                                              \
  POPVISION_OF_TYPE_TWO(NAME, f16v2, half2, half)                                                                \
  POPVISION_OF_TYPE_TWO(NAME, f16v4, half4, half)
POPVISION_COMPARISON(cmpeq, ==)
POPVISION_COMPARISON(cmpne, !=)
POPVISION_COMPARISON(cmplt, <)
POPVISION_COMPARISON(cmple, <=)
POPVISION_COMPARISON(cmpgt, >)
POPVISION_COMPARISON(cmpge, >=)
#undef POPVISION_COMPARISON

/* Bits. */
#define POPVISION_BITWISE(NAME, FORMULA)                                                                         \
  inline int __builtin_ipu_##NAME(unsigned x, unsigned y) { return static_cast<int>(FORMULA); }                  \
  inline int __builtin_ipu_##NAME(int x, int y) {                                                                \
    return __builtin_ipu_##NAME(static_cast<unsigned>(x), static_cast<unsigned>(y));                             \
  }                                                                                                              \
  inline int __builtin_ipu_##NAME(unsigned x, int y) { return __builtin_ipu_##NAME(x, static_cast<unsigned>(y)); } \
  POPVISION_INSTRUCTION(float, f32##NAME, (float v, float w), 0)                                                 \
    const unsigned x = popvision::bits_of<unsigned>(v), y = popvision::bits_of<unsigned>(w);                     \
    return popvision::bits_of<float>(FORMULA);                                                                   \
  }                                                                                                              \
  POPVISION_INSTRUCTION(float2, f32v2##NAME, (float2 v, float2 w), 0)                                            \
    const auto x = popvision::bits_of<unsigned long long>(v), y = popvision::bits_of<unsigned long long>(w);     \
    return popvision::bits_of<float2>(FORMULA);                                                                  \
  }                                                                                                              \
  inline float __builtin_ipu_##NAME(float v, float w) { return popvision_assembly_f32##NAME(v, w); }             \
  inline float2 __builtin_ipu_##NAME(float2 v, float2 w) { return popvision_assembly_f32v2##NAME(v, w); }
POPVISION_BITWISE(and, x & y)
POPVISION_BITWISE(andc, x & ~y)
POPVISION_BITWISE(or, x | y)
#undef POPVISION_BITWISE
inline float __builtin_ipu_not(float x) { return popvision::bits_of<float>(~popvision::bits_of<unsigned>(x)); }
inline float2 __builtin_ipu_not(float2 v) {
  return popvision::bits_of<float2>(~popvision::bits_of<unsigned long long>(v));
}

/* Kinds of numbers: all bits of an element's mask set where it is one. */
#define POPVISION_KIND(NAME)                                                                                     \
  inline int __builtin_ipu_##NAME(float x) { return __builtin_##NAME(x); }                                       \
  inline int2 __builtin_ipu_##NAME(float2 v) {                                                                   \
    return poplar::host::by_element<int2>([](float x) { return __builtin_##NAME(x) ? -1 : 0; }, v);              \
  }                                                                                                              \
  inline short2 __builtin_ipu_##NAME(half2 v) {                                                                  \
    return poplar::host::by_element<short2>(                                                                     \
        [](half x) { return __builtin_##NAME(static_cast<float>(x)) ? -1 : 0; }, v);                             \
  }                                                                                                              \
  inline short4 __builtin_ipu_##NAME(half4 v) {                                                                  \
    return poplar::host::by_element<short4>(                                                                     \
        [](half x) { return __builtin_##NAME(static_cast<float>(x)) ? -1 : 0; }, v);                             \
  }
POPVISION_KIND(isfinite)
POPVISION_KIND(isinf)
POPVISION_KIND(isnan)
#undef POPVISION_KIND

/* Limits are a pair: lowest and highest. */
namespace popvision {
inline float clamped(float x, float2 limits) { return __builtin_fminf(__builtin_fmaxf(x, limits[0]), limits[1]); }
inline half clamped(half x, half2 limits) {
  const float2 wide = {static_cast<float>(limits[0]), static_cast<float>(limits[1])};
  return static_cast<half>(clamped(static_cast<float>(x), wide));
}
}  // namespace popvision
#define POPVISION_CLAMP(TYPED, VECTOR, ELEMENT, LIMITS)                                                          \
  __attribute__((noinline)) static VECTOR popvision_assembly_##TYPED##clamp(VECTOR v, LIMITS limits) {           \
    POPVISION_MARK(1, sizeof(VECTOR) / sizeof(ELEMENT));                                                         \
    return poplar::host::by_element<VECTOR>([limits](ELEMENT x) { return popvision::clamped(x, limits); }, v);   \
  }                                                                                                              \
  inline VECTOR __builtin_ipu_clamp(VECTOR v, LIMITS limits) {                                                   \
    return popvision_assembly_##TYPED##clamp(v, limits);                                                         \
  }                                                                                                              \
  inline VECTOR __builtin_ipu_##TYPED##clamp(VECTOR v, LIMITS limits) { return __builtin_ipu_clamp(v, limits); }
POPVISION_CLAMP(f32v2, float2, float, float2)
POPVISION_CLAMP(f16v2, half2, half, half2)
POPVISION_CLAMP(f16v4, half4, half, half2)
#undef POPVISION_CLAMP
POPVISION_INSTRUCTION(float, f32clamp, (float x, float2 limits), 1)
  return popvision::clamped(x, limits);
}
inline float __builtin_ipu_clamp(float x, float2 limits) { return popvision_assembly_f32clamp(x, limits); }
inline float __builtin_ipu_f32clamp(float x, float2 limits) { return __builtin_ipu_clamp(x, limits); }

POPVISION_INSTRUCTION(half, f16v2maxc, (half2 v), 1)
  return popvision::max(v[0], v[1]);
}
POPVISION_INSTRUCTION(half2, f16v4maxc, (half4 v), 2)
  return half2{popvision::max(v[0], v[1]), popvision::max(v[2], v[3])};
}
POPVISION_INSTRUCTION(float, f16v2sum, (half2 v), 1)
  return static_cast<float>(v[0]) + static_cast<float>(v[1]);
}
POPVISION_INSTRUCTION(float2, f16v4sum, (half4 v), 2)
  return float2{static_cast<float>(v[0]) + static_cast<float>(v[1]), static_cast<float>(v[2]) + static_cast<float>(v[3])};
}
inline half __builtin_ipu_f16v2maxc(half2 v) { return popvision_assembly_f16v2maxc(v); }
inline half2 __builtin_ipu_f16v4maxc(half4 v) { return popvision_assembly_f16v4maxc(v); }
inline float __builtin_ipu_sum(half2 v) { return popvision_assembly_f16v2sum(v); }
inline float2 __builtin_ipu_sum(half4 v) { return popvision_assembly_f16v4sum(v); }
inline float __builtin_ipu_f16v2sum(half2 v) { return __builtin_ipu_sum(v); }
inline float2 __builtin_ipu_f16v4sum(half4 v) { return __builtin_ipu_sum(v); }
inline half2 __builtin_ipu_f16v2grand() {
  const float2 pair = __builtin_ipu_f32v2grand();
  return half2{static_cast<half>(pair[0]), static_cast<half>(pair[1])};
}
#undef POPVISION_OF_TYPE_TWO
#else
static inline float __builtin_ipu_sigm(float x) { return 1.0f / (1.0f + __builtin_expf(-x)); }
static inline float __builtin_ipu_exp(float x) { return __builtin_expf(x); }
static inline float __builtin_ipu_ln(float x) { return __builtin_logf(x); }
static inline float __builtin_ipu_log2(float x) { return __builtin_log2f(x); }
static inline float __builtin_ipu_exp2(float x) { return __builtin_exp2f(x); }
static inline float __builtin_ipu_tanh(float x) { return __builtin_tanhf(x); }
static inline float __builtin_ipu_max(float x, float y) { return x > y ? x : y; }
static inline float __builtin_ipu_min(float x, float y) { return x < y ? x : y; }
#endif
