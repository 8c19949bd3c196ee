#ifndef popops_Pad_hpp
#define popops_Pad_hpp

#include <cstddef>
#include <vector>

#include <poplar/Graph.hpp>

#define POPOPS_ALL const std::vector<std::ptrdiff_t> &paddingLower, const std::vector<std::ptrdiff_t> &paddingUpper
#define POPOPS_ONE_DIM std::ptrdiff_t paddingLower, std::ptrdiff_t paddingUpper, unsigned dim
#define POPOPS_MAPPED padding::MappingMethod mappingMethod = padding::MappingMethod::ZERO

namespace popops {

namespace padding {

/// The tensor's own elements: the nearest one, or those at the same distance behind the edge.
enum class Type { EDGE, REFLECT };
/// Where constant padding lies: nowhere yet, on tile 0, or where the nearest element of the tensor lies.
enum class MappingMethod { NONE, ZERO, EDGE };

} // namespace padding

/// A tensor with elements of one value around it; negative amounts cut it. In all dimensions, or in one.
poplar::Tensor pad(poplar::Graph &graph, const poplar::Tensor &t, POPOPS_ALL, float val = 0.0f, POPOPS_MAPPED);
poplar::Tensor pad(poplar::Graph &graph, const poplar::Tensor &t, POPOPS_ALL, int val, POPOPS_MAPPED);
poplar::Tensor pad(poplar::Graph &graph, const poplar::Tensor &t, POPOPS_ALL, const poplar::Tensor &val, POPOPS_MAPPED);
poplar::Tensor pad(poplar::Graph &graph, const poplar::Tensor &t, POPOPS_ONE_DIM, float val = 0.0f, POPOPS_MAPPED);
poplar::Tensor pad(poplar::Graph &graph, const poplar::Tensor &t, POPOPS_ONE_DIM, int val, POPOPS_MAPPED);
poplar::Tensor pad(poplar::Graph &graph, const poplar::Tensor &t, POPOPS_ONE_DIM, const poplar::Tensor &val,
                   POPOPS_MAPPED);
/// A tensor padded with its own elements.
poplar::Tensor pad(const poplar::Tensor &t, POPOPS_ALL, padding::Type type);
poplar::Tensor pad(const poplar::Tensor &t, POPOPS_ONE_DIM, padding::Type type);

} // namespace popops

#undef POPOPS_ALL
#undef POPOPS_ONE_DIM
#undef POPOPS_MAPPED

#endif
