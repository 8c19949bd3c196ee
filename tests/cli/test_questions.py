"""`popvision tree`, `operations` and `liveness` as a user types them: texts, JSON, pages, bad arguments."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cli.called import popvision
from tests.reports import write_tiny
from tests.samples import SAMPLES

TRAINING = SAMPLES / "train_mlp"
HEAD = "Simulated: model version popvision 0.1.0; target Mk2 IPU Model, 4 tiles; 3.4.0 (popvision 0.1.0)\n\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_tiny(tmp_path / "report").parent


def asked(command: str, folder: Path, *words: object) -> dict[str, Any]:
    done = popvision(command, folder, *words, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def rows(sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(TRAINING / "profile.pop")) as db:
        return db.execute(sql).fetchall()


def test_the_tree_as_text(folder: Path) -> None:
    """Lengths of the steps: 20 + (43 - 27) for the compute set, 23 - 20 for the Sync, 27 - 23 for the exchange."""
    assert popvision("tree", folder).stdout == HEAD + (
        "program  self cycles  total cycles  executions  live bytes  type (name)\n"
        "------------------------------------------------------------------------------------------------\n"
        "      0            0            43           -         432  Sequence\n"
        "      1           36            36           2         432    OnTileExecute (layer/matmul)\n"
        "      2            3             3           1         432    Sync (Internal)\n"
        "      3            4             4           1         400    DoExchange (cs0_layer/ExchangePre)\n"
        "\n"
        "Rows 1 to 4 of 4.\n"
    )


def test_the_tree_as_json() -> None:
    answer = asked("tree", TRAINING, "--limit", 1000)
    assert answer["total"] == len(answer["rows"]) > 200
    assert answer["next_offset"] is None
    stored = dict(rows("select program, sum(cycles) from steps join steps_by_ipu on id = step_id group by program"))
    assert {row["program"]: row["self_cycles"] for row in answer["rows"] if row["self_cycles"]} == {
        program: cycles for program, cycles in stored.items() if cycles
    }
    assert answer["rows"][0]["total_cycles"] == rows("select sum(cycles) from runs")[0][0]
    assert answer["units"]["live_bytes"] == "bytes"


def test_parts_of_the_tree() -> None:
    whole = asked("tree", TRAINING, "--limit", 1000)["rows"]
    loop = next(row for row in whole if row["type"] == "Repeat")
    below = asked("tree", TRAINING, "--root", loop["program"], "--limit", 1000)["rows"]
    first = whole.index(loop)
    assert [row["program"] for row in below] == [row["program"] for row in whole[first : first + loop["rows"]]]
    shallow = asked("tree", TRAINING, "--depth", 1, "--limit", 1000)["rows"]
    assert [row["program"] for row in shallow] == [row["program"] for row in whole if row["depth"] <= 1]
    found = asked("tree", TRAINING, "--name", "LAYER1/fwd", "--type", "OnTileExecute", "--limit", 1000)["rows"]
    assert [row["program"] for row in found] == [
        row["program"] for row in whole if row["type"] == "OnTileExecute" and "layer1/fwd" in row["name"]
    ]
    assert found
    longest = asked("tree", TRAINING, "--sort", "self_cycles", "--limit", 5)["rows"]
    assert [row["self_cycles"] for row in longest] == sorted((r["self_cycles"] for r in whole), reverse=True)[:5]
    page = asked("tree", TRAINING, "--offset", 100, "--limit", 20)
    assert [row["program"] for row in page["rows"]] == [row["program"] for row in whole[100:120]]
    assert page["next_offset"] == 120
    assert (
        f"Rows 101 to 120 of {len(whole)}; --offset 120 shows"
        in popvision("tree", TRAINING, "--offset", 100, "--limit", 20).stdout
    )


def test_the_tree_of_a_report_that_never_ran() -> None:
    (first,) = asked("tree", SAMPLES / "out_of_memory", "--limit", 1)["rows"]
    assert first["self_cycles"] is None
    assert first["live_bytes"] > 0
    assert popvision("tree", SAMPLES / "out_of_memory", "--limit", 1).stdout.splitlines()[4].split()[1] == "-"


def test_liveness_as_text(folder: Path) -> None:
    assert popvision("liveness", folder).stdout == HEAD + (
        "Live memory on all tiles of one replica, capacity 4,000 bytes\n"
        "Always live: 400 bytes\n"
        "\n"
        "Peaks\n"
        "\n"
        "live bytes  liveness index  program  type (name)\n"
        "-----------------------------------------------------------------\n"
        "       432               0        1  OnTileExecute (layer/matmul)\n"
        "\n"
        "Variables at liveness index 0\n"
        "\n"
        "size bytes  variable  name       live\n"
        "-------------------------------------\n"
        "        32         1  temporary  0-1\n"
        "\n"
        "Rows 1 to 1 of 1.\n"
    )


@pytest.mark.parametrize("where", [[], ["--ipu", 0], ["--tile", 3]])
def test_variables_add_up_to_the_curve(where: list[object]) -> None:
    curve = asked("liveness", TRAINING, *where, "--curve", "--limit", 1000)
    peak = asked("liveness", TRAINING, *where, "--limit", 1000)
    at = peak["peak"]["liveness_index"]
    highest = max(row["live_bytes"] for row in curve["rows"])
    assert curve["rows"][at]["live_bytes"] == peak["peak"]["live_bytes"] == highest
    assert sum(row["size_bytes"] for row in peak["rows"]) + peak["always_live_bytes"] == highest
    always = asked("liveness", TRAINING, *where, "--always", "--limit", 1000)
    assert sum(row["size_bytes"] for row in always["rows"]) == peak["always_live_bytes"] > 0
    other = asked("liveness", TRAINING, *where, "--index", 100, "--limit", 1000)
    assert sum(row["size_bytes"] for row in other["rows"]) == curve["rows"][100]["not_always_live_bytes"]


def test_liveness_against_the_file() -> None:
    curve = asked("liveness", TRAINING, "--curve", "--limit", 1000)
    stored = rows("select liveness_index, program, bytes from liveness order by 1")
    assert [(r["liveness_index"], r["program"], r["not_always_live_bytes"]) for r in curve["rows"]] == stored
    always = rows("select sum(always_live), sum(total) * 0 + count(*) * 638976 from memory_by_tile")[0]
    assert (curve["always_live_bytes"], curve["capacity_bytes"]) == always
    named = asked("liveness", TRAINING, "--curve", "--name", "doexchange", "--limit", 1000)["rows"]
    assert [row["liveness_index"] for row in named] == [
        r["liveness_index"] for r in curve["rows"] if r["type"] == "DoExchange"
    ]


def test_operations_add_up_to_the_report() -> None:
    answer = asked("operations", TRAINING, "--limit", 1000)
    assert answer["layer"] == "poplibs"
    assert sum(row["total_cycles"] for row in answer["rows"]) == rows("select sum(cycles) from runs")[0][0]
    assert sum(row["programs"] for row in answer["rows"]) == rows("select count(*) from programs")[0][0]
    received = rows("select sum(data_in) from steps_by_ipu")[0][0]
    assert sum(row["received_bytes"] for row in answer["rows"]) == received
    cycles = [row["total_cycles"] for row in answer["rows"][:-1]]
    assert cycles == sorted(cycles, reverse=True)
    groups = asked("operations", TRAINING, "--level", 1, "--limit", 1000)["rows"]
    assert sum(row["total_cycles"] for row in groups) == rows("select sum(cycles) from runs")[0][0]
    assert len(groups) < len(answer["rows"])
    under = asked("operations", TRAINING, "--under", "layer1", "--name", "fwd")["rows"]
    assert [row["name"] for row in under if row["name"].startswith("layer1/")] == ["layer1/fwd"]
    by = asked("operations", TRAINING, "--by", "received_bytes", "--limit", 3)["rows"]
    assert [row["received_bytes"] for row in by] == sorted(
        (r["received_bytes"] for r in answer["rows"][:-1]), reverse=True
    )[:3]


def test_operations_as_text() -> None:
    lines = popvision("operations", TRAINING, "--limit", 2).stdout.splitlines()
    assert lines[2] == "Operations of layer poplibs (layers: poplar, poplibs)"
    assert lines[4].split()[:4] == ["operation", "calls", "cycles", "%"]
    assert lines[6].startswith("layer1/fwd")
    assert lines[-1].startswith("Rows 1 to 2 of ")


BAD = [
    ("tree", ["--root", 9999], 1, "program 9999 does not exist"),
    ("tree", ["--type", "Frob"], 1, "no type of program 'Frob'"),
    ("tree", ["--ipu", 7], 1, "IPU 7 does not exist"),
    ("tree", ["--limit", 0], 2, "--limit"),
    ("liveness", ["--tile", 64], 1, "tile 64 does not exist"),
    ("liveness", ["--index", 9999], 1, "liveness index 9999 does not exist"),
    ("liveness", ["--tile", 1, "--ipu", 0], 2, "not both"),
    ("liveness", ["--curve", "--always"], 2, "one of"),
    ("operations", ["--layer", "frob"], 1, "there is no layer 'frob'"),
    ("operations", ["--by", "frob"], 1, "by must be one of total_cycles"),
    ("explain", [9999], 1, "9999"),
]


@pytest.mark.parametrize(("command", "words", "code", "text"), BAD)
def test_bad_arguments_are_one_sentence(command: str, words: list[object], code: int, text: str) -> None:
    done = popvision(command, TRAINING, *words)
    assert (done.returncode, done.stdout) == (code, "")
    assert text in done.stderr
    assert code == 2 or done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["tree", "liveness", "operations"])
def test_what_is_missing_is_one_sentence(command: str, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        done = popvision(command, path)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("popvision: ")
        assert done.stderr.count("\n") == 1


def test_operations_need_debug_information(folder: Path) -> None:
    done = popvision("operations", folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert "autoReport.outputDebugInfo" in done.stderr


def test_pages_behind_the_end(folder: Path) -> None:
    assert popvision("tree", folder, "--offset", 99).stdout.endswith("No rows: 4 in all.\n")
    assert popvision("tree", folder, "--name", "nothing").stdout.endswith("No rows.\n")


def test_a_damaged_report_shows_what_is_whole() -> None:
    done = popvision("tree", SAMPLES / "damaged", "--json")
    assert done.returncode == 0
    assert done.stderr.startswith(f"popvision: {SAMPLES / 'damaged'} is damaged; lost: ")
    answer = json.loads(done.stdout)
    assert answer["total"] > 60
    assert all(row["self_cycles"] is None for row in answer["rows"])
    done = popvision("liveness", SAMPLES / "damaged")
    assert (done.returncode, done.stdout) == (1, "")
    assert "damaged" in done.stderr
