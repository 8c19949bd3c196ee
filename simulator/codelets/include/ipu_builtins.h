/* A few of the compiler's builtin functions of IPU targets, in the arithmetic of the host. */
#pragma once

#include <ipudef.h>

static inline unsigned __builtin_ipu_get_scount_l(void) { return 0; }
static inline float __builtin_ipu_sigm(float x) { return 1.0f / (1.0f + __builtin_expf(-x)); }
static inline float __builtin_ipu_rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
static inline float __builtin_ipu_exp(float x) { return __builtin_expf(x); }
static inline float __builtin_ipu_ln(float x) { return __builtin_logf(x); }
static inline float __builtin_ipu_log2(float x) { return __builtin_log2f(x); }
static inline float __builtin_ipu_exp2(float x) { return __builtin_exp2f(x); }
static inline float __builtin_ipu_tanh(float x) { return __builtin_tanhf(x); }
static inline float __builtin_ipu_max(float x, float y) { return x > y ? x : y; }
static inline float __builtin_ipu_min(float x, float y) { return x < y ? x : y; }
