"""Every engine and runtime option that is known: type, default, meaning, and whether it has its effect now.

Names and defaults are those of Poplar's Engine documentation; `source` "seen" marks names that only appear in
published programs and reports. `docs/options.md` is written from this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["bool", "int", "float", "string", "path", "regex", "enum"]


@dataclass(frozen=True)
class Option:
    name: str
    kind: Kind
    default: str  #: as a string; "" = not set; a word in <> = computed, see `meaning`
    meaning: str
    effective: bool = False  #: whether it has its effect now; else a notice says so once when it is asked for
    choices: tuple[str, ...] = ()
    source: Literal["documented", "seen"] = "documented"


def _flag(name: str, default: str, meaning: str, effective: bool = False) -> Option:
    return Option(name, "bool", default, meaning, effective)


def _seen(name: str, kind: Kind, default: str, meaning: str, effective: bool = False, *choices: str) -> Option:
    return Option(name, kind, default, meaning, effective, choices, "seen")


DEBUG = (
    _flag("debug.allowOutOfMemory", "false", "Compile on when tile memory is exceeded.", True),
    Option("debug.branchRecordTile", "int", "<tiles - 1>", "Tile that stores the branch record.", True),
    Option(
        "debug.computeInstrumentationLevel",
        "enum",
        "tile",
        "Grain of the cycle counters: each vertex, each compute set on every tile, or on one tile per IPU or device.",
        True,
        ("vertex", "tile", "ipu", "device"),
    ),
    _flag("debug.cpuMultiThreadExecution", "true", "Run vertices on several host threads."),
    Option("debug.dumpDirectory", "path", "", "Folder of debug dumps."),
    _flag("debug.floatPointOpException", "false", "Stop on invalid floating-point operations."),
    _flag("debug.instrument", "false", "Turn on the three kinds of instrumentation below.", True),
    _flag("debug.instrumentCompute", "<debug.instrument>", "Count the cycles of compute sets.", True),
    _flag("debug.instrumentExternalExchange", "<debug.instrument>", "Count the cycles of host and IPU links.", True),
    _flag(
        "debug.instrumentControlFlow",
        "<debug.instrument>",
        "Record the trips of every Repeat and the branch of every switch in each run. Takes 4 bytes for each on "
        "debug.branchRecordTile (a guess) and no cycles (nothing public says how many).",
        True,
    ),
    _flag("debug.nanOverflowMode", "false", "Half overflow gives NaN instead of the largest half."),
    _flag("debug.outputAllSymbols", "false", "More symbols in the ELF files."),
    Option("debug.profilingTile", "int", "<tiles per IPU - 1>", "Tile that stores the counters of level ipu.", True),
    _flag("debug.retainDebugInformation", "false", "Keep what reports need after compilation.", True),
    _flag("debug.runtimeVerify", "false", "Expensive checks while running."),
    Option(
        "debug.supervisorStackSizeInBytes", "int", "", "Stack of the supervisor, in place of the computed size.", True
    ),
    _flag("debug.trace", "false", "Print every edge before and after each compute set or exchange."),
    Option("debug.traceFile", "path", "", "File of debug.trace, in place of standard error."),
    _flag(
        "debug.verify",
        "false",
        "Look at the planned exchanges and the layout of memory again, from vertices and copies alone; a fault ends "
        "compilation with a poplar_error that names it.",
        True,
    ),
    Option("debug.workerStackSizeInBytes", "int", "", "Stack of each worker, in place of the computed size.", True),
)

OPTIMISATION = (
    Option(
        "opt.internalExchangeOptimisationTarget",
        "enum",
        "cycles",
        "What exchange code is made for: speed, less always-live memory, or less memory on tiles that can spare the "
        "time (how is a guess, `simulator/machine/exchange_code.py`).",
        True,
        ("balanced", "cycles", "memory"),
    ),
    _flag(
        "opt.enableMultiAccessCopies",
        "true",
        "Copies within tiles load and store in one cycle, with both sides in memory elements apart.",
        True,
    ),
    _flag("opt.limitVertexStateToLower256K", "false", "Vertex state where code can lie: less control code.", True),
    Option(
        "opt.maxCompilationThreads",
        "int",
        "0",
        "Most threads that estimate compute sets; 0 = one for each processor. Traces show them.",
        True,
    ),
    Option(
        "opt.maxLinkerThreads",
        "int",
        "0",
        "Most threads that make the images of tiles for archive.a; 0 = as many as compile. Traces show them.",
        True,
    ),
    _flag("opt.useAutoloader", "<true except on Mk1>", "Load by the secondary loader."),
)

TARGET = (
    Option(
        "target.deterministicWorkers",
        "enum",
        "true",
        "The same workers run the same vertices each time (always so in the simulator).",
        False,
        ("true", "false", "portable"),
    ),
    _flag("target.extendedMemory", "false", "Remote buffers above 16 GiB."),
    _flag(
        "target.gatewayWriteCombining",
        "false",
        "Fewer, longer packets to the host (how long is a guess): less host exchange code and fewer headers.",
        True,
    ),
    Option("target.saveArchive", "path", "", "File for the archive of per-tile ELF files.", True),
    Option("target.saveOutputVertexGraph", "path", "", "File for the vertex graph in dot format."),
    _flag(
        "target.syncReplicasIndependently",
        "false",
        "Host copies wait for the IPUs of their replica (sync group GS1) instead of those of all replicas (GS2).",
        True,
    ),
)

REPORTS = (
    _flag("autoReport.all", "false", "All reports below, unless one is excluded by its own option.", True),
    Option("autoReport.directory", "path", "./", "Folder of the reports; made when missing.", True),
    Option("autoReport.executionProfileProgramRunCount", "int", "2", "Runs kept of each program.", True),
    _flag("autoReport.outputArchive", "<autoReport.all>", "archive.a", True),
    _flag("autoReport.outputDebugInfo", "<autoReport.all>", "debug.json and debug.cbor", True),
    _flag(
        "autoReport.outputExecutionProfile",
        "<autoReport.all>",
        "Runs in profile.pop; sets debug.instrument unless that is given.",
        True,
    ),
    _flag(
        "autoReport.outputGraphProfile",
        "<autoReport.all>",
        "The compilation in profile.pop; sets debug.allowOutOfMemory unless that is given.",
        True,
    ),
    _flag("autoReport.outputLoweredVars", "<autoReport.all>", "Lowered variables in profile.pop", True),
    _flag("autoReport.outputSerializedGraph", "<autoReport.all>", "serialized_graph.capnp", True),
    _flag("autoReport.streamAtEachRun", "true", "Write each run when it ends, else all when the engine closes.", True),
)

OTHER = (Option("experimental.minLoweringTiles", "int", "5888", "Tiles lowered at a time; 0 = all."),)

OWN = (
    _flag(
        "popvision.addressAccurate",
        "<POPVISION_ADDRESS_ACCURATE>",
        "Values live only at the tile addresses that the report claims; at most 64 tiles. See address-accurate.md.",
        True,
    ),
)

SEEN = (
    _seen("debug.branchRecordFlush", "bool", "true", "Flush the branch record at the end of a run."),
    _seen("debug.loweredVarDumpFile", "path", "", "File for the lowered variables."),
    _seen("debug.trace.out", "path", "", "Older name of debug.traceFile."),
    _seen("exchange.enablePrefetch", "bool", "false", "Prefetch host-to-device streams."),
    _seen(
        "exchange.streamBufferOverlap",
        "enum",
        "any",
        "Which streams may share host buffers.",
        False,
        "any",
        "none",
        "hostRearrangeOnly",
    ),
    _seen("opt.maxComputeSetsPerLoweredCopy", "int", "0", "Most compute sets of one copy; 0 = no limit."),
    _seen("profiler.blocks.bufferSize", "int", "1000", "Bytes per tile for block records."),
    _seen("profiler.blocks.filter", "regex", "", "Blocks to measure, by name."),
    _seen("profiler.blocks.implicitFlush", "bool", "true", "Add a copy that flushes block records."),
    _seen("profiler.blocks.tile", "int", "0", "Tile of each IPU that records blocks."),
    _seen("profiler.format", "enum", "v3", "Format of the profile.", False, "v1", "v3", "experimental"),
    _seen("profiler.includeCycleEstimates", "bool", "false", "Cycle estimates in the profile (always there)."),
    _seen("profiler.includeFlopEstimates", "bool", "false", "Floating-point operations in the profile.", True),
    _seen("profiler.perExecutionStreamCopyCycles", "bool", "true", "Cycles of each execution of a stream copy."),
    _seen("profiler.programs.filter", "regex", "", "Programs to measure as blocks, by name."),
    _seen("profiler.replicaToProfile", "int", "0", "Replica that is profiled."),
    _seen("target.firstRuntimeReplica", "int", "0", "First replica of this process."),
    _seen("target.numberRuntimeReplica", "int", "1", "Replicas of this process."),
)

RUNTIME = (
    Option("target.syncMethod", "enum", "default", "How the host waits.", False, ("polling", "hybrid", "default")),
    Option("target.syncPollPeriodUs", "int", "0", "Microseconds between polls."),
    Option("target.exceptionPollPeriodUs", "int", "250000", "Microseconds between checks for exceptions."),
    Option("target.hostSyncTimeout", "float", "300.00", "Seconds until a host synchronisation fails; 0 = never."),
    Option(
        "streamCallbacks.multiThreadMode",
        "enum",
        "singleThread",
        "Threads of stream callbacks.",
        False,
        ("singleThread", "collaborative", "dedicated"),
    ),
    _flag("streamCallbacks.numaAware", "false", "Callback threads near their IPU."),
    Option("streamCallbacks.numWorkerThreads", "int", "0", "Callback threads; auto = as many as useful."),
)

DOCUMENTED_ENGINE = DEBUG + OPTIMISATION + TARGET + REPORTS + OTHER
ENGINE_TABLE = {option.name: option for option in DOCUMENTED_ENGINE + OWN + SEEN + RUNTIME}
RUNTIME_TABLE = {option.name: option for option in RUNTIME}
