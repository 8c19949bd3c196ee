"""Report folders: which files, where, what they agree on, and what the engine records."""

import io
import json
import sqlite3

import numpy as np
import pytest

from popvision import pva
from popvision.formats import archive, debug_info, serialized_graph
from popvision.formats.profile.reader import ProfileReader
from simulator.poplar import DeviceManager, Engine, IPUModel, TargetType, profiling_disabled
from simulator.poplar.program import Sequence
from simulator.runtime.recording import report_folder
from tests.compiler.tiny_graphs import tutorial3
from tests.same_reports import META_OF_A_RUN

ALL = ("archive.a", "debug.cbor", "debug.json", "profile.pop", "serialized_graph.capnp")


@pytest.fixture(autouse=True)
def _forget_directories(monkeypatch):
    monkeypatch.setattr(report_folder, "_directories", {})


@pytest.fixture
def device():
    model = IPUModel()
    model.tilesPerIPU = 4
    return model.createDevice()


def engine_for(device, folder, name="", programs=None, **options):
    tutorial = tutorial3(device.getTarget())
    flags = {"autoReport.directory": str(folder), **{k.replace("_", "."): v for k, v in options.items()}}
    return Engine(tutorial.graph, programs or tutorial.program, flags, None, name)


def everything(device, folder, name="", **options):
    return engine_for(device, folder, name, autoReport_all="true", **options)


def ran(engine, device, runs=1):
    engine.load(device)
    for _ in range(runs):
        engine.run()
    engine.close()


def test_all_files_and_one_run_id(device, tmp_path):
    ran(everything(device, tmp_path / "new" / "deep"), device)
    folder = tmp_path / "new" / "deep"
    assert tuple(sorted(p.name for p in folder.iterdir())) == ALL
    run_id = ProfileReader(folder / "profile.pop").meta["runId"]
    assert debug_info.run_id_of(folder / "debug.json") == run_id
    assert debug_info.run_id_of(folder / "debug.cbor") == run_id
    assert archive.run_id_of(folder / "archive.a") == run_id
    assert serialized_graph.run_id_of(folder / "serialized_graph.capnp") == run_id


def test_only_files_asked_for_are_overwritten(device, tmp_path):
    for name in ALL:
        (tmp_path / name).write_text("old")
    ran(engine_for(device, tmp_path, autoReport_outputDebugInfo="true"), device)
    assert {n: (tmp_path / n).read_bytes() == b"old" for n in ALL} == {n: not n.startswith("debug") for n in ALL}


def test_engines_have_their_own_folders_and_share_the_debug_files(device, tmp_path):
    for name in ("training", "", "inference", "", "training"):
        ran(everything(device, tmp_path, name), device)
    found = sorted(str(p.parent.relative_to(tmp_path)) for p in tmp_path.rglob("profile.pop"))
    assert found == [".", "engine_1", "inference", "training", "training_1"]
    contexts = debug_info.read_debug_info(tmp_path / "debug.json")
    for path in tmp_path.rglob("profile.pop"):
        report = pva.openReport(path, tmp_path / "debug.json")
        reader = ProfileReader(path)
        assert reader.meta["runId"] == contexts.run_id
        names = {contexts.record(int(i))["name"] for i in reader.compute_sets().debug_id if i >= 0}
        assert names == {"sums"}
        assert report.execution.runs


