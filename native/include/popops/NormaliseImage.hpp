#ifndef popops_NormaliseImage_hpp
#define popops_NormaliseImage_hpp

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace popops {

/// An image [..., 3] laid out for normaliseImage.
poplar::Tensor createNormaliseImageInput(poplar::Graph &graph, const poplar::Type &type,
                                         poplar::ArrayRef<std::size_t> shape,
                                         const poplar::DebugContext &debugContext = {});
/// The image [..., 4]: (tIn * inScale - offsets) * scales for each channel, and a channel of zeros.
poplar::Tensor normaliseImage(poplar::Graph &graph, poplar::program::Sequence &seq, poplar::Tensor tIn, float inScale,
                              poplar::Tensor offsets, poplar::Tensor scales,
                              const poplar::DebugContext &debugContext = {});

} // namespace popops

#endif
