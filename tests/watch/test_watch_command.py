"""`popvision watch` through its command: saves, figures and their changes, failures, and the limits of a run."""

from __future__ import annotations

import itertools
import os
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

import popvision
from tests.watch.watch_command import PATIENCE, PROGRAM, WatchCommand, running_with, watching, watching_here

LINE = PROGRAM.splitlines().index('b = popops.add(graph, a, a, program, "double")') + 1


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[WatchCommand, Iterator[int]]]:
    """One command for the tests that need no options, and numbers for them."""
    program = tmp_path_factory.mktemp("watched") / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    with watching(program) as watch:
        yield watch, itertools.count()


@pytest.fixture
def watch(command: tuple[WatchCommand, Iterator[int]]) -> WatchCommand:
    watch, numbers = command
    watch.begin(next(numbers))
    return watch


def test_figures_are_those_of_the_report_and_changes_add_up(watch: WatchCommand) -> None:
    first = watch.state()
    lines = popvision.open(first["version"]["report"]).source_lines(str(watch.program))
    expected = {str(row.line): [row.total_cycles, row.live_bytes, row.received_bytes] for row in lines.itertuples()}
    assert {line: values[:3] for line, values in first["figures"]["lines"].items()} == expected
    assert "sum 128.0" in first["output"]

    assert watch.post("pin?on=1") == 204
    watch.edit(("SIZE = 64", "SIZE = 4096"))
    second = watch.next_version()
    assert second["pinned"]["number"] == first["version"]["number"]
    for name in ("before", "pinned"):
        changes = second["figures"]["changes"][name]
        rest = changes["rest"]
        for column in range(3):
            parts = [values[column] for values in changes["lines"].values()]
            parts += [rest[part][column] for part in ("gone", "others", "unattributed")]
            assert sum(parts) == rest["total"][column]
            total = second["figures"]["rest"]["total"][column] - first["figures"]["rest"]["total"][column]
            assert rest["total"][column] == total
        assert changes["lines"][str(LINE)][0] > 0
    watch.edit(("SIZE = 64", "SIZE = 2048"))
    third = watch.next_version()["figures"]["changes"]
    assert third["before"]["lines"][str(LINE)][0] < 0 < third["pinned"]["lines"][str(LINE)][0]
    assert watch.post("pin?on=0") == 204
    assert watch.state()["pinned"] is None


def test_a_comment_costs_no_run_and_moves_the_figures(watch: WatchCommand) -> None:
    before = watch.state()
    output = Path(before["version"]["report"]) / "output.txt"
    stamp = output.stat().st_mtime_ns
    watch.edit(("SIZE = 64", "# how many\n\nSIZE = 64  # elements"))
    after = watch.until(lambda state: state["text"][7] == "# how many")
    assert after["status"] == "current"
    assert after["version"] == before["version"]
    values = before["figures"]["lines"][str(LINE)]
    assert after["figures"]["lines"][str(LINE + 2)] == values
    assert values[3] == LINE
    assert output.stat().st_mtime_ns == stamp
    turn = after["turn"]
    for _ in range(100):
        os.utime(watch.program)  # saved again as it was
        assert watch.state(turn) == {"turn": turn}


def test_what_fails_is_said_in_its_place_and_the_last_figures_stay(watch: WatchCommand) -> None:
    program, number, figures = watch.program, watch.number, watch.state()["figures"]
    watch.edit(("SIZE = 64", "SIZE = (64"))
    state = watch.failure("SyntaxError")
    assert (state["problem"]["file"], state["problem"]["line"]) == (str(program), 8)
    assert state["version"]["number"] == number
    assert state["figures"]["lines"] == figures["lines"]
    watch.edit(("engine.run(0)", "engine.run(7)"))
    state = watch.failure("program")
    assert state["problem"]["line"] == PROGRAM.splitlines().index("    engine.run(0)") + 1
    assert state["figures"]["rest"] == figures["rest"]
    watch.edit(("print(", 'input("go on?")  # ('))
    assert "asks for input" in watch.failure("input")["problem"]["sentence"]
    program.write_text("print('no graph')\n", encoding="utf-8")
    watch.failure("compiled no graph")
    program.write_text("raise SystemExit(3)\n", encoding="utf-8")
    watch.failure("exit code 3")
    watch.edit()
    assert watch.until(lambda state: state["status"] == "current")["version"]["number"] == number


