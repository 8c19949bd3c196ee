#ifndef gcl_Collectives_hpp
#define gcl_Collectives_hpp

#include <gcl/CollectiveTypes.hpp>
#include <poplar/Graph.hpp>

#define GCL_REST                                                                                                       \
  poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},                                      \
      const poplar::OptionFlags &options = {}

#define GCL_GROUP                                                                                                      \
  poplar::program::Sequence &prog, const CommGroup &group, const poplar::DebugContext &debugContext = {},              \
      const poplar::OptionFlags &options = {}

namespace gcl {

/// Each replica gives a tensor and receives what all give, combined or one after another.
poplar::Tensor allReduceCrossReplica(poplar::Graph &graph, const poplar::Tensor &data, CollectiveOperator op,
                                     GCL_REST);
void allReduceInPlaceCrossReplica(poplar::Graph &graph, poplar::Tensor &data, CollectiveOperator op, GCL_REST);
poplar::Tensor reduceScatterCrossReplica(poplar::Graph &graph, const poplar::Tensor &data, CollectiveOperator op,
                                         GCL_REST);
poplar::Tensor allGatherCrossReplica(poplar::Graph &graph, const poplar::Tensor &data, GCL_REST);
poplar::Tensor allToAllCrossReplica(poplar::Graph &graph, const poplar::Tensor &data, GCL_REST);
poplar::Tensor broadcastCrossReplica(poplar::Graph &graph, const poplar::Tensor &data, GCL_REST);

/// The same within each group of replicas.
poplar::Tensor allReduceCrossReplica(poplar::Graph &graph, const poplar::Tensor &data, CollectiveOperator op,
                                     GCL_GROUP);
void allReduceInPlaceCrossReplica(poplar::Graph &graph, poplar::Tensor &data, CollectiveOperator op, GCL_GROUP);
poplar::Tensor reduceScatterCrossReplica(poplar::Graph &graph, const poplar::Tensor &data, CollectiveOperator op,
                                         GCL_GROUP);
poplar::Tensor allGatherCrossReplica(poplar::Graph &graph, const poplar::Tensor &data, GCL_GROUP);
poplar::Tensor allToAllCrossReplica(poplar::Graph &graph, const poplar::Tensor &data, GCL_GROUP);
poplar::Tensor broadcastCrossReplica(poplar::Graph &graph, const poplar::Tensor &data, GCL_GROUP);

} // namespace gcl

#undef GCL_REST
#undef GCL_GROUP

#endif
