"""Several processes on one IPU and one cache, damaged caches, reports of cached programs: through TensorFlow.

Each child is a process of its own; the other side is the test's own process, which saves an import of TensorFlow."""

import itertools
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from simulator.base import version
from simulator.engine import executable_file
from simulator.frontends.tensorflow import files, log_lines, system
from simulator.frontends.tensorflow.capture.function import capture_function
from simulator.frontends.tensorflow.configuration.enumerations import DeviceConnectionType
from simulator.frontends.tensorflow.configuration.ipu_config import IPUConfig, reset_ipu_configuration
from simulator.runtime.recording import report_folder
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[3]
COMPILED = "Compiled cluster using XLA!"
CHILD = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from test_session_of_processes import configure, sum_of_ones
from simulator.frontends.tensorflow import system
if sys.argv[3] == "sleeps":
    system.compileGraph = lambda *arguments: print("compiling", flush=True) or signal.pause()
if sys.argv[3] == "stalls":
    os.fsync = lambda handle: print("writing", flush=True) or signal.pause()
try:
    configure(sys.argv[2])
    print("configured", flush=True)
    print(sum_of_ones(), flush=True)
except Exception as error:
    print(type(error).__name__, error, flush=True)
    sys.exit(1)
signal.pause()
"""


def configure(kind: str = "ALWAYS", version: str = "", remote_buffers: bool = False) -> None:
    """Device 0 with few tiles, attached as `kind` says."""
    config = IPUConfig()
    config.select_ipus = 0
    config.device_connection.type = DeviceConnectionType[kind]
    config.device_connection.version = version or ("ipu2" if kind in ("NEVER", "PRE_COMPILE") else "")
    config.device_connection.enable_remote_buffers = remote_buffers
    config.configure_ipu_system()


def sum_of_ones(value: float = 1) -> list[float]:
    """[2, 2] for one, from the device, compiled in any case."""
    concrete = tf.function(lambda x: x + x).get_concrete_function(tf.TensorSpec([2], tf.float32))
    function = system.CompiledFunction(capture_function(concrete), [(2,)])
    result: list[float] = function.run([np.full(2, value, np.float32)])[0].tolist()
    return result


@pytest.fixture(autouse=True)
def own_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("POPVISION_LOCKS", str(tmp_path / "locks"))
    monkeypatch.setenv("POPVISION_TILES", "4")
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "0")
    monkeypatch.setenv("TF_POPLAR_FLAGS", f"--executable_cache_path={tmp_path / 'cache'}")
    monkeypatch.delenv("POPLAR_ENGINE_OPTIONS", raising=False)
    monkeypatch.setattr(log_lines, "_said", set())
    monkeypatch.chdir(tmp_path)
    yield
    reset_ipu_configuration()


Starter = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def child() -> Iterator[Starter]:
    """Starts processes, and ends them after the test."""
    started: list[subprocess.Popen[str]] = []

    def start(kind: str, how: str = "runs") -> subprocess.Popen[str]:
        command = [sys.executable, "-c", CHILD, str(Path(__file__).parent), kind, how]
        variables = {"PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=os.environ | variables
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def entries(folder: Path) -> list[Path]:
    return sorted((folder / "cache").glob("*.poplar_exec"))


def warnings(capfd: pytest.CaptureFixture[str]) -> list[str]:
    return [line for line in capfd.readouterr().err.splitlines() if f": W {log_lines.COMPILER}]" in line]


def test_of_two_that_always_attach_one_fails_at_once(child: Starter) -> None:
    configure("ALWAYS")
    line = line_of(child("ALWAYS"))
    assert "Could not attach to requested device configuration index 0. No process gave back device 0" in line
    assert line.startswith(
        "InternalError Could not find an available device for TensorFlow virtual device /device:IPU:0. This device was "
        "expected to have 1 IPU(s). Common causes of this error include: incorrect configuration of your V-IPU "
        "partition"
    )


def test_on_demand_waits_until_the_other_is_killed(
    child: Starter, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TF_POPLAR_FLAGS", "--on_demand_device_poll_time=100 --on_demand_device_timeout=60000")
    other = child("ALWAYS")
    assert line_of(other) == "configured"
    configure("ON_DEMAND")
    waits = "Currently there is no available device for TensorFlow virtual device /device:IPU:0. Waiting for one to "
    ended: list[float] = []
    said: list[str] = []

    def end() -> None:
        def look() -> bool:
            said.append(capfd.readouterr().err)
            return waits in "".join(said)

        wait_until(look, "the session waits")
        ended.append(time.monotonic())
        other.send_signal(signal.SIGKILL)

    threading.Thread(target=end).start()
    assert sum_of_ones() == [2, 2]
    assert time.monotonic() > ended[0]
    said.append(capfd.readouterr().err)
    assert "".join(said).count(waits + "become available.") == 1


def test_waiting_ends_with_an_error(child: Starter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_POPLAR_FLAGS", "--on_demand_device_poll_time=100 --on_demand_device_timeout=200")
    other = child("ALWAYS")
    assert line_of(other) == "configured"
    configure("ON_DEMAND")
    with pytest.raises(tf.errors.InternalError, match=r"Timed out trying to find .*Could not attach to"):
        sum_of_ones()


@pytest.mark.parametrize(("how", "says"), [("sleeps", "compiling"), ("stalls", "writing")])
def test_a_compiler_that_is_killed_leaves_no_lock_and_no_half_file(
    child: Starter, tmp_path: Path, how: str, says: str
) -> None:
    other = child("ON_DEMAND", how)
    assert (line_of(other), line_of(other)) == ("configured", says)
    assert entries(tmp_path) == []
    other.send_signal(signal.SIGKILL)
    other.wait()
    configure("ON_DEMAND")
    assert sum_of_ones() == [2, 2]
    [entry] = entries(tmp_path)
    assert {one.suffix for one in entry.parent.iterdir()} == {".poplar_exec", ".compile_lock"}
    assert {one.stem for one in entry.parent.iterdir()} == {entry.stem}, "the key of the process that was killed"


def test_a_full_disk_costs_one_warning(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    configure()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, limits[1]))
    try:
        results = [sum_of_ones(), sum_of_ones()]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert results == [[2, 2], [2, 2]]
    [warning] = warnings(capfd)
    assert "cannot be written (File too large); programs are compiled in each process." in warning
    assert {one.suffix for one in (tmp_path / "cache").iterdir()} == {".compile_lock"}


def test_a_cache_that_cannot_be_written_costs_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TF_POPLAR_FLAGS", f"--executable_cache_path={tmp_path / 'file' / 'cache'}")
    configure()
    assert [sum_of_ones(), sum_of_ones()] == [[2, 2], [2, 2]]
    [warning] = warnings(capfd)
    assert f"The executable cache {tmp_path}/file/cache cannot be written (Not a directory)" in warning


@pytest.mark.parametrize("damage", ["cut short", "version", "target"])
def test_a_damaged_file_is_replaced_with_one_warning(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    configure()
    with monkeypatch.context() as patch:
        if damage == "version":
            patch.setattr(executable_file, "__version__", "0.0.1")
        sum_of_ones()
    [entry] = entries(tmp_path)
    if damage == "cut short":
        entry.write_bytes(entry.read_bytes()[:-1])
    if damage == "target":
        entry.unlink()
        configure(version="ipu1")
        sum_of_ones()
        [other] = entries(tmp_path)
        other.rename(entry)
        configure()
    assert warnings(capfd) == []
    assert sum_of_ones() == [2, 2]
    [warning] = warnings(capfd)
    assert f"{entry} is not used and replaced: " in warning
    assert sum_of_ones() == [2, 2]
    assert warnings(capfd) == [], "the file is good again"


def test_a_hit_writes_no_report_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", json.dumps({"autoReport.all": "true"}))
    configure()
    assert sum_of_ones() == [2, 2]
    reset_ipu_configuration()
    [report] = tmp_path.glob("tf_report__*")
    [entry] = entries(tmp_path)
    says = f"The program was loaded from {entry} and not compiled, so no report is written for it; delete this file to"
    assert says not in capfd.readouterr().err
    configure()
    assert sum_of_ones(3) == [6, 6]
    reset_ipu_configuration()
    assert capfd.readouterr().err.count(says) == 1
    assert [report] == list(tmp_path.glob("tf_report__*"))
    entry.unlink()
    configure()
    sum_of_ones()
    assert len(list(tmp_path.glob("tf_report__*"))) == 2
    assert says not in capfd.readouterr().err


def test_with_source_date_epoch_two_processes_write_the_same_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names of folders, and every byte of what compilations write; each program of a process has a folder."""
    options = {"autoReport.all": "true", "autoReport.directory": "reports"}
    monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", json.dumps(options))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1600000000")
    monkeypatch.delenv("TF_POPLAR_FLAGS")
    written = []
    for name in ("one", "other"):
        monkeypatch.setattr(files, "_programs", itertools.count())  # as in another process
        monkeypatch.setattr(report_folder, "_directories", {})
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        configure()
        for _ in range(2):
            sum_of_ones()
        reset_ipu_configuration()
        #: the journals of runs, until the process ends, have SQLite's random numbers
        paths = [path for path in Path("reports").rglob("*") if path.is_file() and "pop-" not in path.name]
        written.append({str(path): path.read_bytes() for path in paths})
    assert written[0] == written[1]
    folders = {Path(name).parts[1] for name in written[0] if name.endswith("profile.pop")}
    assert folders == {f"tf_report__2020-09-13__12-26-40.000__{number}" for number in range(2)}
    assert {f"reports/{folder}/framework.json" for folder in folders} <= written[0].keys()


