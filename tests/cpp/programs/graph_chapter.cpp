// The chapter of Graph: each public function and overload at least once.
#ifdef __POPC__
#include <poplar/Vertex.hpp>

class Mixed : public poplar::Vertex {
public:
  poplar::Input<poplar::Vector<float>> x;
  poplar::Vector<poplar::Input<poplar::Vector<float>>> rows;
  poplar::Output<float> out;
  poplar::Vector<unsigned> table;
  unsigned short size;
  half scale;
  poplar::Vector<half> halves;

  bool compute() {
    *out = size;
    return true;
  }
};

class Copied : public poplar::Vertex {
public:
  poplar::Input<poplar::Vector<float>> x;
  poplar::Output<float> out;
  bool compute() {
    *out = x[0];
    return true;
  }
};

#else
#include <iostream>
#include <sstream>
#include <vector>

#include <poplar/CSRFunctions.hpp>
#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>
#include <poplar/MetadataCreation.hpp>
#include <poplar/TypeConversion.hpp>

#undef NDEBUG
#include <cassert>

using namespace poplar;
using namespace poplar::program;

namespace {

const char *const EMPTY = "#include <poplar/Vertex.hpp>\n"
                          "class NAME : public poplar::Vertex { public: bool compute() { return true; } };\n";

std::string codelet(const std::string &name) { return std::string(EMPTY).replace(35, 4, name); }

Device device(unsigned tiles = 4) {
  IPUModel model;
  model.tilesPerIPU = tiles;
  return model.createDevice();
}

void codelets() {
  Graph graph(device());
  assert(graph.addCodelets(__FILE__));
  std::ostringstream said;
  assert(!graph.addCodelets(__FILE__, CodeletFileType::CppSource, "-O1", said));
  assert(!graph.addCodelets(ArrayRef<std::string>{__FILE__}, "-O1"));
  std::stringstream source(codelet("A")), other(codelet("B"));
  graph.addCodelets(source);
  graph.addCodelets(other, "-O1", said);
  std::istringstream later(R"([{ "name": "Later", "type": "Vertex", "fields": { "out": "Output<float>" }}])");
  graph.addCodeletPlaceholder(later);
  assert(graph.hasCodelet("A") && graph.hasCodelet("B") && graph.hasCodelet("Mixed"));
}

void variables() {
  Graph graph(device(), replication_factor(1));
  assert(graph.getReplicationFactor() == 1);
  Tensor t = graph.addVariable(FLOAT, {2, 3}, "t");
  Tensor mapped = graph.addVariable(FLOAT, {8}, VariableMappingMethod::LINEAR, "mapped");
  graph.setTileMapping(t, 1);
  Tensor quarters = createConstantMetadataTensor(graph, QuarterMetadata::Format::F143, 2);
  Tensor changing = createVariableMetadataTensor(graph, QuarterMetadata::Format::F152, 1);
  Tensor q = graph.addVariable(QUARTER, quarters, {4}, "q");
  Tensor p = graph.addVariable(QUARTER, changing, {4}, VariableMappingMethod::LINEAR, "p");
  assert(q.hasMetadata() && q.getMetadata().elementType() == QUARTER_METADATA);
  assert(graph.addExternalVariable(FLOAT, {2}, "symbol").elementType() == FLOAT);

  const float three[] = {1, 2, 3};
  const Tensor constants[] = {
      graph.addConstant<float>(FLOAT, {3}, {1, 2, 3}),
      graph.addConstant(FLOAT, {3}, 1.5f),
      graph.addConstant(FLOAT, {3}, three),
      graph.addConstant(FLOAT, {3}, three, TypeTraits::make<float>(), false),
      graph.addConstant<unsigned char>(QUARTER, quarters, {2}, {1, 2}),
      graph.addConstant(QUARTER, quarters, {2}, 1.0f),
      graph.addConstant(QUARTER, quarters, {3}, three, TypeTraits::make<float>(), false),
      graph.addConstantHalf(HALF, {2}, 0x3c00),
      graph.addConstantHalf(HALF, {2}, std::vector<uint16_t>{0x3c00, 0x4000}.data()),
  };
  for (const Tensor &constant : constants)
    assert(constant.containsConstant() && constant.rank() == 1);

  assert(graph.clone(t).shape() == t.shape() && graph.clone(HALF, t).elementType() == HALF);
  assert(graph.clone(QUARTER, quarters, q).hasMetadata() && graph.clone(changing, p).hasMetadata());
  assert(graph.cloneN(t, 2).dim(0) == 2 && graph.cloneN(HALF, t, 2).dim(0) == 2);
  assert(graph.cloneN(QUARTER, quarters, q, 2).dim(0) == 2 && graph.cloneN(changing, p, 2).dim(0) == 2);

  graph.setInitialValue(t, 4.0f);
  graph.setInitialValue(mapped, ArrayRef<float>{1, 2, 3, 4, 5, 6, 7, 8});
  graph.setInitialValueHalf(graph.addVariable(HALF, {2}, "halves"), 0x3c00);
  graph.setInitialValue(graph.addVariable(UNSIGNED_INT, {}, "by replica"), std::map<unsigned, unsigned>{{0, 5}});
  assert(graph.addReplicationIndexConstant().elementType() == UNSIGNED_INT);

  const VariableRef variable = t.getVarRegions()[0].var;
  assert(graph.getVariable(variable) == t.flatten() && !graph.isConstant(variable));
  const auto regions = graph.getSortedContiguousRegions(mapped, {{0, 4}, {4, 8}});
  assert(!regions.empty() && regions[0][0].begin() == 0);
  assert(graph.findUnbroadcastTensor(t.broadcast(2, 0)) == t);
  Tensor mixed = t.transpose().flatten();
  assert(graph.getSimplifyingRearranger(mixed).rearrange(mixed).isContiguous());
  graph.reorderToSimplify(&mixed, {});

  std::stringstream saved, all, some;
  graph.serializeTensors(saved, {t, mapped}, SerializationFormat::Binary);
  assert(graph.deserializeTensors(saved, SerializationFormat::Binary).size() == 2);
  graph.serialize(all, SerializationFormat::JSON);
  graph.serialize(some, {Sequence()}, SerializationFormat::JSON);
  assert(!all.str().empty() && !some.str().empty());
}

void vertices() {
  Device model = device();
  Graph graph(model.getTarget());
  graph.addCodelets(__FILE__);
  Tensor t = graph.addVariable(FLOAT, {6}, "t"), out = graph.addVariable(FLOAT, {}, "out");
  graph.setTileMapping(t, {{{0, 2}}, {{2, 6}}});
  graph.setTileMapping(out, 2);
  assert(graph.getTileMapping(t).size() >= 2 && graph.getVariableTileMapping(t).size() >= 2);
  bool complete = false;
  assert(graph.getTileMapping(t, &complete).size() >= 2 && complete);

  ComputeSet set = graph.addComputeSet("set");
  VertexRef vertex = graph.addVertex(set, "Mixed");
  graph.setTileMapping(vertex, 2);
  graph.connect(vertex["x"], t);
  graph.connect(vertex["rows"], {t.slice(0, 2), t.slice(2, 6)});
  graph.connect(vertex["out"], out);
  graph.setFieldSize(vertex["table"], 3);
  assert(graph.getFieldSize(vertex["table"]) == 3 && graph.getFieldSize(vertex["rows"][1]) == 4);
  graph.setInitialValue(vertex["table"], ArrayRef<unsigned>{7, 8, 9});
  graph.setInitialValueHalf(vertex["scale"], 0x4000);
  graph.setInitialValueHalf(vertex["halves"], std::vector<uint16_t>{0x3c00, 0x4000});
  graph.setInitialValue(vertex["size"], 1u);
  graph.setInitCallback<uint16_t>(vertex["size"], [](const VertexEdgeInfo &edges) {
    const auto &rows = edges.storage.at("rows");
    return static_cast<uint16_t>(10 * rows.size() + rows[1].numElements + edges.storage.at("x")[0].numBytes);
  });
  graph.setPerfEstimate(vertex, 20);
  graph.setPerfEstimate(vertex, VertexPerfEstimate(30, 4));
  assert(graph.getPerfEstimate(vertex).flops == 4 && graph.getNumVertices() == 1);
  graph.registerPerfEstimator("Copied", [](const VertexIntrospector &seen, const Target &) {
    assert(seen.getFieldInfo("x").getProfilerVectorLayout() == layout::Vector::Span);
    assert(seen.getFieldInfo("x").getProfilerVectorListLayout() == layout::VectorList::NotAVector);
    return VertexPerfEstimate(seen.getFieldInfo("x").size());
  });
  assert(layout::to_string(layout::Vector::ShortSpan) == "ShortSpan");
  assert(graph.getMaxFieldDim("Mixed", "x", 0) > 6);
  assert(graph.getMaxVertexFieldValue("Mixed", "size") == 65535);

  using Connection = Graph::ConnectionDesc;
  Tensor end = graph.addVariable(FLOAT, {}, "end");
  graph.setTileMapping(end, 3);
  ComputeSet more = graph.addComputeSet("more");
  VertexRef copied = graph.addVertex(more, "Copied", {Connection("x", t), {"out", end}});
  graph.setTileMapping(copied, 3);
  ComputeSet io = graph.addComputeSet("io");
  VertexRef external = graph.addExternalExchangeVertex(io, "Copied", 1, false, false);
  graph.setTileMapping(external, 1);
  graph.connect(external["x"], t);
  graph.connect(external["out"], end);
  VertexRef constant = graph.addVertex(graph.addComputeSet("constant"), "Copied");
  graph.setTileMapping(constant, 0);
  graph.setFieldSize(constant["x"], 1);
  graph.connect(constant["x"][0], 1.0f);
  graph.connect(constant["out"], end);

  std::ostringstream drawn, computed;
  graph.outputVertexGraph(drawn, {Execute(set)});
  graph.outputComputeGraph(computed, {Execute(set)});
  assert(drawn.str().find("Mixed") != std::string::npos && !computed.str().empty());

  graph.createHostRead("out", out);
  Engine engine(graph, Sequence(Execute(set), Execute(more)));
  engine.load(model);
  engine.run();
  float size = 0;
  engine.readTensor("out", &size, &size + 1);
  std::cout << size << '\n'; // 10 * 2 + 4 + 24
}

void streams_functions_and_virtual_graphs() {
  Graph graph(device(8));
  Tensor t = graph.addVariable(FLOAT, {4}, VariableMappingMethod::LINEAR, "t");
  graph.createHostWrite("t", t);
  assert(graph.addHostToDeviceFIFO("in", FLOAT, 4).handle() == "in");
  assert(graph.addDeviceToHostFIFO("out", FLOAT, 4).numElements() == 4);
  assert(graph.addRemoteBuffer("rows", FLOAT, 4, 3).getRepeats() == 3);
  assert(graph.addHostFunction("host", {Graph::HostFunctionArgument(FLOAT, 4)}, {}).handle() == "host");
  Function function = graph.addFunction(Sequence());
  graph.addFunctionBuffer(function, FunctionBufferMappingType::REMOTE);

  Graph half = graph.createVirtualGraph(4), range = graph.createVirtualGraph(2, 6),
        listed = graph.createVirtualGraph(std::vector<unsigned>{1, 3, 5});
  assert(half.getTarget().getNumTiles() == 4 && range.getTarget().getNumTiles() == 4);
  assert(listed.getTopLevelGraph().getTarget().getNumTiles() == 8);
  assert(listed.convertTileToTopLevelGraphTile(1) == 3 && listed.convertTopLevelGraphTileToTile(5) == 2);
  assert(listed.convertVirtualTileToPhysicalTile(0) == graph.convertVirtualTileToPhysicalTile(1));
  const unsigned physical = graph.convertVirtualTileToPhysicalTile(5);
  assert(graph.convertPhysicalTileToVirtualTile(physical) == 5);
  assert(graph.convertPhysicalTileToVirtualTile(0, physical) == 5);
  Graph empty;
  assert(graph.addDebugInfo("record", "program").getPathName() == "record");
}

void numbers() {
  const Target target = device().getTarget();
  assert(target.getTypeLimitsMaxAs(HALF) == 65504 && target.getTypeLimitsLowestAs<int>(SHORT) == -32768);
  assert(target.getTypeLimitsMaxAs<unsigned long long>(UNSIGNED_LONGLONG) == ~0ull);
  const std::vector<float> numbers{1, -2.5, 70000};
  std::vector<double> doubles(3);
  std::vector<float> floats(3);
  uint16_t halves[3];
  copyFloatToDeviceHalf(target, numbers.data(), halves, 3);
  copyDeviceHalfToDouble(target, halves, doubles.data(), 3);
  assert(doubles[1] == -2.5 && doubles[2] == 65504);
  copyDoubleToDeviceHalf(target, doubles.data(), halves, 3);
  copyDeviceHalfToFloat(target, halves, floats.data(), 3);
  assert(floats[0] == 1 && halves[0] == 0x3c00);
  convertToDeviceType<float>(HALF, numbers, halves, true);
  convertFromDeviceType<float>(HALF, halves, floats);
  assert(floats[2] != floats[2]);
  const QuarterMetadata metadata(QuarterMetadata::Format::F143, 1);
  unsigned char quarters[3];
  convertToDeviceType<float>(QUARTER, metadata, numbers, quarters);
  convertFromDeviceType<float>(QUARTER, metadata, quarters, floats);
  assert(floats[1] == -2.5);
  assert(versionString().find("3.") == 0 && packageHash().size() == 16);
}

void floating_point() {
  Graph graph(device());
  Sequence prog;
  setFloatingPointBehaviour(graph, prog, FloatingPointBehaviour(false, false, false, false, true));
  Tensor before = getAndModifyFloatingPointBehaviour(graph, prog, FloatingPointBehaviour(),
                                                     ~FloatingPointBehaviour() | FloatingPointBehaviour(false));
  setFloatingPointBehaviour(graph, prog, before);
  setStochasticRounding(graph, prog, true);
  assert(!prog.isEmpty() && before.numElements() == 4);
}

} // namespace

int main() {
  codelets();
  variables();
  vertices();
  streams_functions_and_virtual_graphs();
  numbers();
  floating_point();
}
#endif
