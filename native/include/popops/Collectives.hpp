// The older names of gcl's collectives.
#ifndef popops_Collectives_hpp
#define popops_Collectives_hpp

#include <poplar/Graph.hpp>
#include <popops/CollectiveTypes.hpp>
#include <popops/Operation.hpp>

#define POPOPS_REST                                                                                                    \
  poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},                                      \
      const poplar::OptionFlags &options = {}

namespace popops {

/// Each replica gives a tensor and receives what all give, combined: in a new tensor, in `output`, in its own.
poplar::Tensor replicatedAllReduce(poplar::Graph &graph, const poplar::Tensor &data, CollectiveOperator op,
                                   POPOPS_REST);
poplar::Tensor replicatedAllReduce(poplar::Graph &graph, const poplar::Tensor &data, Operation op, POPOPS_REST);
void replicatedAllReduceWithOutput(poplar::Graph &graph, const poplar::Tensor &data, poplar::Tensor &output,
                                   CollectiveOperator op, POPOPS_REST);
void replicatedAllReduceWithOutput(poplar::Graph &graph, const poplar::Tensor &data, poplar::Tensor &output,
                                   Operation op, POPOPS_REST);
void replicatedAllReduceInPlace(poplar::Graph &graph, poplar::Tensor &data, CollectiveOperator op, POPOPS_REST);
void replicatedAllReduceInPlace(poplar::Graph &graph, poplar::Tensor &data, Operation op, POPOPS_REST);
/// Each replica receives a share of the combined elements; the last shares are padded with zeros.
poplar::Tensor replicatedReduceScatter(poplar::Graph &graph, const poplar::Tensor &toReduce, CollectiveOperator op,
                                       POPOPS_REST);
poplar::Tensor replicatedReduceScatter(poplar::Graph &graph, const poplar::Tensor &toReduce, Operation op,
                                       POPOPS_REST);
/// Each replica receives the tensors of all: [replicas, shape].
poplar::Tensor replicatedAllGather(poplar::Graph &graph, const poplar::Tensor &toGather, POPOPS_REST);

} // namespace popops

#undef POPOPS_REST

#endif
