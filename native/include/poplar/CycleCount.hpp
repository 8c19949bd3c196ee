// Programs that read the cycle counters of tiles, on hardware.
#ifndef poplar_CycleCount_hpp
#define poplar_CycleCount_hpp

#include <string>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace poplar {

/// Put barriers and readings of a tile's counter around what `prog` holds; the cycles between them, lower word first.
Tensor cycleCount(Graph &graph, program::Sequence &prog, unsigned tile, SyncType syncType,
                  const DebugContext &debugContext = {});
/// Append a barrier and a reading of a tile's counter, which runs on from load to load.
Tensor cycleStamp(Graph &graph, program::Sequence &prog, unsigned tile, SyncType syncType,
                  const DebugContext &debugContext = {});
std::vector<Tensor> cycleStamp(Graph &graph, program::Sequence &prog, const std::vector<unsigned> &tiles,
                               SyncType syncType, const DebugContext &debugContext = {});

// As version 1 has them: internal barriers on one IPU, external ones on several.
Tensor cycleCount(Graph &graph, program::Sequence &prog, unsigned tile, const DebugContext &debugContext = {});
Tensor cycleStamp(Graph &graph, program::Sequence &prog, unsigned tile, const DebugContext &debugContext = {});
std::vector<Tensor> cycleStamp(Graph &graph, program::Sequence &prog, const std::vector<unsigned> &tiles,
                               const DebugContext &debugContext = {});

} // namespace poplar

#endif
