/* Conversions of half, in place of the compiler's own: a finite float beyond the range becomes the largest half, or a NaN
   where the simulated program asks for that. Rounds to nearest, ties to even. */
#include <fenv.h>
#include <stdint.h>
#include <string.h>

int popvision_nan_on_overflow;

#if !defined(__aarch64__) && !defined(__arm__)

static uint16_t rounded(uint32_t bits) {
  uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
  if (magnitude == 0x7f800000u) return (uint16_t)(sign | 0x7c00u);
  if (magnitude >= 0x477ff000u) {
    feraiseexcept(popvision_nan_on_overflow ? FE_OVERFLOW | FE_INVALID : FE_OVERFLOW);
    return popvision_nan_on_overflow ? 0x7e00u : (uint16_t)(sign | 0x7bffu);
  }
  if (magnitude < 0x38800000u) { /* subnormal: let the addition of floats round */
    float value, shift = 0.5f;
    uint32_t sum;
    memcpy(&value, &magnitude, 4);
    value += shift;
    memcpy(&sum, &value, 4);
    return (uint16_t)(sign | (sum - 0x3f000000u));
  }
  magnitude += 0xc8000fffu + ((magnitude >> 13) & 1u);
  return (uint16_t)(sign | (magnitude >> 13));
}

static uint32_t widened(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000u) << 16, magnitude = half & 0x7fffu, bits;
  if (magnitude >= 0x7c00u) return sign | 0x7f800000u | (magnitude & 0x3ffu) << 13;
  if (magnitude >= 0x400u) return sign | ((magnitude << 13) + 0x38000000u);
  float value = (float)magnitude * 5.9604644775390625e-8f;
  memcpy(&bits, &value, 4);
  return sign | bits;
}

_Float16 __truncsfhf2(float value) {
  uint32_t bits;
  uint16_t half;
  _Float16 result;
  memcpy(&bits, &value, 4);
  half = rounded(bits);
  memcpy(&result, &half, 2);
  return result;
}

_Float16 __truncdfhf2(double value) { return __truncsfhf2((float)value); }

float __extendhfsf2(_Float16 half) {
  uint16_t raw;
  uint32_t bits;
  float result;
  memcpy(&raw, &half, 2);
  bits = widened(raw);
  memcpy(&result, &bits, 4);
  return result;
}

#else
typedef int no_half_conversions;
#endif
