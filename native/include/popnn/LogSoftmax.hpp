#ifndef popnn_LogSoftmax_hpp
#define popnn_LogSoftmax_hpp

#include <poplar/Graph.hpp>

namespace popnn {

poplar::Tensor logSoftmax(poplar::Graph &graph, const poplar::Tensor &t, poplar::program::Sequence &prog,
                          const poplar::DebugContext &debugContext = {});
void logSoftmaxInPlace(poplar::Graph &graph, poplar::Tensor t, poplar::program::Sequence &prog,
                       const poplar::DebugContext &debugContext = {});

} // namespace popnn

#endif
