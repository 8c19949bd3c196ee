// quarter: one byte of storage, read by the format and scale of its tensor (getMetadata() of the field).
#pragma once

#include <poplar/HalfFloat.hpp>

typedef struct quarter {
  unsigned char value;
} quarter;

typedef struct quarter_metadata {
  enum format { f152, f143 } fmt;
  signed char scale;
} quarter_metadata;

extern "C" {
float popvision_from_quarter(unsigned char byte, int f143, int scale);
unsigned char popvision_to_quarter(float value, int f143, int scale);
}

namespace poplar {

using ::quarter;
using ::quarter_metadata;

// The byte of a QUARTER_METADATA tensor: format in bit 7, scale in bits 0 to 5.
using MetadataType = unsigned char;

inline quarter_metadata unpackMetadata(const MetadataType *in) {
  quarter_metadata out;
  out.fmt = *in & 0x80 ? quarter_metadata::f143 : quarter_metadata::f152;
  out.scale = static_cast<signed char>((*in & 0x3f) - (*in & 0x20 ? 64 : 0));
  return out;
}

inline float toFloat(quarter x, quarter_metadata m) { return popvision_from_quarter(x.value, m.fmt, m.scale); }
inline half toHalf(quarter x, quarter_metadata m) { return static_cast<half>(toFloat(x, m)); }
inline quarter toQuarter(float x, quarter_metadata m) { return quarter{popvision_to_quarter(x, m.fmt, m.scale)}; }

}  // namespace poplar

inline half quarterToHalf(const quarter *input, quarter_metadata md) { return poplar::toHalf(*input, md); }
inline quarter halfToQuarter(const half *input, quarter_metadata md) {
  return poplar::toQuarter(static_cast<float>(*input), md);
}
inline quarter quarterToQuarter(const quarter *input, quarter_metadata md_from, quarter_metadata md_to) {
  return poplar::toQuarter(poplar::toFloat(*input, md_from), md_to);
}
