#ifndef poputil_TileMapping_hpp
#define poputil_TileMapping_hpp

#include <vector>

#include <poplar/Graph.hpp>

namespace poputil {

/// Spread the elements of a tensor over the tiles in contiguous shares.
void mapTensorLinearly(poplar::Graph &graph, const poplar::Tensor &t);
void mapTensorLinearly(poplar::Graph &graph, const poplar::Tensor &t, unsigned minElementsPerTile, unsigned grainSize);
/// The same from tile `offset` on, and behind the last tile at the first; or down from the tile `offset` before the last.
void mapTensorLinearlyWithOffset(poplar::Graph &graph, const poplar::Tensor &t, unsigned offset = 0,
                                 bool ascending = true);
void mapTensorLinearlyWithOffset(poplar::Graph &graph, const poplar::Tensor &t, unsigned minElementsPerTile,
                                 unsigned grainSize, unsigned offset = 0, bool ascending = true);
std::vector<std::vector<poplar::Interval>> calcLinearTileMapping(const poplar::Graph &graph, const poplar::Tensor &t);
std::vector<std::vector<poplar::Interval>> calcLinearTileMapping(const poplar::Graph &graph,
                                                                 poplar::ArrayRef<std::size_t> shape,
                                                                 unsigned minElementsPerTile, unsigned grainSize);
unsigned getTileImbalance(const poplar::Graph::TileToTensorMapping &mapping, unsigned minElementsPerTile = 0,
                          unsigned grainSize = 1);
unsigned getTileImbalance(const poplar::Graph &graph, const poplar::Tensor &t, unsigned minElementsPerTile = 0,
                          unsigned grainSize = 1);
poplar::Tensor cloneToIpu(poplar::Graph &graph, const poplar::Tensor &t, unsigned dstIPU,
                          const poplar::DebugContext &debugContext = {},
                          poplar::TensorCloneMethod method = poplar::TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES);
poplar::Tensor copyToIpu(poplar::Graph &masterGraph, const poplar::Tensor &t, poplar::program::Sequence &prog,
                         unsigned dstIPU, const poplar::DebugContext &debugContext = {},
                         poplar::TensorCloneMethod method = poplar::TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES);
/// The tensor on another IPU; nothing moves until a program copies `copySrc` to `copyDst`.
poplar::Tensor createIpuCopy(poplar::Graph &graph, const poplar::Tensor &t, unsigned dstIpu,
                             poplar::Tensor &copySrc /*out*/, poplar::Tensor &copyDst /*out*/,
                             const poplar::DebugContext &debugContext = {},
                             poplar::TensorCloneMethod method = poplar::TensorCloneMethod::PRESERVE_ORDER_AND_ALIASES);
bool dimIsSplitOverTiles(const poplar::Graph &graph, const poplar::Tensor &t, unsigned dimension);
bool dimIsSplitOverIPUs(const poplar::Graph &graph, const poplar::Tensor &t, unsigned dimension);
poplar::Tensor createBroadcastOperand(poplar::Graph &graph, const poplar::Tensor &fullTensor, const poplar::Type &type,
                                      unsigned dim, bool ditherMapping = false,
                                      const poplar::DebugContext &debugContext = {});

/// Collects which tiles use which elements, and maps the elements accordingly.
class TensorUseTracker : public poplar::bridge::Handle {
public:
  /// A piece that several tiles use goes to one of them where its neighbours are used by some of these only; only tiles
  /// that use an element may hold it; neither.
  enum class MappingMethod { OptimizeHaloRegions, ConstrainMappingToUsedTiles, None };

  using poplar::bridge::Handle::Handle;
  TensorUseTracker(unsigned numTiles);
  /// A tile uses a tensor; all uses of another tracker.
  void add(const poplar::Graph &graph, unsigned tile, const poplar::Tensor &t);
  void add(TensorUseTracker other);
  /// Choose a tile for each used element, and map the variables so. With `extendPartialUsage` the other elements of the
  /// same variables go where the used ones before them are.
  void resolve(const poplar::Graph &graph, unsigned grainSize, unsigned minElementsPerTile,
               bool extendPartialUsage = false, MappingMethod mappingMethod = MappingMethod::None);
  void mapTensorsByUse(poplar::Graph &graph, unsigned grainSize, unsigned minElementsPerTile,
                       bool extendPartialUsage = false, MappingMethod mappingMethod = MappingMethod::None);
  bool empty() const;
};

} // namespace poputil

#endif
