"""`popvision watch` through its command: saves, figures and their changes, failures, and the limits of a run."""

from __future__ import annotations

import os
import shutil
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import popvision
from tests.watch.watch_command import PATIENCE, PROGRAM, Watch, running_with, watching

LINE = PROGRAM.splitlines().index('b = popops.add(graph, a, a, program, "double")') + 1


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def edit(program: Path, *changes: tuple[str, str]) -> None:
    text = PROGRAM
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    program.write_text(text, encoding="utf-8")


def test_figures_are_those_of_the_report_and_changes_add_up(program: Path) -> None:
    with watching(program) as watch:
        first = watch.version(1)
        assert first["figures"]["changes"] == {"before": None, "pinned": None}
        lines = popvision.open(first["version"]["report"]).source_lines(str(program))
        expected = {str(row.line): [row.total_cycles, row.live_bytes, row.received_bytes] for row in lines.itertuples()}
        assert {line: values[:3] for line, values in first["figures"]["lines"].items()} == expected
        assert "sum 128.0" in first["output"]

        assert watch.post("pin?on=1") == 204
        edit(program, ("SIZE = 64", "SIZE = 4096"))
        second = watch.version(2)
        assert second["pinned"]["number"] == 1
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
        edit(program, ("SIZE = 64", "SIZE = 2048"))
        third = watch.version(3)["figures"]["changes"]
        assert third["before"]["lines"][str(LINE)][0] < 0 < third["pinned"]["lines"][str(LINE)][0]
        assert watch.post("pin?on=0") == 204
        assert watch.state()["pinned"] is None


def test_a_comment_costs_no_run_and_moves_the_figures(program: Path) -> None:
    with watching(program) as watch:
        before = watch.version(1)
        output = Path(before["version"]["report"]) / "output.txt"
        stamp = output.stat().st_mtime_ns
        edit(program, ("SIZE = 64", "# how many\n\nSIZE = 64  # elements"))
        after = watch.until(lambda state: state["text"][7] == "# how many")
        assert after["status"] == "current"
        assert after["version"] == before["version"]
        values = before["figures"]["lines"][str(LINE)]
        assert after["figures"]["lines"][str(LINE + 2)] == values
        assert values[3] == LINE
        assert output.stat().st_mtime_ns == stamp
        turn = after["turn"]
        for _ in range(100):
            os.utime(program)  # saved again as it was
            assert watch.state(turn) == {"turn": turn}


def test_what_fails_is_said_in_its_place_and_the_last_figures_stay(program: Path) -> None:
    with watching(program) as watch:
        figures = watch.version(1)["figures"]
        edit(program, ("SIZE = 64", "SIZE = (64"))
        state = watch.failure("SyntaxError")
        assert (state["problem"]["file"], state["problem"]["line"]) == (str(program), 8)
        assert state["version"]["number"] == 1
        assert state["figures"]["lines"] == figures["lines"]
        edit(program, ("engine.run(0)", "engine.run(7)"))
        state = watch.failure("program")
        assert state["problem"]["line"] == PROGRAM.splitlines().index("    engine.run(0)") + 1
        assert state["figures"]["rest"] == figures["rest"]
        edit(program, ("print(", 'input("go on?")  # ('))
        assert "asks for input" in watch.failure("input")["problem"]["sentence"]
        program.write_text("print('no graph')\n", encoding="utf-8")
        watch.failure("compiled no graph")
        program.write_text("raise SystemExit(3)\n", encoding="utf-8")
        watch.failure("exit code 3")
        edit(program)
        assert watch.until(lambda state: state["status"] == "current")["version"]["number"] == 1


def test_imported_files_are_watched_and_have_figures(program: Path) -> None:
    helper = program.with_name("helper.py")
    helper.write_text("from simulator.poplibs import popops\n\n\ndef twice(graph, a, program):\n"
                      "    return popops.add(graph, a, a, program, 'double')\n", encoding="utf-8")  # fmt: skip
    call = 'b = popops.add(graph, a, a, program, "double")'
    edit(program, (call, "import helper\nb = helper.twice(graph, a, program)"))
    with watching(program) as watch:
        state = watch.version(1)
        assert state["files"] == [str(program), str(helper)]
        cycles = watch.state(file=str(helper))["figures"]["lines"]["5"][0]
        assert cycles > 0
        assert state["figures"]["rest"]["others"][0] == cycles
        text = helper.read_text(encoding="utf-8")
        helper.write_text(text.replace("(graph, a, a,", "(graph, popops.add(graph, a, a, program), a,"), "utf-8")
        watch.version(2)
        change = watch.state(file=str(helper))["figures"]["changes"]["before"]["lines"]["5"][0]
        assert change > 0


