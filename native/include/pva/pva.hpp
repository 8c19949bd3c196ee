// libpva: reports and host traces read from files, or taken from an engine. An object reads what it is asked for.
//
// Units: bytes, cycles of a tile's clock, hertz. Lists by tile hold all tiles, those of IPU 0 first.
#ifndef pva_pva_hpp
#define pva_pva_hpp

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <poplar/Handle.hpp>

#define PVA_SUBCLASS(NAME, BASE, CONSTRUCTORS)                                                                         \
  class NAME : public BASE {                                                                                           \
  public:                                                                                                              \
    friend bool operator==(const NAME &a, const NAME &b) { return poplar::bridge::equal(a, b); }                       \
    friend bool operator!=(const NAME &a, const NAME &b) { return !poplar::bridge::equal(a, b); }                      \
    using BASE::CONSTRUCTORS
#define PVA_CLASS(NAME) PVA_SUBCLASS(NAME, poplar::bridge::Handle, Handle)

namespace pva {

PVA_CLASS(SourceLocation);
  std::string fileName() const;
  unsigned lineNumber() const;
};

/// What a program or variable was made for, of each layer of software.
PVA_CLASS(DebugContext);
  std::uint64_t id() const;
  std::string name() const;
  std::string layer() const;
  std::string json() const;
  std::vector<DebugContext> parents() const;
  SourceLocation location() const;
  std::vector<DebugContext> replaced() const;
};

PVA_CLASS(Variable);
  std::string name() const;
  std::uint64_t size() const;
};

/// A half-open range of indices of liveness steps.
PVA_CLASS(Interval);
  std::uint64_t start() const;
  std::uint64_t end() const;
};

/// Variables that are live over the same steps.
PVA_CLASS(EquivalenceClass);
  std::uint64_t id() const;
  std::vector<Interval> steps() const;
};

/// The short record of an allocation; `id` is that of the full one.
PVA_CLASS(BriefVar);
  std::uint64_t id() const;
  std::uint64_t bytes() const;
  unsigned tileId() const;
  EquivalenceClass equivalenceClass() const;
};

/// An allocation on a tile.
PVA_CLASS(LoweredVar);
  std::uint64_t _id() const;
  std::string name() const;
  std::uint64_t bytes() const;
  unsigned tileId() const;
  std::uint64_t offset() const;
  std::string category() const;
  bool isConstant() const;
  bool vertexCode() const;
  bool executable() const;
  bool inInterleavedMem() const;
  bool alwaysLive() const;
  EquivalenceClass equivalenceClass() const;
  bool hasUnloweredVar() const;
  Variable unloweredVar() const;
};

PVA_CLASS(LoweredVariables);
  std::vector<BriefVar> allBriefVars() const;
  std::vector<LoweredVar> forTile(unsigned tile) const;
};

PVA_CLASS(VertexType);
  std::string name() const;
  std::uint64_t size() const;
};

/// Vertices of one type in a compute set.
PVA_CLASS(VertexInstances);
  VertexType type() const;
  std::vector<std::uint64_t> countByTile() const;
  std::uint64_t estimatedCycles() const;
};

PVA_CLASS(ComputeSet);
  std::string name() const;
  std::vector<std::uint64_t> cyclesByTile() const;
  std::vector<std::uint64_t> estimatedCyclesByTile() const;
  std::vector<VertexInstances> vertices() const;
};

class ProgramVisitor;