def test_imported_files_are_watched_and_have_figures(program: Path) -> None:
    helper = program.with_name("helper.py")
    helper.write_text("from simulator.poplibs import popops\n\n\ndef twice(graph, a, program):\n"
                      "    return popops.add(graph, a, a, program, 'double')\n", encoding="utf-8")  # fmt: skip
    call = 'b = popops.add(graph, a, a, program, "double")'
    program.write_text(PROGRAM.replace(call, "import helper\nb = helper.twice(graph, a, program)"), encoding="utf-8")
    with watching_here(program) as watch:
        state = watch.next_version()
        assert state["files"] == [str(program), str(helper)]
        cycles = watch.state(file=str(helper))["figures"]["lines"]["5"][0]
        assert cycles > 0
        assert state["figures"]["rest"]["others"][0] == cycles
        text = helper.read_text(encoding="utf-8")
        helper.write_text(text.replace("(graph, a, a,", "(graph, popops.add(graph, a, a, program), a,"), "utf-8")
        watch.next_version()
        change = watch.state(file=str(helper))["figures"]["changes"]["before"]["lines"]["5"][0]
        assert change > 0


def test_a_module_of_the_program_goes_before_one_of_python(program: Path) -> None:
    """And it is the one that was saved: Python's byte code tells saves within a second apart by their sizes alone."""
    resource, second = program.with_name("resource.py"), 1_000_000_000

    def save(size: int) -> None:
        beside = resource.with_suffix(".new")
        beside.write_text(f"SIZE = {size}\n", encoding="utf-8")
        os.utime(beside, ns=(second * second + size,) * 2)
        beside.replace(resource)

    save(256)
    program.write_text(PROGRAM.replace("SIZE = 64", "from resource import SIZE"), encoding="utf-8")
    with watching_here(program) as watch:
        assert "sum 512.0" in watch.next_version()["output"]
        save(128)
        assert "sum 256.0" in watch.next_version()["output"]


def test_arguments_and_engine_options_reach_the_program(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program.write_text(PROGRAM.replace("SIZE = 64", "import sys\nSIZE = int(sys.argv[1])"), encoding="utf-8")
    options = '{"autoReport.outputExecutionProfile": "false", "autoReport.directory": "elsewhere"}'
    monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", options)
    with watching(program, arguments=("128",)) as watch:
        state = watch.next_version()
        assert "sum 256.0" in state["output"]
        assert state["figures"]["rest"]["total"][0] is None
        assert state["figures"]["changes"] == {"before": None, "pinned": None}
        assert "autoReport.outputExecutionProfile=true" in " ".join(state["version"]["missing"])


BEYOND_LIMITS = {
    "fills the memory": ("x = []\nwhile True:\n    x.append(bytearray(1 << 24))", "600 MiB"),
    "forks": (
        "import os, signal\nfor _ in range(40):\n    if os.fork() == 0:\n        os.setsid()\n        signal.pause()\n"
        "signal.pause()",
        "more than 8 processes",
    ),
    "forks in all its processes": (
        "import os, signal\nfor _ in range(9):\n    os.fork()\nsignal.pause()",
        "more than 8 processes",
    ),
    "fills the disk with files": (
        "import tempfile\nwhile True:\n    tempfile.NamedTemporaryFile(delete=False).write(bytes(1 << 20))",
        "more than 20 MiB",
    ),
    "writes one large file": (
        "with open(__file__ + '.dat', 'wb') as stream:\n    while True:\n        stream.write(bytes(1 << 20))",
        "File too large",
    ),
}
WITHOUT_END = {
    "hangs": "import signal\nsignal.pause()",
    "loops": "while True:\n    pass",
}


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[WatchCommand, Iterator[int]]]:
    program = tmp_path_factory.mktemp("limited") / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    with watching(program, "--memory", "600", "--processes", "8", "--disk", "20") as watch:
        yield watch, itertools.count()


