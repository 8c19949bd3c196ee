// Convolutions: their operands, the forward pass, the gradients of weights and biases, and their plans.
//
// Activations are [batch, channels, field...], weights [groups, output channels of a group, input channels of a group,
// kernel...]. The options are those of poplin::createWeights: availableMemoryProportion, partialsType, pass, and others.
#ifndef poplin_Convolution_hpp
#define poplin_Convolution_hpp

#include <cstdint>
#include <iosfwd>
#include <set>
#include <tuple>

#include <poplar/Graph.hpp>
#include <poplin/ConvParams.hpp>
#include <poplin/PlanningCache.hpp>

#define POPLIN_LAST const poplar::OptionFlags &options = {}, PlanningCache *cache = nullptr
#define POPLIN_REST poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}, POPLIN_LAST

namespace poplin {

/// The least floating-point operations of the passes, and the cycles of a target that does nothing else.
std::uint64_t getFwdFlops(const ConvParams &params);
std::uint64_t getBwdFlops(const ConvParams &params);
std::uint64_t getWuFlops(const ConvParams &params);
double getFwdPerfectCycleCount(const poplar::Graph &graph, const ConvParams &params);
double getBwdPerfectCycleCount(const poplar::Graph &graph, const ConvParams &params);
double getWuPerfectCycleCount(const poplar::Graph &graph, const ConvParams &params);

/// Weights, input and biases with the layout that the convolution wants.
poplar::Tensor createWeights(poplar::Graph &graph, const ConvParams &params, const poplar::DebugContext &debugContext,
                             POPLIN_LAST);
poplar::Tensor createBiases(poplar::Graph &graph, const poplar::Tensor &activations,
                            const poplar::DebugContext &debugContext = {"biases"});
poplar::Tensor createInput(poplar::Graph &graph, const ConvParams &params, const poplar::DebugContext &debugContext,
                           POPLIN_LAST);

/// The output. `transposeAndFlipWeights` turns the weights of a forward pass into those of its backward pass.
poplar::Tensor convolution(poplar::Graph &graph, const poplar::Tensor &in, const poplar::Tensor &weights,
                           const ConvParams &params, bool transposeAndFlipWeights, POPLIN_REST);
void addBias(poplar::Graph &graph, const poplar::Tensor &in, const poplar::Tensor &biases,
             poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {});

/// Copy weights with their input and output channels exchanged and their kernel flipped.
void weightsTransposeChansFlipXY(poplar::Graph &graph, const poplar::Tensor &weightsIn,
                                 const poplar::Tensor &weightsOut, poplar::program::Sequence &prog,
                                 const poplar::DebugContext &debugContext = {});
/// The gradient of the weights from that of the output.
poplar::Tensor calculateWeightDeltas(poplar::Graph &graph, const poplar::Tensor &zDeltas,
                                     const poplar::Tensor &activations, const ConvParams &params, POPLIN_REST);
/// weights += scale * their gradient, biases += scale * theirs.
void convolutionWeightUpdate(poplar::Graph &graph, const poplar::Tensor &zDeltas, const poplar::Tensor &weights,
                             const poplar::Tensor &activations, ConvParams params, const poplar::Tensor &scale,
                             POPLIN_REST);
void convolutionWeightUpdate(poplar::Graph &graph, const poplar::Tensor &zDeltas, const poplar::Tensor &weights,
                             const poplar::Tensor &activations, ConvParams params, float scale, POPLIN_REST);
void convolutionBiasUpdate(poplar::Graph &graph, const poplar::Tensor &zDeltas, const poplar::Tensor &biases,
                           const poplar::Tensor &scale, const poplar::OptionFlags &options,
                           poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {});
void convolutionBiasUpdate(poplar::Graph &graph, const poplar::Tensor &zDeltas, const poplar::Tensor &biases,
                           float scale, const poplar::OptionFlags &options, poplar::program::Sequence &prog,
                           const poplar::DebugContext &debugContext = {});
/// The weights of a fully connected layer as its backward pass wants them.
poplar::Tensor fullyConnectedWeightTranspose(poplar::Graph &graph, poplar::Tensor weights, const ConvParams &params,
                                             poplar::program::Sequence &prog, const poplar::DebugContext &debugContext,
                                             const poplar::OptionFlags &options, PlanningCache *cache = nullptr);

/// What a plan costs by its estimate.
struct PlanCosts {
  std::size_t cycles;
  std::size_t memory; ///< bytes
};

/// Print the plan of a convolution, of the gradient of its weights; the costs of its plan.
void reportPlanInfo(std::ostream &out, const poplar::Graph &graph, const ConvParams &params, POPLIN_LAST);
void reportWeightUpdatePlanInfo(std::ostream &out, const poplar::Graph &graph, const ConvParams &fwdParams,
                                const poplar::OptionFlags &fwdOptions = {}, PlanningCache *cache = nullptr);
PlanCosts reportPlanEstimatedCosts(const poplar::Graph &graph, const ConvParams &params, POPLIN_LAST);

/// A target, a convolution and its options, for preplan.
using ConvPlanParams = std::tuple<const poplar::Target *, const ConvParams, const poplar::OptionFlags *>;
/// Plan convolutions ahead, into a cache.
void preplanConvolutions(const std::set<ConvPlanParams> &convs, PlanningCache &cache);

} // namespace poplin

#undef POPLIN_LAST
#undef POPLIN_REST

#endif