/// A program that the compiler made, a node of the program tree. `program->name()` and `program.name()` are the same.
PVA_CLASS(Program);
  enum class Type {
    Sequence, Repeat, RepeatWhile, If, Switch, OnEveryTileSwitch, Call, OnTileExecute, DoExchange,
    GlobalExchange, StreamCopyBegin, StreamCopyMid, StreamCopyEnd, Sync, SyncAns, Sans, WriteUndef, Block,
    AbortOnCondition, CrossReplicaCopy, Unknown, SetLocalConsensusFromVar, AssumeEqualAcrossReplicas, Abort,
    SetLocalConsensus, GetGlobalConsensus
  };
  std::uint64_t _id() const;
  Type type() const;
  std::string name() const;
  std::vector<Program> children() const;
  std::vector<LoweredVar> vars() const;
  std::vector<std::uint64_t> controlCodeByTile() const;
  std::vector<std::uint64_t> estimatedCyclesByTile() const;
  std::vector<DebugContext> debugContexts() const;
  /// Calls the visitor's function for this program's type; children are not visited.
  void accept(ProgramVisitor &visitor) const; // src/pva.cpp
  const Program *operator->() const { return this; }
  const Program &operator*() const { return *this; }
  operator std::shared_ptr<Program>() const { return std::make_shared<Program>(*this); }
  operator std::shared_ptr<const Program>() const { return std::make_shared<const Program>(*this); }
  explicit operator bool() const { return share() != nullptr; }
};

PVA_SUBCLASS(OnTileExecuteProgram, Program, Program);
  ComputeSet computeset() const;
};
PVA_SUBCLASS(DoExchangeProgram, Program, Program);
  std::vector<std::uint64_t> codeBytesByTile() const;
};
PVA_SUBCLASS(GlobalExchangeProgram, Program, Program);
  std::vector<std::uint64_t> codeBytesByTile() const;
};
PVA_SUBCLASS(StreamCopyBeginProgram, Program, Program);
  std::vector<std::uint64_t> codeBytesByTile() const;
};
PVA_SUBCLASS(StreamCopyMidProgram, Program, Program);
  std::vector<std::uint64_t> codeBytesByTile() const;
};
PVA_SUBCLASS(StreamCopyEndProgram, Program, Program);
  std::vector<std::uint64_t> codeBytesByTile() const;
};

/// Derive from it and override the functions of the types that matter; the others do nothing.
class ProgramVisitor {
public:
  virtual ~ProgramVisitor() = default;
  virtual void visitSequence(const Program &) {}
  virtual void visitRepeat(const Program &) {}
  virtual void visitRepeatWhile(const Program &) {}
  virtual void visitIf(const Program &) {}
  virtual void visitSwitch(const Program &) {}
  virtual void visitOnEveryTileSwitch(const Program &) {}
  virtual void visitCall(const Program &) {}
  virtual void visitOnTileExecute(const OnTileExecuteProgram &) {}
  virtual void visitDoExchange(const DoExchangeProgram &) {}
  virtual void visitGlobalExchange(const GlobalExchangeProgram &) {}
  virtual void visitStreamCopyBegin(const StreamCopyBeginProgram &) {}
  virtual void visitStreamCopyMid(const StreamCopyMidProgram &) {}
  virtual void visitStreamCopyEnd(const StreamCopyEndProgram &) {}
  virtual void visitSync(const Program &) {}
  virtual void visitSyncAns(const Program &) {}
  virtual void visitSans(const Program &) {}
  virtual void visitWriteUndef(const Program &) {}
  virtual void visitBlock(const Program &) {}
  virtual void visitAbortOnCondition(const Program &) {}
  virtual void visitCrossReplicaCopy(const Program &) {}
  virtual void visitUnknown(const Program &) {}
  virtual void visitSetLocalConsensusFromVar(const Program &) {}
  virtual void visitAssumeEqualAcrossReplicas(const Program &) {}
  virtual void visitAbort(const Program &) {}
  virtual void visitSetLocalConsensus(const Program &) {}
  virtual void visitGetGlobalConsensus(const Program &) {}
};

PVA_CLASS(Operation);
  std::string name() const;
  DebugContext debugContext() const;
  std::vector<DebugContext> replacedDebugContext() const;
  std::uint64_t firstStepIndex() const;
  std::uint64_t lastStepIndex() const;
  std::vector<Program> programs() const;
  std::vector<LoweredVar> vars() const;
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

/// Bytes of a category in a region of memory; `overlapped` ones share their address with another variable.
PVA_CLASS(RegionMemory);
  std::uint64_t nonOverlapped() const;
  std::uint64_t overlapped() const;
};

