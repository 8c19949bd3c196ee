#ifndef popops_Loop_hpp
#define popops_Loop_hpp

#include <functional>

#include <poplar/Graph.hpp>

namespace popops {

/// Makes the body of a loop from its counter.
using CountedLoopBodyType = std::function<poplar::program::Program(const poplar::Tensor &)>;

poplar::program::Sequence countedLoop(poplar::Graph &graph, std::size_t begin, std::size_t end, std::size_t step,
                                      const CountedLoopBodyType &body, const poplar::DebugContext &debugContext = {});
poplar::program::Sequence countedLoop(poplar::Graph &graph, std::size_t count, const CountedLoopBodyType &body,
                                      const poplar::DebugContext &debugContext = {});

} // namespace popops

#endif
