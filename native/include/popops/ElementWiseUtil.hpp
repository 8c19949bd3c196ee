#ifndef popops_ElementWiseUtil_hpp
#define popops_ElementWiseUtil_hpp

#include <vector>

#include <poplar/Graph.hpp>

namespace popops {

/// A tensor for the result of an operation on these operands, where it is cheap to compute.
poplar::Tensor createOutputForElementWiseOp(poplar::Graph &graph, const std::vector<poplar::Tensor> &inputs,
                                            const poplar::Type &outputType,
                                            const poplar::DebugContext &debugContext = {});

} // namespace popops

#endif
