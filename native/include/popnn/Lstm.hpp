// A layer of long short-term memory over a sequence, and its gradients.
//
// Sequences are [steps, batch, size]; weights are [4, in, out] and [4, out, out], biases [4, out]. The options of all
// functions: inferenceOnly (nothing is kept for a backward pass), preCalcWeights, partialsType,
// availableMemoryProportion.
#ifndef popnn_Lstm_hpp
#define popnn_Lstm_hpp

#include <utility>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplin/PlanningCache.hpp>
#include <popnn/LstmDef.hpp>
#include <popnn/NonLinearityDef.hpp>

#define POPNN_LAST const poplar::OptionFlags &options = {}, poplin::matmul::PlanningCache *planningCache = nullptr
#define POPNN_REST const poplar::DebugContext &debugContext = {}, POPNN_LAST
#define POPNN_CREATE                                                                                                   \
  poplar::Graph &graph, const LstmParams &params, const poplar::DebugContext &debugContext, POPNN_LAST
/// The initial state, what the forward pass has kept, the weights, the input and the output.
#define POPNN_FORWARD                                                                                                  \
  poplar::Graph &graph, const LstmParams &params, poplar::program::Sequence &prog, const LstmState &fwdStateInit,      \
      const poplar::Tensor &fwdIntermediates

namespace popnn {
namespace lstm {

/// Forget gate, input gate, candidate, output gate.
const std::vector<BasicLstmCellUnit> getDefaultBasicLstmCellOrder();

/// The sizes and functions of a layer; `layerSizes` is {in, out}. With `outputFullSequence` the output is that of all
/// steps, else that of the last.
struct LstmParams {
  LstmParams(poplar::Type dataType, std::size_t batchSize, std::size_t timeSteps, std::vector<std::size_t> layerSizes,
             NonLinearityType activation = NonLinearityType::TANH,
             NonLinearityType recurrentActivation = NonLinearityType::SIGMOID)
      : dataType(dataType), batchSize(batchSize), timeSteps(timeSteps), layerSizes(std::move(layerSizes)),
        activation(activation), recurrentActivation(recurrentActivation) {}

  poplar::Type dataType;
  std::size_t batchSize;
  std::size_t timeSteps;
  std::vector<std::size_t> layerSizes;
  bool outputFullSequence = true;
  bool calcInputGradients = true;
  std::vector<BasicLstmCellUnit> cellOrder = getDefaultBasicLstmCellOrder();
  NonLinearityType activation;
  NonLinearityType recurrentActivation;
};

/// The last output and cell state, each [batch, out], or their gradients.
struct LstmState {
  poplar::Tensor output;
  poplar::Tensor cellState;

  /// Both, [2, batch, out].
  poplar::Tensor getAsTensor() const;
};

/// The weights of a layer, or their gradients.
struct LstmWeights {
  poplar::Tensor inputWeights;
  poplar::Tensor outputWeights;
  poplar::Tensor biases;
};

/// Mapped operands.
poplar::Tensor createInput(POPNN_CREATE);
LstmState createInitialState(POPNN_CREATE);
std::pair<poplar::Tensor, poplar::Tensor> createWeightsKernel(POPNN_CREATE);
poplar::Tensor createWeightsBiases(POPNN_CREATE);
LstmWeights createWeights(POPNN_CREATE);
void zeroInitialState(poplar::Graph &graph, const LstmState &initialState, poplar::program::Sequence &prog,
                      const poplar::DebugContext &debugContext = {});

/// The output and the last cell state. `intermediates` receives what the backward pass needs, nothing with the option
/// inferenceOnly; where it is null, nothing is kept.
std::pair<poplar::Tensor, poplar::Tensor> lstmFwd(poplar::Graph &graph, const LstmParams &params,
                                                  const LstmState &stateInit, const poplar::Tensor &in,
                                                  const LstmWeights &weights, poplar::Tensor *intermediates /*wanted*/,
                                                  poplar::program::Sequence &fwdProg, POPNN_REST);
inline poplar::Tensor lstmFwd(poplar::Graph &graph, const LstmParams &params, poplar::program::Sequence &prog,
                              const LstmState &stateInit, const LstmWeights &weights, const poplar::Tensor &in,
                              poplar::Tensor *intermediates, POPNN_REST) {
  return lstmFwd(graph, params, stateInit, in, weights, intermediates, prog, debugContext, options, planningCache)
      .first;
}

/// The gradient of the initial state. `lastCellStateGrad` may be null; `inputGrad` receives the gradient of the input,
/// `bwdIntermediates` what lstmWU needs; where one is null, nothing computes it.
LstmState lstmBwd(POPNN_FORWARD, const LstmWeights &weights, const poplar::Tensor &input, const poplar::Tensor &output,
                  const poplar::Tensor &outputGrad, const poplar::Tensor *lastCellStateGrad,
                  poplar::Tensor *inputGrad /*wanted*/, poplar::Tensor *bwdIntermediates /*wanted*/, POPNN_REST);
/// The gradients of the weights.
LstmWeights lstmWU(POPNN_FORWARD, const poplar::Tensor &bwdIntermediates, const LstmWeights &weights,
                   const poplar::Tensor &input, const poplar::Tensor &output, POPNN_REST);
/// Both; the gradients of the weights go to `weightsGrad`.
LstmState lstmBwdWithWU(POPNN_FORWARD, const LstmWeights &weights, const poplar::Tensor &input,
                        const poplar::Tensor &output, const poplar::Tensor &outputGrad,
                        const poplar::Tensor *lastCellStateGrad, poplar::Tensor *inputGrad /*wanted*/,
                        LstmWeights &weightsGrad /*out*/, POPNN_REST);

} // namespace lstm
} // namespace popnn

#undef POPNN_LAST
#undef POPNN_REST
#undef POPNN_CREATE
#undef POPNN_FORWARD

#endif
