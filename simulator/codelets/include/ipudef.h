/* Short vectors of elements, as the tiles' 64-bit data path holds them, and their doubles. */
#pragma once

#ifdef __cplusplus
#include <poplar/HalfFloat.hpp>
#include <poplar/QuarterFloat.hpp>
#elif defined(__aarch64__) || defined(__arm__)
typedef __fp16 half;
#else
typedef _Float16 half;
#endif

/* Counts of hardware loops. */
typedef unsigned rptsize_t;

#define POPVISION_VECTOR(TYPE, NAME, COUNT) \
  typedef TYPE NAME##COUNT __attribute__((vector_size(COUNT * sizeof(TYPE)), may_alias))
POPVISION_VECTOR(float, float, 2);
POPVISION_VECTOR(float, float, 4);
POPVISION_VECTOR(half, half, 2);
POPVISION_VECTOR(half, half, 4);
POPVISION_VECTOR(half, half, 8);
POPVISION_VECTOR(int, int, 2);
POPVISION_VECTOR(int, int, 4);
/* long has 32 bits on a tile. */
POPVISION_VECTOR(int, long, 2);
POPVISION_VECTOR(int, long, 4);
POPVISION_VECTOR(long long, longlong, 2);
POPVISION_VECTOR(long long, longlong, 4);
POPVISION_VECTOR(unsigned, uint, 2);
POPVISION_VECTOR(unsigned, uint, 4);
POPVISION_VECTOR(short, short, 2);
POPVISION_VECTOR(short, short, 4);
POPVISION_VECTOR(unsigned short, ushort, 2);
POPVISION_VECTOR(unsigned short, ushort, 4);
POPVISION_VECTOR(char, char, 2);
POPVISION_VECTOR(char, char, 4);
POPVISION_VECTOR(char, char, 8);
POPVISION_VECTOR(unsigned char, uchar, 2);
POPVISION_VECTOR(unsigned char, uchar, 4);
POPVISION_VECTOR(unsigned char, uchar, 8);
#undef POPVISION_VECTOR
