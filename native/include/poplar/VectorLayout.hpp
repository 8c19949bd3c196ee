#ifndef poplar_VectorLayout_hpp
#define poplar_VectorLayout_hpp

#include <string>

namespace poplar {

/// Layouts of the vectors of vertices, as estimators see them.
struct layout {
  enum class Vector { NotAVector, Span, ShortSpan, OnePtr, ScaledPtr32, ScaledPtr64, ScaledPtr128 };
  enum class VectorList { NotAVector, OnePtr, ScaledPtr32, ScaledPtr64, ScaledPtr128, DeltaN, DeltaNElements };
  static std::string to_string(Vector a);
  static std::string to_string(VectorList a);
};

} // namespace poplar

#endif
