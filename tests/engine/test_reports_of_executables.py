"""What compileGraph and compileModule write, and the options of engines made from an executable."""

import io
import json

import numpy as np
import pytest

from popvision import pvti
from popvision.formats.archive import read_archive
from popvision.formats.profile.reader import ProfileReader
from popvision.pva import openReport
from simulator.base import text_output
from simulator.base.options.table import ENGINE_TABLE
from simulator.engine.devices.device import Device
from simulator.poplar import (
    FLOAT,
    Engine,
    Executable,
    Graph,
    Target,
    TargetType,
    compileGraph,
    compileModule,
    graph_object_creation_error,
    invalid_option,
    invalid_tile_mapping,
    poplar_error,
    profiling_disabled,
    unknown_runtime_error,
)
from simulator.poplar.program import Copy, Repeat, Sequence
from simulator.runtime.recording import report_folder
from tests.compiler.tiny_graphs import hardware, model, tutorial3
from tests.same_reports import OF_A_RUN, differences

PROFILE = {"autoReport.outputGraphProfile": "true", "autoReport.outputExecutionProfile": "true"}


@pytest.fixture(autouse=True)
def _forget_directories(monkeypatch):
    monkeypatch.setattr(report_folder, "_directories", {})


def compiled(options, target=None):
    tutorial = tutorial3(target or model())
    return compileGraph(tutorial.graph, [tutorial.program, Repeat(2, tutorial.program)], options)


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("compile_", [compileGraph, compileModule])
def test_the_archive_is_saved_while_the_graph_is_compiled(compile_, tmp_path):
    graph = Graph(model())
    x, y = (graph.addVariable(FLOAT, [8], name) for name in "xy")
    for tensor in (x, y):
        graph.setTileMapping(tensor, 2)
    compile_(graph, Copy(x, y), {"target.saveArchive": str(tmp_path / "mine.a")})
    assert files(tmp_path) == ["mine.a"]
    assert read_archive(tmp_path / "mine.a").tile_bytes(4).sum() > 0


def test_a_module_with_streams_refused_leaves_no_archive(tmp_path):
    tutorial = tutorial3(model())
    with pytest.raises(poplar_error, match="cannot speak with the host"):
        compileModule(tutorial.graph, tutorial.program, {"target.saveArchive": str(tmp_path / "mine.a")})
    assert files(tmp_path) == []


def test_the_first_engine_adds_its_runs_to_what_compilation_wrote(tmp_path):
    options = PROFILE | {"autoReport.directory": str(tmp_path), "autoReport.outputArchive": "true"}
    executable = compiled(options)
    assert files(tmp_path) == ["archive.a", "profile.pop"]
    device = Device(model())
    for _ in range(2):
        with Engine(executable, options) as engine:
            engine.load(device)
            engine.run(0)
            engine.run(1)
    assert files(tmp_path) == ["archive.a", "engine_1/archive.a", "engine_1/profile.pop", "profile.pop"]
    first, second = (ProfileReader(tmp_path / name).runs() for name in ("profile.pop", "engine_1/profile.pop"))
    assert first.program_index.tolist() == second.program_index.tolist() == [0, 1]
    np.testing.assert_array_equal(first.cycles, second.cycles)


def test_an_executable_without_an_engine_leaves_one_finished_file(tmp_path):
    compiled(PROFILE | {"autoReport.directory": str(tmp_path)})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["profile.pop"]
    assert openReport(tmp_path / "profile.pop").compilation.graph.numVertices == 4


def test_a_saved_executable_writes_what_it_was_compiled_to_write(tmp_path):
    options = PROFILE | {"autoReport.directory": str(tmp_path / "reports")}
    file = io.BytesIO()
    compiled(options).serialize(file)
    report_folder._directories.clear()
    (tmp_path / "reports" / "profile.pop").unlink()
    with Engine(Executable.deserialize(io.BytesIO(file.getvalue())), options) as engine:
        engine.loadAndRun(Device(model()))
    assert ProfileReader(tmp_path / "reports" / "profile.pop").runs().program_index.tolist() == [0]


ALL = ["archive.a", "debug.cbor", "debug.json", "profile.pop", "serialized_graph.capnp"]


