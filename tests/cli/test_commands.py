"""The command line as a user types it: outputs, exit codes, sentences."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import select
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from popvision.formats.profile.schema import FORMAT_VERSION
from tests.cli.called import popvision
from tests.reports import write_tiny

#: Seconds that a loaded machine may take for what a command says next.
PATIENCE = 60.0


def process(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "popvision", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_tiny(tmp_path / "report")


def test_info_counts(path: Path) -> None:
    done = popvision("info", path.parent, "--json")
    facts = json.loads(done.stdout)[str(path)]
    with sqlite3.connect(path) as db:
        assert facts["rows"]["execution_steps"] == db.execute("select count(*) from steps").fetchone()[0] == 4
    assert facts["total_cycles"] == 43
    assert facts["formatVersion"] == ".".join(map(str, FORMAT_VERSION))
    assert facts["simulated"] is True
    assert facts["file_bytes"] == path.stat().st_size


def test_info_imports_no_numpy(path: Path) -> None:
    code = (
        "import sys; from popvision.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print('numpy' in sys.modules)"
    )
    command = [sys.executable, "-c", code, "info", str(path)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.endswith("False\n")


def test_schema_names_but_never_contents(path: Path) -> None:
    out = popvision("info", path, "--schema").stdout
    assert "steps_by_ipu" in out
    assert "memory_by_tile" in out
    assert "layer/matmul" not in out


def test_summary_text(path: Path) -> None:
    out = popvision("summary", path).stdout
    assert out.startswith("Simulated: model version popvision 0.1.0; target Mk2 IPU Model, 4 tiles")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "Number of vertices: 3" in lines
    assert "Including Gaps: 436 B" in lines
    assert "Total: 432 B" in lines
    assert "Variables: 320 B" in lines
    assert "Constants: 112 B" in lines
    assert "Total cycles: 43 (approx 43.0 microseconds)" in lines
    # compute: (35 + 35) / 4 tiles; exchange: 8 / 4; sync: (57 + tail 37) / 4
    assert "Tile average compute cycles (including idle threads): 17.5 (40.7% of total)" in lines
    assert "Tile average IPU exchange cycles: 2.0 (4.7% of total)" in lines
    assert "Tile average sync cycles: 23.5 (54.7% of total)" in lines
    assert "MatMul<float> (3 instances): 35" in lines  # of one execution; it ran twice
    assert "Maximum (Including Gaps): 120 (0.1 K) on tile 0" in lines


def test_summary_json(path: Path) -> None:
    figures = json.loads(popvision("summary", path, "--json").stdout)
    assert figures["total_cycles"] == 43
    assert figures["tile_bytes"] == 120
    assert sum(figures["shares"].values()) == pytest.approx(1)


def test_export_csv_and_json_agree(path: Path) -> None:
    for table in ("intervals", "tiles", "steps", "liveness"):
        text = popvision("export", table, path).stdout
        comment, _, rest = text.partition("\n")
        assert comment.startswith("# Simulated: ")
        rows = list(csv.reader(io.StringIO(rest)))
        document = json.loads(popvision("export", table, path, "--format", "json").stdout)
        assert rows[0] == document["columns"]
        assert rows[1:] == [[str(value) for value in row] for row in document["rows"]]


def test_export_steps_equals_the_database(path: Path) -> None:
    with sqlite3.connect(path) as db:
        stored = db.execute("select ipu, cycles from steps_by_ipu order by step_id").fetchall()
    for ipu in {ipu for ipu, _ in stored}:
        document = json.loads(popvision("export", "steps_on_ipu", path, "--ipu", ipu, "--format", "json").stdout)
        column = document["columns"].index("step_cycles")
        assert [row[column] for row in document["rows"]] == [cycles for on, cycles in stored if on == ipu]


def test_export_to_a_file_leaves_no_part(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "tiles.csv"
    assert popvision("export", "tiles", path, "-o", target).returncode == 0
    assert len(target.read_text().splitlines()) == 2 + 4
    missing = tmp_path / "no" / "tiles.csv"
    done = popvision("export", "tiles", path, "-o", missing)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda p: None, "does not exist"),
        (lambda p: p.write_text("hello"), "not an SQLite file"),
        (lambda p: p.write_bytes(b""), "it is empty"),
        (lambda p: p.mkdir(), "holds no profile.pop"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, make: object, sentence: str) -> None:
    path = tmp_path / "profile.pop"
    make(path)  # type: ignore[operator]
    for command in (["summary"], ["export", "tiles"]):
        done = popvision(*command, path)
        assert done.returncode == 1, done
        assert sentence in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1


def test_truncated_report_is_one_sentence(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:20_000])
    done = popvision("summary", path)
    assert (done.returncode, len(done.stderr.strip().splitlines())) == (1, 1)
    assert str(path) in done.stderr
    assert "is damaged" in done.stderr


def test_folder_without_reports(tmp_path: Path) -> None:
    done = popvision("info", tmp_path)
    assert done.returncode == 1
    assert "holds no profile.pop and no .pvti" in done.stderr


def test_wrong_usage(path: Path) -> None:
    assert popvision("export", "colours", path).returncode == 2
    assert popvision("frobnicate").returncode == 2


def test_run_sets_the_options_and_passes_the_exit_code(tmp_path: Path) -> None:
    program = tmp_path / "prog.py"
    program.write_text(
        "import json, os, sys\n"
        "print(os.environ['POPLAR_ENGINE_OPTIONS'], os.environ['PVTI_OPTIONS'], os.environ['POPVISION_TILES'])\n"
        "import pva\n"
        "sys.exit(int(sys.argv[1]))\n"
    )
    done = process("run", "-d", tmp_path / "out", "--tiles", "16", program, "3")
    assert done.returncode == 3, done.stderr
    engine, end = json.JSONDecoder().raw_decode(done.stdout)
    assert engine["autoReport.all"] == "true"
    host, _ = json.JSONDecoder().raw_decode(done.stdout[end:].lstrip())
    assert host["directory"] == str(tmp_path / "out")
    assert done.stdout.strip().endswith("16")
    assert popvision("run", tmp_path / "absent.py").returncode == 2


def test_a_process_of_its_own_says_the_same(path: Path, tmp_path: Path) -> None:
    for arguments in (("summary", path), ("export", "tiles", tmp_path / "none"), ("frobnicate",)):
        alone, called = process(*arguments), popvision(*arguments)
        assert (alone.returncode, alone.stdout, alone.stderr) == (called.returncode, called.stdout, called.stderr)


def test_run_of_a_program_that_raises_names_no_folder_that_is_not_there(tmp_path: Path) -> None:
    program = tmp_path / "raises.py"
    program.write_text("raise ValueError('boom')\n")
    done = process("run", "-d", tmp_path / "out", program)
    assert done.returncode == 1
    assert "ValueError: boom" in done.stderr
    assert done.stderr.splitlines()[-1] == f"{program} ended with exit code 1 before a report was written."
    assert not (tmp_path / "out").exists()
    program.write_text("print('no graph')\n")
    done = process("run", "--no-trace", "-d", tmp_path / "out", program)
    assert (done.returncode, done.stdout) == (0, "no graph\n")
    assert done.stderr == f"{program} compiled no graph, so there is no report.\n"


def read_until(terminal: int, text: str) -> str:
    """What a terminal shows, up to and with `text`."""
    said, ends = "", time.monotonic() + PATIENCE
    while text not in said:
        assert select.select([terminal], [], [], max(0, ends - time.monotonic()))[0], said
        said += os.read(terminal, 10_000).decode()
    return said


def test_run_on_a_terminal_says_what_the_program_is_doing(tmp_path: Path) -> None:
    program = tmp_path / "compiles.py"
    program.write_text(
        f"import os, pathlib, sys\nsys.path.append({str(Path(__file__).parents[2])!r})\n"
        "from tests.waiting import wait_until\n"
        "out = pathlib.Path(sys.argv[1])\n"
        "said = pathlib.Path(os.environ['POPVISION_PROGRESS_FILE'])\n"
        "def wait(name):\n"
        "    wait_until((out.parent / name).exists)\n"
        "said.write_text('compiling, 2 of 6 phases done')\n"
        "wait('compile')\n"
        "out.mkdir(exist_ok=True)\n"
        "(out / 'profile.pop').write_bytes(b'x')\n"
        "said.write_text('running program 0, run 1 of this engine')\n"
        "wait('run')\n"
    )
    out = tmp_path / "out"
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "popvision", "run", "--no-trace", "-d", str(out), str(program), str(out)]
    with subprocess.Popen(command, stderr=theirs, stdout=subprocess.PIPE) as child:
        try:
            read_until(ours, "compiling, 2 of 6 phases done (")
            (tmp_path / "compile").touch()
            said = read_until(ours, "running program 0, run 1 of this engine (")
            assert "compiled after " in said
            assert f"{out / 'profile.pop'}; running" in said
            (tmp_path / "run").touch()
            read_until(ours, "Reports are in ")
            assert child.wait(PATIENCE) == 0
        finally:  # a program that is not let on would wait for ever, and `with` for the command
            for name in ("compile", "run"):
                (tmp_path / name).touch()
            child.kill()
    os.close(theirs)
    os.close(ours)


def test_every_shell_gets_its_completion() -> None:

    for shell, word in (("bash", "complete "), ("zsh", "compdef"), ("fish", "complete ")):
        variable = os.environ | {"_POPVISION_COMPLETE": f"{shell}_source"}
        command = [sys.executable, "-c", "from popvision.cli import main; main()"]
        done = subprocess.run(command, env=variable, capture_output=True, text=True, check=False)
        assert word in done.stdout, done.stderr


def test_summary_says_that_code_is_not_recorded() -> None:
    samples = Path(__file__).parents[2] / "sample_reports"
    model = popvision("summary", samples / "matmul_chain").stdout
    assert "Vertex Code: not recorded" in " ".join(model.split())
    assert "Stack: not recorded" in " ".join(model.split())
    assert "Shared Data Storage: 0 B" in " ".join(model.split())
    hardware = popvision("summary", samples / "matmul_chain_hardware").stdout
    assert "not recorded" not in hardware.partition("Memory Usage:")[2].partition("Execution:")[0]
