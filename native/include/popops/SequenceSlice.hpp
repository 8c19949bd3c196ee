#ifndef popops_SequenceSlice_hpp
#define popops_SequenceSlice_hpp

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace popops {

/// Copy rows [tInOffset, tInOffset + tN) of tIn to rows [tOutOffset, tOutOffset + tN) of tOut, for each entry of these.
void sequenceSlice(poplar::Graph &graph, const poplar::Tensor &tIn, const poplar::Tensor &tOut,
                   const poplar::Tensor &tN, const poplar::Tensor &tInOffset, const poplar::Tensor &tOutOffset,
                   bool zeroUnused, poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {});

} // namespace popops

#endif