def saved(executable):
    file = io.BytesIO()
    executable.serialize(file)
    return Executable.deserialize(io.BytesIO(file.getvalue()))


@pytest.mark.parametrize("target", [model(), hardware()], ids=lambda t: t.type.value)
@pytest.mark.parametrize("stream", ["true", "false"])
def test_a_saved_executable_can_be_profiled(target, stream, tmp_path, monkeypatch):
    """Compiled without a report, saved, read and asked for one: the files that compiling with these options writes.
    Instrumentation, which takes memory and time on hardware, was compiled in."""
    instrumented = {"debug.instrument": "true" if target.type is TargetType.IPU else "false"}
    asked = instrumented | {"autoReport.all": "true", "autoReport.streamAtEachRun": stream}
    device = Device(target)
    monkeypatch.setattr(pvti, "runId", lambda: "of one program")
    for name, executable in (
        ("later", saved(compiled(instrumented, target))),
        ("at once", compiled(asked | {"autoReport.directory": str(tmp_path / "at once")}, target)),
    ):
        with device, Engine(executable, asked | {"autoReport.directory": str(tmp_path / name)}) as engine:
            engine.load(device)
            engine.run(1)
        assert files(tmp_path / name) == ALL
    options = {"meta.engineOptions", "meta.engineOptionsGiven"}
    assert differences(tmp_path / "later", tmp_path / "at once") <= OF_A_RUN | options
    meta = ProfileReader(tmp_path / "later" / "profile.pop").meta
    assert meta["engineOptionsGiven"] == asked | {"autoReport.directory": str(tmp_path / "later")}


@pytest.mark.parametrize("save", [saved, lambda executable: executable], ids=["saved", "in this process"])
def test_each_engine_of_an_executable_has_its_own_reports(save, tmp_path):
    """Compiled with all reports into one folder: engines that want none, other files, and a profile there."""
    made = compiled({"autoReport.all": "true", "autoReport.directory": str(tmp_path / "first")})
    assert files(tmp_path / "first") == ALL
    report_folder._directories.clear()  # as in another process
    executable = save(made)
    Engine(executable).close()
    lowered = {"autoReport.outputLoweredVars": "true", "autoReport.directory": str(tmp_path / "second")}
    Engine(executable, lowered).close()
    assert files(tmp_path) == [*(f"first/{name}" for name in ALL), "second/profile.pop"]
    graph = {"autoReport.outputGraphProfile": "true", "autoReport.directory": str(tmp_path / "first")}
    with Engine(executable, graph) as engine:
        engine.loadAndRun(Device(model()))
    assert files(tmp_path / "first") == ALL
    assert ProfileReader(tmp_path / "first" / "profile.pop").meta["engineOptionsGiven"] == graph


