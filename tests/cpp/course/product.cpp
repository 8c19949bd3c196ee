// Two dense layers with PopLibs: planned products in half precision with a cache of plans, a bias, ReLU and a softmax.
#include <cmath>
#include <iostream>
#include <random>
#include <vector>

#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>
#include <poplin/MatMul.hpp>
#include <poplin/codelets.hpp>
#include <popnn/NonLinearity.hpp>
#include <popnn/codelets.hpp>
#include <popops/Cast.hpp>
#include <popops/ElementWise.hpp>
#include <popops/codelets.hpp>
#include <poputil/TileMapping.hpp>

using namespace poplar;
using namespace poplar::program;

static std::vector<float> values(std::size_t count, int seed) {
  std::mt19937 generator(seed);
  std::vector<float> made(count);
  for (float &value : made)
    value = float(int(generator() % 17) - 8) / 8; // exact in half precision
  return made;
}

int main() {
  const std::size_t batch = 8, inputs = 32, hidden = 16, outputs = 4;
  IPUModel model;
  model.tilesPerIPU = 32;
  Device device = model.createDevice();
  Graph graph(device);
  poplin::addCodelets(graph);
  popnn::addCodelets(graph);
  popops::addCodelets(graph);

  poplin::matmul::PlanningCache cache;
  OptionFlags options{{"partialsType", "float"}, {"availableMemoryProportion", "0.6"}};
  Tensor x = poplin::createMatMulInputLHS(graph, HALF, {batch, inputs}, {inputs, hidden}, "x", options, &cache);
  Tensor w1 = poplin::createMatMulInputRHS(graph, HALF, {batch, inputs}, {inputs, hidden}, "w1", options, &cache);
  Tensor w2 = poplin::createMatMulInputRHS(graph, HALF, {batch, hidden}, {hidden, outputs}, "w2", options, &cache);
  Tensor bias = graph.addVariable(HALF, {hidden}, VariableMappingMethod::LINEAR, "bias");

  Sequence prog;
  for (auto &input : std::vector<std::pair<std::string, Tensor>>{{"x", x}, {"w1", w1}, {"w2", w2}, {"bias", bias}}) {
    Tensor full = graph.clone(FLOAT, input.second, input.first + "-float");
    graph.createHostWrite(input.first, full, true);
    popops::castWithOutput(graph, full, input.second, prog, "cast-" + input.first);
  }
  Tensor activations = poplin::matMul(graph, x, w1, prog, HALF, "layer1", options, &cache);
  popops::addInPlace(graph, activations, bias, prog, "bias");
  popnn::nonLinearityInPlace(graph, popnn::NonLinearityType::RELU, activations, prog, "relu");
  Tensor scores = poplin::matMul(graph, activations, w2, prog, FLOAT, "layer2", options, &cache);
  graph.createHostRead("scores", scores, true);
  Tensor chances = popnn::nonLinearity(graph, popnn::NonLinearityType::SOFTMAX, scores, prog, "softmax");
  graph.createHostRead("chances", chances, true);

  Engine engine(graph, prog, OptionFlags{{"debug.retainDebugInformation", "true"}});
  engine.load(device);
  const auto hx = values(batch * inputs, 1), h1 = values(inputs * hidden, 2), h2 = values(hidden * outputs, 3),
             hb = values(hidden, 4);
  engine.writeTensor("x", hx.data(), hx.data() + hx.size());
  engine.writeTensor("w1", h1.data(), h1.data() + h1.size());
  engine.writeTensor("w2", h2.data(), h2.data() + h2.size());
  engine.writeTensor("bias", hb.data(), hb.data() + hb.size());
  engine.run();
  std::vector<float> hs(batch * outputs), hc(batch * outputs);
  engine.readTensor("scores", hs.data(), hs.data() + hs.size());
  engine.readTensor("chances", hc.data(), hc.data() + hc.size());

  float worst = 0, sums = 0;
  for (std::size_t row = 0; row < batch; ++row) {
    std::vector<float> layer(hb);
    for (std::size_t i = 0; i < inputs; ++i)
      for (std::size_t j = 0; j < hidden; ++j)
        layer[j] += hx[row * inputs + i] * h1[i * hidden + j];
    for (std::size_t k = 0; k < outputs; ++k) {
      float score = 0;
      for (std::size_t j = 0; j < hidden; ++j)
        score += std::fmax(layer[j], 0.0f) * h2[j * outputs + k];
      worst = std::fmax(worst, std::fabs(score - hs[row * outputs + k]));
      sums += hc[row * outputs + k];
    }
  }
  std::cout << "scores " << hs[0] << ' ' << hs[1] << ' ' << hs[2] << ' ' << hs[3] << "\ntoo far " << (worst > 0.02f)
            << ", rows of chances " << std::lround(sums) << '\n';
  engine.printProfileSummary(std::cout, {{"showVarStorage", "false"}});
  return 0;
}
