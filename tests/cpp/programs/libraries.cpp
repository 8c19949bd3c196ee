// PopLibs from C++: products, element-wise operations and expressions, reductions, loops, random numbers, collectives.
#include <cmath>
#include <iostream>
#include <sstream>
#include <vector>

#include <gcl/Collectives.hpp>
#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>
#include <poplin/MatMul.hpp>
#include <poplin/codelets.hpp>
#include <popnn/LogSoftmax.hpp>
#include <popnn/Loss.hpp>
#include <popnn/NonLinearity.hpp>
#include <popnn/codelets.hpp>
#include <popops/AllTrue.hpp>
#include <popops/Cast.hpp>
#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Encoding.hpp>
#include <popops/Fill.hpp>
#include <popops/Loop.hpp>
#include <popops/NaN.hpp>
#include <popops/Reduce.hpp>
#include <popops/ScaledAdd.hpp>
#include <popops/Sort.hpp>
#include <popops/Zero.hpp>
#include <popops/codelets.hpp>
#include <poprand/RandomGen.hpp>
#include <poprand/codelets.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/Util.hpp>
#include <poputil/VertexTemplates.hpp>
#include <poputil/exceptions.hpp>

#undef NDEBUG
#include <cassert>

using namespace poplar;
using namespace poplar::program;
namespace pe = popops::expr;

namespace {

const long long LARGE = (1ll << 60) + 1; // more digits than a double has

/// Runs a program and reads its tensors of four floats.
struct Results {
  explicit Results(Graph &graph) : graph(graph) {}
  Graph &graph;
  Sequence prog;
  unsigned count = 0;

  void read(const Tensor &t) { graph.createHostRead("result" + std::to_string(count++), t.flatten()); }

  void print(const Device &device) {
    Engine engine(graph, prog);
    engine.load(device);
    engine.run();
    std::vector<long long> large(1);
    engine.readTensor<long long>("large", large);
    assert(large[0] == LARGE);
    for (unsigned i = 0; i < count; ++i) {
      std::vector<float> values(4);
      engine.readTensor<float>("result" + std::to_string(i), values);
      for (float value : values)
        std::cout << std::round(value * 1000) / 1000 + 0.0f << ' ';
      std::cout << '\n';
    }
  }
};

void operations(const Device &device) {
  Graph graph(device);
  popops::addCodelets(graph);
  poplin::addCodelets(graph);
  popnn::addCodelets(graph);
  poprand::addCodelets(graph);
  Results results(graph);
  Sequence &prog = results.prog;

  Tensor a = graph.addConstant<float>(FLOAT, {2, 2}, {1, 2, 3, 4});
  poputil::mapTensorLinearly(graph, a);
  Tensor b = graph.clone(a, "b");
  prog.add(Copy(a, b));

  poplin::PlanningCache cache;
  Tensor left = poplin::createMatMulInputLHS(graph, FLOAT, {2, 2}, {2, 2}, "left", {}, &cache);
  prog.add(Copy(a, left));
  results.read(poplin::matMul(graph, left, b, prog, FLOAT, "product"));                        // 7 10 15 22
  results.read(popops::map(graph, (pe::_1 + 1.0f) * pe::_2 - pe::Sqrt(pe::_1), {a, b}, prog)); // by expression
  results.read(popops::add(graph, a, 0.5f, prog, "sum"));
  results.read(popops::sub(graph, 10.0f, b, prog));
  popops::mulInPlace(graph, b, b, prog);
  popops::scaledAddTo(graph, b, a, 0.5f, prog);
  results.read(b); // squares and halves
  Tensor sums = popops::reduce(graph, a, FLOAT, {0}, popops::Operation::ADD, prog);
  results.read(concat(sums, popops::reduce(graph, a, {1}, {popops::Operation::MAX}, prog)));
  results.read(popops::cast(graph, popops::cast(graph, a, HALF, prog), FLOAT, prog));
  results.read(popnn::softmax(graph, a, prog));
  results.read(popops::sort(graph, popops::neg(graph, a.flatten(), prog), 0, prog));

  Tensor counter = graph.addVariable(FLOAT, {4}, VariableMappingMethod::LINEAR, "counter");
  popops::fill(graph, counter, prog, 3);
  prog.add(popops::countedLoop(graph, 5, [&](const Tensor &i) {
    Sequence body;
    popops::addInPlace(graph, counter, popops::cast(graph, i.flatten(), FLOAT, body), body);
    return body;
  }));
  results.read(counter); // 3 + 0 + 1 + 2 + 3 + 4
  Tensor zeros = graph.clone(sums, "zeros");
  popops::zero(graph, zeros, prog);
  results.read(concat(zeros, zeros));
  Tensor large = graph.addVariable(LONGLONG, {1}, VariableMappingMethod::LINEAR, "large");
  graph.createHostRead("large", large);
  popops::fill(graph, large, prog, LARGE);
  results.read(poprand::bernoulli(graph, nullptr, 0, a, FLOAT, 1.0, prog));
  results.print(device);
}

void replicas() {
  IPUModel model;
  model.numIPUs = 2;
  model.tilesPerIPU = 4;
  Device device = model.createDevice();
  Graph graph(device.getTarget(), replication_factor(2));
  popops::addCodelets(graph);
  Sequence prog;
  Tensor index = graph.addReplicationIndexConstant();
  graph.setTileMapping(index, 0);
  Tensor own = popops::add(graph, popops::cast(graph, index.reshape({1}), FLOAT, prog), 1.0f, prog);
  Tensor sum = gcl::allReduceCrossReplica(graph, own, gcl::CollectiveOperator::ADD, prog);
  DataStream out = graph.addDeviceToHostFIFO("out", FLOAT, 1);
  prog.add(Copy(sum, out));
  Engine engine(graph, prog);
  float received[2] = {0, 0};
  for (unsigned replica = 0; replica < 2; ++replica)
    engine.connectStreamToCallback("out", replica, [&received, replica](void *p) {
      received[replica] = *static_cast<float *>(p);
    });
  engine.load(device);
  engine.run();
  std::cout << received[0] << ' ' << received[1] << '\n';
}

} // namespace

int main() {
  IPUModel model;
  model.tilesPerIPU = 16;
  Device device = model.createDevice();
  operations(device);
  replicas();
  assert(poputil::templateVertex("Sum", FLOAT, true, 3) == "Sum<float,true,3>");
  Graph graph(device);
  std::ostringstream plan;
  poplin::matMulReportPlan(plan, graph, FLOAT, FLOAT, {4, 4}, {4, 4});
  assert(!plan.str().empty());
}
