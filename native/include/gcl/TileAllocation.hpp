#ifndef gcl_TileAllocation_hpp
#define gcl_TileAllocation_hpp

#include <vector>

#include <poplar/Graph.hpp>

namespace gcl {

/// The fewest tiles of an IPU that collectives can use.
unsigned getMinIoTiles(const poplar::Graph &graph);
/// Tiles of an IPU, spread over its exchange blocks, from a place in the order of allocation on.
std::vector<unsigned> perIPUTiles(const poplar::Graph &graph, unsigned offset, unsigned count, bool sorted = true,
                                  bool tilePairs = true);

} // namespace gcl

#endif
