"""The tables of options that matter while programs run. Entries are fields of `RunSettings` and `RuntimeSettings`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from simulator.base.options.option import (
    BOOL,
    FILE,
    FOLDER,
    NUMBER,
    WHOLE,
    WHOLE_OR_AUTO,
    Effects,
    Option,
    OptionValues,
    everywhere,
    one_of,
    setting,
)
from simulator.base.target import TargetType

_DEBUG = "tests/poplar/options/test_debug_options.py"
_HOST = "tests/poplar/options/test_host_options.py"
_RUNTIME = "tests/poplar/options/test_runtime_options.py"


def dump_file(path: Path | None, values: OptionValues) -> Path | None:
    """A file for debugging: one that is not absolute lies in debug.dumpDirectory, else in the working directory."""
    return None if path is None else FOLDER.read(values["debug.dumpDirectory"]) / path


def _trace_file(path: Path | None, values: OptionValues) -> Path | None:
    return dump_file(path or FILE.read(values["debug.trace.out"]), values)


def _numa_aware(on: bool, values: OptionValues) -> bool:
    if on and values["streamCallbacks.multiThreadMode"] == "singleThread":
        raise ValueError(
            "'streamCallbacks.multiThreadMode' is 'singleThread'; choose collaborative or dedicated for that option."
        )
    return on


#: Options that only decide about other options, and those without effect.
RUN_SWITCHES = (
    Option(
        "debug.dumpDirectory",
        FOLDER,
        "",
        "Folder of debug dumps.",
        changes="Where a relative debug.traceFile lies.",
        effects=everywhere("files"),
        test=f"{_DEBUG}::test_dump_directory_and_home",
    ),
    Option(
        "debug.trace.out",
        FILE,
        "",
        "Older name of debug.traceFile.",
        changes="Where the trace goes, if debug.traceFile does not say.",
        effects=everywhere("files"),
        test=f"{_DEBUG}::test_dump_directory_and_home",
        source="seen",
    ),
    Option(
        "target.firstRuntimeReplica",
        WHOLE,
        "0",
        "First replica of this process.",
        recorded_only="one process runs all replicas",
        source="seen",
    ),
    Option(
        "target.numberRuntimeReplica",
        WHOLE,
        "1",
        "Replicas of this process.",
        recorded_only="one process runs all replicas",
        source="seen",
    ),
)


@dataclass(frozen=True)
class RunSettings:
    """What an engine acts on while its programs run: options, and what `simulator.engine` adds to them."""

    runs_kept: int = setting(  #: runs of each program that are recorded
        "autoReport.executionProfileProgramRunCount",
        WHOLE,
        "2",
        "Runs kept of each program.",
        changes="Runs in profile.pop.",
        effects=Effects("files report", "", "files report"),
        test="tests/engine/test_option_effects.py::test_runs_kept",
    )
    branch_flush: bool = setting(
        "debug.branchRecordFlush",
        BOOL,
        "true",
        "Flush the branch record at the end of a run; without it the record stays on its tile and the host never has "
        "it (a guess: only the name is known).",
        changes="Whether runs have trips and branches in the report, with debug.instrumentControlFlow.",
        effects=Effects("report", "", "report"),
        test="tests/engine/test_option_effects.py::test_a_branch_record_that_is_not_flushed_is_not_in_the_report",
        source="seen",
    )
    several_threads: bool = setting(
        "debug.cpuMultiThreadExecution",
        BOOL,
        "true",
        "Run vertices on several host threads.",
        changes="Vertices of compute sets with at least 256 of them run on several threads of the host (not on "
        "simulated hardware).",
        effects=Effects("host", "host", ""),
        test=f"{_HOST}::test_vertices_run_on_several_threads",
        targets=(TargetType.IPU_MODEL, TargetType.CPU),
        inactive=False,
    )
    float_exceptions: bool = setting(
        "debug.floatPointOpException",
        BOOL,
        "false",
        "Stop on invalid floating-point operations.",
        changes="An invalid operation ends the run with application_runtime_error that names the program.",
        effects=everywhere("errors"),
        test=f"{_DEBUG}::test_invalid_operations_stop_a_program",
    )
    nan_on_overflow: bool = setting(
        "debug.nanOverflowMode",
        BOOL,
        "false",
        "Half overflow gives NaN instead of the largest half.",
        changes="Values of halves that overflow.",
        effects=everywhere("values"),
        test=f"{_DEBUG}::test_halves_that_overflow",
    )
    verify: bool = setting(
        "debug.runtimeVerify",
        BOOL,
        "false",
        "Expensive checks while running.",
        changes="Compute sets that write what is not their output, and reads of remote rows that nothing was written "
        "to, end the run; library operations run vertex by vertex.",
        effects=everywhere("errors"),
        test=f"{_DEBUG}::test_writes_to_inputs_are_found",
    )
    trace: bool = setting(
        "debug.trace",
        BOOL,
        "false",
        "Print every edge before and after each compute set or exchange.",
        changes="Text on standard error or in debug.traceFile; library operations run vertex by vertex.",
        effects=everywhere("text"),
        test=f"{_DEBUG}::test_trace_of_edges",
    )
    trace_file: Path | None = setting(  #: None = standard error
        "debug.traceFile",
        FILE,
        "",
        "File of debug.trace, in place of standard error.",
        changes="Where the trace goes.",
        effects=everywhere("files"),
        test=f"{_DEBUG}::test_trace_of_edges",
        settle=_trace_file,
    )
    prefetch: bool = setting(
        "exchange.enablePrefetch",
        BOOL,
        "true",
        "Ask stream callbacks for the next transfer ahead of time.",
        changes="Whether `prefetch` of stream callbacks is called; on hardware, whether transfers to the device "
        "wait for the host.",
        effects=Effects("host", "host", "cycles host"),
        test=f"{_HOST}::test_prefetching_is_an_option",
        source="seen",
        settle=lambda on, values: on and values["exchange.streamBufferOverlap"] != "any",
    )
    buffer_overlap: str = setting(
        "exchange.streamBufferOverlap",
        one_of("any", "none", "hostRearrangeOnly"),
        "hostRearrangeOnly",
        "Which streams may share host buffers.",
        changes="With any, stream callbacks do not prefetch, and on hardware each transfer waits for the host.",
        effects=Effects("host", "host", "cycles host"),
        test=f"{_HOST}::test_prefetching_is_an_option",
        source="seen",
    )
    autoload: bool = setting(
        "opt.useAutoloader",
        BOOL,
        "<true except on Mk1>",
        "Load through the secondary loader. Only simulated hardware does.",
        changes="Replicas after the first take initial values from it, not from the host; host traces show it.",
        effects=Effects("", "", "host"),
        test="tests/poplar/options/test_building.py::test_useAutoloader_loads_one_replica_from_the_host",
        implied=lambda values: "false" if values.target.getTargetArchString() == "ipu1" else "true",
        targets=(TargetType.IPU,),
        inactive=False,
    )

    # What is no option of its own.
    recording: bool = True  #: keep records of runs
    blocks_of_all: bool = False  #: runs without a record leave the blocks of lightweight profiling
    measured_host: bool = False  #: the device waits as long as host callbacks take, not a constant time


@dataclass(frozen=True)
class RuntimeSettings:
    """How the host side of a run behaves: the runtime options. Settings made without options never wait."""

    sync_method: str = setting(
        "target.syncMethod",
        one_of("polling", "hybrid", "default"),
        "default",
        "How the host waits.",
        changes="hybrid: the host is woken, so that target.syncPollPeriodUs costs nothing.",
        effects=Effects("", "", "cycles"),
        test=f"{_RUNTIME}::test_a_host_that_polls_late_makes_hardware_wait",
    )
    sync_poll_us: int = setting(
        "target.syncPollPeriodUs",
        WHOLE,
        "0",
        "Microseconds between polls.",
        changes="On simulated hardware the host notices every request half a period later, the mean delay of polling.",
        effects=Effects("", "", "cycles"),
        test=f"{_RUNTIME}::test_a_host_that_polls_late_makes_hardware_wait",
    )
    exception_poll_us: int = setting(
        "target.exceptionPollPeriodUs",
        WHOLE,
        "250000",
        "Microseconds between checks for exceptions.",
        changes="Device time that passes until the host notices that a run has failed.",
        effects=Effects("cycles", "", "cycles"),
        test=f"{_RUNTIME}::test_the_host_notices_failures_late",
        targets=(TargetType.IPU, TargetType.IPU_MODEL),
        inactive=0,
    )
    sync_timeout: float = setting(  #: seconds; 0 = never
        "target.hostSyncTimeout",
        NUMBER,
        "300.00",
        "Seconds until a host synchronisation fails; 0 = never.",
        changes="A run that lets the host wait longer raises unknown_runtime_error with HOST_SYNC_TIMEOUT: before the "
        "late synchronisation, or, where data choose the way, at its end. The clock is the device's, in modelled "
        "cycles: what the simulation itself takes does not count, nor do host callbacks unless "
        "POPVISION_HOST_CLOCK=measured.",
        effects=Effects("errors", "", "errors"),
        test=f"{_RUNTIME}::test_what_comes_after_a_late_synchronisation_does_not_happen",
        targets=(TargetType.IPU, TargetType.IPU_MODEL),
        inactive=0.0,
    )
    callback_mode: str = setting(
        "streamCallbacks.multiThreadMode",
        one_of("singleThread", "collaborative", "dedicated"),
        "singleThread",
        "Threads of stream callbacks.",
        changes="The threads that call fetch, prefetch and complete; prefetching beside the program.",
        effects=everywhere("host"),
        test=f"{_RUNTIME}::test_threads_of_callbacks",
    )
    numa_aware: bool = setting(
        "streamCallbacks.numaAware",
        BOOL,
        "false",
        "Callback threads near their IPU.",
        changes="A pool of threads for each node of this machine's memory; refused with singleThread.",
        effects=everywhere("host"),
        test=f"{_RUNTIME}::test_numa_nodes_have_threads_of_their_own",
        settle=_numa_aware,
    )
    callback_workers: int | None = setting(  #: None = one for each processor
        "streamCallbacks.numWorkerThreads",
        WHOLE_OR_AUTO,
        "0",
        "Callback threads; auto = as many as useful.",
        changes="How many threads there are.",
        effects=everywhere("host"),
        test=f"{_RUNTIME}::test_threads_of_callbacks",
    )
