#ifndef popops_Loop_hpp
#define popops_Loop_hpp

#include <functional>

#include <poplar/Graph.hpp>

namespace popops {

/// Makes the body of a loop from its counter.
using CountedLoopBodyType = std::function<poplar::program::Program(const poplar::Tensor &)>;

/// for (i = begin; i < end; i += step), and for (i = 0; i < count; ++i).
poplar::program::Sequence countedLoop(poplar::Graph &graph, std::size_t begin, std::size_t end, std::size_t step,
                                      const CountedLoopBodyType &body, const poplar::DebugContext &debugContext = {});
poplar::program::Sequence countedLoop(poplar::Graph &graph, std::size_t count, const CountedLoopBodyType &body,
                                      const poplar::DebugContext &debugContext = {});

/// for (count = initialCount; count != countLimit; count += countStep), with a limit that is known when the program runs;
/// `count`, INT or UNSIGNED_INT, is the body's to read.
poplar::program::Sequence countedForLoop(poplar::Graph &graph, const poplar::Tensor &count, int initialCount,
                                         const poplar::Tensor &countLimit, int countStep,
                                         const poplar::program::Program &body,
                                         const poplar::DebugContext &debugContext = {});
poplar::program::Sequence countedForLoop(poplar::Graph &graph, int initialCount, const poplar::Tensor &countLimit,
                                         int countStep, const poplar::program::Program &body,
                                         const poplar::DebugContext &debugContext = {});
/// Add `countStep` to `count` and tell whether the limit is not reached: the predicate of a loop.
poplar::Tensor addForLoopCounterVertex(poplar::Graph &graph, const poplar::Tensor &count,
                                       const poplar::Tensor &countLimit, int countStep, unsigned tile,
                                       poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {});

} // namespace popops

#endif
