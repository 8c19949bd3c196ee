"""From option flags to typed settings of an engine.

The environment's POPLAR_ENGINE_OPTIONS overrides what the program gives. Then come the implications, each of which an
option given explicitly overrides:

    autoReport.all                     -> every autoReport.output*
    autoReport.outputExecutionProfile  -> debug.instrument
    debug.instrument                   -> debug.instrumentCompute, ...ExternalExchange, ...ControlFlow
    autoReport.outputGraphProfile      -> debug.allowOutOfMemory
    autoReport.outputArchive           -> target.saveArchive = archive.a in autoReport.directory
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from simulator.base.errors import invalid_option
from simulator.base.options.flags import OptionFlags, checked, from_environment, integer, notice_without_effect
from simulator.base.options.table import ENGINE_TABLE, REPORTS
from simulator.base.target import Target, TargetType
from simulator.compiler.blocks.selection import BlockSettings
from simulator.machine import block_records
from simulator.runtime.address_accurate.facts import MOST_TILES

InstrumentationLevel = Literal["vertex", "tile", "ipu", "device"]
VARIABLE = "POPLAR_ENGINE_OPTIONS"
ADDRESS_ACCURATE = "POPVISION_ADDRESS_ACCURATE"


@dataclass(frozen=True)
class EngineOptions:
    """Settings of one engine. `given` holds what program and environment set, `values` every option as a string."""

    given: Mapping[str, str]
    values: Mapping[str, str]
    report_directory: Path
    output_graph_profile: bool
    output_execution_profile: bool
    output_lowered_vars: bool
    output_debug_info: bool
    output_archive: bool
    output_serialized_graph: bool
    stream_at_each_run: bool
    runs_kept: int  #: of each program
    save_archive: Path | None
    lowered_dump: Path | None  #: file for the lowered variables
    instrument: bool
    instrument_compute: bool
    instrument_external_exchange: bool
    instrument_control_flow: bool
    compute_instrumentation_level: InstrumentationLevel
    profiling_tile: int  #: tile of each IPU
    branch_record_tile: int
    allow_out_of_memory: bool
    retain_debug_information: bool
    include_flop_estimates: bool
    exchange_goal: str  #: "cycles", "balanced" or "memory"
    multi_access_copies: bool
    limit_vertex_state: bool
    sync_replicas_independently: bool
    float_exceptions: bool
    nan_on_overflow: bool
    runtime_verify: bool
    trace: bool
    trace_file: Path | None  #: None = standard error
    several_threads: bool  #: of the host, for vertices
    prefetch: bool  #: whether stream callbacks may be asked ahead of time
    all_symbols: bool
    deterministic_workers: bool
    extended_memory: bool
    save_vertex_graph: Path | None
    worker_stack_bytes: int | None
    supervisor_stack_bytes: int | None
    address_accurate: bool
    verify: bool
    tiles_at_a_time: int
    autoload: bool
    compilation_threads: int  #: 0 = one for each processor
    linker_threads: int
    write_combining: bool
    blocks: BlockSettings | None  #: lightweight profiling; None = no filter is set

    @property
    def any_report(self) -> bool:
        """Whether some file is to be written into `report_directory`."""
        return (
            self.output_graph_profile
            or self.output_execution_profile
            or self.output_debug_info
            or self.output_archive
            or self.output_serialized_graph
            or self.output_lowered_vars
        )


def resolve(options: Mapping[str, Any] | None, environment: Mapping[str, str], target: Target) -> EngineOptions:
    """Settings for a target. Raises `invalid_option` naming option and value, or the environment variable."""
    given = OptionFlags(options or {})
    given.update(from_environment(environment, VARIABLE))
    for name, value in given.items():
        checked(name, value, ENGINE_TABLE, "an engine option")
    notice_without_effect(given, ENGINE_TABLE)
    values = _values(given, target)
    on = {name: value == "true" for name, value in values.items()}
    return EngineOptions(
        given=dict(given),
        values=values,
        report_directory=Path(values["autoReport.directory"]).expanduser(),
        output_graph_profile=on["autoReport.outputGraphProfile"],
        output_execution_profile=on["autoReport.outputExecutionProfile"],
        output_lowered_vars=on["autoReport.outputLoweredVars"],
        output_debug_info=on["autoReport.outputDebugInfo"],
        output_archive=on["autoReport.outputArchive"],
        output_serialized_graph=on["autoReport.outputSerializedGraph"],
        stream_at_each_run=on["autoReport.streamAtEachRun"],
        runs_kept=integer(values["autoReport.executionProfileProgramRunCount"]),
        save_archive=_path(values["target.saveArchive"]),
        lowered_dump=_dump_file(values["debug.loweredVarDumpFile"], values),
        instrument=on["debug.instrument"],
        instrument_compute=on["debug.instrumentCompute"],
        instrument_external_exchange=on["debug.instrumentExternalExchange"],
        instrument_control_flow=on["debug.instrumentControlFlow"],
        compute_instrumentation_level=cast(InstrumentationLevel, values["debug.computeInstrumentationLevel"]),
        profiling_tile=_tile("debug.profilingTile", values, target.getTilesPerIPU()),
        branch_record_tile=_tile("debug.branchRecordTile", values, target.getNumTiles()),
        allow_out_of_memory=on["debug.allowOutOfMemory"],
        retain_debug_information=on["debug.retainDebugInformation"],
        include_flop_estimates=on["profiler.includeFlopEstimates"],
        exchange_goal=values["opt.internalExchangeOptimisationTarget"],
        multi_access_copies=on["opt.enableMultiAccessCopies"],
        limit_vertex_state=on["opt.limitVertexStateToLower256K"],
        sync_replicas_independently=on["target.syncReplicasIndependently"],
        float_exceptions=on["debug.floatPointOpException"],
        nan_on_overflow=on["debug.nanOverflowMode"],
        runtime_verify=on["debug.runtimeVerify"],
        trace=on["debug.trace"],
        trace_file=_dump_file(values["debug.traceFile"] or values["debug.trace.out"], values),
        several_threads=on["debug.cpuMultiThreadExecution"] and target.getTargetType() is not TargetType.IPU,
        prefetch=on["exchange.enablePrefetch"] and values["exchange.streamBufferOverlap"] != "any",
        all_symbols=on["debug.outputAllSymbols"],
        deterministic_workers=values["target.deterministicWorkers"] != "false",
        extended_memory=_extended_memory(on["target.extendedMemory"], target),
        save_vertex_graph=_path(values["target.saveOutputVertexGraph"]),
        worker_stack_bytes=_optional(values["debug.workerStackSizeInBytes"]),
        supervisor_stack_bytes=_optional(values["debug.supervisorStackSizeInBytes"]),
        address_accurate=_address_accurate(values, environment, target),
        verify=on["debug.verify"],
        tiles_at_a_time=integer(values["experimental.minLoweringTiles"]),
        autoload=on["opt.useAutoloader"] and target.getTargetType() is TargetType.IPU,
        compilation_threads=integer(values["opt.maxCompilationThreads"]),
        linker_threads=integer(values["opt.maxLinkerThreads"]) or integer(values["opt.maxCompilationThreads"]),
        write_combining=on["target.gatewayWriteCombining"],
        blocks=_blocks(values, target),
    )


def _values(given: Mapping[str, str], target: Target) -> dict[str, str]:
    """Every option's value: given, else implied, else its default."""
    values = {name: option.default for name, option in ENGINE_TABLE.items()}
    values.update(given)

    def imply(name: str, value: str) -> None:
        if name not in given:
            values[name] = value

    for option in REPORTS:
        if option.name.startswith("autoReport.output"):
            imply(option.name, values["autoReport.all"])
    if values["autoReport.outputExecutionProfile"] == "true":
        imply("debug.instrument", "true")
    for name in ("Compute", "ExternalExchange", "ControlFlow"):
        imply(f"debug.instrument{name}", values["debug.instrument"])
    if values["autoReport.outputGraphProfile"] == "true":
        imply("debug.allowOutOfMemory", "true")
    if values["autoReport.outputArchive"] == "true":
        imply("target.saveArchive", str(Path(values["autoReport.directory"]) / "archive.a"))
    imply("debug.profilingTile", str(target.getTilesPerIPU() - 1))
    imply("debug.branchRecordTile", str(target.getNumTiles() - 1))
    imply("opt.useAutoloader", "false" if target.getTargetArchString() == "ipu1" else "true")
    return values


