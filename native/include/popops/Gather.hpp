#ifndef popops_Gather_hpp
#define popops_Gather_hpp

#include <cstddef>
#include <vector>

#include <poplar/Graph.hpp>

namespace popops {

/// How a gather is spread: about as many elements on a tile.
struct GatherParams {
  GatherParams() = default;
  GatherParams(std::size_t elements) : maxElementsPerTile(elements) {}

  std::size_t maxElementsPerTile = 65535;
};

/// The operand of a gather along one axis, spread over the tiles.
poplar::Tensor createGatherInput(poplar::Graph &graph, const poplar::Type &type,
                                 const std::vector<std::size_t> &operandShape, unsigned axis, GatherParams params = {},
                                 const poplar::DebugContext &debugContext = {});
/// The operand of a gather of slices of `sliceSizes` whose indices name the dimensions `startIndexMap`.
poplar::Tensor createGatherInput(poplar::Graph &graph, const poplar::Type &type,
                                 const std::vector<std::size_t> &inputShape, const std::vector<std::size_t> &sliceSizes,
                                 std::vector<unsigned> startIndexMap, const poplar::DebugContext &debugContext = {});

/// The elements of an axis at `indices`: a tensor of rank rank(indices) + rank(input) - 1.
poplar::Tensor gather(poplar::Graph &graph, const poplar::Tensor &input, const poplar::Tensor &indices, unsigned axis,
                      poplar::program::Sequence &prog, GatherParams params,
                      const poplar::DebugContext &debugContext = {});
/// XLA's gather: the dimension `indexVectorDim` of `indices` holds the first index of each slice of `sliceSizes`, for the
/// dimensions `startIndexMap`; `collapsedSliceDims`, of size 1, vanish, the others are the output's `offsetDims`.
poplar::Tensor gather(poplar::Graph &graph, const poplar::Tensor &input, const poplar::Tensor &indices,
                      std::size_t indexVectorDim, const std::vector<std::size_t> &offsetDims,
                      const std::vector<std::size_t> &sliceSizes, const std::vector<std::size_t> &collapsedSliceDims,
                      const std::vector<unsigned> &startIndexMap, poplar::program::Sequence &prog,
                      const poplar::DebugContext &debugContext = {});

} // namespace popops

#endif
