#ifndef popops_Scatter_hpp
#define popops_Scatter_hpp

#include <cstddef>
#include <functional>
#include <vector>

#include <poplar/Graph.hpp>

namespace popops {

/// Combines what the operand holds (first) with an update (second).
using UpdateComputationFunc = std::function<poplar::Tensor(poplar::Graph &, poplar::Tensor &, poplar::Tensor &,
                                                           poplar::program::Sequence &)>;

/// XLA's scatter: write slices of `updates` into `operand` where `indices` says. The dimension `indexVectorDim` of
/// `indices` holds the first index of a slice, for the dimensions `scatterDimsToOperandDims`; `updateWindowDims` are the
/// dimensions of a slice in `updates`, `insertWindowDims` those of size 1 that it lacks.
void scatter(poplar::Graph &graph, const poplar::Tensor &operand, const poplar::Tensor &indices,
             const poplar::Tensor &updates, std::size_t indexVectorDim, std::vector<unsigned> updateWindowDims,
             std::vector<std::size_t> insertWindowDims, std::vector<unsigned> scatterDimsToOperandDims,
             poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {});
void scatter(poplar::Graph &graph, const poplar::Tensor &operand, const poplar::Tensor &indices,
             const poplar::Tensor &updates, std::size_t indexVectorDim, std::vector<unsigned> updateWindowDims,
             std::vector<std::size_t> insertWindowDims, std::vector<unsigned> scatterDimsToOperandDims,
             UpdateComputationFunc &updateComputation, poplar::program::Sequence &prog,
             const poplar::DebugContext &debugContext = {});

} // namespace popops

#endif
