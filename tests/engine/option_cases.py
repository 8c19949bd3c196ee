"""Two values of every option that has an effect, and the program and options under which they differ."""

from tests.engine.option_probe import Case

COUNTED = {"debug.instrumentCompute": "true"}
ARCHIVE = {"autoReport.outputArchive": "true"}
RUNS = {"autoReport.outputExecutionProfile": "true"}
PROFILE = {"autoReport.outputGraphProfile": "true"}
BLOCKS = {"profiler.programs.filter": "roots", "debug.retainDebugInformation": "true"}
TRACED = {"debug.trace": "true"}
PLAIN = Case()
ON = ("true", "false")

#: Option -> (program, one value, another, further options).
CASES = {
    "debug.allowOutOfMemory": (Case(large=200_000), *ON, {}),
    "debug.branchRecordFlush": (PLAIN, *ON, {"debug.instrumentControlFlow": "true"}),
    "debug.branchRecordTile": (PLAIN, "0", "1", {"debug.instrumentControlFlow": "true"}),
    "debug.computeInstrumentationLevel": (PLAIN, "tile", "ipu", COUNTED),
    "debug.cpuMultiThreadExecution": (PLAIN, *ON, {}),
    "debug.dumpDirectory": (PLAIN, "a", "b", TRACED | {"debug.traceFile": "trace"}),
    "debug.floatPointOpException": (Case(x=-1), *ON, {}),
    "debug.instrument": (PLAIN, *ON, PROFILE | RUNS | {"autoReport.streamAtEachRun": "false"}),
    "debug.instrumentCompute": (PLAIN, *ON, {}),
    "debug.instrumentControlFlow": (PLAIN, *ON, COUNTED),
    "debug.instrumentExternalExchange": (PLAIN, *ON, {}),
    "debug.nanOverflowMode": (Case(h=60000), *ON, {}),
    "debug.outputAllSymbols": (PLAIN, *ON, ARCHIVE),
    "debug.profilingTile": (PLAIN, "0", "1", COUNTED | {"debug.computeInstrumentationLevel": "ipu"}),
    "debug.retainDebugInformation": (PLAIN, *ON, {}),
    "debug.runtimeVerify": (Case(unwritten=True), *ON, {}),
    "debug.supervisorStackSizeInBytes": (PLAIN, "1000", "2000", {}),
    "debug.trace": (PLAIN, *ON, {}),
    "debug.traceFile": (PLAIN, "a", "b", TRACED),
    "debug.verify": (PLAIN, *ON, {}),
    "debug.workerStackSizeInBytes": (PLAIN, "1000", "2000", {}),
    "opt.enableMultiAccessCopies": (PLAIN, *ON, {}),
    "opt.internalExchangeOptimisationTarget": (PLAIN, "cycles", "memory", {}),
    "opt.limitVertexStateToLower256K": (PLAIN, *ON, {}),
    "opt.maxCompilationThreads": (PLAIN, "1", "2", {}),
    "opt.maxLinkerThreads": (PLAIN, "1", "2", {}),
    "opt.useAutoloader": (Case(replicas=2), *ON, {}),
    "target.deterministicWorkers": (PLAIN, *ON, {}),
    "target.extendedMemory": (Case(far=1 << 25), *ON, {}),
    "target.gatewayWriteCombining": (PLAIN, *ON, {}),
    "target.saveArchive": (PLAIN, "a.a", "b.a", {}),
    "target.saveOutputVertexGraph": (PLAIN, "a", "b", {}),
    "target.syncReplicasIndependently": (Case(replicas=2), *ON, {}),
    "autoReport.all": (PLAIN, *ON, {}),
    "autoReport.directory": (PLAIN, "a", "b", PROFILE),
    "autoReport.executionProfileProgramRunCount": (PLAIN, "1", "2", RUNS),
    "autoReport.outputArchive": (PLAIN, *ON, {}),
    "autoReport.outputDebugInfo": (PLAIN, *ON, {}),
    "autoReport.outputExecutionProfile": (PLAIN, *ON, {}),
    "autoReport.outputGraphProfile": (PLAIN, *ON, {}),
    "autoReport.outputLoweredVars": (PLAIN, *ON, {}),
    "autoReport.outputSerializedGraph": (PLAIN, *ON, {}),
    "autoReport.streamAtEachRun": (PLAIN, *ON, RUNS),
    "experimental.minLoweringTiles": (PLAIN, "1", "0", {}),
    "popvision.addressAccurate": (PLAIN, *ON, {}),
    "debug.loweredVarDumpFile": (PLAIN, "a", "b", {}),
    "debug.trace.out": (PLAIN, "a", "b", TRACED),
    "exchange.enablePrefetch": (PLAIN, *ON, {}),
    "exchange.streamBufferOverlap": (PLAIN, "any", "none", {}),
    "profiler.blocks.bufferSize": (PLAIN, "100", "1000", BLOCKS),
    "profiler.blocks.filter": (PLAIN, "block", "none", {}),
    "profiler.blocks.implicitFlush": (PLAIN, *ON, BLOCKS),
    "profiler.blocks.tile": (PLAIN, "0", "1", BLOCKS),
    "profiler.includeFlopEstimates": (PLAIN, *ON, {}),
    "profiler.programs.filter": (PLAIN, "roots", "none", {}),
    "streamCallbacks.multiThreadMode": (PLAIN, "singleThread", "dedicated", {}),
    "streamCallbacks.numaAware": (PLAIN, *ON, {"streamCallbacks.multiThreadMode": "dedicated"}),
    "streamCallbacks.numWorkerThreads": (PLAIN, "1", "2", {"streamCallbacks.multiThreadMode": "collaborative"}),
    "target.exceptionPollPeriodUs": (Case(x=-1), "1", "1000", {"debug.floatPointOpException": "true"}),
    "target.hostSyncTimeout": (PLAIN, "0", "1e-9", {}),
    "target.syncMethod": (PLAIN, "polling", "hybrid", {"target.syncPollPeriodUs": "50"}),
    "target.syncPollPeriodUs": (PLAIN, "0", "50", {}),
}
