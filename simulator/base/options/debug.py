"""Engine options that help to find faults."""

from __future__ import annotations

from simulator.base.options.option import Option

DEBUG = (
    Option(
        "debug.allowOutOfMemory",
        "bool",
        "false",
        "Compile on when tile memory is exceeded.",
        changes="Whether compiling for simulated hardware raises graph_memory_allocation_error.",
        test="tests/engine/test_option_effects.py::test_allow_out_of_memory",
    ),
    Option(
        "debug.branchRecordTile",
        "int",
        "<tiles - 1>",
        "Tile that stores the branch record.",
        changes="The tile whose memory holds the record.",
        test="tests/engine/test_option_effects.py::test_branch_record",
    ),
    Option(
        "debug.computeInstrumentationLevel",
        "enum",
        "tile",
        ("Grain of the cycle counters: each vertex, each compute set on every tile, or on one tile per IPU or device."),
        changes=(
            "Memory of the counters, cycles on hardware, syncs at level ipu, vertices one by one at level vertex."
        ),
        test="tests/engine/test_option_effects.py::test_level_and_profiling_tile_say_where_counters_lie",
        choices=("vertex", "tile", "ipu", "device"),
    ),
    Option(
        "debug.cpuMultiThreadExecution",
        "bool",
        "true",
        "Run vertices on several host threads.",
        changes=(
            "Vertices of compute sets with at least 256 of them run on several threads of the host (not on "
            "simulated hardware)."
        ),
        test="tests/poplar/options/test_host_options.py::test_vertices_run_on_several_threads",
    ),
    Option(
        "debug.dumpDirectory",
        "path",
        "",
        "Folder of debug dumps.",
        changes="Where a relative debug.traceFile lies.",
        test="tests/poplar/options/test_debug_options.py::test_dump_directory_and_home",
    ),
    Option(
        "debug.floatPointOpException",
        "bool",
        "false",
        "Stop on invalid floating-point operations.",
        changes="An invalid operation ends the run with application_runtime_error that names the program.",
        test="tests/poplar/options/test_debug_options.py::test_invalid_operations_stop_a_program",
    ),
    Option(
        "debug.instrument",
        "bool",
        "false",
        "Turn on the three kinds of instrumentation below.",
        changes="The default of the three switches below.",
        test="tests/engine/test_option_effects.py::test_hardware_records_nothing_without_counters",
    ),
    Option(
        "debug.instrumentCompute",
        "bool",
        "<debug.instrument>",
        "Count the cycles of compute sets.",
        changes="Memory of counters; on hardware whether runs are recorded, and cycles.",
        test="tests/engine/test_option_effects.py::test_instrumentation_takes_memory",
    ),
    Option(
        "debug.instrumentExternalExchange",
        "bool",
        "<debug.instrument>",
        "Count the cycles of host and IPU links.",
        changes="Memory of counters.",
        test="tests/engine/test_option_effects.py::test_instrumentation_takes_memory",
    ),
    Option(
        "debug.instrumentControlFlow",
        "bool",
        "<debug.instrument>",
        (
            "Record the trips of every Repeat and the branch of every switch in each run. Takes 4 bytes for"
            " each on debug.branchRecordTile (a guess) and no cycles (nothing public says how many)."
        ),
        changes="Trips and branches in the report; memory.",
        test="tests/engine/test_option_effects.py::test_branch_record",
    ),
    Option(
        "debug.nanOverflowMode",
        "bool",
        "false",
        "Half overflow gives NaN instead of the largest half.",
        changes="Values of halves that overflow.",
        test="tests/poplar/options/test_debug_options.py::test_halves_that_overflow",
    ),
    Option(
        "debug.outputAllSymbols",
        "bool",
        "false",
        "More symbols in the ELF files.",
        changes="Symbols of variables that share memory over time, in archive.a.",
        test="tests/poplar/options/test_target_options.py::test_symbols_of_shared_memory",
    ),
    Option(
        "debug.profilingTile",
        "int",
        "<tiles per IPU - 1>",
        "Tile that stores the counters of level ipu.",
        changes="The tile whose memory holds the counters.",
        test="tests/engine/test_option_effects.py::test_level_and_profiling_tile_say_where_counters_lie",
    ),
    Option(
        "debug.retainDebugInformation",
        "bool",
        "false",
        "Keep what reports need after compilation.",
        changes="Whether getReport works without a graph profile.",
        test="tests/engine/test_option_effects.py::test_retain_debug_information",
    ),
    Option(
        "debug.runtimeVerify",
        "bool",
        "false",
        "Expensive checks while running.",
        changes=(
            "Compute sets that write what is not their output, and reads of remote rows that nothing was "
            "written to, end the run; library operations run vertex by vertex."
        ),
        test="tests/poplar/options/test_debug_options.py::test_writes_to_inputs_are_found",
    ),
    Option(
        "debug.supervisorStackSizeInBytes",
        "int",
        "",
        "Stack of the supervisor, in place of the computed size.",
        changes="Memory of stacks.",
        test="tests/engine/test_option_effects.py::test_stack_sizes",
    ),
    Option(
        "debug.trace",
        "bool",
        "false",
        "Print every edge before and after each compute set or exchange.",
        changes="Text on standard error or in debug.traceFile; library operations run vertex by vertex.",
        test="tests/poplar/options/test_debug_options.py::test_trace_of_edges",
    ),
    Option(
        "debug.traceFile",
        "path",
        "",
        "File of debug.trace, in place of standard error.",
        changes="Where the trace goes.",
        test="tests/poplar/options/test_debug_options.py::test_trace_of_edges",
    ),
    Option(
        "debug.verify",
        "bool",
        "false",
        (
            "Look at the planned exchanges and the layout of memory again, from vertices and copies alone; "
            "a fault ends compilation with a poplar_error that names it."
        ),
        changes="A faulty exchange or layout ends compilation with poplar_error.",
        test="tests/compiler/test_verify.py",
    ),
    Option(
        "debug.workerStackSizeInBytes",
        "int",
        "",
        "Stack of each worker, in place of the computed size.",
        changes="Memory of stacks.",
        test="tests/engine/test_option_effects.py::test_stack_sizes",
    ),
)
