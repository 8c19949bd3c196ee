#ifndef popsparse_SparseTensor_hpp
#define popsparse_SparseTensor_hpp

#include <poplar/Tensor.hpp>
#include <poputil/TensorMetaData.hpp>

namespace popsparse {
namespace static_ {

/// A sparse operand: the values of its blocks, and where they are.
class SparseTensor : public poplar::bridge::Handle {
public:
  using poplar::bridge::Handle::Handle;
  SparseTensor() = default;
  SparseTensor(const poplar::Tensor &nzValues, const poputil::TensorMetaData &opMetaData);

  poplar::Tensor getNzValuesTensor() const;
  poputil::TensorMetaData getOpMetaData() const;
};

} // namespace static_
} // namespace popsparse

#endif
