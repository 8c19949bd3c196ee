// Programs are values, graphs are shared or moved, types need nothing to be running.
#include <iostream>
#include <sstream>
#include <thread>
#include <vector>

#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>

#undef NDEBUG
#include <cassert>

using namespace poplar;
using namespace poplar::program;

namespace {

const Type kept = FLOAT; // before main, in any order of libraries

void copied_sequences() {
  Graph graph(Target::createIPUTarget(1, 4, "ipu2"));
  Tensor t = graph.addVariable(INT, {2}, VariableMappingMethod::LINEAR, "t");
  Tensor one = graph.addConstant<int>(INT, {2}, {1, 1});
  graph.setTileMapping(one, 0);
  graph.createHostRead("t", t);

  Sequence first{Copy(one, t)};
  Sequence second = first;
  const Program before = first;
  first.add(WriteUndef(t));
  assert(!second.isEmpty() && !before.isEmpty() && !first.isEmpty());
  Sequence empty, twin(empty);
  twin.add(Copy(one, t));
  assert(empty.isEmpty() && !twin.isEmpty());
  Sequence outer;
  outer.add(empty);
  empty.add(Copy(one, t));

  std::stringstream text;
  dumpProgram(graph, outer, text);
  assert(text.str().find("Copy") == std::string::npos);
  text.str("");
  dumpProgram(graph, Sequence(second, Copy(one, t)), text);
  assert(text.str().find("Copy") != std::string::npos && text.str().find("WriteUndef") == std::string::npos);
}

void moved_graphs() {
  Device device = IPUModel().createDevice();
  Graph graph(device);
  Tensor t = graph.addVariable(FLOAT, {3}, VariableMappingMethod::LINEAR);
  graph.setInitialValue(t, ArrayRef<float>{1, 2, 3});
  graph.createHostRead("t", t);
  Engine first(graph, Sequence());
  assert(graph.addVariable(FLOAT, {3}).valid()); // it is still there
  Engine second(std::move(graph), {Sequence(), Sequence()});
  try {
    graph.addVariable(FLOAT, {3});
    assert(false);
  } catch (const poplar_error &) {
  }
  Engine engine = std::move(second);
  engine.load(device);
  engine.run(1);
  std::vector<float> values(3);
  engine.readTensor<float>("t", values);
  assert(values == (std::vector<float>{1, 2, 3}));
  try {
    second.run();
    assert(false);
  } catch (const poplar_error &error) {
    std::cout << error.what() << '\n';
  }
}

void tensors() {
  assert(!Tensor().valid());
  assert(Tensor() == Tensor());
  Graph graph(Target::createIPUTarget(1, 4, "ipu2"));
  Tensor t = graph.addVariable(HALF, {4, 6}, "t");
  graph.setTileMapping(t, {{{0, 8}}, {{8, 12}, {12, 24}}});
  assert(graph.getTileMapping(t).at(1).back().end() == 24);
  bool complete = false;
  graph.getTileMapping(t, &complete);
  assert(complete);
  assert((t.slice({1, 2}, {3, 5}).shape() == std::vector<std::size_t>{2, 3}));
  assert(t.slice({0, 2}, 1).dim(1) == 2 && t[1].rank() == 1 && t.index({1, 2}).numElements() == 1);
  assert(concat({t, t}, 1).shapeToString() == concat(t, t, 1).shapeToString());
  assert(t.dimShuffle({1, 0}) == t.transpose() && t != t.transpose());
  assert(t.elementType() == HALF && t.elementType() != kept && FLOAT.toString() == "float");
  Tensor copy = t;
  std::thread([copy] { assert(Tensor(copy).flatten().numElements() == 24); }).join();
}

void names_and_targets() {
  const DebugNameAndId name("above");
  assert(DebugContext(name).getPathName() == "above" && DebugContext(name, "below").getPathName() == "above/below");
  for (unsigned tiles = 1; tiles < 12; ++tiles) // hashes of Python are signed
    assert(Target::createIPUTarget(1, tiles, "ipu2").hash() == Target::createIPUTarget(1, tiles, "ipu2").hash());
  assert(Target::createIPUTarget(1, "ipu2").getIpuLinkTopology() == IpuLinkTopology::Mesh);
}

void options() {
  OptionFlags flags{{"a", "1"}, {"b", "2"}};
  flags.set("b", "3");
  std::ostringstream out;
  out << flags;
  for (const auto &flag : flags)
    out << ' ' << flag.first << '=' << flag.second;
  std::cout << out.str() << '\n';
}

} // namespace

int main() {
  copied_sequences();
  moved_graphs();
  tensors();
  names_and_targets();
  options();
  try {
    Graph graph(Target::createIPUTarget(1, "ipu9"));
  } catch (const invalid_machine_model &error) {
    std::cout << error.what() << '\n';
  }
}
