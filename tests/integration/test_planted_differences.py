"""Each difference planted in a report appears in `popvision diff` once, with its sign, and no other does."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from popvision.cli import group
from tests.plain_report import PlainReport
from tests.planted import planted

BASE = planted("base")
CAST, QKV = 4, 2  # places in BASE.programs

Found = list[tuple[str, str, Any]]


def one_tile_fuller(report: PlainReport) -> PlainReport:
    weights = report.variables[0].bytes
    return report.with_variable(0, bytes={**weights, 2: weights[2] + 1_024})


def one_variable_gone(report: PlainReport) -> PlainReport:
    return report.with_variable(3, remove=True)


def one_step_longer(report: PlainReport) -> PlainReport:
    return report.with_program(QKV, cycles=600)


def one_program_renamed(report: PlainReport) -> PlainReport:
    return report.with_program(CAST, name="cast_to_half")


def one_program_gone(report: PlainReport) -> PlainReport:
    return report.with_program(CAST, remove=True)


#: What each edit changes: (table of `changes`, how, name or difference), in the order of the answer.
EDITS: list[tuple[Callable[[PlainReport], PlainReport], Found]] = [
    (one_tile_fuller, [("variables", "changed", 1_024), ("tiles", "changed", 1_024)]),
    (
        one_variable_gone,
        # 2,048 B on each of eight tiles go with it
        [("variables", "onlySource", "layer0/activations"), *[("tiles", "changed", -2_048)] * 8],
    ),
    (one_step_longer, [("programs", "changed", 100)]),
    (one_program_renamed, [("programs", "renamed", "cast_to_half"), ("compute sets", "renamed", "cast_to_half")]),
    (
        one_program_gone,
        # with its six vertices on each of eight tiles
        [("programs", "onlySource", "cast"), ("vertex types", "changed", -48), ("compute sets", "onlySource", "cast")],
    ),
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("planted") / "base"
    BASE.write(folder)
    return folder


def diff(source: Path, target: Path, *options: str) -> tuple[dict[str, Any], int]:
    done = CliRunner().invoke(group, ["diff", str(source), str(target), "--json", *options])
    return json.loads(done.stdout), done.exit_code


def found(answer: dict[str, Any]) -> Found:
    rows: Found = []
    for table, changes in answer["changes"].items():
        rows += [(table, "changed", row["difference"]) for row in changes["changed"]]
        rows += [(table, "renamed", row["nameTarget"]) for row in changes["renamed"]]
        for side in ("onlySource", "onlyTarget"):
            rows += [(table, side, row["nameSource"] or row["nameTarget"]) for row in changes[side]]
    return rows


def test_a_report_beside_itself_differs_in_nothing(base: Path) -> None:
    answer, code = diff(base, base, "--fail-on", "cycles>+0,peak>+0,memory>+0")
    assert (found(answer), answer["settings"], answer["notes"], code) == ([], [], [], 0)
    assert {figure["difference"] for figure in answer["metrics"].values()} <= {0, None}
    assert answer["steps"] == {"matched": len(BASE.programs), "only_source": 0, "only_target": 0}


@pytest.mark.parametrize(("edit", "expected"), EDITS, ids=[edit.__name__ for edit, _ in EDITS])
def test_an_edit_is_found_once_and_nothing_else(
    base: Path, tmp_path: Path, edit: Callable[[PlainReport], PlainReport], expected: Found
) -> None:
    replace(edit(BASE), label="base").write(tmp_path)
    answer, _ = diff(base, tmp_path)
    assert found(answer) == expected
    assert answer["settings"] == []
    back, _ = diff(tmp_path, base)
    mirrored = {"onlySource": "onlyTarget", "changed": "changed", "renamed": "renamed"}
    numbers = [-what if isinstance(what, int) else what for *_, what in expected]
    names = ["cast" if how == "renamed" else what for (_, how, _), what in zip(expected, numbers, strict=True)]
    assert found(back) == [(table, mirrored[how], what) for (table, how, _), what in zip(expected, names, strict=True)]


def test_a_limit_breaks_where_the_edit_is(base: Path, tmp_path: Path) -> None:
    replace(one_step_longer(BASE), label="base").write(tmp_path)
    assert diff(base, tmp_path, "--fail-on", "cycles>+2%")[1] == 3  # 4,938 of 4,838 cycles: +2.07 %
    assert diff(base, tmp_path, "--fail-on", "cycles>+2.1%,memory>+0")[1] == 0
