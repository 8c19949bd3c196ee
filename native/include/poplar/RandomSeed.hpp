// The state of the tiles' generators of random numbers.
#ifndef poplar_RandomSeed_hpp
#define poplar_RandomSeed_hpp

#include <poprand/RandomGen.hpp>

namespace poplar {

/// The seeds of all tiles, for setHwSeeds.
inline Tensor getHwSeeds(Graph &graph, program::Sequence &prog, const DebugContext &debugContext = {}) {
  return poprand::getHwSeeds(graph, prog, debugContext);
}
inline void setHwSeeds(Graph &graph, const Tensor &hwSeeds, program::Sequence &prog,
                       const DebugContext &debugContext = {}) {
  poprand::setHwSeeds(graph, hwSeeds, prog, debugContext);
}

} // namespace poplar

#endif
