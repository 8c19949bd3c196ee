"""Engine options of reports, and names that only appear in published programs and reports."""

from __future__ import annotations

from simulator.poplar.option import Option

REPORTS = (
    Option(
        "autoReport.all",
        "bool",
        "false",
        "All reports below, unless one is excluded by its own option.",
        changes="Files.",
        test="tests/runtime/test_option_effects.py::test_all_and_directory",
    ),
    Option(
        "autoReport.directory",
        "path",
        "./",
        "Folder of the reports; made when missing.",
        changes="Where files are.",
        test="tests/runtime/test_option_effects.py::test_all_and_directory",
    ),
    Option(
        "autoReport.executionProfileProgramRunCount",
        "int",
        "2",
        "Runs kept of each program.",
        changes="Runs in profile.pop.",
        test="tests/runtime/test_option_effects.py::test_runs_kept",
    ),
    Option(
        "autoReport.outputArchive",
        "bool",
        "<autoReport.all>",
        "archive.a",
        changes="A file.",
        test=("tests/runtime/test_option_effects.py::test_each_report_is_there_when_asked_for_and_left_out_when_not"),
    ),
    Option(
        "autoReport.outputDebugInfo",
        "bool",
        "<autoReport.all>",
        "debug.json and debug.cbor",
        changes="Files.",
        test=("tests/runtime/test_option_effects.py::test_each_report_is_there_when_asked_for_and_left_out_when_not"),
    ),
    Option(
        "autoReport.outputExecutionProfile",
        "bool",
        "<autoReport.all>",
        "Runs in profile.pop; sets debug.instrument unless that is given.",
        changes="Runs in profile.pop.",
        test="tests/runtime/test_option_effects.py::test_parts_of_the_profile_have_their_own_switches",
    ),
    Option(
        "autoReport.outputGraphProfile",
        "bool",
        "<autoReport.all>",
        "The compilation in profile.pop; sets debug.allowOutOfMemory unless that is given.",
        changes="Memory in profile.pop.",
        test="tests/runtime/test_option_effects.py::test_parts_of_the_profile_have_their_own_switches",
    ),
    Option(
        "autoReport.outputLoweredVars",
        "bool",
        "<autoReport.all>",
        "Lowered variables in profile.pop",
        changes="Lowered variables in profile.pop.",
        test="tests/runtime/test_option_effects.py::test_parts_of_the_profile_have_their_own_switches",
    ),
    Option(
        "autoReport.outputSerializedGraph",
        "bool",
        "<autoReport.all>",
        "serialized_graph.capnp",
        changes="A file.",
        test=("tests/runtime/test_option_effects.py::test_each_report_is_there_when_asked_for_and_left_out_when_not"),
    ),
    Option(
        "autoReport.streamAtEachRun",
        "bool",
        "true",
        "Write each run when it ends, else all when the engine closes.",
        changes="When runs get into profile.pop.",
        test="tests/runtime/test_option_effects.py::test_stream_at_each_run",
    ),
)

SEEN = (
    Option("debug.branchRecordFlush", "bool", "true", "Flush the branch record at the end of a run.", source="seen"),
    Option("debug.loweredVarDumpFile", "path", "", "File for the lowered variables.", source="seen"),
    Option(
        "debug.trace.out",
        "path",
        "",
        "Older name of debug.traceFile.",
        changes="Where the trace goes, if debug.traceFile does not say.",
        test="tests/poplar/options/test_debug_options.py::test_dump_directory_and_home",
        source="seen",
    ),
    Option(
        "exchange.enablePrefetch",
        "bool",
        "true",
        "Ask stream callbacks for the next transfer ahead of time.",
        changes="Whether `prefetch` of stream callbacks is called.",
        test="tests/poplar/options/test_host_options.py::test_prefetching_is_an_option",
        source="seen",
    ),
    Option(
        "exchange.streamBufferOverlap",
        "enum",
        "hostRearrangeOnly",
        "Which streams may share host buffers.",
        changes="With any, stream callbacks do not prefetch.",
        test="tests/poplar/options/test_host_options.py::test_prefetching_is_an_option",
        choices=("any", "none", "hostRearrangeOnly"),
        source="seen",
    ),
    Option(
        "opt.maxComputeSetsPerLoweredCopy", "int", "0", "Most compute sets of one copy; 0 = no limit.", source="seen"
    ),
    Option("profiler.blocks.bufferSize", "int", "1000", "Bytes per tile for block records.", source="seen"),
    Option("profiler.blocks.filter", "regex", "", "Blocks to measure, by name.", source="seen"),
    Option("profiler.blocks.implicitFlush", "bool", "true", "Add a copy that flushes block records.", source="seen"),
    Option("profiler.blocks.tile", "int", "0", "Tile of each IPU that records blocks.", source="seen"),
    Option(
        "profiler.format", "enum", "v3", "Format of the profile.", choices=("v1", "v3", "experimental"), source="seen"
    ),
    Option(
        "profiler.includeCycleEstimates",
        "bool",
        "false",
        "Cycle estimates in the profile (always there).",
        source="seen",
    ),
    Option(
        "profiler.includeFlopEstimates",
        "bool",
        "false",
        "Floating-point operations in the profile.",
        changes="Operations in profile.pop.",
        test="tests/runtime/test_option_effects.py::test_flop_estimates",
        source="seen",
    ),
    Option(
        "profiler.perExecutionStreamCopyCycles",
        "bool",
        "true",
        "Cycles of each execution of a stream copy.",
        source="seen",
    ),
    Option("profiler.programs.filter", "regex", "", "Programs to measure as blocks, by name.", source="seen"),
    Option("profiler.replicaToProfile", "int", "0", "Replica that is profiled.", source="seen"),
    Option("target.firstRuntimeReplica", "int", "0", "First replica of this process.", source="seen"),
    Option("target.numberRuntimeReplica", "int", "1", "Replicas of this process.", source="seen"),
)