def _blocks(values: Mapping[str, str], target: Target) -> BlockSettings | None:
    """Lightweight profiling, which a filter turns on."""
    tile = _tile("profiler.blocks.tile", values, target.getTilesPerIPU())
    size = values["profiler.blocks.bufferSize"]
    if not block_records.capacity(integer(size)):
        least = block_records.COUNT_BYTES + block_records.RECORD_BYTES
        raise invalid_option(
            f"Option 'profiler.blocks.bufferSize' cannot be '{size}'; a buffer of one record takes {least} bytes."
        )
    filters = values["profiler.blocks.filter"], values["profiler.programs.filter"]
    if not any(filters) or target.getTargetType() is TargetType.CPU:
        return None
    flush, streams = values["profiler.blocks.implicitFlush"], values["debug.instrumentExternalExchange"]
    return BlockSettings(*filters, tile, integer(size), flush == "true", streams == "true")


def _path(value: str) -> Path | None:
    return Path(value).expanduser() if value else None


def _dump_file(value: str, values: Mapping[str, str]) -> Path | None:
    """A file for debugging: one that is not absolute lies in debug.dumpDirectory, else in the working directory."""
    path = _path(value)
    return None if path is None else Path(values["debug.dumpDirectory"]).expanduser() / path


def _extended_memory(asked: bool, target: Target) -> bool:
    if asked and target.getTargetType() is TargetType.IPU and target.getTargetArchString() == "ipu1":
        raise invalid_option(
            "Option 'target.extendedMemory' cannot be 'true' on a Mk1 system: only IPU-M2000 systems have the memory."
        )
    return asked


def _tile(name: str, values: Mapping[str, str], tiles: int) -> int:
    tile = integer(values[name])
    if tile >= tiles:
        raise invalid_option(f"Option '{name}' cannot be '{values[name]}'; the last tile is {tiles - 1}.")
    return tile


def _optional(value: str) -> int | None:
    return integer(value) if value else None


def _address_accurate(values: Mapping[str, str], environment: Mapping[str, str], target: Target) -> bool:
    asked = values["popvision.addressAccurate"]
    if asked == "<POPVISION_ADDRESS_ACCURATE>":
        asked = "true" if environment.get(ADDRESS_ACCURATE) == "1" else "false"
    if asked != "true":
        return False
    if target.getTargetType() is TargetType.CPU:
        raise invalid_option("Option 'popvision.addressAccurate' needs tiles with addresses, which a CPU has not.")
    if values["debug.trace"] == "true":
        raise invalid_option(
            "Options 'popvision.addressAccurate' and 'debug.trace' do not go together: a trace shows variables also "
            "where they do not live, and there they have no contents; give one of them."
        )
    tiles = target.getNumTiles()
    if tiles > MOST_TILES:
        raise invalid_option(
            f"Option 'popvision.addressAccurate' takes at most {MOST_TILES} tiles, the target has {tiles}; "
            "set tilesPerIPU of the model or POPVISION_TILES."
        )
    return True
