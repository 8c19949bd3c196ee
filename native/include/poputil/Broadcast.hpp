#ifndef poputil_Broadcast_hpp
#define poputil_Broadcast_hpp

#include <vector>

#include <poplar/Tensor.hpp>

namespace poputil {

/// Give a tensor the shape, or two or three tensors one shape, as NumPy broadcasts: missing dimensions and those of size
/// 1 repeat. The tensors are views afterwards. Raises poplibs_error where shapes do not fit.
void broadcastToMatch(poplar::Tensor &a /*inout*/, const std::vector<std::size_t> &shape);
void broadcastToMatch(poplar::Tensor &a /*inout*/, poplar::Tensor &b /*inout*/);
void broadcastToMatch(poplar::Tensor &a /*inout*/, poplar::Tensor &b /*inout*/, poplar::Tensor &c /*inout*/);
/// `in2` with dimensions of size 1 before its own, as many as `in1` has more.
poplar::Tensor extendDimensionsToMatch(poplar::Tensor in1, poplar::Tensor in2);
/// Whether `in2` is a vector along one dimension of `in1`, so that an operation on both needs no copies of it.
bool detectVectorBroadcastOperands(poplar::Tensor in1, poplar::Tensor in2);

} // namespace poputil

#endif
