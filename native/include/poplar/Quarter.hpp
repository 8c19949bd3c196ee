#ifndef poplar_Quarter_hpp
#define poplar_Quarter_hpp

#include <poplar/exceptions.hpp>

namespace poplar {

/// How the bytes of a QUARTER tensor are read: a format, and a power of two from -32 to 31.
class QuarterMetadata {
public:
  enum class Format { F143, F152 };

  QuarterMetadata() = default;
  QuarterMetadata(Format format, int scale) : format(format), scale(scale) {
    if (scale < -32 || scale > 31)
      throw tensor_metadata_error("The scale of QUARTER metadata is -32 to 31, not " + std::to_string(scale) + ".");
  }
  /// From the byte that a metadata tensor holds.
  explicit QuarterMetadata(unsigned char binary)
      : format(binary & 0x80 ? Format::F143 : Format::F152),
        scale((binary & 0x3f) > 31 ? (binary & 0x3f) - 64 : binary & 0x3f) {}

  Format getFormat() const { return format; }
  int getScale() const { return scale; }
  unsigned char getBinary() const {
    return static_cast<unsigned char>((format == Format::F143 ? 0x80 : 0) | (scale & 0x3f));
  }

private:
  Format format = Format::F143;
  int scale = 0;
};

inline bool operator==(const QuarterMetadata &a, const QuarterMetadata &b) { return a.getBinary() == b.getBinary(); }
inline bool operator!=(const QuarterMetadata &a, const QuarterMetadata &b) { return !(a == b); }

} // namespace poplar

#endif
