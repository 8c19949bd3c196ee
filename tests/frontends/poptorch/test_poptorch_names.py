"""What surrounds a model: log lines, the bar, channels, hardware, environment, and names that are refused."""

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from popvision import pva
from simulator.frontends import poptorch
from simulator.frontends.poptorch import environment
from simulator.frontends.poptorch.logging import device_logger
from simulator.frontends.poptorch.refused import WAYS_AROUND
from simulator.frontends.session.progress import CompilationBar, compilation_progress

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def _default_level():
    yield
    poptorch.setLogLevel("WARN")


def test_log_lines_have_poptorchs_form(capsys):
    poptorch.logger.warning("Type coerced from %s", "Long")
    device_logger.warning("[DISPATCHER] text")
    python, device = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"\[\d\d:\d\d:\d\d\.\d\d\d\] \[poptorch::python\] \[warning\] Type coerced from Long", python)
    assert re.fullmatch(r"\[\d\d:\d\d:\d\d\.\d\d\d\] \[poptorch:cpp\] \[warning\] \[DISPATCHER\] text", device)


@pytest.mark.parametrize(
    ("level", "written"), [("DEBUG", 4), (1, 4), ("INFO", 3), ("WARN", 2), ("ERR", 1), ("OFF", 0), (6, 0), ("TRACE", 4)]
)
def test_levels_choose_what_is_written(capsys, level, written):
    poptorch.setLogLevel(level)
    for name in ("debug", "info", "warning", "error"):
        getattr(poptorch.logger, name)("line")
    assert len(capsys.readouterr().err.splitlines()) == written


def test_unknown_levels_are_refused():
    with pytest.raises(ValueError, match="Unknown log level: LOUD"):
        poptorch.setLogLevel("LOUD")
    with pytest.raises(ValueError, match="Invalid log level integer 5"):
        poptorch.setLogLevel(5)


def test_the_bar_has_tqdms_form(capsys):
    clock = itertools.count(0, 3).__next__
    bar = CompilationBar(clock)
    bar(0, 100)
    bar(41, 100)
    bar(41, 100)
    bar(40, 100)
    bar.finish()
    bar.finish()
    texts = capsys.readouterr().err.split("\r")[1:]
    assert texts == [
        "Graph compilation:   0%|          | 0/100 [00:03<?]",
        "Graph compilation:  41%|####1     | 41/100 [00:06<00:08]",
        "Graph compilation: 100%|##########| 100/100 [00:09<00:00]\n",
    ]


def test_a_failed_compilation_ends_its_line(capsys):
    bar = CompilationBar()
    bar.abandon()
    bar(1, 2)
    bar.abandon()
    bar.finish()
    assert capsys.readouterr().err.endswith("\n")


def test_the_simulated_system_has_ipus(monkeypatch):
    assert poptorch.ipuHardwareIsAvailable()
    assert poptorch.ipuHardwareIsAvailable(16)
    assert not poptorch.ipuHardwareIsAvailable(1024)
    assert poptorch.ipuHardwareVersion() == 2
    monkeypatch.setenv("POPVISION_TARGET", "ipu21")
    assert poptorch.ipuHardwareVersion() == 21


def test_variables_are_read_when_they_are_used(monkeypatch):
    assert not environment.uses_ipu_model()
    monkeypatch.setenv("POPTORCH_SMALL_IPU_MODEL", "1")
    assert environment.uses_ipu_model()
    monkeypatch.setenv("POPTORCH_WAIT_FOR_IPU", "0")
    assert not environment.waits_for_ipu()
    monkeypatch.setenv("POPTORCH_IPU_MODEL_VERSION", "ipu3")
    with pytest.raises(ValueError, match="POPTORCH_IPU_MODEL_VERSION is 'ipu3'; it is one of ipu1, ipu2, ipu21"):
        environment.ipu_model_version()


@pytest.mark.parametrize("name", sorted(WAYS_AROUND))
def test_refused_names_raise_one_sentence(name):
    with pytest.raises(
        NotImplementedError, match=f"^poptorch.{name} is not simulated; [^\n]*docs/poptorch.md"
    ) as called:
        getattr(poptorch, name)(1, a=2)
    with pytest.raises(NotImplementedError) as used:
        _ = getattr(poptorch, name).anything
    assert str(used.value) == str(called.value)


def test_errors_name_poptorchs_module():
    assert f"{poptorch.Error.__module__}.{poptorch.Error.__qualname__}" == "poptorch.poptorch_core.Error"
    error = poptorch.RecoverableError("text", "here")
    assert isinstance(error, poptorch.Error)
    assert (error.message, error.location, error.recovery_action, error.type) == (
        "text",
        "here",
        "IPU_RESET",
        "RecoverableError",
    )


PROGRAM = """
from simulator.frontends import poptorch
class Work:
    def load(self):
        return 7
channel = poptorch.profiling.Channel("mine")
with channel.tracepoint("step"):
    pass
assert channel.instrument(Work(), "load").load() == 7
loader = poptorch.DataLoader(poptorch.Options(), DATA, batch_size=2)
assert len(list(loader)) == 2
"""
DATA = """
import torch
class Data(torch.utils.data.Dataset):
    def __len__(self): return 4
    def __getitem__(self, index): return torch.tensor(index)
"""


def run(program, **variables):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], env=environment, capture_output=True, text=True, timeout=120
    )


def test_channels_are_in_the_trace(tmp_path):
    program = DATA + PROGRAM.replace("DATA", "Data()")
    done = run(program, PVTI_OPTIONS=f'{{"enable":"true","directory":"{tmp_path}"}}')
    assert done.returncode == 0, done.stderr
    (file,) = tmp_path.glob("*.pvti")
    labels = [
        event.label
        for process in pva.openTrace(str(file)).processes
        for thread in process.threads
        for outer in thread.events
        for event in (outer, *outer.children())
    ]
    assert labels.count("mine.step") == 1
    assert labels.count("__main__.Work.load") == 1
    assert sum(label.endswith("Data.__getitem__") for label in labels) == 4
    assert sum(label.endswith("__next__") for label in labels) == 3


def test_channels_without_a_trace_do_nothing():
    done = run(DATA + PROGRAM.replace("DATA", "[1, 2, 3, 4]"))
    assert done.returncode == 0, done.stderr


def test_the_level_comes_from_the_environment():
    done = run("from simulator.frontends import poptorch; poptorch.logger.debug('seen')", POPTORCH_LOG_LEVEL="debug")
    assert "[poptorch::python] [debug] seen" in done.stderr


def test_without_pytorch_the_import_says_how_to_get_it():
    program = "import sys; sys.modules['torch'] = None; import simulator.frontends.poptorch"
    done = run(program)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "ImportError: PopTorch programs need PyTorch: pip install 'popvision[torch]' --extra-index-url "
        "https://download.pytorch.org/whl/cpu"
    )


def test_the_bars_line_ends_where_compilation_fails(capsys):
    def fail():
        with compilation_progress(True) as progress:
            progress(3, 100)
            raise ValueError

    with pytest.raises(ValueError):
        fail()
    assert capsys.readouterr().err.endswith("3/100 [00:00<00:00]\n")
    with compilation_progress(False) as progress:
        progress(3, 100)
    assert capsys.readouterr().err == ""