def test_the_framework_file_tells_of_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_POPLAR_FLAGS", "--use_on_demand --fallback_scheduler")
    config = IPUConfig()
    config.select_ipus, config.allow_recompute = 0, True
    config.compilation_poplar_options = {"autoReport.all": "true", "autoReport.directory": str(tmp_path / "reports")}
    config.configure_ipu_system()
    sum_of_ones()
    [folder] = (tmp_path / "reports").glob("tf_report__*")
    facts = json.loads((folder / "framework.json").read_text())
    assert facts["framework"] == {"name": "TensorFlow", "version": tf.__version__}
    assert facts["TF_POPLAR_FLAGS"] == {"use_on_demand": "True", "fallback_scheduler": "True"}
    assert facts["withoutEffect"] == {"allow_recompute": "True", "fallback_scheduler": "True"}
    assert facts["connectionType"] == "ON_DEMAND"
    assert facts["inputs"] == {"arg0_x": "float32[2]"}
    recorded = (folder.parent / "debug.json").read_text()
    assert "optionsWithoutEffect" in recorded
    assert "allow_recompute" in recorded
    config.compilation_poplar_options = {"autoReport.outputGraphProfile": "true", "autoReport.directory": "graph"}
    config.configure_ipu_system()
    sum_of_ones()
    [folder] = Path("graph").glob("tf_report__*")
    assert not (folder / "framework.json").exists()
    assert (folder / "profile.pop").exists()