@pytest.mark.parametrize("name", BEYOND_LIMITS)
def test_a_program_beyond_a_limit_is_stopped_with_a_sentence(
    limited: tuple[WatchCommand, Iterator[int]], name: str
) -> None:
    """A command whose programs have failed still runs the next one."""
    watch, numbers = limited
    watch.begin(next(numbers))
    lines, words = BEYOND_LIMITS[name]
    watch.program.write_text(lines + "\n", encoding="utf-8")
    watch.failure(words)
    assert len(running_with(str(watch.program))) <= 1  # the command itself
    watch.edit(("SIZE = 64", "SIZE = 32"))
    watch.next_version()


def test_a_program_without_end_is_stopped_with_a_sentence(program: Path) -> None:
    """A loaded machine may need the two seconds for a first run: none is waited for."""
    program.write_text(WITHOUT_END["hangs"] + "\n", encoding="utf-8")
    with watching(program, "--seconds", "2") as watch:
        watch.failure("ran longer than 2 s")
        assert len(running_with(str(program))) <= 1  # the command itself
        turn = watch.state()["turn"]
        program.write_text(WITHOUT_END["loops"] + "\n", encoding="utf-8")
        watch.until(lambda state: state["turn"] > turn and state["status"] == "failed")
        assert "ran longer than 2 s" in watch.state()["problem"]["sentence"]
        assert len(running_with(str(program))) <= 1


def test_what_a_program_leaves_running_ends_with_its_run(watch: WatchCommand) -> None:
    daemon = (
        "import os, subprocess, sys\nif os.fork() == 0:\n    os.setsid()\n"
        "    subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()', 'left-by-a-watched-program'])\n"
        "    os._exit(0)\nos.wait()\n"
    )
    watch.program.write_text(daemon + PROGRAM.partition("\n")[2], encoding="utf-8")
    watch.next_version()
    assert running_with("left-by-a-watched-program") == []


def test_a_save_during_a_run_takes_its_place(watch: WatchCommand) -> None:
    watch.program.write_text("import signal\nsignal.pause()\n", encoding="utf-8")
    watch.until(lambda state: state["status"] == "running")
    watch.edit(("SIZE = 64", "SIZE = 128"))
    assert watch.next_version()["figures"]["changes"]["before"]["rest"]["total"][1] > 0


def test_a_save_that_gives_the_text_shown_back_costs_no_run(watch: WatchCommand) -> None:
    shown = watch.number
    watch.program.write_text("import signal\nsignal.pause()\n", encoding="utf-8")
    watch.until(lambda state: state["status"] == "running")
    watch.edit(("SIZE = 64", "# as it was\nSIZE = 64"))
    assert watch.until(lambda state: state["status"] == "current")["version"]["number"] == shown


def test_requests_of_other_sites_are_refused(watch: WatchCommand) -> None:
    assert watch.post("run", {}) == 403
    assert watch.post("run", {"X-Popvision": "watch", "Origin": "http://evil.example"}) == 403
    assert watch.post("run", {"X-Popvision": "watch", "Host": "evil.example"}) == 403
    assert watch.post("delete") == 404
    request = urllib.request.Request(f"{watch.base}/data/watch/state", headers={"Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(request, timeout=PATIENCE)
    assert watch.post("run") == 204
    watch.next_version()


def test_a_private_folder_that_is_gone_is_said(program: Path) -> None:
    with watching_here(program) as watch:
        folder = Path(watch.next_version()["version"]["report"]).parent
        shutil.rmtree(folder)
        assert watch.post("run") == 204
        assert str(folder) in watch.failure("cannot be run")["problem"]["sentence"]


def test_a_file_that_goes_and_comes_back(watch: WatchCommand) -> None:
    watch.program.unlink()
    watch.failure("is missing")
    watch.edit(("SIZE = 64", "SIZE = 32"))
    assert watch.next_version()["problem"] is None
