#ifndef poplar_Quarter_hpp
#define poplar_Quarter_hpp

#include <poplar/exceptions.hpp>

namespace poplar {

/// How the bytes of a QUARTER tensor are read: a format, and a power of two from -32 to 31.
class QuarterMetadata {
public:
  enum class Format { F143, F152 };

  QuarterMetadata() = default;
  QuarterMetadata(Format format, int scale) : binary(format == Format::F143 ? 0x80 : 0) {
    binary = static_cast<unsigned char>(binary | (scale & 0x3f));
    if (scale < -32 || scale > 31)
      throw tensor_metadata_error("The scale of QUARTER metadata is -32 to 31, not " + std::to_string(scale) + ".");
  }
  /// From the byte that a metadata tensor holds.
  explicit QuarterMetadata(unsigned char binary) : binary(static_cast<unsigned char>(binary & 0xbf)) {}

  Format getFormat() const { return binary & 0x80 ? Format::F143 : Format::F152; }
  int getScale() const { return (binary & 0x3f) > 31 ? (binary & 0x3f) - 64 : binary & 0x3f; }
  unsigned char getBinary() const { return binary; }

private:
  unsigned char binary = 0x80; // the simulator reads and writes it where it is
};

inline bool operator==(const QuarterMetadata &a, const QuarterMetadata &b) { return a.getBinary() == b.getBinary(); }
inline bool operator!=(const QuarterMetadata &a, const QuarterMetadata &b) { return !(a == b); }

} // namespace poplar

#endif
