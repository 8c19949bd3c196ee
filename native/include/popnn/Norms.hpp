// Parameters of normalised layers, whose activations are [batch, channels, field...] or [batch, channels].
#ifndef popnn_Norms_hpp
#define popnn_Norms_hpp

#include <cstdint>
#include <utility>

#include <poplar/Graph.hpp>

namespace popnn {

/// Floating-point operations of the passes.
std::uint64_t getNormFwdFlops(std::size_t statisticsSize, std::size_t numActsElements, bool computeStats = true);
std::uint64_t getNormBwdFlops(std::size_t statisticsSize, std::size_t numActsElements);
std::uint64_t getNormWuFlops(std::size_t paramsSize, std::size_t numActsElements);

/// One factor, one addend, and both, for each channel.
poplar::Tensor createNormGamma(poplar::Graph &graph, const poplar::Tensor &acts,
                               const poplar::DebugContext &debugContext = {});
poplar::Tensor createNormBeta(poplar::Graph &graph, const poplar::Tensor &acts,
                              const poplar::DebugContext &debugContext = {});
std::pair<poplar::Tensor, poplar::Tensor> createNormParams(poplar::Graph &graph, const poplar::Tensor acts,
                                                           const poplar::DebugContext &debugContext = {});

} // namespace popnn

#endif
