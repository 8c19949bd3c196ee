"""Engine and runtime options: every documented name, its default, the implications, and refusals."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from simulator.base.options.document import render
from simulator.base.options.table import ENGINE_TABLE, RUNTIME_TABLE, SECTIONS
from simulator.engine.options import EngineOptions, resolve
from simulator.poplar import IPUModel, OptionFlags, RuntimeOptions, Target, TargetType, invalid_option

TARGET = IPUModel().createDevice().getTarget()

#: Names and defaults of the Engine page, "" where it gives none, <> where it computes one.
DOCUMENTED = {
    "debug.allowOutOfMemory": "false",
    "debug.branchRecordTile": "<>",
    "debug.computeInstrumentationLevel": "tile",
    "debug.cpuMultiThreadExecution": "true",
    "debug.dumpDirectory": "",
    "debug.floatPointOpException": "false",
    "debug.instrument": "false",
    "debug.instrumentCompute": "false",
    "debug.instrumentExternalExchange": "false",
    "debug.instrumentControlFlow": "false",
    "debug.nanOverflowMode": "false",
    "debug.outputAllSymbols": "false",
    "debug.profilingTile": "<>",
    "debug.retainDebugInformation": "false",
    "debug.runtimeVerify": "false",
    "debug.supervisorStackSizeInBytes": "",
    "debug.trace": "false",
    "debug.traceFile": "",
    "debug.verify": "false",
    "debug.workerStackSizeInBytes": "",
    "opt.internalExchangeOptimisationTarget": "cycles",
    "opt.enableMultiAccessCopies": "true",
    "opt.limitVertexStateToLower256K": "false",
    "opt.maxCompilationThreads": "0",
    "opt.maxLinkerThreads": "0",
    "opt.useAutoloader": "<>",
    "target.deterministicWorkers": "true",
    "target.extendedMemory": "false",
    "target.gatewayWriteCombining": "false",
    "target.saveArchive": "",
    "target.saveOutputVertexGraph": "",
    "target.syncReplicasIndependently": "false",
    "autoReport.all": "false",
    "autoReport.directory": "./",
    "autoReport.executionProfileProgramRunCount": "2",
    "autoReport.outputArchive": "false",
    "autoReport.outputDebugInfo": "false",
    "autoReport.outputExecutionProfile": "false",
    "autoReport.outputGraphProfile": "false",
    "autoReport.outputLoweredVars": "false",
    "autoReport.outputSerializedGraph": "false",
    "autoReport.streamAtEachRun": "true",
    "experimental.minLoweringTiles": "5888",
}

FURTHER = {
    "profiler.includeFlopEstimates",
    "profiler.includeCycleEstimates",
    "profiler.format",
    "profiler.perExecutionStreamCopyCycles",
    "profiler.replicaToProfile",
    "profiler.blocks.filter",
    "profiler.programs.filter",
    "profiler.blocks.tile",
    "profiler.blocks.bufferSize",
    "profiler.blocks.implicitFlush",
    "exchange.streamBufferOverlap",
    "exchange.enablePrefetch",
    "target.firstRuntimeReplica",
    "target.numberRuntimeReplica",
    "opt.maxComputeSetsPerLoweredCopy",
    "debug.loweredVarDumpFile",
    "debug.trace.out",
    "debug.branchRecordFlush",
}

RUNTIME = {
    "target.syncMethod": "default",
    "target.syncPollPeriodUs": "0",
    "target.exceptionPollPeriodUs": "250000",
    "target.hostSyncTimeout": "300.00",
    "streamCallbacks.multiThreadMode": "singleThread",
    "streamCallbacks.numaAware": "false",
    "streamCallbacks.numWorkerThreads": "0",
}


def settled(options: dict[str, object] | None = None, environment: str = "", target: Target = TARGET) -> EngineOptions:
    return resolve(options, {"POPLAR_ENGINE_OPTIONS": environment}, target)


def test_all_names_and_defaults_are_known() -> None:
    assert len(DOCUMENTED) == 43
    sections = {heading: {option.name for option in options} for heading, options in SECTIONS.items()}
    assert sections.pop("Names from published programs and reports") == FURTHER
    own = sections.pop("Of the simulator itself")
    assert all(name.startswith("popvision.") for name in own)
    assert sections.pop("Runtime") == set(RUNTIME)
    assert set.union(*sections.values()) == set(DOCUMENTED)
    assert {o.name: o.default for o in RUNTIME_TABLE.values()} == RUNTIME
    values = settled().values
    assert set(values) == set(DOCUMENTED) | FURTHER | set(RUNTIME) | own
    assert not settled().compile.address_accurate
    for name, default in DOCUMENTED.items():
        assert default == "<>" or values[name] == default, name
    assert values["debug.branchRecordTile"] == "1471"
    assert values["debug.profilingTile"] == "1471"
    assert values["opt.useAutoloader"] == "true"
    assert settled(target=IPUModel("ipu1").createDevice().getTarget()).values["opt.useAutoloader"] == "false"
    two = Target(TargetType.IPU, num_ipus=2)
    recorded = {"debug.instrument": "true", "debug.computeInstrumentationLevel": "ipu"}
    assert settled(recorded, target=two).compile.branch_record_tile == 2943
    assert settled(recorded, target=two).compile.profiling_tile == 1471


@pytest.mark.parametrize("option", ENGINE_TABLE.values(), ids=lambda o: o.name)
def test_every_option_takes_good_values_and_refuses_bad_ones(option, capsys) -> None:
    good = {"bool": "true", "int": "0x10", "float": "1.5", "string": "x", "path": "~/x", "regex": "a.*b"}
    bad = {"bool": "True", "int": "-1", "float": "fast", "enum": "none of these", "regex": "("}
    small = Target(TargetType.IPU, tiles_per_ipu=64)  # as many tiles as every option can do with
    settled({option.name: option.kind.choices[-1] if option.kind.choices else good[option.kind.name]}, target=small)
    if option.kind.name in bad:
        with pytest.raises(invalid_option, match=f"'{option.name}' cannot be '") as refusal:
            settled({option.name: bad[option.kind.name]})
        assert bad[option.kind.name] in str(refusal.value)


def test_address_accurate_mode_is_for_few_tiles() -> None:
    with pytest.raises(invalid_option, match="takes at most 64 tiles, the target has 1472"):
        settled({"popvision.addressAccurate": "true"})
    with pytest.raises(invalid_option, match="a CPU has no tiles with addresses"):
        settled({"popvision.addressAccurate": "true"}, target=Target(TargetType.CPU))
    small = Target(TargetType.IPU, tiles_per_ipu=64)
    assert settled({"popvision.addressAccurate": "true"}, target=small).compile.address_accurate


def test_unknown_names_are_refused_with_their_value() -> None:
    with pytest.raises(invalid_option, match=r"'autoReport\.al' \(value 'yes'\).*did you mean 'autoReport\.all'"):
        settled({"autoReport.al": "yes"})
    with pytest.raises(invalid_option, match=r"'zzz' .* is not an engine option; see docs/options\.md"):
        settled({}, '{"zzz": "1"}')


def test_the_environment_overrides_the_program() -> None:
    options = settled(
        {"autoReport.directory": "a", "autoReport.executionProfileProgramRunCount": "3"},
        '{"autoReport.directory": "~/b", "debug.instrumentCompute": true, "autoReport.outputLoweredVars": "true"}',
    )
    assert options.report.directory == Path("~/b").expanduser()
    assert options.run.runs_kept == 3
    assert options.compile.compute_level == "tile"
    assert options.given["debug.instrumentCompute"] == "true"
    assert settled({}, '{"autoReport.executionProfileProgramRunCount": 7}').run.runs_kept == 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{autoReport.all:true}", "POPLAR_ENGINE_OPTIONS is not valid JSON .*write an object of strings"),
        ("[1]", r"POPLAR_ENGINE_OPTIONS holds '\[1\]', which is not a JSON object"),
        ('{"autoReport.all": {"x": 1}}', r"'autoReport\.all' has the value \{'x': 1\}"),
        ('{"autoReport.all": null}', "has the value None"),
    ],
)
def test_a_wrong_environment_is_one_sentence(text: str, message: str) -> None:
    with pytest.raises(invalid_option, match=message) as refusal:
        settled({}, text)
    assert "\n" not in str(refusal.value)


def test_reports_imply_what_they_need() -> None:
    nothing = settled()
    assert not nothing.report.writes_report
    assert not nothing.compile.allow_out_of_memory
    assert not nothing.report.writes_archive
    everything = settled({"autoReport.all": "true", "autoReport.directory": "r"})
    assert everything.report.output_graph_profile
    assert everything.report.output_execution_profile
    assert everything.report.output_lowered_vars
    assert everything.report.output_debug_info
    assert everything.report.output_serialized_graph
    assert everything.values["target.saveArchive"] == "r/archive.a"
    assert everything.report.writes_archive
    assert everything.compile.allow_out_of_memory
    assert everything.compile.compute_level
    assert everything.compile.external_exchange
    assert everything.compile.control_flow


def test_explicit_options_win_over_implied_ones() -> None:
    options = settled(
        {
            "autoReport.all": "true",
            "autoReport.outputSerializedGraph": "false",
            "debug.allowOutOfMemory": "false",
            "debug.instrumentExternalExchange": "false",
            "target.saveArchive": "mine.a",
        }
    )
    assert not options.report.output_serialized_graph
    assert not options.compile.allow_out_of_memory
    assert options.compile.compute_level
    assert not options.compile.external_exchange
    assert options.report.archive == Path("mine.a")
    assert not settled({"autoReport.outputExecutionProfile": "true", "debug.instrument": "false"}).compile.compute_level
    two_kinds = {"debug.instrument": "true", "debug.instrumentControlFlow": "false"}
    assert settled(two_kinds, target=Target(TargetType.IPU)).compile.compute_level
    assert not settled(two_kinds).compile.compute_level, "debug.instrument adds nothing on an IPU Model"
    assert not settled({"autoReport.outputExecutionProfile": "true"}).compile.allow_out_of_memory


TILES = {
    "debug.profilingTile": {"debug.instrumentCompute": "true", "debug.computeInstrumentationLevel": "ipu"},
    "debug.branchRecordTile": {"debug.instrumentControlFlow": "true"},
    "profiler.blocks.tile": {"profiler.blocks.filter": "a"},
}


@pytest.mark.parametrize(("option", "on"), TILES.items())
def test_tiles_must_exist_where_they_matter(option: str, on: dict[str, object]) -> None:
    """A tile that nothing is stored on is no tile to refuse: without the options it depends on, and on a CPU."""
    for target in (TARGET, Target(TargetType.IPU)):
        with pytest.raises(invalid_option, match=rf"'{option}' cannot be '1472'; the last tile is 1471"):
            settled({option: "1472"} | on, target=target)
        settled({option: "0x10"} | on, target=target)
        assert settled({option: "1472"}, target=target).values[option] == "1472"
        for switch in on:
            settled({option: "1472"} | {k: v for k, v in on.items() if k != switch}, target=target)
    settled({option: "1472"} | on, target=Target(TargetType.CPU))
    with_ten = settled({"debug.profilingTile": "0x10"} | TILES["debug.profilingTile"])
    assert with_ten.compile.profiling_tile == 16


def test_buffers_of_blocks_hold_a_record_where_blocks_are_recorded() -> None:
    small = {"profiler.blocks.bufferSize": "1"}
    with pytest.raises(invalid_option, match=r"'profiler\.blocks\.bufferSize' cannot be '1'; a buffer of one record"):
        settled(small | {"profiler.programs.filter": "a"})
    settled(small)
    settled(small | {"profiler.programs.filter": "a"}, target=Target(TargetType.CPU))


def test_an_option_without_effect_says_so_once() -> None:
    program = (
        "from simulator.engine.options import resolve\n"
        "from simulator.poplar import IPUModel\n"
        "target = IPUModel().createDevice().getTarget()\n"
        "for _ in range(2):\n"
        "    options = {'opt.maxComputeSetsPerLoweredCopy': 3, 'opt.maxLinkerThreads': 0, 'autoReport.all': True}\n"
        "    resolve(options, {}, target)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    said = "option opt.maxComputeSetsPerLoweredCopy=3 has no effect in this version of the simulator."
    assert done.stderr == f"popvision: {said}\n"


def test_option_flags_are_strings() -> None:
    flags = OptionFlags({"a": True, "b": 3})
    flags.set("c", "x")
    assert dict(flags) == {"a": "true", "b": "3", "c": "x"}
    assert flags.at("c") == "x"
    with pytest.raises(invalid_option, match="'d' is not set"):
        flags.at("d")
    with pytest.raises(invalid_option, match="option values are strings"):
        flags["e"] = ["x"]


def test_runtime_options() -> None:
    options = RuntimeOptions({}, {"POPLAR_RUNTIME_OPTIONS": '{"target.hostSyncTimeout": "300.00"}'})
    assert options.given == {"target.hostSyncTimeout": "300.00"}
    assert options.values["streamCallbacks.numWorkerThreads"] == "0"
    with pytest.raises(invalid_option, match=r"'autoReport\.all' .* is not a runtime option"):
        RuntimeOptions({"autoReport.all": "true"}, {})
    with pytest.raises(invalid_option, match="POPLAR_RUNTIME_OPTIONS is not valid JSON"):
        RuntimeOptions({}, {"POPLAR_RUNTIME_OPTIONS": "{"})


def test_the_documentation_is_the_table() -> None:
    page = Path(__file__).parents[2] / "docs" / "options.md"
    assert page.read_text() == render(), "run: python -m simulator.base.options.document > docs/options.md"
