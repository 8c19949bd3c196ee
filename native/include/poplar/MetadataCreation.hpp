// Metadata tensors of QUARTER tensors.
#ifndef poplar_MetadataCreation_hpp
#define poplar_MetadataCreation_hpp

#include <poplar/Graph.hpp>
#include <poplar/Quarter.hpp>

namespace poplar {

Tensor createConstantMetadataTensor(Graph &graph, QuarterMetadata::Format fmt, int scale,
                                    const DebugContext &debugContext = {"<const>"});
Tensor createVariableMetadataTensor(Graph &graph, QuarterMetadata::Format fmt, int scale,
                                    const DebugContext &debugContext = {});
/// `scale` is an INT scalar that the program computes; `prog` writes it into the result.
Tensor createVariableMetadataTensor(Graph &graph, QuarterMetadata::Format fmt, const Tensor &scale,
                                    program::Sequence &prog, const DebugContext &debugContext = {});

} // namespace poplar

#endif
