// Functions of each element, the softmaxes along the last dimension, and their gradients.
#ifndef popnn_NonLinearity_hpp
#define popnn_NonLinearity_hpp

#include <poplar/Graph.hpp>
#include <popnn/NonLinearityDef.hpp>

#define POPNN_PROGRAM poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}
#define POPNN_SETS poplar::ComputeSet &cs, const poplar::DebugContext &debugContext = {}
#define POPNN_FUNCTION(NAME)                                                                                           \
  poplar::Tensor NAME(poplar::Graph &graph, poplar::Tensor t, POPNN_PROGRAM);                                          \
  void NAME##InPlace(poplar::Graph &graph, poplar::Tensor t, POPNN_PROGRAM)
#define POPNN_SCALED_FUNCTION(NAME)                                                                                    \
  POPNN_FUNCTION(NAME);                                                                                                \
  poplar::Tensor NAME(poplar::Graph &graph, poplar::Tensor t, float &nonLinearityScaling /*inout*/, POPNN_PROGRAM);    \
  void NAME##InPlace(poplar::Graph &graph, poplar::Tensor t, float &nonLinearityScaling /*inout*/, POPNN_PROGRAM)

namespace popnn {

/// A new tensor, or in place; in place also into a compute set that the caller executes. `nonLinearityScaling` receives
/// the factor by which the results are too large: that of SOFTMAX_SCALED, else 1.
poplar::Tensor nonLinearity(poplar::Graph &graph, NonLinearityType nonLinearityType, poplar::Tensor t, POPNN_PROGRAM);
poplar::Tensor nonLinearity(poplar::Graph &graph, NonLinearityType nonLinearityType, poplar::Tensor t,
                            float &nonLinearityScaling /*inout*/, POPNN_PROGRAM);
void nonLinearityInPlace(poplar::Graph &graph, NonLinearityType nonLinearityType, poplar::Tensor t, POPNN_PROGRAM);
void nonLinearityInPlace(poplar::Graph &graph, NonLinearityType nonLinearityType, poplar::Tensor t,
                         float &nonLinearityScaling /*inout*/, POPNN_PROGRAM);
void nonLinearityInPlace(poplar::Graph &graph, NonLinearityType nonLinearityType, poplar::Tensor t, POPNN_SETS);
void nonLinearityInPlace(poplar::Graph &graph, NonLinearityType nonLinearityType, poplar::Tensor t,
                         float &nonLinearityScaling /*inout*/, POPNN_SETS);
/// The gradient of the input; `act` is the output, of GELU, GELU_ERF, SWISH and HARD_SIGMOID the input.
poplar::Tensor nonLinearityInputGradient(poplar::Graph &graph, NonLinearityType nonLinearityType, poplar::Tensor act,
                                         poplar::Tensor outGradient, POPNN_PROGRAM);
poplar::Tensor nonLinearityInputGradient(poplar::Graph &graph, NonLinearityType nonLinearityType, poplar::Tensor act,
                                         poplar::Tensor outGradient, POPNN_SETS);

POPNN_FUNCTION(gelu);
POPNN_FUNCTION(relu);
POPNN_FUNCTION(sigmoid);
POPNN_FUNCTION(softmaxStable);
POPNN_FUNCTION(swish);
POPNN_FUNCTION(tanh);
POPNN_FUNCTION(softmax);
POPNN_SCALED_FUNCTION(scaledSoftmaxStable);

} // namespace popnn

#undef POPNN_PROGRAM
#undef POPNN_SETS
#undef POPNN_FUNCTION
#undef POPNN_SCALED_FUNCTION

#endif
