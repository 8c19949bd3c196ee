#ifndef popops_Rearrange_hpp
#define popops_Rearrange_hpp

#include <cstddef>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace popops {
namespace rearrange {

/// The smallest groups between which elements of a type are transposed fast.
unsigned getMinimumRegroupGrainSize(const poplar::Type &type);
/// The elements of `in` in the groups of `ref`, or in groups of `preferredGrouping` of the innermost dimension; `in`
/// itself where that does not help.
poplar::Tensor regroupIfBeneficial(poplar::Graph &graph, const poplar::Tensor &in, const poplar::Tensor &ref,
                                   poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {});
poplar::Tensor regroupIfBeneficial(poplar::Graph &graph, const poplar::Tensor &in, std::size_t preferredGrouping,
                                   poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {});

} // namespace rearrange
} // namespace popops

#endif