def test_engines_without_a_file_in_the_report_folder_make_none(device, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for number in range(2):
        tutorial = tutorial3(device.getTarget())
        ran(Engine(tutorial.graph, tutorial.program, {"target.saveArchive": str(tmp_path / f"{number}.a")}), device)
    assert list((tmp_path / "here").iterdir()) == []


def test_archive_sizes_are_the_profiles(device, tmp_path):
    ran(everything(device, tmp_path), device)
    memory = ProfileReader(tmp_path / "profile.pop").tile_memory()
    assert np.array_equal(archive.read_archive(tmp_path / "archive.a").tile_bytes(4), memory.excluding_gaps)


def test_serialized_graph_holds_the_graph(device, tmp_path):
    ran(everything(device, tmp_path), device)
    graph = serialized_graph.read_serialized_graph(tmp_path / "serialized_graph.capnp")
    assert graph.variable_name == ["v1", "v2", "values"]
    assert graph.vertex_type_name == ["Sum"]
    assert graph.vertex_tile.tolist() == [0, 1, 2, 3]
    assert graph.region_length.tolist() == [4, 3, 2, 1, 1, 1, 1, 1]
    assert "cs2_sums/ExchangePre" in graph.program_name


def test_without_a_graph_profile_there_is_no_memory_in_the_file(device, tmp_path):
    ran(engine_for(device, tmp_path, autoReport_outputExecutionProfile="true"), device)
    reader = ProfileReader(tmp_path / "profile.pop")
    assert reader.tile_memory() is None
    assert len(reader.runs().cycles) == 1


def test_without_an_execution_profile_there_are_no_runs_in_the_file(device, tmp_path):
    ran(engine_for(device, tmp_path, autoReport_outputGraphProfile="true"), device)
    reader = ProfileReader(tmp_path / "profile.pop")
    assert reader.tile_memory() is not None
    assert reader.lowered_tile(0) is None
    assert len(reader.runs().cycles) == 0


def test_each_run_is_on_disk_when_it_returns_or_all_at_the_end(device, tmp_path):
    for streamed, during in (("true", 2), ("false", 0)):
        folder = tmp_path / streamed
        engine = everything(device, folder, autoReport_streamAtEachRun=streamed)
        engine.load(device)
        engine.run()
        engine.run()
        assert len(ProfileReader(folder / "profile.pop").runs().cycles) == during
        engine.close()
        engine.close()
        assert len(ProfileReader(folder / "profile.pop").runs().cycles) == 2
        assert not list(folder.glob("*-wal"))


def test_reports_are_finished_when_the_engine_goes_away(device, tmp_path):
    engine = everything(device, tmp_path, autoReport_streamAtEachRun="false")
    engine.load(device)
    engine.run()
    del engine
    assert len(ProfileReader(tmp_path / "profile.pop").runs().cycles) == 1
    with everything(device, tmp_path / "with", autoReport_streamAtEachRun="false") as second:
        second.load(device)
        second.run()
    assert len(ProfileReader(tmp_path / "with" / "profile.pop").runs().cycles) == 1


def test_runs_kept_count_for_each_program(device, tmp_path):
    tutorial = tutorial3(device.getTarget())
    programs = [tutorial.program, Sequence()]
    flags = {"autoReport.all": "true", "autoReport.directory": str(tmp_path)}
    engine = Engine(tutorial.graph, programs, flags)
    engine.load(device)
    for index in (0, 0, 0, 1, 1, 1):
        engine.run(index, f"program {index}")
    engine.close()
    runs = ProfileReader(tmp_path / "profile.pop").runs()
    assert runs.program_index.tolist() == [0, 0, 1, 1]
    assert runs.name == ["program 0", "program 0", "program 1", "program 1"]


def test_profiling_can_pause_and_start_again(device):
    tutorial = tutorial3(device.getTarget())
    engine = Engine(tutorial.graph, tutorial.program, {"debug.retainDebugInformation": "true"})
    engine.load(device)
    engine.disableExecutionProfiling()
    engine.run(0, "unseen")
    engine.enableExecutionProfiling()
    engine.run(0, "seen")
    assert [run.name for run in engine.getReport().execution.runs] == ["seen"]
    assert len(engine.getReport(False).execution.runs) == 0
    engine.resetExecutionProfile()
    engine.run(0, "after")
    assert [run.name for run in engine.getReport().execution.runs] == ["after"]


def test_get_report_tells_what_the_clock_says(device):
    tutorial = tutorial3(device.getTarget())
    engine = Engine(tutorial.graph, tutorial.program, {"debug.retainDebugInformation": "true"})
    engine.load(device)
    before = engine.getTimeStamp()
    engine.run()
    engine.run()
    after = engine.getTimeStamp()
    report = engine.getReport()
    assert report.execution.totalCycles.total == after.device_cycles - before.device_cycles
    cycles = f"{after.device_cycles:,} cycles"
    assert cycles in Engine.reportTiming(before, after)
    names = [program.name for program in report.compilation.programs]
    assert "cs2_sums/ExchangePre" in names
    assert report.compilation.graph.numVertices == 4


def test_summary_and_intervals(device):
    tutorial = tutorial3(device.getTarget())
    engine = Engine(tutorial.graph, tutorial.program)
    engine.load(device)
    engine.run()
    summary, intervals = io.StringIO(), io.StringIO()
    engine.printProfileSummary(summary, {"showExecutionSteps": "true"})
    engine.reportIntervals(intervals)
    assert "Number of vertices:                4" in summary.getvalue()
    rows = [[int(v) for v in line.split(",")] for line in intervals.getvalue().splitlines()]
    assert all(sum(row[2:]) == 4 for row in rows)
    assert (rows[0][0], rows[-1][1]) == (0, engine.getTimeStamp().device_cycles)


def test_hardware_records_only_when_instrumented(tmp_path):
    with DeviceManager().getDevices(TargetType.IPU, 1)[0] as device:
        tutorial = tutorial3(device.getTarget())
        plain = Engine(tutorial.graph, tutorial.program, {"debug.retainDebugInformation": "true"})
        plain.load(device)
        plain.run()
        assert len(plain.getReport().execution.runs) == 0
        with pytest.raises(profiling_disabled, match=r"debug\.instrument"):
            plain.reportIntervals(io.StringIO())
        ran(everything(device, tmp_path), device)
    reader = ProfileReader(tmp_path / "profile.pop")
    assert len(reader.runs().cycles) == 1
    assert reader.meta["computeInstrumentation"] == "Tile"
    assert reader.target().type == "Ipu"


def test_hardware_waits_a_constant_for_the_host_or_what_was_measured(monkeypatch):
    def cycles():
        with DeviceManager().getDevices(TargetType.IPU, 1)[0] as device:
            tutorial = tutorial3(device.getTarget())
            from simulator.poplar.program import PrintTensor

            engine = Engine(tutorial.graph, PrintTensor("v2", tutorial.v2))
            engine.setPrintTensorStream(io.StringIO())
            engine.load(device)
            engine.run()
            engine.run()
            return engine.getTimeStamp().device_cycles

    constant = cycles()
    assert constant == cycles()
    assert constant > 2 * (80_000 + 81_000)
    monkeypatch.setenv("POPVISION_HOST_CLOCK", "measured")
    assert cycles() != constant


def rows_of(path):
    """Every table of a profile as sorted text, without what names the moment: times and ids."""
    db = sqlite3.connect(path)
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = {}
    for table in tables:
        rows = sorted(repr(row) for row in db.execute(f"SELECT * FROM {table}"))
        found[table] = [r for r in rows if table != "meta" or json.loads(r.split(", ", 1)[1][1:-2] or "0") is not None]
    meta = dict(db.execute("SELECT key, value FROM meta"))
    for key in (*META_OF_A_RUN, "engineOptions", "engineOptionsGiven"):
        meta.pop(key)
    found["meta"] = sorted(meta.items())
    found["runs"] = list(db.execute("SELECT id, program_index, name, first_step, n_steps, cycles FROM runs"))
    found.pop("parts", None)  # checksums of the tables above
    return found


def test_the_same_program_twice_is_the_same_database_but_for_times_and_ids(device, tmp_path):
    for name in ("a", "b"):
        ran(everything(device, tmp_path / name), device, runs=2)
    first, second = rows_of(tmp_path / "a" / "profile.pop"), rows_of(tmp_path / "b" / "profile.pop")
    assert first.keys() == second.keys()
    for table, rows in first.items():
        assert rows == second[table], table


def test_progress_comes_from_one_thread_of_its_own(device):
    import threading

    tutorial = tutorial3(device.getTarget())
    seen = []
    Engine(tutorial.graph, tutorial.program, {}, lambda now, end: seen.append((threading.get_ident(), now, end)))
    threads = {thread for thread, _, _ in seen}
    assert len(threads) == 1
    assert threading.get_ident() not in threads
    assert [now for _, now, _ in seen] == sorted(now for _, now, _ in seen)
    assert seen[-1][1] == seen[-1][2]


def test_a_progress_callback_that_fails_does_not_stop_compilation(device, capsys):
    tutorial = tutorial3(device.getTarget())

    def broken(now, end):
        raise ValueError("no display")

    Engine(tutorial.graph, tutorial.program, {}, broken)
    assert capsys.readouterr().err.count("no display") == 1