def test_a_module_of_the_program_goes_before_one_of_python(program: Path) -> None:
    program.with_name("resource.py").write_text("SIZE = 256\n", encoding="utf-8")
    edit(program, ("SIZE = 64", "from resource import SIZE"))
    with watching(program) as watch:
        assert "sum 512.0" in watch.version(1)["output"]
        program.with_name("resource.py").write_text("SIZE = 128\n", encoding="utf-8")
        assert "sum 256.0" in watch.version(2)["output"]


def test_arguments_and_engine_options_reach_the_program(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit(program, ("SIZE = 64", "import sys\nSIZE = int(sys.argv[1])"))
    options = '{"autoReport.outputExecutionProfile": "false", "autoReport.directory": "elsewhere"}'
    monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", options)
    with watching(program, arguments=("128",)) as watch:
        state = watch.version(1)
        assert "sum 256.0" in state["output"]
        assert state["figures"]["rest"]["total"][0] is None
        assert "autoReport.outputExecutionProfile=true" in " ".join(state["version"]["missing"])


LIMITED = {
    "hangs": ("import signal\nsignal.pause()", ("--seconds", "2"), "ran longer than 2 s"),
    "loops": ("while True:\n    pass", ("--seconds", "2"), "ran longer than 2 s"),
    "fills the memory": ("x = []\nwhile True:\n    x.append(bytearray(1 << 24))", ("--memory", "600"), "600 MiB"),
    "forks": (
        "import os, signal\nfor _ in range(40):\n    if os.fork() == 0:\n        os.setsid()\n        signal.pause()\n"
        "signal.pause()",
        ("--processes", "8"),
        "more than 8 processes",
    ),
    "forks in all its processes": (
        "import os, signal\nfor _ in range(9):\n    os.fork()\nsignal.pause()",
        ("--processes", "32"),
        "more than 32 processes",
    ),
    "fills the disk with files": (
        "import tempfile\nwhile True:\n    tempfile.NamedTemporaryFile(delete=False).write(bytes(1 << 20))",
        ("--disk", "20"),
        "more than 20 MiB",
    ),
    "writes one large file": (
        "with open(__file__ + '.dat', 'wb') as stream:\n    while True:\n        stream.write(bytes(1 << 20))",
        ("--disk", "20"),
        "File too large",
    ),
}


@pytest.mark.parametrize("name", LIMITED)
def test_a_program_beyond_a_limit_is_stopped_with_a_sentence(program: Path, name: str) -> None:
    lines, options, words = LIMITED[name]
    program.write_text(lines + "\n", encoding="utf-8")
    with watching(program, *options) as watch:
        watch.failure(words)
        assert len(running_with(str(watch.state()["file"]))) <= 1  # the command itself
        if "--seconds" not in options:  # which a loaded machine may need for a first run
            edit(program)
            watch.version(1)


def test_what_a_program_leaves_running_ends_with_its_run(program: Path) -> None:
    daemon = (
        "import os, subprocess, sys\nif os.fork() == 0:\n    os.setsid()\n"
        "    subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()', 'left-by-a-watched-program'])\n"
        "    os._exit(0)\nos.wait()\n"
    )
    program.write_text(daemon + PROGRAM.partition("\n")[2], encoding="utf-8")
    with watching(program) as watch:
        watch.version(1)
        assert running_with("left-by-a-watched-program") == []


def test_a_save_during_a_run_takes_its_place(program: Path) -> None:
    with watching(program) as watch:
        watch.version(1)
        program.write_text("import signal\nsignal.pause()\n", encoding="utf-8")
        watch.until(lambda state: state["status"] == "running")
        edit(program, ("SIZE = 64", "SIZE = 128"))
        assert watch.version(2)["figures"]["changes"]["before"]["rest"]["total"][1] > 0


def test_requests_of_other_sites_are_refused(program: Path) -> None:
    with watching(program) as watch:
        assert watch.post("run", {}) == 403
        assert watch.post("run", {"X-Popvision": "watch", "Origin": "http://evil.example"}) == 403
        assert watch.post("run", {"X-Popvision": "watch", "Host": "evil.example"}) == 403
        assert watch.post("delete") == 404
        request = urllib.request.Request(f"{watch.base}/data/watch/state", headers={"Host": "evil.example"})
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(request, timeout=PATIENCE)
        watch.version(1)
        assert watch.post("run") == 204
        watch.version(2)


def test_a_private_folder_that_is_gone_is_said(program: Path) -> None:
    with watching(program) as watch:
        folder = Path(watch.version(1)["version"]["report"]).parent
        shutil.rmtree(folder)
        assert watch.post("run") == 204
        assert str(folder) in watch.failure("cannot be run")["problem"]["sentence"]


def test_a_file_that_goes_and_comes_back(program: Path) -> None:
    with watching(program) as watch:
        watch.version(1)
        program.unlink()
        watch.failure("is missing")
        edit(program, ("SIZE = 64", "SIZE = 32"))
        assert_version(watch, 2)


def assert_version(watch: Watch, number: int) -> None:
    assert watch.version(number)["problem"] is None
