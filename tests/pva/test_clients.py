"""Scripts as people have them run with `import pva`, as docs/pva.md says one gets it; their figures are the file's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.pva.plain_file import PlainFile
from tests.samples import SAMPLES

ROOT = Path(__file__).parents[2]
RUNNER = ROOT / "tests" / "pva" / "run_clients.py"


@pytest.fixture(scope="module")
def said(made_path: Path) -> dict[str, Any]:
    """The output of the scripts in a shell that sourced enable.sh, run from another folder."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    files = (made_path, made_path.with_name("debug.cbor"), SAMPLES / "host_trace" / "host_trace.pvti")
    done = subprocess.run(
        ["bash", "-c", f'source {ROOT}/enable.sh && exec "$@"', "sh", sys.executable, RUNNER, *files],
        env=environment,
        cwd=made_path.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.fixture(scope="module")
def file(made_path: Path) -> PlainFile:
    return PlainFile(made_path)


def test_pipeline_splitter(said: dict[str, Any], file: PlainFile) -> None:
    found = said["pipeline_splitter"]
    assert max(found["live"]) == max(file.column("SELECT always_live + not_always_live FROM memory_by_tile"))
    assert found["always"] == file.one("SELECT always_live FROM memory_by_tile WHERE tile=?", found["tile"])
    assert [row[0] for row in found["rows"]] == ["layer/product", "layer/relu", "layer/twice"]
    peaks, cycles, code = ([row[column] for row in found["rows"]] for column in (2, 3, 4))
    assert max(peaks) <= max(found["live"])
    assert cycles[:2] == [max(n, 1) for n in cycles[:2]]
    assert cycles[2] == 0  # it runs on the second IPU; the script looks at the first
    assert code[0] > 0


def test_run_summary(said: dict[str, Any], file: PlainFile) -> None:
    found = said["run_summary"]
    always, peak = file.one("SELECT sum(always_live) FROM memory_by_tile"), file.one("SELECT max(bytes) FROM liveness")
    assert found["share"] == (always + peak) / (file.tiles * file.target["bytes_per_tile"])
    by_kind = "SELECT t.name, sum(i.cycles) FROM steps s JOIN program_types t ON t.name=s.type JOIN steps_by_ipu i"
    assert found["kinds"] == dict(file.rows(f"{by_kind} ON i.step_id=s.id WHERE i.ipu=0 GROUP BY t.name"))
    assert 0 < found["balance"][0] <= found["balance"][1] <= 1
    assert found["seconds"] == file.one("SELECT sum(cycles) FROM runs") / file.target["clock_hz"]
    assert found["skew"] > 0
    assert found["types on tiles"] > 20


def test_memory_regression(said: dict[str, Any], file: PlainFile) -> None:
    found = said["memory_regression"]
    assert found["unknown"] == []
    assert found["max"] == file.one("SELECT max(excluding_gaps) FROM memory_by_tile")
    assert found["gaps"] == file.one("SELECT max(total) FROM memory_by_tile")
    assert found["fits"] is True
    assert found["cycles"] == file.one("SELECT sum(cycles) FROM runs")
    assert 0 < found["compute"] < found["cycles"]
    assert found["parameters"] > file.one("SELECT bytes FROM variables WHERE name='w'")
    mids = file.one("SELECT count(*) FROM steps s JOIN program_types t ON t.name=s.type WHERE t.name='StreamCopyMid'")
    assert (found["copies"], found["boundaries"], found["runs"]) == (mids, 2, 2)


def test_program_table(said: dict[str, Any], file: PlainFile) -> None:
    found = said["program_table"]
    assert sum(row[0] for row in found["table"].values()) == file.one("SELECT count(*) FROM steps")
    assert sum(row[1] for row in found["table"].values()) == sum(
        file.column("SELECT cycles FROM steps_by_ipu WHERE ipu=0")
    )
    assert {"OnTileExecuteProgram", "DoExchangeProgram", "Sync Internal", "Sync External"} < set(found["table"])
    assert found["moved"] == said["memory_regression"]["copies"]
    always = file.one("SELECT sum(always_live) FROM memory_by_tile")
    assert found["peak"] == always + file.one("SELECT max(bytes) FROM liveness")
    assert found["probes"] == []
    assert sum(found["soft"]) > 0


def test_source_lines(said: dict[str, Any]) -> None:
    text = (ROOT / "tests" / "pva" / "made.py").read_text().splitlines()
    for name, (file, line, library) in said["source_lines"].items():
        assert file == "made.py"
        assert f'"{name}"' in text[line - 1]
        assert library in text[line - 1]
    assert len(said["source_lines"]) == 3


def test_host_trace(said: dict[str, Any]) -> None:
    assert sum(said["host_trace"].values()) > 0
