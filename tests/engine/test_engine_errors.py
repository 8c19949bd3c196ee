"""Bad input: one sentence naming the thing, as the documented exception."""

import io
import json

import numpy as np
import pytest

from popvision.formats.profile.reader import ProfileReader
from popvision.formats.profile.writer import ProfileWriter
from simulator.engine.devices.device import Device
from simulator.poplar import (
    FLOAT,
    DeviceManager,
    Engine,
    Executable,
    Graph,
    IPUModel,
    ModuleRuntime,
    TargetType,
    compileGraph,
    compileModule,
    control_program_error,
    graph_memory_allocation_error,
    invalid_option,
    missing_graph_profile,
    poplar_error,
    profiling_disabled,
    stream_connection_error,
)
from simulator.poplar.program import Copy, PrintTensor
from simulator.runtime.recording import report_folder
from tests.compiler.tiny_graphs import reporting_engine, tutorial3


@pytest.fixture
def device():
    model = IPUModel()
    model.tilesPerIPU = 4
    return model.createDevice()


@pytest.fixture
def engine(device):
    tutorial = tutorial3(device.getTarget())
    return Engine(tutorial.graph, tutorial.program)


def streaming(device):
    graph = Graph(device.getTarget())
    x = graph.addVariable(FLOAT, [4], "x")
    graph.setTileMapping(x, 0)
    return Engine(graph, Copy(graph.addHostToDeviceFIFO("into", FLOAT, 4), x))


def test_run_before_load(engine):
    with pytest.raises(poplar_error, match=r"not loaded; call load\(device\) before run"):
        engine.run()


def test_read_before_load(engine):
    with pytest.raises(poplar_error, match="call load"):
        engine.readTensor("v2", np.zeros(4, np.float32))


def test_deploy_before_prepare(engine):
    with pytest.raises(poplar_error, match=r"prepare\(device\) before deploy"):
        engine.deploy()


@pytest.mark.parametrize("index", [1, -1, 99])
def test_program_index_out_of_range(engine, device, index):
    engine.load(device)
    with pytest.raises(poplar_error, match=f"no program {index}; the engine has 1"):
        engine.run(index)
    with pytest.raises(poplar_error, match="no program 'first'; programs have numbers"):
        engine.run("first")


@pytest.mark.parametrize("method", ["printProfileSummary", "reportIntervals", "setPrintStream", "setPrintTensorStream"])
def test_what_is_no_stream(engine, method):
    with pytest.raises(poplar_error, match=f"{method}: 3 is not a stream; give a file object"):
        getattr(engine, method)(3)


def test_what_is_no_progress_callback(device):
    with pytest.raises(poplar_error, match="progress callback 3 cannot be called"):
        Engine(Graph(device), [], {}, 3)


def test_a_device_of_another_kind(engine):
    with pytest.raises(poplar_error, match="compiled for 4 tiles of ipu2"):
        engine.load(IPUModel("ipu1").createDevice())


def test_hardware_must_be_attached():
    device = DeviceManager().getDevices(TargetType.IPU, 1)[0]
    tutorial = tutorial3(device.getTarget())
    engine = Engine(tutorial.graph, tutorial.program)
    with pytest.raises(poplar_error, match="not attached"):
        engine.load(device)
    with device:
        engine.load(device)
    with pytest.raises(poplar_error, match=r"Device 0 is not attached; call device\.attach\(\)"):
        engine.run()


def test_a_missing_stream_is_named(device):
    engine = streaming(device)
    engine.load(device)
    with pytest.raises(stream_connection_error, match="'into' is used by the program but not connected"):
        engine.run()


def test_streams_that_do_not_fit(device):
    engine = streaming(device)
    for buffer, message in (
        (np.zeros(3, np.float32), "moves 4 elements at a time, but the buffer holds 3"),
        (np.zeros(4, np.float64), "holds float, but the buffer holds float64"),
        ([1.0, 2.0, 3.0, 4.0], "a list has no memory to share"),
        (np.zeros(8, np.float32)[::2], "not contiguous"),
    ):
        with pytest.raises(stream_connection_error, match=message):
            engine.connectStream("into", buffer)
    with pytest.raises(stream_connection_error, match="no stream 'other'; the streams of this engine are: into"):
        engine.connectStream("other", np.zeros(4, np.float32))
    with pytest.raises(stream_connection_error, match="neither callable"):
        engine.connectStreamToCallback("into", 5)


