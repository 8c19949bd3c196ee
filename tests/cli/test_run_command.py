"""`popvision run`: where the reports of a program lie, and which signals reach it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
PATIENCE = 120  #: seconds that anything may take on a loaded machine
MOVES = "import os, popvision.pvti as pvti\nos.mkdir('elsewhere')\nos.chdir('elsewhere')\n"
COMPILES = """
from simulator.poplar import Engine, Graph, IPUModel
from simulator.poplar.program import Sequence
model = IPUModel()
model.tilesPerIPU = 4
device = model.createDevice()
with Engine(Graph(device), Sequence()) as engine:
    engine.load(device)
    engine.run()
"""
#: notes the signals that it gets, and ends at the first with exit code 7
WAITS = """
import signal, sys
from pathlib import Path
def note(number, frame):
    Path("got").write_text(str(number))
    sys.exit(7)
signal.signal(signal.SIGTERM, note)
signal.signal(signal.SIGHUP, note)
Path("ready").touch()
signal.pause()
"""


def command(*options: str) -> list[str]:
    return [sys.executable, "-m", "popvision", "run", "--no-trace", *options, "program.py"]


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT)}


def ended(folder: Path, code: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(code)
    return subprocess.run(
        command(*options),
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_a_relative_folder_is_that_of_the_command(tmp_path: Path) -> None:
    done = ended(tmp_path, MOVES + COMPILES, "-d", "deep/out")
    assert done.returncode == 0
    assert (tmp_path / "deep" / "out" / "profile.pop").is_file()
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert done.stderr.endswith("open them with: popvision view deep/out\n")


def test_a_folder_that_the_program_removes_is_missed(tmp_path: Path) -> None:
    done = ended(tmp_path, "import shutil\nshutil.rmtree('out')\n", "-d", "out")
    folder = tmp_path / "out"
    assert done.stderr == f"The report folder {folder} was removed while program.py ran; there is no report.\n"
    done = ended(tmp_path, "import shutil\nshutil.rmtree('out')\nraise SystemExit(3)\n", "-d", "out")
    assert done.returncode == 3
    assert "was removed while program.py ran and ended with exit code 3; there is no report." in done.stderr


def test_a_program_without_a_graph_leaves_no_folder(tmp_path: Path) -> None:
    done = ended(tmp_path, "pass\n", "-d", "deep/out")
    assert done.stderr == "program.py compiled no graph, so there is no report.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["program.py"]


def wait_for(path: Path) -> None:
    wait_until(path.exists, f"{path.name} is there", PATIENCE)


def child_of(process: int) -> int:
    """The child that runs Python."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    (only,) = [child for child in children if b"python" in Path(f"/proc/{child}/cmdline").read_bytes()]
    return int(only)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_program_gets_the_signals_that_ask_to_end(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "program.py").write_text(WAITS)
    with subprocess.Popen(command(), cwd=tmp_path, env=environment(), stderr=subprocess.DEVNULL) as running:
        wait_for(tmp_path / "ready")
        running.send_signal(number)
        assert running.wait(PATIENCE) == 7
    assert (tmp_path / "got").read_text() == str(int(number))


def test_a_program_that_catches_no_signal_ends_by_it(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import signal\nopen('ready', 'w').close()\nsignal.pause()\n")
    with subprocess.Popen(command(), cwd=tmp_path, env=environment(), stderr=subprocess.DEVNULL) as running:
        wait_for(tmp_path / "ready")
        program = child_of(running.pid)
        running.terminate()
        assert running.wait(PATIENCE) == 128 + signal.SIGTERM
    assert not Path(f"/proc/{program}").exists()


def test_timeout_ends_the_program(tmp_path: Path) -> None:
    """--foreground: the signal goes to the command alone, not to its process group. timeout passes SIGTERM on."""
    (tmp_path / "program.py").write_text(WAITS)
    patient = ["timeout", "--foreground", str(PATIENCE), *command()]
    with subprocess.Popen(patient, cwd=tmp_path, env=environment(), stderr=subprocess.DEVNULL) as running:
        wait_for(tmp_path / "ready")
        running.terminate()
        running.wait(PATIENCE)
    assert (tmp_path / "got").read_text() == str(int(signal.SIGTERM))


COUNTS = """
import signal
from pathlib import Path
def note(number, frame):
    with open("got", "a") as file:
        file.write(f"{number}\\n")
signal.signal(signal.SIGTERM, note)
Path("ready").touch()
while True:
    signal.pause()
"""


def has_ended_child(process: int) -> bool:
    """Whether one of its children has ended, of which it does not know yet."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return any("\nState:\tZ" in Path(f"/proc/{child}/status").read_text() for child in children)


def is_pending(process: int, number: signal.Signals) -> bool:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    masks = [int(line.split()[1], 16) for line in lines if line.startswith(("SigPnd", "ShdPnd"))]
    return any(mask >> (number - 1) & 1 for mask in masks)


def test_a_signal_to_the_group_reaches_the_program_once(tmp_path: Path) -> None:
    """As timeout(1) and a terminal send it. A later one to the command alone is passed on."""
    (tmp_path / "program.py").write_text(COUNTS)

    def got() -> list[str]:
        return (tmp_path / "got").read_text().split() if (tmp_path / "got").exists() else []

    with subprocess.Popen(
        command(), cwd=tmp_path, env=environment(), stderr=subprocess.DEVNULL, process_group=0
    ) as run:
        wait_for(tmp_path / "ready")
        run.send_signal(signal.SIGSTOP)  # until the program has done what it does about the first
        os.killpg(run.pid, signal.SIGTERM)
        wait_until(lambda: got() and has_ended_child(run.pid), "the signal of the group")
        run.send_signal(signal.SIGCONT)
        wait_until(lambda: not is_pending(run.pid, signal.SIGTERM), "the command has it too")
        run.send_signal(signal.SIGHUP)  # ends the program, after a second SIGTERM if there is one
        assert run.wait(PATIENCE) == 128 + signal.SIGHUP
    assert got() == [str(int(signal.SIGTERM))]


def test_the_first_process_of_a_namespace_is_ended_too(tmp_path: Path) -> None:
    """The kernel gives such a process, as in a container, no signal that it does not handle."""
    (tmp_path / "program.py").write_text(WAITS)
    inside = ["unshare", "--user", "--map-root-user", "--pid", "--fork", *command()]
    with subprocess.Popen(inside, cwd=tmp_path, env=environment(), stderr=subprocess.DEVNULL) as running:
        wait_for(tmp_path / "ready")
        os.kill(child_of(running.pid), signal.SIGTERM)
        assert running.wait(PATIENCE) == 7
    assert (tmp_path / "got").read_text() == str(int(signal.SIGTERM))


SAYS_CHECK = "import os, sys\nprint(os.environ.get('POPVISION_CHECK'), sys.argv[1:])\n"


@pytest.mark.parametrize(
    ("options", "variable"), [((), "None"), (("--check",), "torch"), (("-d", "out", "--check=fail"), "fail")]
)
def test_check_reaches_the_program_and_takes_no_argument_from_it(
    options: tuple[str, ...], variable: str, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(SAYS_CHECK)
    done = subprocess.run(
        [*command(*options), "--check", "out"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{variable} ['--check', 'out']\n"
