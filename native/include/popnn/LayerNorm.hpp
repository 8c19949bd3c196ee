// Normalisation of each batch element over all its channels: group norm with one group.
#ifndef popnn_LayerNorm_hpp
#define popnn_LayerNorm_hpp

#include <utility>

#include <poplar/Graph.hpp>

#define POPNN_LAST const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}
#define POPNN_PROGRAM poplar::program::Sequence &prog, POPNN_LAST
#define POPNN_PARTIALS poplar::program::Sequence &prog, const poplar::Type &partialsType = poplar::FLOAT, POPNN_LAST

namespace popnn {
namespace ln {

/// The mean and 1 / standard deviation of each batch element; `eps` is added to the variance.
std::pair<poplar::Tensor, poplar::Tensor> layerNormStatistics(poplar::Graph &graph, const poplar::Tensor acts,
    float eps, poplar::program::Sequence &prog, bool unbiasedVarEstimate, bool stableAlgo = false,
    const poplar::Type &partialsType = poplar::FLOAT, POPNN_LAST);
/// (acts - mean) * invStdDev.
poplar::Tensor layerNormWhiten(poplar::Graph &graph, const poplar::Tensor &acts, const poplar::Tensor &mean,
    const poplar::Tensor &invStdDev, POPNN_PROGRAM);
/// The normalised activations, gamma * whitened + beta, and the whitened ones.
std::pair<poplar::Tensor, poplar::Tensor> layerNormalise(poplar::Graph &graph, const poplar::Tensor &acts,
    const poplar::Tensor &gamma, const poplar::Tensor &beta, const poplar::Tensor &mean,
    const poplar::Tensor &invStdDev, POPNN_PROGRAM);
/// The gradients of gamma and beta.
std::pair<poplar::Tensor, poplar::Tensor> layerNormParamGradients(poplar::Graph &graph, const poplar::Tensor &acts,
    const poplar::Tensor &gradsIn, const poplar::Tensor &mean, const poplar::Tensor &iStdDev, POPNN_PARTIALS);
std::pair<poplar::Tensor, poplar::Tensor> layerNormParamGradients(poplar::Graph &graph,
    const poplar::Tensor &actsWhitened, const poplar::Tensor &gradsIn, POPNN_PARTIALS);
/// The gradient of the activations, through the statistics too.
poplar::Tensor layerNormGradients(poplar::Graph &graph, const poplar::Tensor &acts, const poplar::Tensor &gradsIn,
    const poplar::Tensor &mean, const poplar::Tensor &invStdDev, const poplar::Tensor &gamma, POPNN_PARTIALS);
poplar::Tensor layerNormGradients(poplar::Graph &graph, const poplar::Tensor &actsWhitened,
    const poplar::Tensor &gradsIn, const poplar::Tensor &invStdDev, const poplar::Tensor &gamma, POPNN_PARTIALS);
/// gamma += scale * gammaDelta, beta += scale * betaDelta.
void layerNormParamUpdate(poplar::Graph &graph, const poplar::Tensor &gammaDelta, const poplar::Tensor &betaDelta,
    float scale, poplar::Tensor &gamma, poplar::Tensor &beta, POPNN_PROGRAM);
void layerNormParamUpdate(poplar::Graph &graph, const poplar::Tensor &gammaDelta, const poplar::Tensor &betaDelta,
    const poplar::Tensor &scale, poplar::Tensor &gamma, poplar::Tensor &beta, POPNN_PROGRAM);

} // namespace ln
} // namespace popnn

#undef POPNN_LAST
#undef POPNN_PROGRAM
#undef POPNN_PARTIALS

#endif