def test_hardware_without_instrumentation_writes_the_graphs_profile_and_says_so(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(text_output, "_printed", set())
    executable = saved(compiled({}, hardware()))
    device = Device(hardware())
    for _ in range(2):
        asked = {"autoReport.all": "true", "autoReport.directory": str(tmp_path)}
        with device, Engine(executable, asked) as engine:
            engine.loadAndRun(device)
            assert engine.getReport().compilation.graph.numVertices == 4
            with pytest.raises(profiling_disabled):
                engine.reportIntervals(io.StringIO())
    reader = ProfileReader(tmp_path / "profile.pop")
    assert len(reader.runs().name) == 0
    assert reader.tile_memory() is not None
    assert reader.meta["computeInstrumentation"] == "Off"
    assert reader.meta["engineOptions"]["debug.instrument"] == "false"
    [line] = capsys.readouterr().err.splitlines()
    assert line == (
        "popvision: The executable was compiled without instrumentation, so that its runs on hardware are not "
        "recorded; compile it with autoReport.outputExecutionProfile or debug.instrument set to true."
    )


def test_omitted_options_are_none(monkeypatch, tmp_path):
    executable = compiled({})
    Engine(executable).close()
    for given in ((executable,), (executable, {}), (executable, None)):
        monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", '{"target.deterministicWorkers": "false"}')
        with pytest.raises(
            invalid_option, match=r"'target\.\w+' is 'false' but the executable was compiled with 'true'"
        ):
            Engine(*given)
        monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", '{"autoReport.everything": "true"}')
        with pytest.raises(invalid_option, match=r"'autoReport\.everything' .* is not an engine option"):
            Engine(*given)
        monkeypatch.delenv("POPLAR_ENGINE_OPTIONS")
    asked = {"autoReport.outputGraphProfile": "true", "autoReport.directory": str(tmp_path)}
    monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", json.dumps(asked))
    with Engine(executable):
        pass
    assert files(tmp_path) == ["profile.pop"]


def test_an_executable_with_options_needs_them_again():
    executable = compiled({"debug.instrument": "true"})
    with pytest.raises(invalid_option, match=r"'debug\.instrument' is 'false' but .* 'true'; give both the same"):
        Engine(executable)
    Engine(executable, {"debug.instrument": "true"}).close()


def test_runtime_options_of_the_environment_reach_an_engine_without_options(monkeypatch, tmp_path):
    executable = compiled({}, hardware())
    device = Device(hardware())
    monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", '{"target.hostSyncTimeout": "1e-9"}')
    with device, Engine(executable) as engine:
        engine.load(device)
        assert engine.getEngineOptions() == {"target.hostSyncTimeout": "1e-9"}
        with pytest.raises(unknown_runtime_error, match=r"longer than target\.hostSyncTimeout"):
            engine.run()


def test_the_profile_tells_the_runtime_options_of_its_engine(tmp_path):
    options = PROFILE | {"autoReport.directory": str(tmp_path)}
    executable = compiled(options)
    with Engine(executable, options | {"target.hostSyncTimeout": "7"}):
        pass
    given = ProfileReader(tmp_path / "profile.pop").meta["engineOptionsGiven"]
    assert given == options | {"target.hostSyncTimeout": "7"}


@pytest.mark.parametrize(
    "more", [({}, {"autoReport.all": "true"}), (Sequence(), {}), ({}, None, print), ({}, None, None, "name")]
)
def test_an_executable_takes_options_only(more):
    with pytest.raises(poplar_error, match="takes the executable and options"):
        Engine(compiled({}), *more)


@pytest.mark.parametrize("stream", ["true", "false"])
def test_a_reset_discards_runs_from_the_file_too(stream, tmp_path):
    target = model()
    tutorial = tutorial3(target)
    programs = [tutorial.program, Repeat(3, tutorial.program)]
    flags = PROFILE | {"autoReport.directory": str(tmp_path), "autoReport.streamAtEachRun": stream}
    with Engine(tutorial.graph, programs, flags) as engine:
        engine.load(Device(target))
        engine.run(1, "dropped")
        engine.run(0, "dropped")
        engine.resetExecutionProfile()
        assert len(ProfileReader(tmp_path / "profile.pop").runs().name) == 0
        engine.run(0, "kept")
        assert [run.name for run in engine.getReport().execution.runs] == ["kept"]
    reader = ProfileReader(tmp_path / "profile.pop")
    assert reader.runs().name == ["kept"]
    steps = reader.steps()
    assert len(steps.program) == reader.runs().n_steps[0] > 0
    fresh = tmp_path / "fresh"
    with Engine(tutorial.graph, programs, flags | {"autoReport.directory": str(fresh)}) as engine:
        engine.load(Device(target))
        engine.run(0, "kept")
    alone = ProfileReader(fresh / "profile.pop")
    np.testing.assert_array_equal(steps.program, alone.steps().program)
    np.testing.assert_array_equal(reader.runs().cycles, alone.runs().cycles)
    assert openReport(tmp_path / "profile.pop").execution.totalCycles.total == reader.runs().cycles.sum()


def test_a_reset_without_later_runs_leaves_none(tmp_path):
    target = model()
    tutorial = tutorial3(target)
    for stream in ("true", "false"):
        folder = tmp_path / stream
        flags = PROFILE | {"autoReport.directory": str(folder), "autoReport.streamAtEachRun": stream}
        with Engine(tutorial.graph, tutorial.program, flags) as engine:
            engine.loadAndRun(Device(target))
            engine.resetExecutionProfile()
        assert len(ProfileReader(folder / "profile.pop").runs().name) == 0


def test_lowered_variables_alone_are_a_profile(tmp_path):
    tutorial = tutorial3(model())
    both = {"autoReport.outputLoweredVars": "true", "autoReport.outputGraphProfile": "true"}
    for name, flags in (("alone", {"autoReport.outputLoweredVars": "true"}), ("both", both)):
        with Engine(tutorial.graph, tutorial.program, flags | {"autoReport.directory": str(tmp_path / name)}):
            pass
    assert files(tmp_path / "alone") == ["profile.pop"]
    alone, reports = (openReport(tmp_path / name / "profile.pop").compilation for name in ("alone", "both"))
    for tile in range(4):
        mine, theirs = (
            [(v.name, v.offset, v.bytes) for v in report.loweredVariables.forTile(tile)] for report in (alone, reports)
        )
        assert mine == theirs
        assert mine
    assert ProfileReader(tmp_path / "alone" / "profile.pop").tile_memory() is None


def without_files(folder):
    return [path for path in folder.rglob("*") if path.is_dir() and not any(path.iterdir())]


@pytest.mark.parametrize("target", [model(), hardware(), Target(TargetType.CPU)], ids=lambda t: t.type.value)
@pytest.mark.parametrize("option", ENGINE_TABLE.values(), ids=lambda o: o.name)
def test_no_option_leaves_an_empty_folder(option, target, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    good = {"bool": ["true", "false"], "int": ["1"], "float": ["1.5"], "path": ["sub/x"], "regex": ["a.*b"]}
    for value in option.kind.choices or good[option.kind.name]:
        tutorial = tutorial3(target)
        try:
            with Engine(tutorial.graph, tutorial.program, {option.name: value}, None, "named") as engine:
                device = Device(target)
                with device:
                    engine.loadAndRun(device)
        except poplar_error:
            assert files(tmp_path) == []
        assert without_files(tmp_path) == []


@pytest.mark.parametrize("path", ["target.saveArchive", "target.saveOutputVertexGraph", "debug.loweredVarDumpFile"])
def test_a_report_that_fails_leaves_no_empty_folder(path, tmp_path):
    (tmp_path / "file").write_text("")
    tutorial = tutorial3(model())
    options = PROFILE | {"autoReport.directory": str(tmp_path / "a" / "b"), path: str(tmp_path / "file" / "x")}
    with pytest.raises(poplar_error, match="another path"):
        Engine(tutorial.graph, tutorial.program, options, None, "named")
    assert files(tmp_path) == ["file"]
    assert without_files(tmp_path) == []


@pytest.mark.parametrize("option", ["target.saveOutputVertexGraph", "debug.loweredVarDumpFile", "target.saveArchive"])
def test_programs_that_do_not_compile_leave_no_file(option, tmp_path):
    """A program of another graph, and a tensor without a tile: the compiler's sentence, and no half of a drawing."""
    other, unmapped = tutorial3(model()), Graph(model())
    x, y = (unmapped.addVariable(FLOAT, [2], name) for name in "xy")
    for graph, program, error in (
        (Graph(model()), other.program, graph_object_creation_error),
        (unmapped, Copy(x, y), invalid_tile_mapping),
    ):
        with pytest.raises(error):
            Engine(graph, program, {option: str(tmp_path / "file")})
    assert files(tmp_path) == []


def test_engines_that_write_no_report_leave_the_directory_to_others(tmp_path):
    """An archive elsewhere, and an engine that failed, take no sub-folder."""
    tutorial = tutorial3(model())
    report = PROFILE | {"autoReport.directory": str(tmp_path / "reports")}
    elsewhere = {"autoReport.directory": str(tmp_path / "reports"), "target.saveArchive": str(tmp_path / "mine.a")}
    Engine(tutorial.graph, tutorial.program, elsewhere).close()
    with pytest.raises(poplar_error, match="another path"):
        Engine(tutorial.graph, tutorial.program, report | {"target.saveArchive": str(tmp_path / "none" / "x.a")})
    for _ in range(2):
        Engine(tutorial.graph, tutorial.program, report).close()
    assert files(tmp_path) == ["mine.a", "reports/engine_1/profile.pop", "reports/profile.pop"]


def test_graphs_without_programs_are_no_executables():
    with pytest.raises(poplar_error, match="needs a graph and programs, or an executable"):
        Engine(None)
    assert isinstance(compileGraph(Graph(model()), Sequence()), Executable)
