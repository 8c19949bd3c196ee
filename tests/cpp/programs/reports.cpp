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

namespace {

/// Counts exchanges and their code.
struct Exchanges : pva::ProgramVisitor {
  void visitDoExchange(const pva::DoExchangeProgram &program) override {
    ++count;
    for (const std::uint64_t bytes : program.codeBytesByTile())
      code += bytes;
  }
  unsigned count = 0;
  std::uint64_t code = 0;
};

/// What a report tells about tiles, allocations, programs and the software that wrote it.
void check(const pva::Report &report) {
  const pva::CompilationReport compilation = report.compilation();
  assert(compilation.target().type() == pva::Target::Type::IpuModel && compilation.ipus().size() == 1);
  assert(compilation.target().architecture() == pva::IPU::Architecture::Ipu2);
  assert(report.poplarVersion().majorVer() == 3 && report.version().majorVer() >= 1);
  assert(report.instrumentationSettings().compute() != pva::InstrumentationSettings::ComputeInstrumentationLevel::Unknown);
  Exchanges exchanges;
  unsigned expected = 0;
  for (const pva::Program &program : compilation.programs()) {
    program->accept(exchanges);
    expected += program.type() == pva::Program::Type::DoExchange;
  }
  assert(exchanges.count == expected && expected > 0 && exchanges.code > 0);

  const pva::LoweredVariables lowered = compilation.loweredVariables();
  std::uint64_t bytes = 0, brief = 0;
  for (const pva::LoweredVar &variable : lowered.forTile(1)) {
    bytes += variable.bytes();
    assert(!variable.hasUnloweredVar() || !variable.unloweredVar().name().empty());
  }
  for (const pva::BriefVar &variable : lowered.allBriefVars())
    brief += variable.tileId() == 1 ? variable.bytes() : 0;
  assert(bytes == brief && bytes > 0);
  const pva::TileMemory memory = compilation.tiles()[1].memory();
  assert(memory.category().internalExchangeCode().total() > 0);
  assert(memory.category().variable().nonInterleaved().nonOverlapped() <= memory.total().includingGaps());
  const pva::ExecutionStep step = report.execution().steps().front();
  assert(step.ipus()[0].allCycles().from().min() <= step.ipus()[0].allCycles().to().max());
  assert(step.program() == step.program() && step.program()->_id() == step.program()._id());
  assert(report.execution().runs()[0].microseconds().start() <= report.execution().runs()[0].microseconds().end());
}

} // namespace

int main(int count, char **arguments) {
  if (count > 1) {
    const pva::Report report = pva::openReport(arguments[1]);
    std::cout << report.execution().totalCycles().total() << '\n';
    return 0;
  }
  IPUModel model;
  model.tilesPerIPU = 4;
  model.compileIPUCode = true; // reports count code
  Device device = model.createDevice();
  Graph graph(device);
  Tensor t = graph.addVariable(FLOAT, {8}, VariableMappingMethod::LINEAR, "t");
  Tensor twin = graph.addVariable(FLOAT, {8}, VariableMappingMethod::LINEAR, "twin");
  const OptionFlags options{
      {"debug.instrument", "true"}, {"autoReport.outputLoweredVars", "true"}, {"profiler.blocks.filter", "block"}};
  Engine engine(graph, Block(Copy(t, twin.reverse(0)), "block"), options);
  engine.load(device);
  engine.run();
  const pva::Report report = engine.getReport();
  const pva::CompilationReport compilation = report.compilation();
  assert(compilation.target().numTiles() == 4 && compilation.tiles().size() == 4);
  assert(compilation.tiles().at(1).memory().total().excludingGaps() > 0);
  assert(!compilation.programs().empty() && compilation.graph().numVars() > 0);
  assert(!report.execution().runs().empty());
  assert(report.execution().steps().front().ipus().size() == 1);
  check(report);
  unsigned blocks = 0;
  for (const pva::Block &block : report.execution().blocks(0))
    if (block.isCommon()) {
      ++blocks;
      assert(block.program()->name() == "block" && block.cyclesTo() > block.cyclesFrom() && block.tile() == 0);
    }
  assert(blocks == 1);
  std::ostringstream summary;
  engine.printProfileSummary(summary, {{"showExecutionSteps", "true"}});
  assert(summary.str().find("Number of IPUs") != std::string::npos);
  std::stringstream saved;
  engine.serializeExecutable(saved);
  Engine restored(Executable::deserialize(saved), options);
  restored.load(device);
  restored.run();
  std::cout << report.execution().totalCycles().total() << '\n';
}
