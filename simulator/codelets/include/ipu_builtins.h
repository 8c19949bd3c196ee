/* A few of the compiler's builtin functions of IPU targets, in the arithmetic of the host. */
#pragma once

#include <ipudef.h>

/* Random numbers: xorshift (Marsaglia 2003) in one sequence for all vertices; other numbers than a tile's. */
static inline unsigned long long popvision_random(void) {
  static unsigned long long state = 88172645463325252ull;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}
static inline unsigned __builtin_ipu_urand32(void) { return (unsigned)(popvision_random() >> 32); }
static inline unsigned long long __builtin_ipu_urand64(void) { return popvision_random(); }
/* Evenly spread over [-0.5, 0.5), as on a tile. */
static inline float __builtin_ipu_urand_f32(void) { return (float)(popvision_random() >> 40) / 16777216.0f - 0.5f; }
static inline half __builtin_ipu_urand_f16(void) { return (half)__builtin_ipu_urand_f32(); }

/* Cycles are modelled outside codelets, so no counter runs within them. */
extern unsigned __builtin_ipu_get_scount_l(void)
    __attribute__((error("codelets cannot read the tile's cycle counter; see the profile of the program")));
extern unsigned __builtin_ipu_get_scount_u(void)
    __attribute__((error("codelets cannot read the tile's cycle counter; see the profile of the program")));

#ifdef __cplusplus
extern "C"
#endif
    unsigned
    popvision_tile(void);
static inline unsigned __builtin_ipu_get_tile_id(void) { return popvision_tile(); }
static inline float __builtin_ipu_sigm(float x) { return 1.0f / (1.0f + __builtin_expf(-x)); }
static inline float __builtin_ipu_rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
static inline float __builtin_ipu_exp(float x) { return __builtin_expf(x); }
static inline float __builtin_ipu_ln(float x) { return __builtin_logf(x); }
static inline float __builtin_ipu_log2(float x) { return __builtin_log2f(x); }
static inline float __builtin_ipu_exp2(float x) { return __builtin_exp2f(x); }
static inline float __builtin_ipu_tanh(float x) { return __builtin_tanhf(x); }
static inline float __builtin_ipu_max(float x, float y) { return x > y ? x : y; }
static inline float __builtin_ipu_min(float x, float y) { return x < y ? x : y; }
