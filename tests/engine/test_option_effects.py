"""Every engine option that is said to have its effect now has it: the same program under two values.

The wording and order of precedence of options are tested in tests/engine/test_engine_options.py, the contents of the
files in test_reports.py."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from popvision.analysis.programs.details import program_facts
from popvision.analysis.report.source import ReportSource
from popvision.formats.archive import read_archive
from popvision.formats.profile.reader import ProfileReader
from simulator.base import text_output
from simulator.base.options.table import ENGINE_TABLE
from simulator.engine.devices.device import Device
from simulator.poplar import (
    FLOAT,
    Engine,
    Graph,
    graph_memory_allocation_error,
    missing_graph_profile,
    poplar_error,
)
from simulator.poplar.program import Call, Copy, Execute, PrintTensor, Repeat, Sequence
from simulator.runtime.recording import report_folder
from tests.compiler.tiny_graphs import Sum, hardware, model, tutorial3

PROFILE = {"autoReport.outputGraphProfile": "true", "autoReport.outputExecutionProfile": "true"}
QUIET = PROFILE | {"debug.instrument": "false"}
KINDS = ("Compute", "ExternalExchange", "ControlFlow")


@pytest.fixture(autouse=True)
def _forget_directories(monkeypatch):
    monkeypatch.setattr(report_folder, "_directories", {})


def looped(target):
    """tutorial3, and its program five times, in which a function runs twice with three trips each."""
    tutorial = tutorial3(target)
    inner = tutorial.graph.addFunction(Repeat(3, Copy(tutorial.v1, tutorial.v2)))
    body = Sequence(tutorial.program, Call(inner), Call(inner))
    return tutorial.graph, [Sequence(Repeat(5, body)), Copy(tutorial.v2, tutorial.v1)]


def run(target, folder, options, runs=1):
    """Files of the report folder after some runs of program 0 and one of program 1."""
    graph, programs = looped(target)
    with Engine(graph, programs, {"autoReport.directory": str(folder), **options}) as engine:
        device = Device(target)
        device.attach()
        engine.load(device)
        for _ in range(runs):
            engine.run()
        engine.run(1)
        device.detach()
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def counters(folder, name="instrumentationResults"):
    """Bytes of instrumentation results on every tile."""
    reader = ProfileReader(folder / "profile.pop")
    size = np.zeros(reader.target().num_tiles, np.int64)
    for part in reader.category_memory():
        if part.category == name:
            first = part.ipu * reader.target().tiles_per_ipu
            size[first : first + len(part.bytes)] += part.bytes
    return size.tolist()


def cycles(folder):
    return ProfileReader(folder / "profile.pop").runs().cycles.tolist()


FILES = {
    "autoReport.outputArchive": ["archive.a"],
    "autoReport.outputDebugInfo": ["debug.cbor", "debug.json"],
    "autoReport.outputExecutionProfile": ["profile.pop"],
    "autoReport.outputGraphProfile": ["profile.pop"],
    "autoReport.outputLoweredVars": ["profile.pop"],
    "autoReport.outputSerializedGraph": ["serialized_graph.capnp"],
}
ALL = ["archive.a", "debug.cbor", "debug.json", "profile.pop", "serialized_graph.capnp"]


@pytest.mark.parametrize(("option", "files"), FILES.items())
def test_each_report_is_there_when_asked_for_and_left_out_when_not(option, files, tmp_path):
    assert run(model(), tmp_path / "only", {option: "true"}) == files
    kept = {"autoReport.outputExecutionProfile", "autoReport.outputGraphProfile", "autoReport.outputLoweredVars"}
    left = ALL if option in kept else [name for name in ALL if name not in files]
    assert run(model(), tmp_path / "without", {"autoReport.all": "true", option: "false"}) == left
    assert run(model(), tmp_path / "none", {option: "false"}) == []


def test_parts_of_the_profile_have_their_own_switches(tmp_path):
    def parts(name, option):
        run(model(), tmp_path / name, {"autoReport.all": "true", option: "false"} if option else PROFILE)
        reader = ProfileReader(tmp_path / name / "profile.pop")
        return reader.tile_memory() is not None, len(reader.runs().name) > 0, reader.lowered_tile(0) is not None

    assert parts("no runs", "autoReport.outputExecutionProfile") == (True, False, True)
    assert parts("no graph", "autoReport.outputGraphProfile") == (False, True, True)
    assert parts("no lowered", "autoReport.outputLoweredVars") == (True, True, False)
    assert parts("as asked", "") == (True, True, False)


def test_all_and_directory(tmp_path):
    assert run(model(), tmp_path / "deep" / "er", {"autoReport.all": "true"}) == ALL
    assert run(model(), tmp_path / "off", {"autoReport.all": "false"}) == []


def test_the_folder_may_be_below_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    graph, programs = looped(model())
    with Engine(graph, programs, {"autoReport.all": "true", "autoReport.directory": "~/reports"}):
        pass
    assert (tmp_path / "reports" / "profile.pop").is_file()


def test_a_folder_without_an_output_says_once_that_nothing_is_recorded(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(text_output, "_printed", set())
    monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", json.dumps({"autoReport.directory": str(tmp_path / "there")}))
    graph, programs = looped(model())
    for _ in range(2):
        Engine(graph, programs)
    assert capsys.readouterr().err == (
        f"popvision: autoReport.directory is '{tmp_path / 'there'}', but no autoReport.output* option is given, so "
        "that nothing is recorded; set autoReport.all to true.\n"
    )
    Engine(graph, programs, {"autoReport.all": "false"})
    monkeypatch.delenv("POPLAR_ENGINE_OPTIONS")
    Engine(graph, programs)
    assert capsys.readouterr().err == ""
    assert not (tmp_path / "there").exists()


@pytest.mark.parametrize("kept", [1, 2, 5])
def test_runs_kept(kept, tmp_path):
    options = PROFILE | {"autoReport.executionProfileProgramRunCount": str(kept)}
    run(model(), tmp_path, options, runs=4)
    assert ProfileReader(tmp_path / "profile.pop").runs().program_index.tolist() == [0] * min(kept, 4) + [1]


@pytest.mark.parametrize(("stream", "generation"), [("true", 1), ("false", 0)])
def test_stream_at_each_run(stream, generation, tmp_path):
    target = model()
    graph, programs = looped(target)
    options = PROFILE | {"autoReport.directory": str(tmp_path), "autoReport.streamAtEachRun": stream}
    with Engine(graph, programs, options) as engine:
        engine.load(Device(target))
        engine.run()
        assert ProfileReader(tmp_path / "profile.pop").generation == generation
    assert ProfileReader(tmp_path / "profile.pop").generation == 1


def test_save_archive(tmp_path):
    path = tmp_path / "mine.a"
    assert run(model(), tmp_path, {"target.saveArchive": str(path)}) == ["mine.a"]
    assert read_archive(path).tile_bytes(4).sum() > 0
    assert run(model(), tmp_path / "both", {"autoReport.all": "true", "target.saveArchive": str(path)}) == ALL[1:]


def test_lowered_variables_are_dumped(tmp_path):
    dump = {"debug.dumpDirectory": str(tmp_path / "dumps"), "debug.loweredVarDumpFile": "variables.csv"}
    run(model(), tmp_path / "with", dump | {"autoReport.outputGraphProfile": "true"})
    with (tmp_path / "dumps" / "variables.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    reader = ProfileReader(tmp_path / "with" / "profile.pop")
    memory = reader.tile_memory()
    for tile in range(4):
        mine = [row for row in rows if int(row["tile"]) == tile]
        assert max(int(row["address"]) + int(row["bytes"]) for row in mine) == memory.including_gaps[tile]
        assert sum(int(r["bytes"]) for r in mine if r["always_live"] == "1") == memory.always_live[tile]
    run(model(), tmp_path / "without", {"debug.dumpDirectory": str(tmp_path / "none")})
    assert not (tmp_path / "none").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(poplar_error, match=r"cannot be written to .*file/x .*debug\.loweredVarDumpFile another path"):
        run(model(), tmp_path / "bad", {"debug.loweredVarDumpFile": str(tmp_path / "file" / "x")})


def test_instrumentation_takes_memory(tmp_path):
    """Each kind by itself and all three: 4 bytes per compute set and tile, 12 per tile, 4 per loop and switch."""
    run(model(), tmp_path / "off", QUIET)
    assert counters(tmp_path / "off") == [0, 0, 0, 0]
    sizes = {}
    for kind in KINDS:
        run(model(), tmp_path / kind, QUIET | {f"debug.instrument{kind}": "true"})
        sizes[kind] = np.array(counters(tmp_path / kind))
    run(model(), tmp_path / "all", PROFILE)
    assert sizes["ExternalExchange"].tolist() == [12] * 4
    assert sizes["ControlFlow"].tolist() == [0, 0, 0, 4 * 3]  # the switch, the loop, the loop of the function
    reader = ProfileReader(tmp_path / "Compute" / "profile.pop")
    busy = np.zeros(4, np.int64)
    for step in {int(c): i for i, c in enumerate(reader.steps().compute_set) if c >= 0}.values():
        busy += reader.array(reader.steps_on_ipu(0).cycles_array[step]) > 0
    assert sizes["Compute"].tolist() == (4 * busy).tolist()
    assert counters(tmp_path / "all") == sum(sizes.values()).tolist()


def test_debug_instrument_adds_nothing_on_a_model(tmp_path):
    """Neither bytes nor cycles nor settings, whether or not reports of runs bring counters; hardware has them of it."""
    graph_alone = {"autoReport.outputGraphProfile": "true"}
    for name, target, given, adds in (
        ("model", model(), graph_alone, False),
        ("model with runs", model(), PROFILE, False),
        ("hardware", hardware(), graph_alone, True),
    ):
        facts = {}
        for folder, option in (("plain", {}), ("instrumented", {"debug.instrument": "true"})):
            run(target, tmp_path / name / folder, given | option)
            reader = ProfileReader(tmp_path / name / folder / "profile.pop")
            settings = [
                reader.meta[f"{kind}Instrumentation"] for kind in ("compute", "externalExchange", "controlFlow")
            ]
            memory = reader.tile_memory()
            facts[folder] = (settings, memory.including_gaps.tolist(), cycles(tmp_path / name / folder))
        assert (facts["plain"] != facts["instrumented"]) == adds
        assert (facts["plain"][0] == ["Off"] * 3) == (given is graph_alone)
    run(model(), tmp_path / "off", QUIET)
    assert counters(tmp_path / "off") == [0] * 4


def test_instrumentation_costs_cycles_on_hardware_only(tmp_path):
    """Counters of compute sets are read twice, 45 cycles, on each tile that takes part; the model estimates."""
    for name, target, more in (("hardware", hardware(), True), ("model", model(), False)):
        found = {}
        for compute in ("true", "false"):
            folder = tmp_path / name / compute
            graph, programs = looped(target)
            options = {"debug.retainDebugInformation": "true", "debug.instrumentCompute": compute}
            device = Device(target)
            device.attach()
            engine = Engine(graph, programs, options | {"autoReport.directory": str(folder)})
            engine.load(device)
            engine.run()
            found[compute] = engine.getTimeStamp().device_cycles
            device.detach()
        assert (found["true"] > found["false"]) == more
        assert found["true"] == found["false"] or more


def test_hardware_records_nothing_without_counters(tmp_path):
    run(hardware(), tmp_path / "on", PROFILE)
    run(hardware(), tmp_path / "off", PROFILE | {"debug.instrument": "false"})
    assert (len(cycles(tmp_path / "on")), cycles(tmp_path / "off")) == (2, [])


def recorded(folder):
    """(program type, name, sync type) of each step of the first run."""
    reader = ProfileReader(folder / "profile.pop")
    programs, steps = reader.programs(), reader.steps()
    of_run = steps.program[steps.run == 0].tolist()
    return [(programs.type[p], programs.name[p], programs.sync_type[p]) for p in of_run]


def kind_of(step):
    type_, name, sync = step
    if type_.startswith("StreamCopy") or type_ == "GlobalExchange" or sync == "external":
        return "ExternalExchange"
    return "ControlFlow" if name == "BranchRecord" else "Compute"


def test_each_kind_records_its_own_part_and_costs_its_own_cycles(tmp_path):
    """On hardware the steps of each kind alone, together, are those of all three; each kind makes the run longer."""
    run(hardware(), tmp_path / "all", PROFILE)
    every = recorded(tmp_path / "all")
    assert {kind_of(step) for step in every} == set(KINDS)
    lengths = {"all": cycles(tmp_path / "all")[0]}
    for kind in KINDS:
        folder = tmp_path / kind
        run(hardware(), folder, PROFILE | {"debug.instrument": "false", f"debug.instrument{kind}": "true"})
        assert recorded(folder) == [step for step in every if kind_of(step) == kind]
        lengths[kind] = cycles(folder)[0]
        without = tmp_path / f"without{kind}"
        run(hardware(), without, PROFILE | {f"debug.instrument{kind}": "false"})
        assert {kind_of(step) for step in recorded(without)} == set(KINDS) - {kind}
        assert cycles(without)[0] < lengths["all"]
        assert lengths[kind] < lengths["all"]
        assert (len(ProfileReader(folder / "profile.pop").branch_record(0).program) > 0) == (kind == "ControlFlow")


def test_the_cycles_of_each_kind_are_those_of_its_counters(tmp_path):
    """Two counter reads, 45 cycles, around each part of a host copy; six times 29 cycles for each branch record, on its
    tile alone. The cost terms of a program add up to what its steps spend."""
    run(hardware(), tmp_path, PROFILE | {"debug.branchRecordTile": "2"})
    reader = ProfileReader(tmp_path / "profile.pop")
    programs, steps, on_ipu = reader.programs(), reader.steps(), reader.steps_on_ipu(0)
    copies = 0
    for step in np.flatnonzero(steps.run == 0).tolist():
        program, spent = int(steps.program[step]), reader.array(on_ipu.cycles_array[step])
        if programs.name[program] == "BranchRecord":
            assert spent.tolist() == [0, 0, 6 * 29, 0]
        if programs.type[program] == "StreamCopyMid":
            terms = {term.term: term.value for term in reader.cost_terms(f"program:{program}")}
            assert terms["+ reading the cycle counters"] == 45
            assert sum(value for term, value in terms.items() if term.startswith("+ ")) == spent.max()
            copies += 1
    assert copies
    assert sum(programs.name[p] == "BranchRecord" for p in steps.program[steps.run == 0].tolist()) == 1 + 5 * 2
    estimated = ProfileReader(tmp_path / "profile.pop").cost_terms("computeSet:0")
    assert any("counters" in term.term for term in estimated)
    run(model(), tmp_path / "model", PROFILE)
    assert "BranchRecord" not in ProfileReader(tmp_path / "model" / "profile.pop").programs().name


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("vertex", [4, 4, 4, 4, 4, 4, 4, 4]),
        ("ipu", [0, 4, 0, 0, 0, 4, 0, 0]),
        ("device", [0, 4, 0, 0, 0, 0, 0, 0]),
    ],
)
def test_level_and_profiling_tile_say_where_counters_lie(level, expected, tmp_path):
    target = model(ipus=2)
    graph = Graph(target)
    graph.addCodelets(Sum)
    cs, x = graph.addComputeSet("one"), graph.addVariable(FLOAT, [8], "x")
    total = graph.addVariable(FLOAT, [8], "total")
    for tile in range(8):
        for tensor in (x, total):
            graph.setTileMapping(tensor[tile], tile)
        vertex = graph.addVertex(cs, "Sum", {"x": x.slice(tile, tile + 1), "out": total[tile]})
        graph.setTileMapping(vertex, tile)

    flags = QUIET | {
        "debug.instrumentCompute": "true",
        "debug.profilingTile": "1",
        "autoReport.directory": str(tmp_path),
    }
    with Engine(graph, Execute(cs), flags | {"debug.computeInstrumentationLevel": level}):
        pass
    assert counters(tmp_path) == expected


def test_levels_differ_in_cycles_on_hardware(tmp_path):
    """Tile and vertex read counters (one vertex a tile: the same); ipu and device sync after each compute set."""
    length = {}
    for level in ("vertex", "tile", "ipu", "device"):
        run(hardware(), tmp_path / level, PROFILE | {"debug.computeInstrumentationLevel": level})
        length[level] = cycles(tmp_path / level)[0]
    assert length["vertex"] == length["tile"] < length["ipu"] == length["device"]


def test_single_vertices_are_counted_one_by_one_on_hardware_only():
    """Three vertices of a tile run at once on its workers, unless each is counted; a model counts none."""
    for target, serial in ((hardware(), True), (model(), False)):
        graph = Graph(target)
        graph.addCodelets(Sum)
        cs, x, total = graph.addComputeSet(), *(graph.addVariable(FLOAT, [3], name) for name in ("x", "total"))
        for tensor in (x, total):
            graph.setTileMapping(tensor, 0)
        for i in range(3):
            graph.setTileMapping(graph.addVertex(cs, "Sum", {"x": x.slice(i, i + 1), "out": total[i]}), 0)
        length = {}
        for level in ("tile", "vertex"):
            options = {"debug.instrumentCompute": "true", "debug.computeInstrumentationLevel": level}
            with Device(target) as device, Engine(graph, Execute(cs), options) as engine:
                engine.loadAndRun(device)
                length[level] = engine.getTimeStamp().device_cycles
        assert (length["vertex"] > length["tile"]) == serial
        assert length["vertex"] == length["tile"] or serial


def test_branch_record(tmp_path):
    """Five trips, each calling a function twice whose loop makes three; on the tile that the option names."""
    run(model(), tmp_path, PROFILE | {"debug.branchRecordTile": "1"}, runs=2)
    source = ReportSource(tmp_path)
    reader = source.reader
    record = reader.branch_record(0)
    types = reader.programs().type
    found = [(types[p], e, t) for p, e, t in zip(record.program, record.entered, record.trips, strict=True)]
    assert found == [("OnEveryTileSwitch", 1, 1), ("Repeat", 1, 5), ("Repeat", 10, 30)]
    assert [types[p] for p in reader.branch_record(2).program] == ["OnEveryTileSwitch"]
    names = reader.lowered_names()
    run(model(), tmp_path / "named", PROFILE | {"autoReport.outputLoweredVars": "true", "debug.branchRecordTile": "1"})
    named = ProfileReader(tmp_path / "named" / "profile.pop")
    names = named.lowered_names()
    sizes = [
        sum(int(b) for b, n in zip(t.bytes, t.name, strict=True) if names[n] == "branchRecord")
        for t in (named.lowered_tile(tile) for tile in range(4))
    ]
    assert sizes == [0, 12, 0, 0]
    outer = program_facts(source, int(record.program[1]))
    assert (outer.repeat_count, outer.entered, outer.trips) == (5, 2, 10)
    run(model(), tmp_path / "off", PROFILE | {"debug.instrumentControlFlow": "false"})
    off = ReportSource(tmp_path / "off")
    assert len(off.reader.branch_record(0).program) == 0
    assert program_facts(off, int(record.program[1])).trips == -1
    assert cycles(tmp_path / "off")[0] == cycles(tmp_path)[0]


def test_a_branch_record_that_is_not_flushed_is_not_in_the_report(tmp_path):
    for flush, trips in (("true", [1, 5, 30]), ("false", [])):
        folder = tmp_path / flush
        run(model(), folder, PROFILE | {"debug.branchRecordFlush": flush})
        assert ReportSource(folder).reader.branch_record(0).trips.tolist() == trips
    assert cycles(tmp_path / "true") == cycles(tmp_path / "false")


def big(target):
    graph = Graph(target)
    x = graph.addVariable(FLOAT, [200_000], "x")
    graph.setTileMapping(x, 0)
    return graph, PrintTensor("x", x)


def test_allow_out_of_memory():
    graph, program = big(hardware())
    with pytest.raises(graph_memory_allocation_error):
        Engine(graph, program, {"debug.allowOutOfMemory": "false"})
    Engine(graph, program, {"debug.allowOutOfMemory": "true"}).close()


def test_retain_debug_information():
    tutorial = tutorial3(model())
    kept = Engine(tutorial.graph, tutorial.program, {"debug.retainDebugInformation": "true"})
    assert kept.getReport().compilation.graph.numVertices == 4
    with pytest.raises(missing_graph_profile):
        Engine(tutorial.graph, tutorial.program, {"debug.retainDebugInformation": "false"}).getReport()


@pytest.mark.parametrize(
    ("option", "count"), [("debug.workerStackSizeInBytes", 6), ("debug.supervisorStackSizeInBytes", 1)]
)
def test_stack_sizes(option, count, tmp_path):
    """Six workers and one supervisor on every tile of hardware; the model keeps no stacks."""
    for size in ("1000", "0x4e0"):
        run(hardware(), tmp_path / size, PROFILE | {option: size})
    small, large = (np.array(counters(tmp_path / size, "stack")) for size in ("1000", "0x4e0"))
    assert (large - small).tolist() == [count * (0x4E0 - 1000)] * 4


def test_flop_estimates(tmp_path):
    for value in ("true", "false"):
        run(model(), tmp_path / value, PROFILE | {"profiler.includeFlopEstimates": value})
    on, off = (ProfileReader(tmp_path / v / "profile.pop").compute_sets().flops for v in ("true", "false"))
    assert on[0] == 4 + 3 + 2 + 1
    assert set(off.tolist()) == {-1}


def test_no_option_claims_an_effect_without_a_test():
    root = Path(__file__).parents[2]
    for option in ENGINE_TABLE.values():
        file, _, name = option.test.partition("::")
        assert bool(option.test) == option.effective, option.name
        assert bool(option.recorded_only) != option.effective, option.name
        if option.test:
            assert f"def {name}" in (root / file).read_text(), option.name
