// popnn: normalised layers, pooling, non-linearities and their gradients, losses and extremes.
#include "results.hpp"

#include <popnn/BatchNorm.hpp>
#include <popnn/GroupNorm.hpp>
#include <popnn/InstanceNorm.hpp>
#include <popnn/LayerNorm.hpp>
#include <popnn/LogSoftmax.hpp>
#include <popnn/Loss.hpp>
#include <popnn/NonLinearity.hpp>
#include <popnn/Norms.hpp>
#include <popnn/Pooling.hpp>

#define FUNCTION(NAME)                                                                                                 \
  results.read(#NAME, popnn::NAME(graph, t, prog));                                                                    \
  changed = results.variable(t);                                                                                       \
  popnn::NAME##InPlace(graph, changed, prog);                                                                          \
  results.read(#NAME "InPlace", changed)
/// The rest of a layer behind its statistics, which a variable of the namespace's name holds.
#define NORM(SPACE, NAME, NORMALISE)                                                                                   \
  {                                                                                                                    \
    const Tensor mean = SPACE.first, deviation = SPACE.second;                                                         \
    results.read(#SPACE " statistics", concat(mean, deviation));                                                       \
    const Tensor white = popnn::SPACE::NAME##Whiten(graph, acts, mean, deviation, prog);                               \
    const auto both = popnn::SPACE::NORMALISE(graph, acts, gamma, beta, mean, deviation, prog);                        \
    results.read(#SPACE " normalised", concat(both.first, both.second));                                               \
    const auto deltas = popnn::SPACE::NAME##ParamGradients(graph, white, slopes, prog);                                \
    const auto others = popnn::SPACE::NAME##ParamGradients(graph, acts, slopes, mean, deviation, prog, FLOAT);         \
    results.read(#SPACE " parameters", concat({deltas.first, deltas.second, others.first, others.second}));            \
    results.read(#SPACE " gradient",                                                                                   \
                 concat(popnn::SPACE::NAME##Gradients(graph, white, slopes, deviation, gamma, prog),                   \
                        popnn::SPACE::NAME##Gradients(graph, acts, slopes, mean, deviation, gamma, prog)));            \
    popnn::SPACE::NAME##ParamUpdate(graph, deltas.first, deltas.second, -0.5f, gamma, beta, prog);                     \
    popnn::SPACE::NAME##ParamUpdate(graph, deltas.first, deltas.second, results.scalar(0.25f), gamma, beta, prog);     \
    results.read(#SPACE " updated", concat(gamma, beta));                                                              \
  }

using namespace poplar;
using namespace poplar::program;

namespace {

void norms(Results &results) {
  Graph &graph = results.graph;
  Sequence &prog = results.prog;
  Tensor acts = results.operand({3, 4, 2}), slopes = results.operand({3, 4, 2}, 5);
  Tensor gamma = results.filled(popnn::createNormGamma(graph, acts), results.operand({4}, 1));
  Tensor beta = results.filled(popnn::createNormBeta(graph, acts), results.operand({4}, 2));
  results.number("createNormParams", static_cast<double>(popnn::createNormParams(graph, acts).first.numElements()));
  const auto bn = popnn::bn::batchNormStatistics(graph, acts, 0.01f, prog, false, true);
  NORM(bn, batchNorm, batchNormalise)
  const auto gn = popnn::gn::groupNormStatistics(graph, acts, 0.01f, prog, 2, false);
  NORM(gn, groupNorm, groupNormalise)
  const auto in = popnn::in::instanceNormStatistics(graph, acts, 0.01f, prog, false);
  NORM(in, instanceNorm, instanceNormalise)
  const auto ln = popnn::ln::layerNormStatistics(graph, acts, 0.01f, prog, true);
  NORM(ln, layerNorm, layerNormalise)
  results.read("batchNormalise for inference", popnn::bn::batchNormalise(graph, acts, gamma, beta, prog));
  results.number("getNormFwdFlops", static_cast<double>(popnn::getNormFwdFlops(4, 24)));
  results.number("getNormBwdFlops", static_cast<double>(popnn::getNormBwdFlops(4, 24)));
  results.number("getNormWuFlops", static_cast<double>(popnn::getNormWuFlops(4, 24)));
}

void pooling(Results &results) {
  Graph &graph = results.graph;
  Sequence &prog = results.prog;
  Tensor in = results.operand({1, 2, 4, 4});
  for (popnn::PoolingType type : {popnn::PoolingType::MAX, popnn::PoolingType::AVG, popnn::PoolingType::SUM}) {
    const popnn::pooling::PoolParams params(type, {4, 4}, {3, 2}, {1, 2}, {1, 0}, {0, 0}, 2, 1, FLOAT);
    const std::string name = popnn::pooling::asString(type);
    Tensor pooled = popnn::pooling::pool(graph, params, in, prog, "pool");
    results.read("pool " + name, pooled);
    Tensor slopes = results.operand(pooled.shape(), 3);
    results.read("poolInputGradient " + name,
                 popnn::pooling::poolInputGradient(graph, params, in, pooled, slopes, false, prog));
    if (type != popnn::PoolingType::MAX)
      results.read("poolInputGradient without input " + name,
                   popnn::pooling::poolInputGradient(graph, params, 1, slopes, prog));
    results.number("flops " + name, static_cast<double>(popnn::pooling::getFwdFlops(params) * 1000 +
                                                        popnn::pooling::getBwdFlops(params)));
    results.number("cycles " + name, popnn::pooling::getFwdPerfectCycleCount(graph, params) +
                                         popnn::pooling::getBwdPerfectCycleCount(graph, params));
    results.number("field " + name, static_cast<double>(popnn::pooling::getOutputFieldShape(params)[1] * 100 +
                                                        params.getOutputFieldShape()[0] * 10 + params.getNumFieldDims()));
  }
}

void functions(Results &results) {
  Graph &graph = results.graph;
  Sequence &prog = results.prog;
  Tensor t = results.operand({2, 4}), slopes = results.operand({2, 4}, 2), changed;
  FUNCTION(gelu); FUNCTION(relu); FUNCTION(sigmoid); FUNCTION(softmax); FUNCTION(softmaxStable); FUNCTION(swish);
  FUNCTION(tanh); FUNCTION(scaledSoftmaxStable); FUNCTION(logSoftmax);
  float scaling = 0, scaling_in_place = 0, shortly = 0;
  results.read("nonLinearity", popnn::nonLinearity(graph, popnn::NonLinearityType::HARD_SIGMOID, t, prog));
  results.read("scaled", popnn::nonLinearity(graph, popnn::NonLinearityType::SOFTMAX_SCALED, t, scaling, prog));
  changed = results.variable(t);
  popnn::nonLinearityInPlace(graph, popnn::NonLinearityType::GELU_ERF, changed, scaling_in_place, prog, "gelu");
  popnn::nonLinearityInPlace(graph, popnn::NonLinearityType::RELU, changed, prog);
  ComputeSet cs = graph.addComputeSet("tanh");
  popnn::nonLinearityInPlace(graph, popnn::NonLinearityType::TANH, changed, cs);
  prog.add(Execute(cs));
  results.read("nonLinearityInPlace", changed);
  results.read("scaledSoftmaxStable again", popnn::scaledSoftmaxStable(graph, t, shortly, prog));
  float in_set = 0, at_once = 0;
  changed = results.variable(t);
  ComputeSet swish = graph.addComputeSet("swish");
  popnn::nonLinearityInPlace(graph, popnn::NonLinearityType::SWISH, changed, in_set, swish, "swish");
  prog.add(Execute(swish));
  popnn::scaledSoftmaxStableInPlace(graph, changed, at_once, prog);
  results.read("nonLinearityInPlace, scaled", changed);
  results.number("scalings", scaling + scaling_in_place + shortly + in_set + at_once);
  results.read("nonLinearityInputGradient",
               popnn::nonLinearityInputGradient(graph, popnn::NonLinearityType::TANH, t, slopes, prog));
  ComputeSet gradient = graph.addComputeSet("gradient");
  Tensor back = popnn::nonLinearityInputGradient(graph, popnn::NonLinearityType::RELU, t, slopes, gradient);
  prog.add(Execute(gradient));
  results.read("nonLinearityInputGradient with a set", back);
}

void losses(Results &results) {
  Graph &graph = results.graph;
  Sequence &prog = results.prog;
  Tensor t = results.operand({2, 4}), labels = results.indices({2}, {3, 1}), indices;
  results.read("argMax", popnn::argMax(graph, t, prog));
  results.read("argMin", popnn::argMin(graph, t, prog));
  const auto largest = popnn::maxAndArgMax(graph, t, prog), smallest = popnn::minAndArgMin(graph, t, prog);
  results.read("maxAndArgMax", largest.first);
  results.read("minAndArgMin", smallest.second);
  results.read("topK", popnn::topK(graph, t, indices, 2, true, prog));
  results.read("topK indices", indices);
  Tensor loss = graph.addVariable(FLOAT, {2}, VariableMappingMethod::LINEAR), deltas = graph.clone(t);
  prog.add(popnn::calcLoss(graph, popnn::softmax(graph, t, prog), labels, loss, deltas,
                           popnn::LossType::CROSS_ENTROPY_LOSS, "loss"));
  results.read("calcLoss", concat(loss, deltas.flatten()));
  prog.add(popnn::calcLoss(graph, popnn::softmax(graph, t, prog), labels, loss, deltas, results.scalar(3),
                           results.scalar(1), popnn::LossType::CROSS_ENTROPY_LOSS, "scaled"));
  results.read("calcLoss with a scale", deltas);
  Tensor right = graph.addVariable(UNSIGNED_INT, {1}, VariableMappingMethod::LINEAR);
  prog.add(popnn::calcLoss(graph, popnn::softmax(graph, t, prog), labels, loss, deltas, results.scalar(2),
                           results.scalar(1), right, popnn::LossType::CROSS_ENTROPY_LOSS));
  results.read("calcLoss scaled", concat(loss, deltas.flatten()));
  results.read("calcLoss right", right);
  Tensor correct = graph.addVariable(UNSIGNED_INT, {1}, VariableMappingMethod::LINEAR);
  prog.add(popnn::calcAccuracy(graph, t, labels, correct, "accuracy"));
  results.read("calcAccuracy", correct);
}

} // namespace

int main() {
  Device device = small_device();
  Graph graph(device);
  Results results(graph);
  norms(results);
  pooling(results);
  functions(results);
  losses(results);
  results.print(device);
}
