// half: two bytes of storage. Every operation is done in float32 and rounded to half, as on a tile; values beyond the
// range become its largest (simulator/codelets/host/half.c).
#pragma once

#if defined(__aarch64__) || defined(__arm__)
typedef __fp16 half;
#else
typedef _Float16 half;
#endif

namespace poplar {
using ::half;
}

#ifdef __cplusplus
constexpr half operator""_h(long double x) { return static_cast<half>(x); }

#include <limits>

namespace std {
template <>
class numeric_limits<half> {
 public:
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false;
  static constexpr bool has_infinity = false, has_quiet_NaN = true, has_signaling_NaN = false, is_bounded = true;
  static constexpr bool is_iec559 = false, is_modulo = false, traps = false, tinyness_before = false;
  static constexpr bool has_denorm_loss = false;
  static constexpr float_denorm_style has_denorm = denorm_present;
  static constexpr float_round_style round_style = round_indeterminate;
  static constexpr int digits = 11, digits10 = 3, max_digits10 = 5, radix = 2;
  static constexpr int min_exponent = -13, min_exponent10 = -4, max_exponent = 16, max_exponent10 = 4;
  static constexpr half min() noexcept { return static_cast<half>(6.103515625e-05f); }
  static constexpr half max() noexcept { return static_cast<half>(65504.0f); }
  static constexpr half lowest() noexcept { return static_cast<half>(-65504.0f); }
  static constexpr half epsilon() noexcept { return static_cast<half>(0.0009765625f); }
  static constexpr half round_error() noexcept { return static_cast<half>(0.5f); }
  static constexpr half denorm_min() noexcept { return static_cast<half>(5.9604644775390625e-08f); }
  static constexpr half infinity() noexcept { return static_cast<half>(__builtin_inff()); }
  static constexpr half quiet_NaN() noexcept { return static_cast<half>(__builtin_nanf("")); }
};

// Overloads on half, beside those of <cmath>: computed in float32, rounded once.
#define POPVISION_HALF_FUNCTION(NAME) \
  inline half NAME(half x) { return static_cast<half>(__builtin_##NAME##f(static_cast<float>(x))); }
POPVISION_HALF_FUNCTION(exp)
POPVISION_HALF_FUNCTION(exp2)
POPVISION_HALF_FUNCTION(expm1)
POPVISION_HALF_FUNCTION(log)
POPVISION_HALF_FUNCTION(log2)
POPVISION_HALF_FUNCTION(log10)
POPVISION_HALF_FUNCTION(log1p)
POPVISION_HALF_FUNCTION(sqrt)
POPVISION_HALF_FUNCTION(cbrt)
POPVISION_HALF_FUNCTION(sin)
POPVISION_HALF_FUNCTION(cos)
POPVISION_HALF_FUNCTION(tan)
POPVISION_HALF_FUNCTION(asin)
POPVISION_HALF_FUNCTION(acos)
POPVISION_HALF_FUNCTION(atan)
POPVISION_HALF_FUNCTION(tanh)
POPVISION_HALF_FUNCTION(erf)
POPVISION_HALF_FUNCTION(fabs)
POPVISION_HALF_FUNCTION(floor)
POPVISION_HALF_FUNCTION(ceil)
POPVISION_HALF_FUNCTION(trunc)
POPVISION_HALF_FUNCTION(round)
POPVISION_HALF_FUNCTION(rint)
POPVISION_HALF_FUNCTION(nearbyint)
#undef POPVISION_HALF_FUNCTION
inline half abs(half x) { return fabs(x); }
inline half pow(half x, half y) {
  return static_cast<half>(__builtin_powf(static_cast<float>(x), static_cast<float>(y)));
}
inline half fmod(half x, half y) {
  return static_cast<half>(__builtin_fmodf(static_cast<float>(x), static_cast<float>(y)));
}
inline half atan2(half y, half x) {
  return static_cast<half>(__builtin_atan2f(static_cast<float>(y), static_cast<float>(x)));
}
inline half fma(half x, half y, half z) {
  return static_cast<half>(static_cast<float>(x) * static_cast<float>(y) + static_cast<float>(z));
}
inline bool isnan(half x) { return __builtin_isnan(static_cast<float>(x)); }
inline bool isinf(half x) { return __builtin_isinf(static_cast<float>(x)); }
inline bool isfinite(half x) { return __builtin_isfinite(static_cast<float>(x)); }
}  // namespace std
#endif