def test_pre_compilation_needs_a_cache_when_it_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TF_POPLAR_FLAGS")
    configure("PRE_COMPILE")
    with pytest.raises(
        tf.errors.FailedPreconditionError, match=r"'executable_cache_path' in 'TF_POPLAR_FLAGS' has not"
    ):
        sum_of_ones()


def test_remote_buffers_are_part_of_the_key(tmp_path: Path) -> None:
    configure("PRE_COMPILE", remote_buffers=True)
    assert sum_of_ones() == [0, 0]
    [with_buffers] = entries(tmp_path)
    configure("ALWAYS")
    assert sum_of_ones() == [2, 2]
    assert entries(tmp_path) == [with_buffers], "the attached device has them"
    configure("ON_DEMAND")
    assert sum_of_ones() == [2, 2]
    assert len(entries(tmp_path)) == 2, "without a device the configuration says that there are none"


@pytest.mark.parametrize(
    ("category", "option", "value"),
    [
        ("", "allow_recompute", True),
        ("", "compilation_poplar_options", {"opt.maxCompilationThreads": "2"}),
        ("matmuls", "poplar_options", {"partialsType": "half"}),
        ("floating_point_behaviour", "inv", True),
        ("norms", "use_stable_statistics", True),
        ("optimizations", "prefetch_data_streams", False),
        ("device_connection", "version", "ipu1"),
        ("device_connection", "enable_remote_buffers", True),
        ("", "select_ipus", 17),
    ],
)
def test_each_option_of_a_program_is_part_of_its_key(category: str, option: str, value: Any, tmp_path: Path) -> None:
    config = IPUConfig()
    config.select_ipus = 0
    config.device_connection.type = DeviceConnectionType.ON_DEMAND
    config.configure_ipu_system()
    sum_of_ones()
    assert len(entries(tmp_path)) == 1
    setattr(getattr(config, category) if category else config, option, value)
    config.configure_ipu_system()
    sum_of_ones()
    assert len(entries(tmp_path)) == 2


