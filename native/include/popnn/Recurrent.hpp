// The plain recurrent layer, y' = f(x Wff + y Wfb + b), and its gradients; f is TANH, RELU or SIGMOID.
//
// Sequences, and gradients of outputs, are [steps, batch, size]; Wff is [in, out], Wfb [out, out], biases are [out].
#ifndef popnn_Recurrent_hpp
#define popnn_Recurrent_hpp

#include <cstdint>
#include <tuple>
#include <utility>

#include <poplar/Graph.hpp>
#include <poplin/PlanningCache.hpp>
#include <popnn/NonLinearity.hpp>

#define POPNN_REST const poplar::DebugContext &debugContext = {}, poplin::matmul::PlanningCache *planningCache = nullptr
#define POPNN_TYPES                                                                                                    \
  const poplar::Type &dType, const poplar::Type &partialsType = poplar::FLOAT, bool inferenceOnly = false, POPNN_REST
#define POPNN_FORWARD                                                                                                  \
  poplar::program::Sequence &prog, popnn::NonLinearityType nonLinearityType,                                           \
      const poplar::Type &partialsType = poplar::FLOAT

namespace popnn {
namespace rnn {

/// Floating-point operations of the passes.
std::uint64_t getFwdFlops(unsigned sequenceSize, unsigned batchSize, unsigned inputSize, unsigned outputSize,
                          bool weightInput = true);
std::uint64_t getBwdFlops(unsigned sequenceSize, unsigned batchSize, unsigned inputSize, unsigned outputSize,
                          bool calcInputGrad = true);
std::uint64_t getWuFlops(unsigned sequenceSize, unsigned batchSize, unsigned inputSize, unsigned outputSize);

/// Mapped operands: the input, the initial state of the forward and of the backward pass, Wff and Wfb.
poplar::Tensor createInput(poplar::Graph &graph, unsigned numSteps, unsigned batchSize, unsigned inputSize,
                           unsigned outputSize, POPNN_TYPES);
poplar::Tensor createFwdState(poplar::Graph &graph, const poplar::Type &dType, unsigned batchSize, unsigned outputSize,
                              poplar::program::Sequence &prog, bool initState, bool inferenceOnly, POPNN_REST);
poplar::Tensor getOutputFromFwdState(const poplar::Tensor &fwdState);
poplar::Tensor createWeightsInput(poplar::Graph &graph, unsigned sequenceSize, unsigned batchSize, unsigned inputSize,
                                  unsigned outputSize, POPNN_TYPES);
poplar::Tensor createWeightsFeedback(poplar::Graph &graph, unsigned batchSize, unsigned outputSize, POPNN_TYPES);
poplar::Tensor createBwdState(poplar::Graph &graph, const poplar::Type &dType, unsigned batchSize, unsigned outputSize,
                              poplar::program::Sequence &prog, POPNN_REST);

/// x Wff of all steps, and the outputs of all steps from these, without a loop.
poplar::Tensor forwardWeightInput(poplar::Graph &graph, const poplar::Tensor &actIn, const poplar::Tensor &weights,
                                  poplar::program::Sequence &prog, const poplar::Type &partialsType = poplar::FLOAT,
                                  bool inferenceOnly = false, POPNN_REST);
poplar::Tensor forwardIterate(poplar::Graph &graph, const poplar::Tensor &feedFwdIn, const poplar::Tensor &initState,
                              const poplar::Tensor &feedbackWeights, const poplar::Tensor &biases, POPNN_FORWARD,
                              bool inferenceOnly = false, POPNN_REST);
/// The outputs of all steps; `weightedIn`, from forwardWeightInput, may be null.
poplar::Tensor rnnFwdSequence(poplar::Graph &graph, poplar::program::Sequence &prog, const poplar::Tensor &fwdStateInit,
                              const poplar::Tensor *weightedIn, const poplar::Tensor &biases,
                              const poplar::Tensor &feedFwdWeights, const poplar::Tensor &feedbackWeights,
                              const poplar::Tensor &prevLayerActs, const popnn::NonLinearityType &nonLinearityType,
                              const poplar::Type &partialsType = poplar::FLOAT, bool inferenceOnly = false,
                              POPNN_REST);

/// One step back: the gradient of the input and the state for the step before; only the latter without Wff.
std::pair<poplar::Tensor, poplar::Tensor>
backwardGradientStep(poplar::Graph &graph, const poplar::Tensor &nextLayerGrad, const poplar::Tensor &bwdState,
                     const poplar::Tensor &actOut, const poplar::Tensor &weightsInput,
                     const poplar::Tensor &weightsFeedback, POPNN_FORWARD, POPNN_REST);
poplar::Tensor backwardGradientStep(poplar::Graph &graph, const poplar::Tensor &nextLayerGrad,
                                    const poplar::Tensor &bwdState, const poplar::Tensor &actOut,
                                    const poplar::Tensor &weightsFeedback, POPNN_FORWARD,
                                    POPNN_REST); // src/poplibs.cpp
/// The gradients of the input, of Wff, of Wfb and of the biases; those that are not asked for are empty.
std::tuple<poplar::Tensor, poplar::Tensor, poplar::Tensor, poplar::Tensor>
rnnBwdSequence(poplar::Graph &graph, bool doWU, bool ignoreInputGradientCalc, poplar::program::Sequence &prog,
               const poplar::Tensor &fwdStateInit, const poplar::Tensor &fwdState, const poplar::Tensor &biases,
               const poplar::Tensor &feedFwdWeights, const poplar::Tensor &feedbackWeights,
               const poplar::Tensor &outGradient, const poplar::Tensor &actIn,
               const popnn::NonLinearityType &nonLinearityType, const poplar::Type &partialsType = poplar::FLOAT,
               POPNN_REST);

} // namespace rnn
} // namespace popnn

#undef POPNN_REST
#undef POPNN_TYPES
#undef POPNN_FORWARD

#endif
