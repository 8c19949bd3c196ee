// Slices and updates of a tensor at offsets that are known when the program runs: one at a time, or many, as lookups in an
// embedding matrix, which may be planned.
#ifndef popops_DynamicSlice_hpp
#define popops_DynamicSlice_hpp

#include <cstddef>
#include <vector>

#include <poplar/Graph.hpp>

#define POPOPS_DIMS const std::vector<std::size_t> &dims, const std::vector<std::size_t> &sizes
#define POPOPS_PLANNED                                                                                                 \
  const SlicePlan &plan, const poplar::OptionFlags &options, const poplar::DebugContext &debugContext = {}

namespace popops {

/// How a matrix and its lookups are laid out; made by embedding::plan, the default one leaves the layout open.
class SlicePlan : public poplar::bridge::Handle {
public:
  using poplar::bridge::Handle::Handle;
  SlicePlan();
};
inline bool operator==(const SlicePlan &a, const SlicePlan &b) { return poplar::bridge::equal(a, b); }
inline bool operator!=(const SlicePlan &a, const SlicePlan &b) { return !(a == b); }

/// A mapped tensor of which `sizes` elements of the dimensions `dims` are to be taken at a time: its other dimensions are
/// spread over the tiles, at least `minGrainSize` elements of a slice on each, or as a plan says.
poplar::Tensor createSliceableTensor(poplar::Graph &graph, const poplar::Type &type,
                                     const std::vector<std::size_t> &shape, POPOPS_DIMS, std::size_t minGrainSize = 0,
                                     const poplar::DebugContext &debugContext = {});
poplar::Tensor createSliceableTensor(poplar::Graph &graph, const poplar::Type &type,
                                     const std::vector<std::size_t> &shape, POPOPS_DIMS, POPOPS_PLANNED);
/// A tensor whose slices lie where `s` lies: as many as `numSlices` says in each of the dimensions `dims`.
poplar::Tensor createSliceableTensorFromSlice(poplar::Graph &graph, const poplar::Tensor &s,
                                              const std::vector<std::size_t> &dims,
                                              const std::vector<std::size_t> &numSlices,
                                              const poplar::DebugContext &debugContext = {});
/// `numIndices` slices of `t`, or of a planned matrix: [numIndices, the shape of a slice].
poplar::Tensor createSliceTensor(poplar::Graph &graph, const poplar::Tensor &t, POPOPS_DIMS, std::size_t numIndices,
                                 const poplar::DebugContext &debugContext = {});
poplar::Tensor createSliceTensor(poplar::Graph &graph, const poplar::Type &type, const std::vector<std::size_t> &shape,
                                 POPOPS_DIMS, std::size_t numIndices, POPOPS_PLANNED);
/// Offsets for lookups: UNSIGNED_INT of shape [numIndices, number of dims].
poplar::Tensor createIndicesTensor(poplar::Graph &graph, const std::vector<std::size_t> &dims, std::size_t numIndices,
                                   POPOPS_PLANNED);
/// The tiles on which a slice of `t` lies.
poplar::Graph::TileToTensorMapping getSliceMapping(poplar::Graph &graph, const poplar::Tensor &t, POPOPS_DIMS);

/// `sizes` elements of the dimensions `dims` from `offset` on: a new tensor, or into `output`.
poplar::Tensor dynamicSlice(poplar::Graph &graph, const poplar::Tensor &t, const poplar::Tensor &offset, POPOPS_DIMS,
                            poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {});
void dynamicSliceWithOutput(poplar::Graph &graph, const poplar::Tensor &output, const poplar::Tensor &t,
                            const poplar::Tensor &offset, POPOPS_DIMS, poplar::program::Sequence &prog,
                            const poplar::DebugContext &debugContext = {});
/// Write `s` over the elements of `t` from `offset` on.
void dynamicUpdate(poplar::Graph &graph, const poplar::Tensor &t, const poplar::Tensor &s, const poplar::Tensor &offset,
                   POPOPS_DIMS, poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {});

/// Many slices of `t`, one for each row of `offsets`: [rows, the shape of a slice].
poplar::Tensor multiSlice(poplar::Graph &graph, const poplar::Tensor &t, const poplar::Tensor &offsets, POPOPS_DIMS,
                          poplar::program::Sequence &prog, POPOPS_PLANNED);
/// Write many slices; of equal offsets the last one stays.
void multiUpdate(poplar::Graph &graph, const poplar::Tensor &t, const poplar::Tensor &s, const poplar::Tensor &offsets,
                 POPOPS_DIMS, poplar::program::Sequence &prog, POPOPS_PLANNED);
/// t[offsets[i]] += scale * s[i], and t[offsets[i]] = max(t[offsets[i]], s[i]), for matrices.
void multiUpdateAdd(poplar::Graph &graph, const poplar::Tensor &t, const poplar::Tensor &s,
                    const poplar::Tensor &offsets, const poplar::Tensor &scale, POPOPS_DIMS,
                    poplar::program::Sequence &prog, POPOPS_PLANNED);
void multiUpdateMax(poplar::Graph &graph, const poplar::Tensor &t, const poplar::Tensor &s,
                    const poplar::Tensor &offsets, POPOPS_DIMS, poplar::program::Sequence &prog, POPOPS_PLANNED);

namespace embedding {

/// A plan for lookups in a matrix of `numEntries` rows of `outputSize` elements, as many at a time as `numLookups` says.
/// Options: usedForSlice, usedForUpdate, operationForUpdate, availableMemoryProportion, indicesDistribution,
/// planMinimisationTarget, indicesAreSorted.
SlicePlan plan(const poplar::Graph &graph, const poplar::Type &dataType, const std::size_t numEntries,
               const std::size_t outputSize, const std::vector<std::size_t> &numLookups,
               const poplar::OptionFlags &options);

} // namespace embedding
} // namespace popops

#undef POPOPS_DIMS
#undef POPOPS_PLANNED

#endif