PVA_CLASS(CategoryMemory);
  std::uint64_t total() const;
  RegionMemory nonInterleaved() const;
  RegionMemory interleaved() const;
  RegionMemory overflowed() const;
};

PVA_CLASS(Categories);
  CategoryMemory variable() const;
  CategoryMemory constant() const;
  CategoryMemory hostExchangePacketHeader() const;
  CategoryMemory globalExchangePacketHeader() const;
  CategoryMemory stack() const;
  CategoryMemory vertexInstanceState() const;
  CategoryMemory copyDescriptor() const;
  CategoryMemory vectorListDescriptor() const;
  CategoryMemory vertexFieldData() const;
  CategoryMemory controlTable() const;
  CategoryMemory controlId() const;
  CategoryMemory controlCode() const;
  CategoryMemory vertexCode() const;
  CategoryMemory internalExchangeCode() const;
  CategoryMemory hostExchangeCode() const;
  CategoryMemory globalExchangeCode() const;
  CategoryMemory instrumentationResults() const;
  CategoryMemory message() const;
  CategoryMemory hostMessage() const;
  CategoryMemory globalMessage() const;
  CategoryMemory rearrangement() const;
  CategoryMemory outputEdge() const;
  CategoryMemory sharedCodeStorage() const;
  CategoryMemory sharedDataStorage() const;
  CategoryMemory multiple() const;
  CategoryMemory padding() const;
};

PVA_CLASS(TileVertex);
  VertexType type() const;
  std::uint64_t codeBytes() const;
  std::uint64_t vertexDataBytes() const;
};

PVA_CLASS(TileMemory);
  std::uint64_t alwaysLiveBytes() const;
  std::uint64_t notAlwaysLiveBytes() const;
  MemorySum total() const;
  MemorySum interleaved() const;
  MemorySum nonInterleaved() const;
  MemorySum overflowed() const;
  Categories category() const;
  std::vector<TileVertex> vertices() const;
};

PVA_CLASS(Tile);
  std::uint64_t id() const;
  TileMemory memory() const;
};

PVA_CLASS(IPU);
  enum class Architecture { Ipu1, Ipu2, Ipu21, Unknown };
  std::uint64_t id() const;
  std::vector<Tile> tiles() const;
};

PVA_CLASS(Target);
  enum class Type { Ipu, IpuModel, Cpu, Unknown };
  Type type() const;
  IPU::Architecture architecture() const;
  std::uint64_t numIPUs() const;
  std::uint64_t tilesPerIpu() const;
  std::uint64_t numTiles() const;
  std::uint64_t bytesPerTile() const;
  std::uint64_t bytesPerIPU() const;
  std::uint64_t totalMemory() const;
  double clockFrequency() const;
  std::uint64_t numReplicas() const;
  std::uint64_t ipusPerReplica() const;
  std::uint64_t tilesPerReplica() const;
  std::uint64_t memoryPerReplica() const;
  std::uint64_t minSyncDelay() const;
  std::vector<std::uint64_t> relativeSyncDelayByTile() const;
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
  std::map<std::string, std::string> hostInfo() const;
  std::vector<Tile> tiles() const;
  std::vector<IPU> ipus() const;
  std::vector<Program> programs() const;
  std::vector<ComputeSet> computeSets() const;
  std::vector<Variable> alwaysLiveVariables() const;
  std::vector<Variable> alwaysLiveVariablesForTile(unsigned tile) const;
  std::vector<LivenessProgramStep> livenessProgramSteps() const;
  LoweredVariables loweredVariables() const;
};

PVA_CLASS(MinMax);
  std::uint64_t min() const;
  std::uint64_t max() const;
};

/// When tiles began a step, and when they ended it.
PVA_CLASS(CycleWindow);
  MinMax from() const;
  MinMax to() const;
};

PVA_CLASS(StepIpu);
  std::uint64_t cycles() const;
  CycleWindow activeCycles() const;
  CycleWindow allCycles() const;
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

