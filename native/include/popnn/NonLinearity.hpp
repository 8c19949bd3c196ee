#ifndef popnn_NonLinearity_hpp
#define popnn_NonLinearity_hpp

#include <poplar/Graph.hpp>
#include <popnn/NonLinearityDef.hpp>

#define POPNN_REST poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}
#define POPNN_FUNCTION(NAME)                                                                                           \
  poplar::Tensor NAME(poplar::Graph &graph, poplar::Tensor t, POPNN_REST);                                             \
  void NAME##InPlace(poplar::Graph &graph, poplar::Tensor t, POPNN_REST)

namespace popnn {

poplar::Tensor nonLinearity(poplar::Graph &graph, NonLinearityType nonLinearityType, poplar::Tensor t, POPNN_REST);
void nonLinearityInPlace(poplar::Graph &graph, NonLinearityType nonLinearityType, poplar::Tensor t, POPNN_REST);
poplar::Tensor nonLinearityInputGradient(poplar::Graph &graph, NonLinearityType nonLinearityType, poplar::Tensor act,
                                         poplar::Tensor outGradient, POPNN_REST);

POPNN_FUNCTION(gelu);
POPNN_FUNCTION(relu);
POPNN_FUNCTION(sigmoid);
POPNN_FUNCTION(softmax);
POPNN_FUNCTION(softmaxStable);
POPNN_FUNCTION(swish);
POPNN_FUNCTION(tanh);

} // namespace popnn

#undef POPNN_REST
#undef POPNN_FUNCTION

#endif
