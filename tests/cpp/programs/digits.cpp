// A convolutional network that learns to tell four patterns apart, written as users of PopLibs write one: a convolution
// with a bias, a rectifier, pooling, a fully connected layer, softmax and cross-entropy, and gradient descent.
#include <cmath>
#include <cstddef>
#include <iostream>
#include <string>
#include <vector>

#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>
#include <poplin/ConvUtil.hpp>
#include <poplin/Convolution.hpp>
#include <poplin/MatMul.hpp>
#include <poplin/codelets.hpp>
#include <popnn/Loss.hpp>
#include <popnn/NonLinearity.hpp>
#include <popnn/Pooling.hpp>
#include <popnn/codelets.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Reduce.hpp>
#include <popops/ScaledAdd.hpp>
#include <popops/Zero.hpp>
#include <popops/codelets.hpp>
#include <poprand/RandomGen.hpp>
#include <poprand/codelets.hpp>
#include <poputil/TileMapping.hpp>

using namespace poplar;
using namespace poplar::program;

static const std::size_t batchSize = 4, imageSize = 6, channels = 4, classes = 4;

/// Rows, columns, a diagonal, and a frame.
static std::vector<float> patterns() {
  std::vector<float> images(batchSize * imageSize * imageSize);
  for (std::size_t i = 0; i < imageSize; ++i)
    for (std::size_t j = 0; j < imageSize; ++j) {
      const bool on[] = {i % 2 == 0, j % 2 == 0, i == j, i == 0 || j == 0 || i == imageSize - 1 || j == imageSize - 1};
      for (std::size_t image = 0; image < batchSize; ++image)
        images[(image * imageSize + i) * imageSize + j] = on[image] ? 1.0f : 0.0f;
    }
  return images;
}

int main() {
  IPUModel ipuModel;
  ipuModel.tilesPerIPU = 32;
  Device device = ipuModel.createDevice();
  Graph graph(device.getTarget());
  popops::addCodelets(graph);
  poplin::addCodelets(graph);
  popnn::addCodelets(graph);
  poprand::addCodelets(graph);

  OptionFlags fwdOptions{{"pass", "TRAINING_FWD"}, {"partialsType", "float"}};
  OptionFlags wuOptions{{"pass", "TRAINING_WU"}};
  OptionFlags fcFwd{{"fullyConnectedPass", "TRAINING_FWD"}}, fcBwd{{"fullyConnectedPass", "TRAINING_BWD"}},
      fcWu{{"fullyConnectedPass", "TRAINING_WU"}};
  poplin::PlanningCache cache;
  poplin::matmul::PlanningCache matMulCache;

  poplin::ConvParams conv(FLOAT, batchSize, {imageSize, imageSize}, {3, 3}, 1, channels, 1);
  conv.inputTransform.paddingLower = {1, 1};
  conv.inputTransform.paddingUpper = {1, 1};
  conv.validate();
  popnn::pooling::PoolParams pool(popnn::PoolingType::MAX, conv.getOutputFieldShape(), {2, 2}, {2, 2}, {0, 0}, {0, 0},
                                  channels, batchSize, FLOAT);
  const std::size_t features = channels * pool.getOutputFieldShape()[0] * pool.getOutputFieldShape()[1];

  Tensor images = poplin::createInput(graph, conv, "images", fwdOptions, &cache);
  Tensor kernel = poplin::createWeights(graph, conv, "kernel", fwdOptions, &cache);
  Tensor weights = poplin::createMatMulInputRHS(graph, FLOAT, {batchSize, features}, {features, classes}, "weights",
                                                fcFwd, &matMulCache);
  Tensor labels = graph.addVariable(UNSIGNED_INT, {batchSize}, "labels");
  Tensor loss = graph.addVariable(FLOAT, {batchSize}, "loss");
  Tensor numCorrect = graph.addVariable(UNSIGNED_INT, {1}, "numCorrect");
  for (const Tensor &t : {labels, loss, numCorrect})
    poputil::mapTensorLinearly(graph, t);
  Tensor seed = graph.addConstant<unsigned>(UNSIGNED_INT, {2}, {42, 42});
  poputil::mapTensorLinearly(graph, seed);

  Sequence init, step;
  init.add(Copy(poprand::normal(graph, &seed, 0, kernel, FLOAT, 0.0, 0.5, init, "kernel"), kernel));
  init.add(Copy(poprand::normal(graph, &seed, 1, weights, FLOAT, 0.0, 0.3, init, "weights"), weights));

  // Forward.
  Tensor acts = poplin::convolution(graph, images, kernel, conv, false, step, "conv", fwdOptions, &cache);
  Tensor biases = poplin::createBiases(graph, acts);
  popops::zero(graph, biases, init);
  poplin::addBias(graph, acts, biases, step, "bias");
  popnn::nonLinearityInPlace(graph, popnn::NonLinearityType::RELU, acts, step, "relu");
  Tensor pooled = popnn::pooling::pool(graph, pool, acts, step, "pool");
  Tensor flat = pooled.reshape({batchSize, features});
  Tensor logits = poplin::matMul(graph, flat, weights, step, FLOAT, "fc", fcFwd, &matMulCache);
  Tensor probabilities = popnn::nonLinearity(graph, popnn::NonLinearityType::SOFTMAX_STABLE, logits, step, "softmax");
  Tensor deltas = graph.clone(probabilities, "deltas");
  popops::zero(graph, numCorrect, step, "numCorrect");
  step.add(popnn::calcLoss(graph, probabilities, labels, loss, deltas, numCorrect, popnn::LossType::CROSS_ENTROPY_LOSS,
                           "loss"));

  // Backward and update.
  const float learningRate = 0.1f;
  Tensor flatGrad = poplin::matMul(graph, deltas, weights.transpose(), step, FLOAT, "fc/bwd", fcBwd, &matMulCache);
  poplin::matMulAcc(graph, weights, -learningRate, flat.transpose(), deltas, step, "fc/wu", fcWu, &matMulCache);
  Tensor actsGrad = popnn::pooling::poolInputGradient(graph, pool, acts, pooled, flatGrad.reshape(pooled.shape()),
                                                      false, step, "pool/bwd");
  Tensor zDeltas =
      popnn::nonLinearityInputGradient(graph, popnn::NonLinearityType::RELU, acts, actsGrad, step, "relu/bwd");
  poplin::convolutionWeightUpdate(graph, zDeltas, kernel, images, conv, -learningRate, step, "conv/wu", wuOptions,
                                  &cache);
  poplin::convolutionBiasUpdate(graph, zDeltas, biases, -learningRate, {}, step, "bias/wu");

  graph.createHostWrite("images", images);
  graph.createHostWrite("labels", labels);
  graph.createHostRead("loss", loss);
  graph.createHostRead("numCorrect", numCorrect);

  Engine engine(graph, {init, Repeat(10, step)});
  engine.load(device);
  const std::vector<float> pixels = patterns();
  const std::vector<unsigned> numbers = {0, 1, 2, 3};
  engine.writeTensor("images", pixels.data(), pixels.data() + pixels.size());
  engine.writeTensor("labels", numbers.data(), numbers.data() + numbers.size());
  engine.run(0);
  for (unsigned epoch = 0; epoch < 3; ++epoch) {
    engine.run(1);
    std::vector<float> losses(batchSize);
    unsigned correct = 0;
    engine.readTensor("loss", losses.data(), losses.data() + losses.size());
    engine.readTensor("numCorrect", &correct, &correct + 1);
    float total = 0;
    for (float value : losses)
      total += value;
    std::cout << total << ' ' << correct << '\n';
  }
}
