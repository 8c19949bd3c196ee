// Errors of the device and of programs, estimators, modules, quarters.
#include <iostream>
#include <sstream>

#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>

#undef NDEBUG
#include <cassert>

using namespace poplar;
using namespace poplar::program;

namespace {

const char *const CODELET = R"(
#include <poplar/Vertex.hpp>
class Twice : public poplar::Vertex {
public:
  poplar::InOut<poplar::Vector<float>> x;
  float factor;
  bool compute() {
    for (unsigned i = 0; i < x.size(); ++i) x[i] *= factor;
    return true;
  }
};
)";

void simulated_errors() {
  Device device = DeviceManager().getDevices(TargetType::IPU, 1).at(0);
  assert(device.attach());
  Graph graph(device);
  std::stringstream source(CODELET);
  graph.addCodelets(source);
  graph.registerPerfEstimator("Twice", [](const VertexIntrospector &vertex, const Target &target) {
    assert(target.getNumIPUs() == 1 && vertex.getFieldInfo("factor").getInitialValue<float>(target) == 2);
    return VertexPerfEstimate(10 * vertex.getFieldInfo("x").size());
  });
  Tensor x = graph.addVariable(FLOAT, {6}, "x");
  graph.setTileMapping(x, 3);
  ComputeSet set = graph.addComputeSet("set");
  VertexRef vertex = graph.addVertex(set, "Twice", {{"x", x}, {"factor", 2.0f}});
  graph.setTileMapping(vertex, 3);
  assert(graph.getPerfEstimate(vertex).cycles == 60);

  Engine engine(graph, Execute(set));
  engine.load(device);
  const ErrorLocation place = engine.getSimulatedErrorLocations("Twice", 3).at(0);
  engine.insertSimulatedError(ErrorCode::IPUSOFTERR, place);
  try {
    engine.run();
    assert(false);
  } catch (const runtime_error &error) {
    assert(error.errors.size() == 1 && error.errors[0].isSimulated);
    assert(error.errors[0].code == ErrorCode::IPUSOFTERR && error.errors[0].location == place);
  }
  engine.clearSimulatedErrors();
  engine.load(device);
  engine.run();
  device.detach();
}

void modules() {
  Graph graph(IPUModel().createDevice());
  Tensor t = graph.addExternalVariable(FLOAT, {2}, "shared");
  Tensor zero = graph.addConstant<float>(FLOAT, {2}, 0.0f);
  graph.setTileMapping(zero, 1);
  Preallocations places;
  places.add("shared", 1);
  Module module = compileModule(graph, Copy(zero, t), places);
  assert(module.getSymbols() == std::vector<std::string>{"shared"});
  std::stringstream saved;
  module.serialize(saved);
  assert(Module::deserialize(saved).getSymbols() == module.getSymbols());
}

void rearranged() {
  Graph graph(IPUModel().createDevice());
  Tensor t = graph.addVariable(FLOAT, {6}, "t");
  Tensor mixed = t.reshape({2, 3}).transpose().flatten();
  TensorRearranger rearranger = graph.getSimplifyingRearranger(mixed);
  assert(rearranger.undoRearrangement(rearranger.rearrange(mixed)) == mixed);
  Tensor simple = mixed;
  graph.reorderToSimplify(&simple, {});
  assert(simple.isContiguous() && !mixed.isContiguous());
}

void quarters() {
  const QuarterMetadata metadata(QuarterMetadata::Format::F152, -3);
  assert(QuarterMetadata(metadata.getBinary()) == metadata && metadata != QuarterMetadata());
  try {
    QuarterMetadata(QuarterMetadata::Format::F143, 40);
    assert(false);
  } catch (const tensor_metadata_error &) {
  }
}

/// Rows of a remote buffer are copied from and to as many elements as they have, never more.
void remote_rows(const Device &device) {
  Graph graph(device);
  RemoteBuffer buffer = graph.addRemoteBuffer("rows", FLOAT, 3, 2);
  Tensor t = graph.addVariable(FLOAT, {3}, VariableMappingMethod::LINEAR, "t");
  Engine engine(graph, Sequence{Copy(buffer, t), Copy(t, buffer)});
  engine.load(device);
  const std::vector<float> row = {1, 2, 3};
  engine.copyToRemoteBuffer<float>(row, "rows", 1);
  std::vector<float> copy(3), small(2);
  engine.copyFromRemoteBuffer<float>("rows", copy, 1);
  assert(copy == row);
  for (int way = 0; way < 2; ++way)
    try {
      way ? engine.copyFromRemoteBuffer<float>("rows", small, 1) : engine.copyToRemoteBuffer<float>(small, "rows", 1);
      assert(false);
    } catch (const stream_connection_error &) {
    }
}

/// Names may have bytes that are not UTF-8, as names of files have.
void foreign_bytes() {
  Graph graph(IPUModel().createDevice());
  try {
    graph.addCodelets("no\xe9.cpp");
    assert(false);
  } catch (const poplar_error &error) {
    assert(std::string(error.what()).find("no\xe9.cpp") != std::string::npos);
  }
  Tensor t = graph.addVariable(FLOAT, {1}, "\xe9");
  assert(t.getVarStr().find("\xe9") != std::string::npos);
}

template <class Error, class F> void refuses(F wrong) {
  try {
    wrong();
  } catch (const Error &error) {
    std::cout << error.what() << '\n';
    return;
  }
  assert(false);
}

} // namespace

int main() {
  simulated_errors();
  modules();
  rearranged();
  quarters();
  foreign_bytes();
  remote_rows(IPUModel().createDevice());
  Graph graph(IPUModel().createDevice());
  Tensor t = graph.addVariable(FLOAT, {4}, "t");
  refuses<index_error>([&] { t.slice(2, 9); });
  refuses<unknown_vertex_type>([&] { graph.addVertex(graph.addComputeSet("set"), "Nothing"); });
  refuses<tensor_creation_error>([&] { graph.addConstant<float>(FLOAT, {3}, {1, 2}); });
  refuses<invalid_tile_mapping>([&] { Engine(graph, Copy(t, graph.clone(t))); });
  refuses<invalid_option>([&] { Engine(graph, Sequence(), {{"no.such.option", "1"}}); });
}
