// poplin: convolutions, their gradients and plans, products with prepared operands, normalisation by channel.
#include "results.hpp"

#include <poplin/Cholesky.hpp>
#include <poplin/TriangularSolve.hpp>

#include <sstream>

#include <poplin/ConvPreplan.hpp>
#include <poplin/ConvUtil.hpp>
#include <poplin/Convolution.hpp>
#include <poplin/MatMul.hpp>
#include <poplin/Norms.hpp>

#undef NDEBUG
#include <cassert>

using namespace poplar;
using namespace poplar::program;

namespace {

poplin::ConvParams padded() {
  poplin::ConvParams::InputTransform input(2);
  input.paddingLower = {1, 1};
  input.paddingUpper = {1, 0};
  poplin::ConvParams::OutputTransform output(2);
  output.stride = {1, 2};
  return {FLOAT, FLOAT, 2, {4, 4}, {3, 3}, 2, 3, 1, input, poplin::ConvParams::InputTransform(2), output};
}

void parameters(Results &results) {
  const poplin::ConvParams params = padded();
  results.number("getUntransformedOutputSize", static_cast<double>(params.getUntransformedOutputSize(1)));
  results.number("getOutputSize", static_cast<double>(params.getOutputSize(1)));
  results.number("getInputSize", static_cast<double>(params.getInputSize(0)));
  results.number("getTruncatedInputSize", params.getTruncatedInputSize(0));
  results.number("getTruncatedKernelSize", params.getTruncatedKernelSize(0));
  results.number("getTransformedInputSize", params.getTransformedInputSize(0));
  results.number("getTransformedKernelSize", params.getTransformedKernelSize(0));
  results.number("getOutputFieldShape", static_cast<double>(params.getOutputFieldShape()[0]));
  results.number("getNumOutputChansPerConvGroup", static_cast<double>(params.getNumOutputChansPerConvGroup()));
  results.number("getNumOutputChans", static_cast<double>(params.getNumOutputChans()));
  results.number("getNumInputChansPerConvGroup", static_cast<double>(params.getNumInputChansPerConvGroup()));
  results.number("getNumInputChans", static_cast<double>(params.getNumInputChans()));
  results.number("getNumConvGroups", static_cast<double>(params.getNumConvGroups()));
  results.number("getNumFieldDims", static_cast<double>(params.getNumFieldDims()));
  results.number("getBatchSize", static_cast<double>(params.getBatchSize()));
  params.validate();
  const poplin::ConvParams other(FLOAT, 2, {4, 4}, {3, 3}, 2, 3, 1);
  assert(params != other && params == padded() && (params < other) != (other < params));
  assert(params.inputTransform != other.inputTransform && params.outputTransform != other.outputTransform);
  std::ostringstream text;
  text << params;
  assert(text.str().find("kernelShape=[3, 3]") != std::string::npos);
  const poplin::ConvParams gradient = poplin::getGradientParams(params);
  results.number("getGradientParams", static_cast<double>(gradient.inputChannelsPerConvGroup * 100 +
                                                          gradient.inputTransform.dilation[1] * 10 +
                                                          gradient.kernelShape[0]));
  results.number("getFwdFlops", static_cast<double>(poplin::getFwdFlops(params)));
  results.number("getBwdFlops", static_cast<double>(poplin::getBwdFlops(params)));
  results.number("getWuFlops", static_cast<double>(poplin::getWuFlops(params)));
  results.number("getFwdPerfectCycleCount", poplin::getFwdPerfectCycleCount(results.graph, params));
  results.number("getBwdPerfectCycleCount", poplin::getBwdPerfectCycleCount(results.graph, params));
  results.number("getWuPerfectCycleCount", poplin::getWuPerfectCycleCount(results.graph, params));
}

void convolutions(Results &results) {
  Graph &graph = results.graph;
  Sequence &prog = results.prog;
  const poplin::ConvParams params = padded();
  const OptionFlags options = {{"partialsType", "float"}, {"pass", "TRAINING_FWD"}};
  poplin::PlanningCache cache;
  const Target target = graph.getTarget();
  const poplin::MatMulParams product{FLOAT, FLOAT, {4, 6}, {6, 3}};
  const OptionFlags of_product = {{"partialsType", "float"}};
  poplin::preplan({std::make_tuple(&target, params, &options)}, {std::make_tuple(&target, product, &of_product)}, cache);
  poplin::preplanConvolutions({std::make_tuple(&target, params, &options)}, cache);
  poplin::preplanMatMuls({std::make_tuple(&target, product, &of_product)}, cache);
  Tensor in = results.filled(poplin::createInput(graph, params, "in", options, &cache), results.operand({2, 2, 4, 4}));
  Tensor weights =
      results.filled(poplin::createWeights(graph, params, "weights", options, &cache), results.operand({1, 3, 2, 3, 3}, 1));
  Tensor out = poplin::convolution(graph, in, weights, params, false, prog, "convolution", options, &cache);
  results.read("convolution", out);
  Tensor biases = results.filled(poplin::createBiases(graph, out), results.operand({3}, 2));
  poplin::addBias(graph, out, biases, prog, "bias");
  results.read("addBias", out);
  Tensor slopes = results.operand(out.shape(), 3);
  const OptionFlags backward = {{"pass", "TRAINING_BWD"}}, update = {{"pass", "TRAINING_WU"}};
  Tensor back = poplin::convolution(graph, slopes, weights, poplin::getGradientParams(params), true, prog, "backward",
                                    backward);
  results.read("gradient of the input", back);
  Tensor turned = graph.addVariable(FLOAT, {1, 2, 3, 3, 3}, VariableMappingMethod::LINEAR);
  poplin::weightsTransposeChansFlipXY(graph, weights, turned, prog);
  results.read("weightsTransposeChansFlipXY", turned);
  results.read("calculateWeightDeltas", poplin::calculateWeightDeltas(graph, slopes, in, params, prog, "", update));
  poplin::convolutionWeightUpdate(graph, slopes, weights, in, params, -0.5f, prog, "update", update);
  poplin::convolutionWeightUpdate(graph, slopes, weights, in, params, results.scalar(0.25f), prog, "update", update);
  results.read("convolutionWeightUpdate", weights);
  poplin::convolutionBiasUpdate(graph, slopes, biases, -0.5f, {}, prog);
  poplin::convolutionBiasUpdate(graph, slopes, biases, results.scalar(0.25f), {}, prog);
  results.read("convolutionBiasUpdate", biases);
  std::ostringstream plans;
  poplin::reportPlanInfo(plans, graph, params, options);
  poplin::reportWeightUpdatePlanInfo(plans, graph, params, update);
  results.number("characters of plans", static_cast<double>(plans.str().size()));
  const poplin::PlanCosts costs = poplin::reportPlanEstimatedCosts(graph, params, options);
  results.number("cycles of the plan", static_cast<double>(costs.cycles));
  results.number("bytes of the plan", static_cast<double>(costs.memory));
}

void products(Results &results) {
  Graph &graph = results.graph;
  Sequence &prog = results.prog;
  Tensor a = results.operand({4, 6}), b = results.operand({6, 3}, 1);
  Tensor right = results.filled(poplin::createMatMulInputRHS(graph, FLOAT, FLOAT, {4, 6}, {6, 3}, "right"), b);
  const OptionFlags options = {{"fullyConnectedPass", "TRAINING_BWD"}};
  const OptionFlags arranged = {{"fullyConnectedPass", "TRAINING_BWD"}, {"inputRHSIsPreArranged", "true"}};
  Tensor ready = poplin::preArrangeMatMulInputRHS(graph, {4, 6}, right, prog, FLOAT, "ready", options);
  results.read("preArrangeMatMulInputRHS", poplin::matMul(graph, a, ready, prog, FLOAT, "product", arranged));
  Tensor again = poplin::preArrangeMatMulInputRHS(graph, {4, 6}, right, prog, "again", options);
  results.read("matMul of it", poplin::matMul(graph, a, again, prog, "product", arranged));
  results.read("matMul", poplin::matMul(graph, a, right, prog));
  Tensor out = poplin::createMatMulOutput(graph, FLOAT, FLOAT, {4, 6}, {6, 3}, "out");
  poplin::matMulWithOutput(graph, a, right, out, prog);
  poplin::matMulAcc(graph, out, 0.5f, a, right, prog);
  poplin::matMulAcc(graph, out, results.scalar(2), a, right, prog);
  results.read("matMulAcc", out);
  Tensor left = poplin::createMatMulGroupedInputLHS(graph, FLOAT, FLOAT, {2, 2, 3}, {2, 3, 2}, "left");
  Tensor many = poplin::createMatMulGroupedInputRHS(graph, FLOAT, FLOAT, {2, 2, 3}, {2, 3, 2}, "many");
  results.filled(left, results.operand({2, 2, 3}));
  results.filled(many, results.operand({2, 3, 2}, 4));
  results.read("matMulGrouped", poplin::matMulGrouped(graph, left, many, prog, FLOAT));
  Tensor products = poplin::createMatMulGroupedOutput(graph, FLOAT, FLOAT, {2, 2, 3}, {2, 3, 2}, "products");
  poplin::matMulGroupedWithOutput(graph, left, many, products, prog);
  poplin::matMulGroupedAcc(graph, products, 0.5f, left, many, prog);
  poplin::matMulGroupedAcc(graph, products, results.scalar(0.25f), left, many, prog);
  results.read("matMulGroupedAcc", products);
  Tensor group = poplin::preArrangeMatMulGroupedInputRHS(graph, {2, 2, 3}, many, prog, FLOAT, "group", options);
  results.read("preArrangeMatMulGroupedInputRHS", poplin::matMulGrouped(graph, left, group, prog, FLOAT, "", arranged));
  results.read("transposeGroupedMatrix", poplin::transposeGroupedMatrix(many));
  Tensor first = poplin::createMatMulInputLHS(graph, FLOAT, FLOAT, {4, 6}, {6, 3}, "first");
  results.number("createMatMulInputLHS", static_cast<double>(first.numElements()));
  std::ostringstream plans;
  poplin::matMulReportPlan(plans, graph, FLOAT, FLOAT, {4, 6}, {6, 3});
  poplin::matMulGroupedReportPlan(plans, graph, FLOAT, FLOAT, {2, 2, 3}, {2, 3, 2});
  results.number("characters of products' plans", static_cast<double>(plans.str().size()));
  const poplin::ConvParams connected(FLOAT, 1, {4}, {1}, 6, 3, 1);
  Tensor transposed = poplin::fullyConnectedWeightTranspose(graph, results.operand({1, 6, 4}), connected, prog,
                                                            "transposed", {{"pass", "FC_TRAINING_FWD"}});
  results.read("fullyConnectedWeightTranspose", transposed);
}

void solvers(Results &results) {
  Graph &graph = results.graph;
  const OptionFlags options = {{"blockSize", "4"}};
  const auto products = poplin::getTriangularSolveMatMulPrePlanParameters(FLOAT, FLOAT, {6, 6}, {6, 2}, true, true, options);
  results.number("products of a solve", static_cast<double>(products.size()));
  results.number("products of a decomposition",
                 static_cast<double>(poplin::getCholeskyMatMulPrePlanParameters(FLOAT, {6, 6}, true, options).size()));
  std::vector<float> numbers(36);
  for (unsigned i = 0; i < 6; ++i)
    for (unsigned j = 0; j < 6; ++j)
      numbers[6 * i + j] = (i == j ? 8.0f : 1.0f) / (1 + std::max(i, j));
  Tensor values = graph.addConstant<float>(FLOAT, {6, 6}, numbers);
  graph.setTileMapping(values, 0);
  Tensor a = results.filled(
      poplin::createTriangularSolveInputLHS(graph, FLOAT, FLOAT, {6, 6}, {6, 2}, true, "a", options), values);
  Tensor b = results.filled(
      poplin::createTriangularSolveInputRHS(graph, FLOAT, FLOAT, {6, 6}, {6, 2}, true, "b", options),
      results.operand({6, 2}));
  results.read("triangularMask", poplin::triangularMask(graph, a, true, false, results.prog, "mask"));
  results.read("triangularSolve",
               poplin::triangularSolve(graph, a, b, true, true, false, results.prog, "solve", options));
  Tensor c = results.filled(poplin::createCholeskyInput(graph, FLOAT, {6, 6}, true, "c", options), values);
  results.read("cholesky", poplin::cholesky(graph, c, true, results.prog, "cholesky", options));
  poplin::choleskyInPlace(graph, c, true, results.prog, "in place", options);
  results.read("choleskyInPlace", c);
}

void norms(Results &results) {
  Graph &graph = results.graph;
  Sequence &prog = results.prog;
  Tensor acts = results.operand({3, 2, 4});
  Tensor gamma = results.filled(poplin::createNormGamma(graph, acts, FLOAT), results.operand({2}, 1));
  Tensor beta = results.filled(poplin::createNormBeta(graph, acts, FLOAT, "beta"), results.operand({2}, 2));
  results.number("createNorm", static_cast<double>(poplin::createNormGamma(graph, acts).numElements() +
                                                   poplin::createNormBeta(graph, acts, "beta").numElements()));
  results.number("createNormParams", static_cast<double>(poplin::createNormParams(graph, acts).second.numElements()));
  const auto statistics = poplin::normStatistics(graph, acts, 0.01f, prog, false, true, FLOAT, "statistics");
  results.read("normStatistics", concat(statistics.first, statistics.second));
  Tensor white = poplin::normWhiten(graph, acts, statistics.first, statistics.second, prog);
  results.read("normWhiten", white);
  results.read("normalise", poplin::normalise(graph, white, gamma, beta, prog));
  Tensor slopes = results.operand({3, 2, 4}, 5);
  const auto deltas = poplin::normParamGradients(graph, white, slopes, prog);
  results.read("normParamGradients", concat(deltas.first, deltas.second));
  results.read("normGradients", poplin::normGradients(graph, slopes, gamma, prog));
  results.read("normStatisticsGradients",
               poplin::normStatisticsGradients(graph, white, slopes, statistics.second, prog));
}

} // namespace

int main() {
  Device device = small_device();
  Graph graph(device);
  Results results(graph);
  parameters(results);
  convolutions(results);
  products(results);
  solvers(results);
  norms(results);
  results.print(device);
}
