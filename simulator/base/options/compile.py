"""The table of options that compilation acts on. Each entry is a field of `CompileSettings`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from simulator.base.options.option import (
    BOOL,
    PATTERN,
    WHOLE,
    Effects,
    Option,
    OptionValues,
    everywhere,
    one_of,
    setting,
)
from simulator.base.target import TargetType
from simulator.machine import block_records

#: The address-accurate mode refuses more tiles: it stores their memory twice and runs vertices one by one.
MOST_ADDRESS_ACCURATE_TILES = 64

ADDRESS_ACCURATE_VARIABLE = "POPVISION_ADDRESS_ACCURATE"

_EFFECTS = "tests/engine/test_option_effects.py"
_MEMORY = "tests/compiler/memory/test_memory_options.py"
_TARGET = "tests/poplar/options/test_target_options.py"
_BUILDING = "tests/poplar/options/test_building.py"
_BLOCKS = "tests/poplar/options/test_block_options.py"


def _instrumented(values: OptionValues) -> str | None:
    """The text of a kind of instrumentation that is not given itself. None = that of debug.instrument, which is "only
    available for an IPU target (not an IPU Model target)": it adds nothing to a model. A model has counters where
    reports of runs ask for them, as the published matmul chain has (docs/options.md)."""
    if values.target.type is TargetType.IPU_MODEL and not values.on("autoReport.outputExecutionProfile"):
        return "false"
    return None


def _existing_tile(tile: int, tiles: int) -> int:
    if tile >= tiles:
        raise ValueError(f"the last tile is {tiles - 1}.")
    return tile


def _profiling_tile(tile: int, values: OptionValues) -> int:
    """Checked where counters lie on one tile: the option has no effect otherwise."""
    counted = values.on("debug.instrumentCompute") and values["debug.computeInstrumentationLevel"] in ("ipu", "device")
    return _existing_tile(tile, values.target.getTilesPerIPU()) if counted and not _on_cpu(values) else -1


def _branch_record_tile(tile: int, values: OptionValues) -> int:
    """Checked where branches are recorded: the option has no effect otherwise."""
    recorded = values.on("debug.instrumentControlFlow") and not _on_cpu(values)
    return _existing_tile(tile, values.target.getNumTiles()) if recorded else -1


def _block_tile(tile: int, values: OptionValues) -> int:
    return _existing_tile(tile, values.target.getTilesPerIPU()) if _records_blocks(values) else 0


def _records_blocks(values: OptionValues) -> bool:
    filtered = values["profiler.blocks.filter"] or values["profiler.programs.filter"]
    return bool(filtered) and not _on_cpu(values)


def _on_cpu(values: OptionValues) -> bool:
    return values.target.type is TargetType.CPU


def _extended_memory(on: bool, values: OptionValues) -> bool:
    target = values.target
    if on and target.type is TargetType.IPU and target.getTargetArchString() == "ipu1":
        raise ValueError("the target is a Mk1 system, and only IPU-M2000 systems have the memory.")
    return on


def _block_buffer(size: int, values: OptionValues) -> int:
    if _records_blocks(values) and not block_records.capacity(size):
        least = block_records.COUNT_BYTES + block_records.RECORD_BYTES
        raise ValueError(f"a buffer of one record takes {least} bytes.")
    return size


def _address_accurate(on: bool, values: OptionValues) -> bool:
    if not on:
        return False
    if values.target.type is TargetType.CPU:
        raise ValueError("a CPU has no tiles with addresses.")
    if values.on("debug.trace"):
        raise ValueError(
            "debug.trace shows variables also where they do not live, and in this mode they have no contents there; "
            "give one of the two options."
        )
    tiles = values.target.getNumTiles()
    if tiles > MOST_ADDRESS_ACCURATE_TILES:
        raise ValueError(
            f"it takes at most {MOST_ADDRESS_ACCURATE_TILES} tiles, the target has {tiles}; set tilesPerIPU of the "
            "model or POPVISION_TILES."
        )
    return True


#: Options that only decide about other options, and those without effect.
COMPILE_SWITCHES = (
    Option(
        "debug.instrument",
        BOOL,
        "false",
        "Turn on the three kinds of instrumentation below. On an IPU Model it adds nothing to what "
        "autoReport.outputExecutionProfile turns on; false turns them off on every target.",
        changes="The default of the three switches below.",
        effects=Effects("bytes report", "", "cycles bytes report"),
        test=f"{_EFFECTS}::test_debug_instrument_adds_nothing_on_a_model",
        implied=lambda values: "true" if values.on("autoReport.outputExecutionProfile") else None,
    ),
    Option(
        "debug.instrumentCompute",
        BOOL,
        "<debug.instrument>",
        "Count the cycles of compute sets, and with them of exchanges within an IPU and their syncs.",
        changes="Memory of counters; on hardware cycles, and whether runs record these steps.",
        effects=Effects("bytes", "", "cycles bytes report"),
        test=f"{_EFFECTS}::test_each_kind_records_its_own_part_and_costs_its_own_cycles",
        implied=_instrumented,
    ),
    Option(
        "opt.maxComputeSetsPerLoweredCopy",
        WHOLE,
        "0",
        "Most compute sets of one copy; 0 = no limit.",
        recorded_only="a copy within tiles is one compute set here",
        source="seen",
    ),
    Option(
        "profiler.includeCycleEstimates",
        BOOL,
        "false",
        "Cycle estimates in the profile (always there).",
        recorded_only="estimates are in every profile",
        source="seen",
    ),
)


@dataclass(frozen=True)
class CompileSettings:
    """What the compiler's passes act on: options, and what `simulator.engine` adds to them."""

    allow_out_of_memory: bool = setting(
        "debug.allowOutOfMemory",
        BOOL,
        "false",
        "Compile on when tile memory is exceeded; loading raises graph_memory_allocation_error then. An IPU Model runs "
        "such programs whatever the option says.",
        changes="Whether compiling for simulated hardware raises graph_memory_allocation_error.",
        effects=Effects("", "", "errors"),
        test=f"{_EFFECTS}::test_allow_out_of_memory",
        implied=lambda values: "true" if values.on("autoReport.outputGraphProfile") else None,
    )
    branch_record_tile: int = setting(  #: of the device; -1 = the last
        "debug.branchRecordTile",
        WHOLE,
        "<tiles - 1>",
        "Tile that stores the branch record.",
        changes="The tile whose memory holds the record, with debug.instrumentControlFlow.",
        effects=Effects("bytes", "", "bytes"),
        test=f"{_EFFECTS}::test_branch_record",
        implied=lambda values: str(values.target.getNumTiles() - 1),
        settle=_branch_record_tile,
        inactive=-1,
    )
    compute_level: str = setting(  #: "" (no counters), "vertex", "tile", "ipu" or "device"
        "debug.computeInstrumentationLevel",
        one_of("vertex", "tile", "ipu", "device"),
        "tile",
        "Grain of the cycle counters: each vertex, each compute set on every tile, or on one tile per IPU or device.",
        changes="Memory of the counters; on hardware cycles, syncs at level ipu, vertices one by one at level vertex. "
        "Levels ipu and device lose the cycles of single tiles: the viewer and pva's cyclesByTile do not show them.",
        effects=Effects("bytes", "", "cycles bytes report"),
        test=f"{_EFFECTS}::test_level_and_profiling_tile_say_where_counters_lie",
        settle=lambda level, values: level if values.on("debug.instrumentCompute") else "",
        inactive="",
    )
    external_exchange: bool = setting(
        "debug.instrumentExternalExchange",
        BOOL,
        "<debug.instrument>",
        "Count the cycles of host and IPU links.",
        changes="Memory of counters; on hardware cycles, and whether runs record stream copies, exchanges between IPUs "
        "and their syncs.",
        effects=Effects("bytes", "", "cycles bytes report"),
        test=f"{_EFFECTS}::test_each_kind_records_its_own_part_and_costs_its_own_cycles",
        implied=_instrumented,
        inactive=False,
    )
    control_flow: bool = setting(
        "debug.instrumentControlFlow",
        BOOL,
        "<debug.instrument>",
        "Record the trips of every Repeat and the branch of every switch in each run. Takes 4 bytes for each on "
        "debug.branchRecordTile, and on hardware the cycles of writing a constant word there (both a guess).",
        changes="Trips and branches in the report; memory; on hardware cycles, steps BranchRecord and their "
        "control code.",
        effects=Effects("bytes report", "", "cycles bytes report"),
        test=f"{_EFFECTS}::test_branch_record",
        implied=_instrumented,
        inactive=False,
    )
    profiling_tile: int = setting(  #: of each IPU; -1 = the last
        "debug.profilingTile",
        WHOLE,
        "<tiles per IPU - 1>",
        "Tile that stores the counters of level ipu.",
        changes="The tile whose memory holds the counters, with debug.instrumentCompute at level ipu or device.",
        effects=Effects("bytes", "", "bytes"),
        test=f"{_EFFECTS}::test_level_and_profiling_tile_say_where_counters_lie",
        implied=lambda values: str(values.target.getTilesPerIPU() - 1),
        settle=_profiling_tile,
        inactive=-1,
    )
    supervisor_stack: int | None = setting(  #: bytes; None = computed
        "debug.supervisorStackSizeInBytes",
        WHOLE,
        "",
        "Stack of the supervisor, in place of the computed size.",
        changes="Memory of stacks.",
        effects=Effects("code", "", "bytes"),
        test=f"{_EFFECTS}::test_stack_sizes",
    )
    worker_stack: int | None = setting(  #: bytes; None = computed
        "debug.workerStackSizeInBytes",
        WHOLE,
        "",
        "Stack of each worker, in place of the computed size.",
        changes="Memory of stacks.",
        effects=Effects("code", "", "bytes"),
        test=f"{_EFFECTS}::test_stack_sizes",
    )
    verify: bool = setting(
        "debug.verify",
        BOOL,
        "false",
        "Check that what programs read has been written, and the planned exchanges and the layout of memory against "
        "vertices and copies; a fault ends compilation with a poplar_error that names it (list above).",
        changes="A read of elements that nothing wrote, a faulty exchange or layout ends compilation with an error.",
        effects=Effects("errors", "", "errors"),
        test="tests/compiler/test_unwritten.py",
        settle=lambda verify, values: verify and not _on_cpu(values),
    )
    exchange_optimisation: str = setting(
        "opt.internalExchangeOptimisationTarget",
        one_of("balanced", "cycles", "memory"),
        "cycles",
        "What exchange code is optimised for: speed, less always-live memory, or less memory on tiles that can spare "
        "the time (how is a guess, `simulator/machine/exchange_code.py`).",
        changes="Bytes of exchange code, cycles of exchanges.",
        effects=Effects("cycles code", "", "cycles bytes"),
        test=_MEMORY,
    )
    multi_access_copies: bool = setting(
        "opt.enableMultiAccessCopies",
        BOOL,
        "true",
        "Copies within tiles load and store in one cycle; the two sides lie in different memory elements.",
        changes="Cycles of copies on tiles, layout of memory.",
        effects=Effects("cycles bytes", "", "cycles bytes"),
        test=_MEMORY,
    )
    limit_vertex_state: bool = setting(
        "opt.limitVertexStateToLower256K",
        BOOL,
        "false",
        "Place vertex state where code can lie, which takes less control code.",
        changes="Addresses of vertex state, bytes of control code. Simulated hardware raises "
        "graph_memory_allocation_error for state that does not fit there beside the code; an IPU Model goes on.",
        effects=Effects("code", "", "bytes"),
        test=_MEMORY,
    )
    compilation_threads: int = setting(
        "opt.maxCompilationThreads",
        WHOLE,
        "0",
        "Most threads of compilation; 0 = one for each processor.",
        changes="How many threads estimate compute sets; host traces show them.",
        effects=everywhere("host"),
        test=f"{_BUILDING}::test_maxCompilationThreads_is_the_number_of_threads_that_estimate",
    )
    deterministic_workers: bool = setting(
        "target.deterministicWorkers",
        one_of("true", "false", "portable").then(lambda text: text != "false"),
        "true",
        "The same workers run the same vertices each time.",
        changes="With false, which worker runs which vertex differs from compilation to compilation (worker lanes of "
        "the report); cycles and results do not.",
        effects=everywhere("report"),
        test=f"{_TARGET}::test_workers_may_differ",
    )
    extended_memory: bool = setting(
        "target.extendedMemory",
        BOOL,
        "false",
        "Remote buffers above 16 GiB.",
        changes="Whether remote buffers of more than 16 GiB in all compile; refused on Mk1 hardware.",
        effects=Effects("errors", "", "errors"),
        test=f"{_TARGET}::test_extended_memory",
        settle=_extended_memory,
    )
    write_combining: bool = setting(
        "target.gatewayWriteCombining",
        BOOL,
        "false",
        "Code for the gateway that combines writes to the host.",
        changes="Fewer, longer packets to the host (how long is a guess): less host exchange code, fewer headers.",
        effects=Effects("bytes", "", "bytes"),
        test=f"{_BUILDING}::test_gatewayWriteCombining_joins_packets_to_the_host",
    )
    sync_replicas_independently: bool = setting(
        "target.syncReplicasIndependently",
        BOOL,
        "false",
        "Host copies wait for the IPUs of their replica (sync group GS1) instead of those of all replicas (GS2).",
        changes="Sync groups in the report. Cycles only where there are two replicas or more and they come to a host "
        "copy at different times: data chose different ways, or POPVISION_HOST_CLOCK=measured and their callbacks take "
        "different times; the modelled wait for the host is the same for all.",
        effects=everywhere("report"),
        test="tests/runtime/test_replicas.py::test_replicas_that_sync_independently_do_not_wait_for_each_others_host",
    )
    tiles_at_a_time: int = setting(
        "experimental.minLoweringTiles",
        WHOLE,
        "5888",
        "Tiles lowered at a time; 0 = all.",
        changes="How many tiles have their allocations sorted together: fewer take less memory and more time.",
        effects=Effects("host", "", "host"),
        test=f"{_BUILDING}::test_minLoweringTiles_takes_less_memory",
    )
    address_accurate: bool = setting(
        "popvision.addressAccurate",
        BOOL,
        f"<{ADDRESS_ACCURATE_VARIABLE}>",
        "Values live only at the tile addresses that the report claims; at most 64 tiles. See address-accurate.md.",
        changes="How values are kept; wrong addresses become errors.",
        effects=Effects("host", "raises", "host"),
        test="tests/runtime/address_accurate/test_address_accurate.py::test_a_wrong_address_is_found",
        implied=lambda values: "true" if values.environment.get(ADDRESS_ACCURATE_VARIABLE) == "1" else None,
        settle=_address_accurate,
        inactive=False,
    )
    flops: bool = setting(
        "profiler.includeFlopEstimates",
        BOOL,
        "false",
        "Floating-point operations in the profile.",
        changes="Operations in profile.pop.",
        effects=everywhere("report"),
        test=f"{_EFFECTS}::test_flop_estimates",
        source="seen",
    )
    block_filter: str = setting(
        "profiler.blocks.filter",
        PATTERN,
        "",
        "Block programs to measure, by their whole name.",
        changes="Blocks in the report (docs/blocks.md).",
        effects=Effects("bytes report", "", "cycles bytes report"),
        test=f"{_BLOCKS}::test_filters_choose_blocks",
        source="seen",
        targets=(TargetType.IPU, TargetType.IPU_MODEL),
        inactive="",
    )
    program_filter: str = setting(
        "profiler.programs.filter",
        PATTERN,
        "",
        "Programs to measure as if a Block stood around each, by their whole name.",
        changes="Blocks in the report (docs/blocks.md).",
        effects=Effects("cycles bytes report", "", "cycles bytes report"),
        test=f"{_BLOCKS}::test_filters_choose_blocks",
        source="seen",
        targets=(TargetType.IPU, TargetType.IPU_MODEL),
        inactive="",
    )
    block_tile: int = setting(
        "profiler.blocks.tile",
        WHOLE,
        "0",
        "Tile of each IPU that records blocks.",
        changes="The tile that has the blocks, and the buffer.",
        effects=Effects("bytes report", "", "bytes report"),
        test=f"{_BLOCKS}::test_another_tile_records",
        source="seen",
        settle=_block_tile,
    )
    block_buffer_bytes: int = setting(
        "profiler.blocks.bufferSize",
        WHOLE,
        "1000",
        "Bytes per tile for block records.",
        changes="How many records a tile keeps until its buffer is emptied; memory of the tiles that record.",
        effects=Effects("cycles bytes", "", "cycles bytes"),
        test=f"{_BLOCKS}::test_a_larger_buffer_overflows_later",
        source="seen",
        settle=_block_buffer,
    )
    block_flushes: bool = setting(
        "profiler.blocks.implicitFlush",
        BOOL,
        "true",
        "Add a copy that flushes block records at the end of a loop's body.",
        changes="Programs BlockFlush, and the blocks that fit into the buffer.",
        effects=Effects("cycles bytes report", "", "cycles bytes report"),
        test=f"{_BLOCKS}::test_flushes_keep_the_buffer_from_overflowing",
        source="seen",
    )

    # What is no option of its own.
    memory: bool = True  #: work out liveness and layout
    step_by_step: bool = False  #: library operations compute set by compute set, not one kernel each
    module: bool = False  #: one program without the control streams that select among several
    #: Places of external variables by symbol, see `simulator.graph.preallocations`.
    preallocations: Mapping[str, tuple[tuple[int, int, int, int], ...] | int] = field(default_factory=dict)

    @property
    def records_blocks(self) -> bool:
        """Whether lightweight profiling is on, which a filter does."""
        return bool(self.block_filter or self.program_filter)
