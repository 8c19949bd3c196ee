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
namespace std {
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
