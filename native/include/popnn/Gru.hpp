// A layer of gated recurrent units over a sequence, and its gradients.
//
// Sequences are [steps, batch, size]; weights are [3, in, out] and [3, out, out], biases [3, out], with `resetAfter`
// [3, 2, out]. The options of all functions: inferenceOnly (nothing is kept for a backward pass), partialsType,
// availableMemoryProportion.
#ifndef popnn_Gru_hpp
#define popnn_Gru_hpp

#include <utility>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplin/PlanningCache.hpp>
#include <popnn/GruDef.hpp>
#include <popnn/NonLinearityDef.hpp>

#define POPNN_LAST const poplar::OptionFlags &options = {}, poplin::PlanningCache *planningCache = nullptr
#define POPNN_REST const poplar::DebugContext &debugContext = {}, POPNN_LAST
#define POPNN_CREATE                                                                                                   \
  poplar::Graph &graph, const GruParams &params, const poplar::DebugContext &debugContext, POPNN_LAST

namespace popnn {
namespace gru {

/// Reset gate, update gate, candidate.
const std::vector<BasicGruCellUnit> getDefaultBasicGruCellOrder();

/// The sizes and functions of a layer; `layerSizes` is {in, out}. With `outputFullSequence` the output is that of all
/// steps, else that of the last. With `resetAfter` the reset gate multiplies the product with the last output, not that
/// output.
struct GruParams {
  GruParams(poplar::Type dataType, std::size_t batchSize, std::size_t timeSteps, std::vector<std::size_t> layerSizes,
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
  std::vector<BasicGruCellUnit> cellOrder = getDefaultBasicGruCellOrder();
  bool resetAfter = false;
  NonLinearityType activation;
  NonLinearityType recurrentActivation;
};

/// The weights of a layer, or their gradients.
struct GruWeights {
  poplar::Tensor inputWeights;
  poplar::Tensor outputWeights;
  poplar::Tensor biases;
};

/// Mapped operands.
poplar::Tensor createInput(POPNN_CREATE);
poplar::Tensor createInitialState(POPNN_CREATE);
std::pair<poplar::Tensor, poplar::Tensor> createWeightsKernel(POPNN_CREATE);
poplar::Tensor createWeightsBiases(POPNN_CREATE);
GruWeights createWeights(POPNN_CREATE);

/// The output. `intermediates` receives what the backward pass needs, nothing with the option inferenceOnly; where it is
/// null, nothing is kept.
poplar::Tensor gruFwd(poplar::Graph &graph, const GruParams &params, const poplar::Tensor &stateInit,
                      const poplar::Tensor &in, const GruWeights &weights, poplar::Tensor *intermediates /*wanted*/,
                      poplar::program::Sequence &fwdProg, POPNN_REST);
/// The gradient of the initial output; `inputGrad` receives that of the input, `bwdIntermediates` what gruWU needs; where
/// one is null, nothing computes it.
poplar::Tensor gruBwd(poplar::Graph &graph, const GruParams &params, poplar::program::Sequence &prog,
                      const poplar::Tensor &fwdOutputInit, const poplar::Tensor &fwdIntermediatesSeq,
                      const GruWeights &weights, const poplar::Tensor &fwdInputSeq, const poplar::Tensor &fwdOutput,
                      const poplar::Tensor &gradLayerNext, poplar::Tensor *inputGrad /*wanted*/,
                      poplar::Tensor *bwdIntermediates /*wanted*/, POPNN_REST);
/// The gradients of the weights.
GruWeights gruWU(poplar::Graph &graph, const GruParams &params, poplar::program::Sequence &prog,
                 const poplar::Tensor &fwdOutputInit, const poplar::Tensor &fwdIntermediates,
                 const poplar::Tensor &bwdIntermediates, const GruWeights &weights, const poplar::Tensor &input,
                 const poplar::Tensor &output, POPNN_REST);
/// Both; the gradients of the weights go to `weightsGrad`.
poplar::Tensor gruBwdWithWU(poplar::Graph &graph, const GruParams &params, poplar::program::Sequence &prog,
                            const poplar::Tensor &fwdOutputInit, const poplar::Tensor &fwdIntermediates,
                            const GruWeights &weights, const poplar::Tensor &input, const poplar::Tensor &output,
                            const poplar::Tensor &outputGrad, poplar::Tensor *inputGrad /*wanted*/,
                            GruWeights &weightsGrad /*out*/, POPNN_REST);

} // namespace gru
} // namespace popnn

#undef POPNN_LAST
#undef POPNN_REST
#undef POPNN_CREATE

#endif
