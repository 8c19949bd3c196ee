// libpva: reports read from files, or taken from an engine. An object reads what it is asked for.
//
// Units: bytes, cycles of a tile's clock, hertz. Lists by tile hold all tiles, those of IPU 0 first.
#ifndef pva_pva_hpp
#define pva_pva_hpp

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <poplar/Handle.hpp>

#define PVA_CLASS(NAME)                                                                                                \
  class NAME : public poplar::bridge::Handle {                                                                         \
  public:                                                                                                              \
    using poplar::bridge::Handle::Handle

namespace pva {

PVA_CLASS(DebugContext);
  std::uint64_t id() const;
  std::string name() const;
  std::string layer() const;
  std::string json() const;
};

PVA_CLASS(Variable);
  std::string name() const;
  std::uint64_t size() const;
};

/// Vertices of one type in a compute set.
PVA_CLASS(VertexInstances);
  std::vector<std::uint64_t> countByTile() const;
  std::uint64_t estimatedCycles() const;
};

PVA_CLASS(ComputeSet);
  std::string name() const;
  std::vector<std::uint64_t> cyclesByTile() const;
  std::vector<std::uint64_t> estimatedCyclesByTile() const;
  std::vector<VertexInstances> vertices() const;
};

/// A program that the compiler made, a node of the program tree.
PVA_CLASS(Program);
  std::string name() const;
  std::vector<Program> children() const;
  std::vector<std::uint64_t> controlCodeByTile() const;
  std::vector<std::uint64_t> estimatedCyclesByTile() const;
  std::vector<DebugContext> debugContexts() const;
};

PVA_CLASS(Operation);
  std::string name() const;
  DebugContext debugContext() const;
  std::uint64_t firstStepIndex() const;
  std::uint64_t lastStepIndex() const;
  std::vector<Program> programs() const;
};

PVA_CLASS(LiveMemory);
  std::uint64_t bytes() const;
  std::vector<Variable> variables() const;
};

PVA_CLASS(LivenessProgramStep);
  Program program() const;
  LiveMemory notAlwaysLiveMemory() const;
  LiveMemory notAlwaysLiveMemoryForTile(unsigned tile) const;
  LiveMemory notAlwaysLiveMemoryForIpu(unsigned ipu) const;
};

/// Bytes of a kind of memory, with and without the gaps between variables.
PVA_CLASS(MemorySum);
  std::uint64_t excludingGaps() const;
  std::uint64_t includingGaps() const;
};

PVA_CLASS(TileMemory);
  std::uint64_t alwaysLiveBytes() const;
  std::uint64_t notAlwaysLiveBytes() const;
  MemorySum total() const;
  MemorySum interleaved() const;
  MemorySum nonInterleaved() const;
  MemorySum overflowed() const;
};

PVA_CLASS(Tile);
  std::uint64_t id() const;
  TileMemory memory() const;
};

PVA_CLASS(Target);
  std::uint64_t numIPUs() const;
  std::uint64_t tilesPerIpu() const;
  std::uint64_t numTiles() const;
  std::uint64_t bytesPerTile() const;
  double clockFrequency() const;
};

PVA_CLASS(Graph);
  std::uint64_t numVars() const;
  std::uint64_t numVertices() const;
  std::uint64_t numEdges() const;
  std::uint64_t numComputeSets() const;
};

PVA_CLASS(CompilationReport);
  std::string name() const;
  std::string timestamp() const;
  Target target() const;
  Graph graph() const;
  std::map<std::string, std::string> engineOptions() const;
  std::map<std::string, std::string> targetOptions() const;
  std::vector<Tile> tiles() const;
  std::vector<Program> programs() const;
  std::vector<ComputeSet> computeSets() const;
  std::vector<Variable> alwaysLiveVariables() const;
  std::vector<Variable> alwaysLiveVariablesForTile(unsigned tile) const;
  std::vector<LivenessProgramStep> livenessProgramSteps() const;
};

/// The first and last cycle of a step.
PVA_CLASS(CycleWindow);
  std::uint64_t from() const;
  std::uint64_t to() const;
};

PVA_CLASS(StepIpu);
  std::uint64_t cycles() const;
  std::uint64_t activeTiles() const;
  double activeTileBalance() const;
  double tileBalance() const;
  std::uint64_t dataIn() const;
  std::uint64_t dataOut() const;
};

PVA_CLASS(ExecutionStep);
  Program program() const;
  std::vector<std::uint64_t> cyclesByTile() const;
  std::vector<ComputeSet> computeSets() const;
  std::vector<StepIpu> ipus() const;
};

PVA_CLASS(Run);
  std::string name() const;
  std::vector<std::uint64_t> cyclesByIpu() const;
  std::vector<ExecutionStep> steps() const;
};

PVA_CLASS(TotalCycles);
  std::uint64_t total() const;
  std::uint64_t compute() const;
  std::uint64_t doExchange() const;
  std::uint64_t globalExchange() const;
  std::uint64_t streamCopy() const;
  std::uint64_t sync() const;
};

PVA_CLASS(ExecutionReport);
  std::vector<Run> runs() const;
  std::vector<ExecutionStep> steps() const;
  TotalCycles totalCycles() const;
};

PVA_CLASS(Report);
  CompilationReport compilation() const;
  ExecutionReport execution() const;
};

/// Open a profile.pop, with its debug.cbor where names of the program are wanted.
Report openReport(const std::string &filename);
Report openReport(const std::string &filename, const std::string &debugInfoFilename);

} // namespace pva

#undef PVA_CLASS

#endif
