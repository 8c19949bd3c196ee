/* Conversions of quarter, 8-bit floats: a sign, an exponent, a fraction; see simulator/base/quarter.py. */
#include <math.h>

extern int popvision_nan_on_overflow; /* half.c */

enum { NAN_BYTE = 0x80, LARGEST = 0x7f };

/* Bits of the fraction, and what is taken off the exponent. */
static int fraction_bits(int f143) { return f143 ? 3 : 2; }
static int bias(int f143) { return f143 ? 8 : 16; }

float popvision_from_quarter(unsigned char byte, int f143, int scale) {
  int bits = fraction_bits(f143), size = byte & LARGEST, exponent = size >> bits, fraction = size & ((1 << bits) - 1);
  if (byte == NAN_BYTE) return NAN;
  if (exponent > 0) fraction += 1 << bits;
  else exponent = 1;
  float value = ldexpf((float)fraction, exponent - bias(f143) - bits + scale);
  return byte > NAN_BYTE ? -value : value;
}

/* Rounded to nearest, ties to even; too large numbers become the largest, or a NaN if the program asks for that. */
unsigned char popvision_to_quarter(float value, int f143, int scale) {
  int bits = fraction_bits(f143), exponent;
  float size = ldexpf(fabsf(value), -scale);
  if (isnan(value)) return NAN_BYTE;
  if (size == 0) return 0;
  long code = LARGEST + 1;
  if (size < 65536.0f) {
    frexpf(size, &exponent);
    --exponent;
    if (exponent < 1 - bias(f143)) exponent = 1 - bias(f143);
    code = (long)(exponent + bias(f143) - 1) * (1 << bits) + lrintf(ldexpf(size, bits - exponent));
  }
  if (code > LARGEST) {
    if (popvision_nan_on_overflow) return NAN_BYTE;
    code = LARGEST;
  }
  return (unsigned char)(value < 0 && code > 0 ? code | 0x80 : code);
}
