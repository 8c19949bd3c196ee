#ifndef popops_UpdateScalarInRows_hpp
#define popops_UpdateScalarInRows_hpp

#include <poplar/Graph.hpp>

namespace popops {

/// params[i, indices[i]] -= 1 for each row, the gradient of a cross-entropy; a row whose index is MASKED_LABEL_CODE stays.
void updateScalarInRows(poplar::Graph &graph, const poplar::Tensor &params, const poplar::Tensor &indices,
                        poplar::program::Sequence &program, const poplar::DebugContext &debugContext = {});

} // namespace popops

#endif