def test_host_tensors_that_do_not_fit(engine, device):
    engine.load(device)
    with pytest.raises(stream_connection_error, match="has 4 elements, but the buffer holds 3"):
        engine.readTensor("v2", np.zeros(3, np.float32))
    with pytest.raises(stream_connection_error, match="No tensor can be written as 'v2'; make it so with"):
        engine.writeTensor("v2", np.zeros(4, np.float32))
    frozen = np.zeros(4, np.float32)
    frozen.setflags(write=False)
    with pytest.raises(stream_connection_error, match="read-only"):
        engine.readTensor("v2", frozen)


def test_what_is_no_program(device):
    graph = Graph(device.getTarget())
    with pytest.raises(control_program_error, match="is not a program"):
        Engine(graph, [5])
    with pytest.raises(poplar_error, match="needs a graph and programs"):
        Engine(5)


def test_unknown_option_and_wrong_environment(device, monkeypatch):
    tutorial = tutorial3(device.getTarget())
    with pytest.raises(invalid_option, match=r"autoReport\.everything"):
        Engine(tutorial.graph, tutorial.program, {"autoReport.everything": "true"})
    monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", "{broken")
    with pytest.raises(invalid_option, match="POPLAR_ENGINE_OPTIONS"):
        Engine(tutorial.graph, tutorial.program)


@pytest.mark.parametrize("name", [5, None, b"bytes", ["a"]])
def test_names_of_runs_are_strings(name, device):
    tutorial = tutorial3(device.getTarget())
    engine = Engine(tutorial.graph, tutorial.program)
    engine.load(device)
    with pytest.raises(poplar_error, match="The name of a run is a string, not"):
        engine.run(0, name)


def test_options_of_engine_and_executable_must_agree(device):
    tutorial = tutorial3(device.getTarget())
    executable = compileGraph(tutorial.graph, [tutorial.program], {"debug.instrument": "true"})
    with pytest.raises(
        invalid_option, match=r"'debug\.instrument' is 'false' but the executable was compiled with 'true'"
    ):
        Engine(executable, {"debug.instrument": "false"})


def test_runtime_options_are_refused_at_compile_time_when_asked(device):
    tutorial = tutorial3(device.getTarget())
    with pytest.raises(invalid_option, match=r"'target\.hostSyncTimeout' only matters at run time"):
        compileGraph(tutorial.graph, [tutorial.program], True, {"target.hostSyncTimeout": "5"})


def test_profiles_that_are_not_there(engine, device):
    with pytest.raises(missing_graph_profile, match="retainDebugInformation"):
        engine.getReport()
    with pytest.raises(invalid_option, match="'colour' is not an option of printProfileSummary"):
        engine.printProfileSummary(io.StringIO(), {"colour": "true"})
    cpu = Device.createCPUDevice(4)
    tutorial = tutorial3(cpu.getTarget())
    on_cpu = Engine(tutorial.graph, tutorial.program, {"debug.retainDebugInformation": "true"})
    with pytest.raises(profiling_disabled):
        on_cpu.printProfileSummary(io.StringIO())
    with pytest.raises(missing_graph_profile):
        on_cpu.getReport()


def test_a_report_folder_that_is_a_file(device, tmp_path):
    (tmp_path / "report").write_text("in the way")
    tutorial = tutorial3(device.getTarget())
    options = {"autoReport.all": "true", "autoReport.directory": str(tmp_path / "report")}
    with pytest.raises(poplar_error, match=r"is a file; give autoReport\.directory another path"):
        Engine(tutorial.graph, tutorial.program, options)
    assert (tmp_path / "report").read_text() == "in the way"


def test_a_full_disk_keeps_what_was_recorded_and_the_program_goes_on(tmp_path, monkeypatch, capsys):
    limited = []

    class Limited(ProfileWriter):
        """Room for the compilation and a few runs, each of which has a long name."""

        def write_compilation(self, compilation):
            super().write_compilation(compilation)
            pages = self._db.execute("PRAGMA page_count").fetchone()[0]
            self._db.execute(f"PRAGMA max_page_count={pages + 8}")
            limited.append(self)

    monkeypatch.setattr(report_folder, "ProfileWriter", Limited)
    engine = reporting_engine(tmp_path, runs_kept=1_000)
    capsys.readouterr()
    for number in range(30):
        engine.run(0, f"run {number} " + "x" * 5_000)
    engine.resetExecutionProfile()
    engine.close()
    (line,) = capsys.readouterr().err.splitlines()
    assert "full" in line
    assert line.endswith("The report keeps the runs before this one; further runs are not recorded.")
    assert 0 < len(ProfileReader(tmp_path / "profile.pop").runs().name) < 30


def big(device):
    graph = Graph(device.getTarget())
    x = graph.addVariable(FLOAT, [200_000], "x")
    graph.setTileMapping(x, 0)
    graph.createHostRead("x", x)
    return graph, PrintTensor("x", x)


def hardware():
    return DeviceManager().getDevices(TargetType.IPU, 1)[0]


def test_out_of_memory_on_hardware_saves_the_profile_first(tmp_path):
    graph, program = big(hardware())
    options = {"autoReport.outputGraphProfile": "true", "autoReport.directory": str(tmp_path)}
    options["debug.allowOutOfMemory"] = "false"
    with pytest.raises(graph_memory_allocation_error, match=r"Out of memory: .* tile 0 needs \d+") as caught:
        Engine(graph, program, options)
    assert caught.value.profile_path == str(tmp_path / "profile.pop")
    assert str(caught.value).endswith(f"Profile saved to: {tmp_path / 'profile.pop'}")
    memory = ProfileReader(tmp_path / "profile.pop").tile_memory()
    assert memory.overflowed[0] > 0
    assert memory.overflowed[1:].sum() == 0


@pytest.mark.parametrize("option", ["debug.allowOutOfMemory", "autoReport.outputGraphProfile", "autoReport.all"])
def test_out_of_memory_may_be_allowed_but_not_loaded(tmp_path, option):
    """A graph profile allows it as the option itself does: compile, save, raise when the engine is loaded."""
    device = hardware()
    graph, program = big(device)
    options = {option: "true", "autoReport.directory": str(tmp_path / "report")}
    executable = compileGraph(graph, [program], options)
    profile = tmp_path / "report" / "profile.pop"
    assert profile.exists() == option.startswith("autoReport")
    saved = io.BytesIO()
    executable.serialize(saved)
    again = Executable.deserialize(io.BytesIO(saved.getvalue()))
    with device:
        for each in (executable, again):
            engine = Engine(each, options)
            with pytest.raises(graph_memory_allocation_error, match=r"Out of memory: .* tile 0 needs") as caught:
                engine.load(device)
            engine.close()
            assert caught.value.profile_path == (str(profile) if profile.exists() else "") or each is again
    if profile.exists():
        assert ProfileReader(profile).tile_memory().overflowed[0] > 0
    else:
        assert str(caught.value).endswith("Set autoReport.outputGraphProfile to see where.")


def test_a_module_that_does_not_fit_is_not_loaded(tmp_path):
    device = hardware()
    graph = Graph(device)
    x = graph.addVariable(FLOAT, [200_000], "x")
    y = graph.addVariable(FLOAT, [200_000], "y")
    for tensor in (x, y):
        graph.setTileMapping(tensor, 0)
    runtime = ModuleRuntime(compileModule(graph, Copy(x, y), {"debug.allowOutOfMemory": "true"}))
    with device, pytest.raises(graph_memory_allocation_error, match=r"Set autoReport.outputGraphProfile"):
        runtime.load(device)


def test_a_model_never_stops_on_out_of_memory(device, capsys):
    graph, program = big(device)
    engine = Engine(graph, program)
    engine.load(device)
    engine.run()
    assert capsys.readouterr().err.startswith("x: [0.0000000")


def test_errors_of_the_environment_name_the_variable(device, monkeypatch, tmp_path):
    monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", json.dumps({"autoReport.directory": str(tmp_path / "there")}))
    tutorial = tutorial3(device.getTarget())
    Engine(
        tutorial.graph, tutorial.program, {"autoReport.outputDebugInfo": "true", "autoReport.directory": "."}
    ).close()
    assert sorted(p.name for p in (tmp_path / "there").iterdir()) == ["debug.cbor", "debug.json"]
