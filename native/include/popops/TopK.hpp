#ifndef popops_TopK_hpp
#define popops_TopK_hpp

#include <cstddef>
#include <utility>
#include <vector>

#include <poplar/Graph.hpp>
#include <popops/SortOrder.hpp>

namespace popops {

/// The k largest or smallest, in an order; a stable sort leaves equal elements in the order they had.
struct TopKParams {
  TopKParams(unsigned k, bool largest, SortOrder sortOrder, bool stableSort = false) noexcept
      : k(k), largest(largest), sortOrder(sortOrder), stableSort(stableSort) {}

  unsigned k;
  bool largest;
  SortOrder sortOrder;
  bool stableSort;
};

/// A mapped operand.
poplar::Tensor createTopKInput(poplar::Graph &graph, const poplar::Type &type, const std::vector<std::size_t> &shape,
                               const TopKParams &params, const poplar::DebugContext &debugContext = {});
/// The top k of the last dimension; with the `values` that belong to these keys; with their indices.
poplar::Tensor topK(poplar::Graph &graph, poplar::program::Sequence &prog, const poplar::Tensor &t,
                    const TopKParams &params, const poplar::DebugContext &debugContext = {});
std::pair<poplar::Tensor, poplar::Tensor> topKKeyValue(poplar::Graph &graph, poplar::program::Sequence &prog,
                                                       const poplar::Tensor &keys, const poplar::Tensor &values,
                                                       const TopKParams &params,
                                                       const poplar::DebugContext &debugContext = {});
std::pair<poplar::Tensor, poplar::Tensor> topKWithPermutation(poplar::Graph &graph, poplar::program::Sequence &prog,
                                                              const poplar::Tensor &t, const TopKParams &params,
                                                              const poplar::DebugContext &debugContext = {});

} // namespace popops

#endif
