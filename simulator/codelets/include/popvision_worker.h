/* What a worker has beside its registers, for C and C++: the process of the codelets (simulator/codelets/host/runner.c)
   knows which vertex runs. */
#pragma once

#define POPVISION_NO_COUNTER __attribute__((error("only simulated hardware has a cycle counter, not an IPU Model")))

#ifdef __cplusplus
extern "C" {
#endif
/* The tile's cycle counter, for simulated hardware: simulator/codelets/compiled/cycle_counter.py takes the attributes
   away there. In parentheses, as no call of it. */
unsigned (__builtin_ipu_get_scount_l)(void) POPVISION_NO_COUNTER;
unsigned (__builtin_ipu_get_scount_u)(void) POPVISION_NO_COUNTER;
unsigned popvision_tile(void);
unsigned popvision_worker(void);
void popvision_run_all(void (*code)(void *, unsigned), void *vertex);
#ifdef __cplusplus
}
#endif

/* Random numbers: xorshift (Marsaglia 2003) in one sequence for all vertices; other numbers than a tile's. */
static inline unsigned long long popvision_random(void) {
  static unsigned long long state = 88172645463325252ull;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}
