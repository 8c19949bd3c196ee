// Ways of calling Poplar that public programs have: names below other contexts, empty lists in braces, streams in place
// of their names, names of version 1.
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <poplar/CycleEstimateFunc.hpp>
#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplar/HostFunctionCallback.hpp>
#include <poplar/IPUModel.hpp>
#include <poplar/LateInitCallback.hpp>
#include <poplar/PerfEstimateFunc.hpp>
#include <poplar/ProfileValue.hpp>
#include <poplar/RandomSeed.hpp>
#include <poplar/RemoteBuffer.hpp>
#include <poplar/RuntimeOptions.hpp>
#include <poplar/TensorRearranger.hpp>
#include <poplar/VariableRef.hpp>
#include <poplar/VertexIntrospector.hpp>
#include <poplar/replication_factor.hpp>
#include <popnn/Loss.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Loop.hpp>
#include <popops/Reduce.hpp>
#include <popops/codelets.hpp>

using namespace poplar;
using namespace poplar::program;
namespace pe = popops::expr;

static const char *const CODELET = R"(
#include <poplar/Vertex.hpp>
class Twice : public poplar::Vertex {
public:
  poplar::Input<float> in;
  poplar::Output<float> out;
  bool compute() {
    *out = 2 * in;
    return true;
  }
};)";

/// A builder that is given a context and adds names below it.
static Tensor plusOne(Graph &graph, const Tensor &t, Sequence &prog, const DebugContext &debugContext = {}) {
  Tensor ones = graph.addVariable(FLOAT, t.shape(), VariableMappingMethod::LINEAR, {debugContext, "ones"});
  graph.setInitialValue(ones, 1.0f);
  return popops::add(graph, t, ones, prog, {debugContext, std::string("sum")});
}

static std::string typeOf(const std::shared_ptr<pva::Program> &program) {
  return program->type() == pva::Program::Type::Sequence ? "sequence" : "other";
}

int main() {
  IPUModel model("ipu2");
  model.tilesPerIPU = 8;
  Device device = model.createDevice();
  Graph graph(device, replication_factor(1));
  popops::addCodelets(graph);
  std::stringstream codelet(CODELET);
  graph.addCodelets(codelet);

  Tensor t = graph.addVariable(FLOAT, {4}, VariableMappingMethod::LINEAR, "t");
  Tensor count = graph.addVariable(INT, {1}, VariableMappingMethod::LINEAR, "count");
  graph.setInitialValue(count, ArrayRef<int>{0});
#if __cplusplus >= 201703L
  graph.setInitialValue(t.slice(0, 4), poplar::ArrayRef(std::vector<float>(4, 0.5f)));
#endif
  auto in = graph.addHostToDeviceFIFO("in", FLOAT, 4, ReplicatedStreamMode::REPLICATE,
                                      {{"bufferingDepth", std::to_string(1)}});
  auto out = graph.addDeviceToHostFIFO("out", FLOAT, 4);

  // A vertex with the estimates of version 1: its own, then that of its type.
  ComputeSet cs = graph.addComputeSet({DebugNameAndId("step"), "twice"});
  graph.registerCycleEstimator("Twice", [](const VertexIntrospector &, const Target &) -> std::uint64_t { return 30; });
  for (unsigned tile = 0; tile < 4; ++tile) {
    auto v = graph.addVertex(cs, "Twice", {{"in", t[tile]}, {"out", t[tile]}});
    graph.setTileMapping(v, tile);
    if (graph.getTarget().getTargetType() == TargetType::IPU_MODEL && tile == 0)
      graph.setCycleEstimate(v, 20);
    if (tile == 0)
      std::cout << graph.getCycleEstimate(v) << ' ';
  }

  Sequence prog({}, {"whole"});
  prog.add(Copy(in, t));
  prog.add(Execute(cs));
  prog.add(popops::countedForLoop(graph, count, 0, graph.clone(count), 1, Sequence{}));
  std::vector<popops::SingleReduceOp> reductions{popops::SingleReduceOp{t, {0}, {popops::Operation::ADD}}};
  std::vector<Tensor> sums;
  popops::reduceMany(graph, reductions, sums, prog);
  Tensor result = plusOne(graph, t, prog, {"outer"});
  popops::mapInPlace(graph, pe::_1 * pe::Const(1) + pe::_2, {result, sums[0]}, prog, {DebugContext("a"), "b"});
  prog.add(Copy(result, out, "to the host")); // a text in the place of `optimiseMemory`
  popnn::LossType loss = popnn::CROSS_ENTROPY_LOSS;
  setHwSeeds(graph, getHwSeeds(graph, prog), prog, "seeds");

  int calls = 0;
  auto progress = [&calls](int, int) { ++calls; };
  const auto silent = [](int, int) {};
  const OptionFlags wrong{{"no.such.option", "true"}};
  try {
    compileGraph(graph, {prog}, true, wrong, silent);
  } catch (const invalid_option &) {
    std::cout << "checked ";
  }
  try {
    compileGraph(graph, {prog}, wrong, silent);
  } catch (const invalid_option &) {
    std::cout << "checked ";
  }
  Executable plain = compileGraph(graph, {prog}, {}, silent); // without captures: it would become a bool
  Executable executable =
      compileGraph(graph, {prog, Sequence()}, {{"debug.retainDebugInformation", "true"}}, progress);
  Engine made(executable, {{"debug.retainDebugInformation", "true"}});
  std::unique_ptr<Engine> engine(new Engine(std::move(made)));

  std::vector<float> sent{1, 2, 3, 4}, received(4);
  engine->connectStream(in, &sent[0]);
  engine->connectStream(out, received.data(), received.data() + 4);
  engine->load(device);
  engine->run(0, "first");
  for (float value : received)
    std::cout << value << ' ';
  float total = 0;
  engine->connectStreamToCallback(out, [&total](void *p) { total = static_cast<float *>(p)[3]; });
  engine->run();
  const ProfileValue graphProfile = engine->getGraphProfile(), executionProfile = engine->getExecutionProfile();
  if (graphProfile.execution().runs().size() != 0 || executionProfile.execution().runs().size() == 0)
    return 1;
  auto report = engine->getReport();
  std::cout << total << ' ' << (calls > 0) << ' ' << typeOf(report.compilation().programs()[0]) << ' ' << loss << '\n';
  return 0;
}
