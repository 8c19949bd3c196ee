// Ends in the way that its argument says, after one run.
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>
#include <pvti/pvti.hpp>

using namespace poplar;
using namespace poplar::program;

static pvti::TraceChannel channel = {"program"};
static std::unique_ptr<Engine> engine;

int main(int, char **arguments) {
  IPUModel model;
  model.tilesPerIPU = 4;
  Device device = model.createDevice();
  Graph graph(device);
  Tensor t = graph.addConstant<int>(INT, {2}, {4, 5});
  graph.setTileMapping(t, 0);
  Tensor copy = graph.addVariable(INT, {2}, VariableMappingMethod::LINEAR, "copy");
  engine.reset(new Engine(graph, Sequence{Copy(t, copy), PrintTensor("t", t)}));
  engine->setPrintTensorStream(std::cout);
  engine->load(device);
  {
    pvti::Tracepoint point(&channel, "first run");
    engine->run();
  }
  std::cout << "done" << std::endl;
  const std::string way = arguments[1];
  if (way == "exit")
    std::exit(3);
  if (way == "abort")
    std::abort();
  if (way == "throw")
    engine->run(7);
  if (way == "return")
    engine.reset();
  return 0;
}
