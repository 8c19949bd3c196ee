#ifndef poprand_RandomGen_hpp
#define poprand_RandomGen_hpp

#include <cmath>

#include <poplar/Graph.hpp>

#define POPRAND_REST poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}
/// Two words that the numbers follow from, or no tensor for the hardware's own state; the shape of the result.
#define POPRAND_BEGIN                                                                                                  \
  poplar::Graph &graph, const poplar::Tensor *seed, std::uint32_t seedModifier, const poplar::Tensor &reference,       \
      const poplar::Type &outType

namespace poprand {

poplar::Tensor uniform(POPRAND_BEGIN, double minVal, double maxVal, POPRAND_REST);
poplar::Tensor normal(POPRAND_BEGIN, double mean, double stdDev, POPRAND_REST);
poplar::Tensor logUniform(POPRAND_BEGIN, double minVal, double maxVal, poplar::program::Sequence &prog,
                          double base = M_E, const poplar::DebugContext &debugContext = {});
poplar::Tensor truncatedNormal(POPRAND_BEGIN, double mean, double stdDev, double alpha, POPRAND_REST);
poplar::Tensor bernoulli(POPRAND_BEGIN, double prob, POPRAND_REST);
poplar::Tensor dropout(poplar::Graph &graph, const poplar::Tensor *seed, const std::uint32_t seedModifier,
                       const poplar::Tensor &in, const poplar::Tensor &reference, double keepProbability, double scale,
                       POPRAND_REST);
poplar::Tensor shapedDropout(poplar::Graph &graph, const poplar::Tensor *seed, const std::uint32_t seedModifier,
                             const poplar::Tensor &in, const poplar::Tensor &reference, double keepProbability,
                             double scale, POPRAND_REST);
void setSeed(poplar::Graph &graph, const poplar::Tensor &masterSeed, std::uint32_t seedModifier, POPRAND_REST);
poplar::Tensor getHwSeeds(poplar::Graph &graph, POPRAND_REST);
void setHwSeeds(poplar::Graph &graph, const poplar::Tensor &hwSeeds, POPRAND_REST);

} // namespace poprand

#undef POPRAND_REST
#undef POPRAND_BEGIN

#endif