/// One execution of a program on one tile, of lightweight profiling. An overflow has no program.
PVA_CLASS(Block);
  Program program() const;
  std::uint64_t cyclesFrom() const;
  std::uint64_t cyclesTo() const;
  unsigned tile() const;
  bool isCommon() const;
  bool isOverflow() const;
  bool isBlockFlush() const;
  bool isStreamCopy() const;
};

/// Microseconds of the host's clock.
PVA_CLASS(HostInterval);
  std::uint64_t start() const;
  std::uint64_t end() const;
};

PVA_CLASS(Run);
  std::string name() const;
  HostInterval microseconds() const;
  std::vector<std::uint64_t> cyclesByIpu() const;
  std::vector<std::uint64_t> tailByTile() const;
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
  std::vector<Block> blocks(unsigned tile) const;
};

PVA_CLASS(PoplarVersion);
  unsigned majorVer() const;
  unsigned minorVer() const;
  unsigned pointVer() const;
  std::string packageHash() const;
  std::string string() const;
};

PVA_CLASS(ProfileReportVersion);
  unsigned majorVer() const;
  unsigned minorVer() const;
  unsigned pointVer() const;
  bool isUnstableFormat() const;
};

PVA_CLASS(InstrumentationSettings);
  enum class ComputeInstrumentationLevel { Off, Vertex, Tile, Ipu, Device, Unknown };
  enum class ExternalExchangeInstrumentationLevel { Off, Tile, Unknown };
  ComputeInstrumentationLevel compute() const;
  ExternalExchangeInstrumentationLevel externalExchange() const;
};

PVA_CLASS(Report);
  CompilationReport compilation() const;
  ExecutionReport execution() const;
  InstrumentationSettings instrumentationSettings() const;
  PoplarVersion poplarVersion() const;
  ProfileReportVersion version() const;
};

/// Programs by the operation that made them; the report needs its debug.cbor.
PVA_CLASS(OperationAnalysis);
  OperationAnalysis(const Report &report);
  std::vector<Operation> operations() const;
};

/// Open a profile.pop, with its debug.cbor where names of the program are wanted.
Report openReport(const std::string &filename);
Report openReport(const std::string &filename, const std::string &debugInfoFilename);

/// An event of a thread; times are microseconds, `nanoseconds` what the file has: begin and duration.
PVA_CLASS(Event);
  std::string label() const;
  std::string channel() const;
  std::string metadata() const;
  std::int64_t timestamp() const;
  std::int64_t duration() const;
  std::pair<std::int64_t, std::int64_t> nanoseconds() const;
  std::vector<Event> children() const;
};

PVA_CLASS(Thread);
  std::int64_t tid() const;
  std::string name() const;
  std::vector<Event> events() const;
};

PVA_CLASS(Process);
  std::int64_t pid() const;
  std::vector<Thread> threads() const;
  Thread thread(std::int64_t tid) const;
};

PVA_CLASS(LineGraphSeries);
  std::string name() const;
  std::vector<std::int64_t> timestamps() const;
  std::vector<double> values() const;
};

PVA_CLASS(LineGraph);
  std::string name() const;
  std::string unit() const;
  std::vector<LineGraphSeries> series() const;
};

/// `quantities`: of each histogram the values below the first edge, in each bin, and from the last edge up.
PVA_CLASS(Heatmap);
  std::string name() const;
  std::string unit() const;
  std::vector<double> edges() const;
  std::vector<std::int64_t> timestamps() const;
  std::vector<std::vector<std::uint32_t>> quantities() const;
};

PVA_CLASS(Trace);
  std::vector<Process> processes() const;
  Process process(std::int64_t pid) const;
  std::vector<std::string> channels() const;
  std::map<std::string, std::string> metadata() const;
  std::vector<LineGraph> lineGraphs() const;
  std::vector<Heatmap> heatmaps() const;
};

/// Open a host trace.
Trace openTrace(const std::string &filename);

} // namespace pva

#undef PVA_CLASS
#undef PVA_SUBCLASS

#endif