def test_a_changed_source_misses_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file more among the sources stands for a changed rule. Without a change the entry is used again."""
    added = tmp_path / "added"
    added.mkdir()
    folders = {**version.source_folders(), "added": added}
    monkeypatch.setattr(version, "source_folders", lambda: folders)
    counts = []
    for text in ("one", "one", "two"):
        (added / "rule.py").write_text(text)
        version.packageHash.cache_clear()
        reset_ipu_configuration()
        configure()
        assert sum_of_ones() == [2, 2]
        counts.append(len(entries(tmp_path)))
    version.packageHash.cache_clear()
    assert counts == [1, 1, 2]


def test_flags_and_variables_are_part_of_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = f"--executable_cache_path={tmp_path / 'cache'}"
    settings = [("", ""), ("--use_synthetic_data", ""), ("", json.dumps({"autoReport.directory": "elsewhere"}))]
    for number, (flag, options) in enumerate(settings, 1):
        monkeypatch.setenv("TF_POPLAR_FLAGS", f"{cache} {flag} --use_on_demand")
        monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", options)
        reset_ipu_configuration()
        configure()
        sum_of_ones()
        assert len(entries(tmp_path)) == number
    monkeypatch.setenv("TF_POPLAR_FLAGS", f"{cache} --use_on_demand --log_cycle_count=0")
    reset_ipu_configuration()
    configure()
    sum_of_ones()
    assert len(entries(tmp_path)) == number, "cycles are logged of any executable"


def test_several_ipus_do_not_replicate_a_program_without_queues(capfd: pytest.CaptureFixture[str]) -> None:
    config = IPUConfig()
    config.auto_select_ipus = 2
    config.configure_ipu_system()
    assert sum_of_ones() == [2, 2]
    err = capfd.readouterr().err
    assert "attached to 2 IPUs with Poplar device ID: 16" in err
    assert "A program takes 1 of the 2 IPUs and is not replicated: it takes no elements of a queue" in err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("{", "POPLAR_ENGINE_OPTIONS is not valid JSON"),
        ("[1]", "which is not a JSON object"),
        ('{"debug.instrumnt":"true"}', "debug.instrument"),
        ('{"debug.instrument":"maybe"}', "cannot be 'maybe'"),
    ],
)
def test_wrong_engine_options_are_an_internal_error(
    options: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", options)
    configure()
    with pytest.raises(tf.errors.InternalError, match=r"^\[Poplar\]\[Compile engine\] invalid_option: ") as raised:
        sum_of_ones()
    assert sentence in str(raised.value)


def test_executables_are_serialized_to_a_folder(tmp_path: Path) -> None:
    config = IPUConfig()
    config.select_ipus, config.serialization_output_folder = 0, str(tmp_path / "new" / "folder")
    config.configure_ipu_system()
    sum_of_ones()
    [binary] = (tmp_path / "new" / "folder").glob("*.ipu_bin")
    with binary.open("rb") as file:
        assert system.Executable.deserialize(file).getTarget().getNumTiles() == 4
    interface: dict[str, Any] = json.loads(binary.with_suffix(".json").read_text())
    assert interface
