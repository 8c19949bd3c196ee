#ifndef popops_Zero_hpp
#define popops_Zero_hpp

#include <poplar/Graph.hpp>

namespace popops {

/// Write zeros into every element.
void zero(poplar::Graph &graph, const poplar::Tensor &t, poplar::program::Sequence &prog,
          const poplar::DebugContext &debugContext = {});
void zero(poplar::Graph &graph, const poplar::Tensor &t, unsigned tile, poplar::ComputeSet zeroCS);

} // namespace popops

#endif
