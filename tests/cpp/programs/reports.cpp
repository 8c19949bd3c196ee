// libpva from C++: the report of an engine, and of a file.
#include <iostream>
#include <sstream>

#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>
#include <pva/pva.hpp>

#undef NDEBUG
#include <cassert>

using namespace poplar;
using namespace poplar::program;

int main(int count, char **arguments) {
  if (count > 1) {
    const pva::Report report = pva::openReport(arguments[1]);
    std::cout << report.execution().totalCycles().total() << '\n';
    return 0;
  }
  IPUModel model;
  model.tilesPerIPU = 4;
  Device device = model.createDevice();
  Graph graph(device);
  Tensor t = graph.addVariable(FLOAT, {8}, VariableMappingMethod::LINEAR, "t");
  Tensor twin = graph.addVariable(FLOAT, {8}, VariableMappingMethod::LINEAR, "twin");
  Engine engine(graph, Sequence{Copy(t, twin.reverse(0))}, {{"debug.instrument", "true"}});
  engine.load(device);
  engine.run();
  const pva::Report report = engine.getReport();
  const pva::CompilationReport compilation = report.compilation();
  assert(compilation.target().numTiles() == 4 && compilation.tiles().size() == 4);
  assert(compilation.tiles().at(1).memory().total().excludingGaps() > 0);
  assert(!compilation.programs().empty() && compilation.graph().numVars() > 0);
  assert(!report.execution().runs().empty());
  assert(report.execution().steps().front().ipus().size() == 1);
  std::ostringstream summary;
  engine.printProfileSummary(summary, {{"showExecutionSteps", "true"}});
  assert(summary.str().find("Number of IPUs") != std::string::npos);
  std::stringstream saved;
  engine.serializeExecutable(saved);
  Engine restored(Executable::deserialize(saved));
  restored.load(device);
  restored.run();
  std::cout << report.execution().totalCycles().total() << '\n';
}
