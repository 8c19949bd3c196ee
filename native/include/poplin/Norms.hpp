// Normalisation of each channel of activations [batch, channels, field...] or [batch, channels].
#ifndef poplin_Norms_hpp
#define poplin_Norms_hpp

#include <utility>

#include <poplar/Graph.hpp>

#define POPLIN_PROGRAM poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}
#define POPLIN_PARTIALS                                                                                                \
  const poplar::Type &partialsType = poplar::FLOAT, const poplar::DebugContext &debugContext = {}

namespace poplin {

/// One factor, one addend, and both, for each channel; of the activations' type unless another one is named.
poplar::Tensor createNormGamma(poplar::Graph &graph, const poplar::Tensor &acts, const poplar::Type &type,
                               const poplar::DebugContext &debugContext = {});
poplar::Tensor createNormGamma(poplar::Graph &graph, const poplar::Tensor &acts,
                               const poplar::DebugContext &debugContext = {});
poplar::Tensor createNormBeta(poplar::Graph &graph, const poplar::Tensor &acts, const poplar::Type &type,
                              const poplar::DebugContext &debugContext = {});
poplar::Tensor createNormBeta(poplar::Graph &graph, const poplar::Tensor &acts,
                              const poplar::DebugContext &debugContext = {});
std::pair<poplar::Tensor, poplar::Tensor> createNormParams(poplar::Graph &graph, const poplar::Tensor &acts,
                                                           const poplar::DebugContext &debugContext = {});

/// The mean and 1 / standard deviation of each channel; `eps` is added to the variance.
std::pair<poplar::Tensor, poplar::Tensor> normStatistics(poplar::Graph &graph, const poplar::Tensor &actsUngrouped,
                                                         float eps, poplar::program::Sequence &prog,
                                                         bool unbiasedVarEstimate, bool stableAlgo = false,
                                                         POPLIN_PARTIALS);
/// (acts - mean) * iStdDev, and gamma * that + beta.
poplar::Tensor normWhiten(poplar::Graph &graph, const poplar::Tensor &acts, const poplar::Tensor &mean,
                          const poplar::Tensor &iStdDev, POPLIN_PROGRAM);
poplar::Tensor normalise(poplar::Graph &graph, const poplar::Tensor &actsWhitened, const poplar::Tensor &gamma,
                         const poplar::Tensor &beta, POPLIN_PROGRAM);

/// The gradients of gamma and beta; of the whitened activations; of the activations, through the statistics.
std::pair<poplar::Tensor, poplar::Tensor> normParamGradients(poplar::Graph &graph, const poplar::Tensor &actsWhitened,
                                                             const poplar::Tensor &gradsIn,
                                                             poplar::program::Sequence &prog, POPLIN_PARTIALS);
poplar::Tensor normGradients(poplar::Graph &graph, const poplar::Tensor &gradsIn, const poplar::Tensor &gamma,
                             POPLIN_PROGRAM);
poplar::Tensor normStatisticsGradients(poplar::Graph &graph, const poplar::Tensor &actsWhitened,
                                       const poplar::Tensor &gradsIn, const poplar::Tensor &invStdDev,
                                       poplar::program::Sequence &prog, POPLIN_PARTIALS);

} // namespace poplin

#undef POPLIN_PROGRAM
#undef POPLIN_PARTIALS

#endif
