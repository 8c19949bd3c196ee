#ifndef poputil_TensorMetaData_hpp
#define poputil_TensorMetaData_hpp

#include <poplar/Handle.hpp>

namespace poputil {

/// What an operand of a library means beyond its elements.
class TensorMetaData : public poplar::bridge::Handle {
public:
  using poplar::bridge::Handle::Handle;
  TensorMetaData() = default;
};

} // namespace poputil

#endif
