"""What if: the table over two axes of a sweep, its twin, and the sentences about where the program stops fitting."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.compare.metrics import METRICS
from popvision.catalogue import refresh, select_reports
from popvision.catalogue.verdicts import verdicts
from popvision.catalogue.what_if import WhatIf, cells, fit_counts, what_if
from popvision.cli import group
from popvision.formats.errors import FormatError
from tests.catalogue.planted_sweep import POINTS, plant_sweep

MEMORY = "axis.constants.memoryBytesPerTile"
EXCHANGE = "axis.constants.exchangeBytesPerCycle"


def catalogue(*points: dict[str, Any]) -> pd.DataFrame:
    """Rows of a catalogue; what a point does not name is missing."""
    rows = []
    for at, point in enumerate(points):
        row = {
            "report": f"points/{at}",
            "program": "chain.py",
            "state": "complete",
            "problem": "",
            "commit_time_s": 0.0,
        }
        row |= {metric.name: np.nan for metric in METRICS} | {"tiles_over": 0.0, "tile_memory": 1000.0}
        rows.append(row | {"modified_s": float(at), **point})
    return pd.DataFrame(rows)


def point(tiles: int, time: float, peak: float, **more: Any) -> dict[str, Any]:
    over = float(more.pop("over", 3 if peak > 1000 else 0))
    return {"axis.tiles": float(tiles), "device_time": time, "peak": peak, "tiles_over": over, **more}


def test_where_it_stops_fitting_is_said_with_the_need() -> None:
    frame = catalogue(
        *(point(tiles, 1e-3 / tiles, peak) for tiles, peak in ((4, 5000), (8, 1200), (16, 900), (32, 500))),
    )
    found = what_if(frame)
    assert (found.across.name, found.lines) == ("axis.tiles", None)
    assert found.row.tolist() == [[0, 1, 2, 3]]
    assert verdicts(frame, found) == [
        "It stops fitting below 16 tiles; with 8 tiles the fullest tile needs 1,200 B of 1,000 B, and 3 tiles need "
        "more than they have.",
        "Device time of what fits: least 31.25 µs (32 tiles), most 62.5 µs (16 tiles), 2.00 times as much.",
    ]


def test_each_line_has_its_verdict() -> None:
    peaks = {"ipu1": (900, 1200, 900), "ipu2": (900, 900, 2000), "ipu21": (1100, 1500, 1300)}
    frame = catalogue(
        *(
            point(tiles, 2e-6, peak, **{"axis.target": chip}, over=1 if peak > 1000 else 0)
            for chip, each in peaks.items()
            for tiles, peak in zip((4, 8, 16), each, strict=True)
        ),
        point(4, 1e-6, 100, **{"axis.target": "ipu9"}),
    )
    said = verdicts(frame, what_if(frame))
    assert said == [
        "ipu9: it fits everywhere, from 4 tiles to 16 tiles.",
        "Mk1: it does not fit with 8 tiles; with 8 tiles the fullest tile needs 1,200 B of 1,000 B, and 1 tile needs "
        "more than it has.",
        "Mk2: it stops fitting above 8 tiles; with 16 tiles the fullest tile needs 2,000 B of 1,000 B, and 1 tile "
        "needs more than it has.",
        "Bow: it fits nowhere, from 4 tiles to 16 tiles; with 4 tiles the fullest tile needs 1,100 B of 1,000 B, and 1 "
        "tile needs more than it has.",
        "Device time of what fits: least 1 µs (ipu9, 4 tiles), most 2 µs (Mk1, 4 tiles), 2.00 times as much.",
        "2 points have no report: not run, or failed before there was one.",
    ]


def test_other_axes_are_held_and_counted() -> None:
    frame = catalogue(
        *(
            point(tiles, 1e-6, peak, **{MEMORY: memory, EXCHANGE: exchange}, tile_memory=memory, over=peak > memory)
            for exchange in (2.0, 4.0, 8.0)
            for memory in (500.0, 638_976.0)
            for tiles, peak in ((4, 700), (8, 400))
        )
    )
    found = what_if(frame, lines="none")
    held = {name: next(axis for axis in found.axes if axis.name == name).values[at] for name, at in found.held.items()}
    assert held == {MEMORY: 638_976, EXCHANGE: 4}  # those of a Mk2
    assert fit_counts(frame, found) == {MEMORY: [(1, 2), (2, 2)], EXCHANGE: [(2, 2)] * 3}
    assert "Of these points fit 1 of 2 with 500 B per tile and 2 of 2 with 624 KiB per tile." in verdicts(frame, found)
    near = what_if(frame, lines="none", near="points/1")  # 8 tiles, 500 B, exchange 2
    assert near.held == {MEMORY: 0, EXCHANGE: 0}
    assert near.row.tolist() == [[0, 1]]
    chosen = what_if(frame, lines="none", near="points/1", held={EXCHANGE: "8"})
    assert chosen.held == {MEMORY: 0, EXCHANGE: 2}


def test_of_a_point_the_newest_report_counts() -> None:
    frame = catalogue(point(4, 1e-6, 1), point(8, 1e-6, 1), point(4, 2e-6, 1), point(4, 3e-6, 1, modified_s=-1.0))
    found = what_if(frame)
    assert found.row.tolist() == [[2, 1]]
    assert verdicts(frame, found)[-1] == "2 older reports of the same points are left out."


def test_the_time_of_a_failed_point_is_no_answer() -> None:
    frame = catalogue(
        point(4, 9e-6, 1),
        point(8, 1e-6, 1, problem="it took longer than the limit of 1 s"),
        point(16, 2e-6, 1, state="running"),
        point(32, 5e-6, 1),
    )
    found = what_if(frame)
    assert verdicts(frame, found)[1:] == [
        "Device time of what fits: least 5 µs (32 tiles), most 9 µs (4 tiles), 1.80 times as much.",
        "2 points have failed or not ended, without a time that counts.",
    ]
    assert cells(frame, found, "device_time", "peak")["note"].tolist() == ["", "failed", "running", ""]


def test_programs_are_apart_and_commits_in_the_order_of_time() -> None:
    rows = [
        point(4, 1e-6, 1, program="other.py", **{"axis.commit": "a"}, commit_time_s=9.0),
        point(4, 1e-6, 1, **{"axis.commit": "b"}, commit_time_s=2.0),
        point(4, 1e-6, 1, **{"axis.commit": "a"}, commit_time_s=3.0),
        point(4, 1e-6, 1, program=""),
    ]
    found = what_if(catalogue(*rows))
    assert found.programs == ("chain.py", "other.py")
    assert (found.program, found.across.values, found.row.tolist()) == ("chain.py", ("b", "a"), [[1, 2]])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            {"across": "axis.speed"},
            "there is no axis with several values 'axis.speed'; there are axis.tiles, axis.target.",
        ),
        ({"lines": "axis.tiles"}, "there is no axis with several values 'axis.tiles'; there are axis.target."),
        ({"program": "none.py"}, "there is no program of a sweep 'none.py'; there are chain.py."),
        ({"held": {"axis.target": "ipu1"}}, "there is no axis to hold 'axis.target'; there are none."),
        ({"lines": "none", "held": {"axis.target": "ipu3"}}, "Chip has no value 'ipu3'; it has ipu1, ipu2."),
    ],
)
def test_what_there_is_not_is_one_sentence(words: dict[str, Any], sentence: str) -> None:
    frame = catalogue(*(point(tiles, 1, 1, **{"axis.target": chip}) for tiles in (4, 8) for chip in ("ipu1", "ipu2")))
    with pytest.raises(FormatError) as caught:
        what_if(frame, **words)
    assert str(caught.value) == sentence


def test_reports_of_no_sweep_and_of_one_point() -> None:
    with pytest.raises(FormatError, match="no report here is a point of a sweep"):
        what_if(catalogue(point(4, 1, 1, program="")))
    with pytest.raises(FormatError, match=r"the reports of chain\.py differ in no axis"):
        what_if(catalogue(point(4, 1, 1), point(4, 1, 1)))


VALUES = st.tuples(st.sampled_from([4, 8, 16]), st.sampled_from(["ipu1", "ipu2"]), st.sampled_from([2, 4]))


@given(st.lists(st.tuples(VALUES, st.booleans()), min_size=2, max_size=30))
def test_cells_are_those_of_a_loop_over_all_rows(rows: list[tuple[tuple[int, str, int], bool]]) -> None:
    frame = catalogue(
        *(
            point(tiles, 1e-6, 2000 if is_over else 1, **{"axis.target": chip, EXCHANGE: float(exchange)})
            for (tiles, chip, exchange), is_over in rows
        )
    )
    try:
        found = what_if(frame)
    except FormatError:
        assert len({point for point, _ in rows}) == 1
        return
    for (line, across), row in np.ndenumerate(found.row):
        there = [at for at, (each, _) in enumerate(rows) if _is_at(found, each, line, across)]
        assert row == max(there, default=-1)
    assert found.older == sum(_is_held(found, each) for each, _ in rows) - int((found.row >= 0).sum())
    for name, counts in fit_counts(frame, found).items():
        axis = next(axis for axis in found.axes if axis.name == name)
        for at, (good, every) in enumerate(counts):
            there = [
                over for each, over in rows if _is_held(found, each, {name: at}) and _value(each, name) in axis.values
            ]
            assert (good, every) == (there.count(False), len(there))


def _value(each: tuple[int, str, int], name: str) -> Any:
    return dict(zip(("axis.tiles", "axis.target", EXCHANGE), each, strict=True))[name]


def _is_held(found: WhatIf, each: tuple[int, str, int], other: dict[str, int] | None = None) -> bool:
    values = {axis.name: axis.values for axis in found.axes}
    return all(_value(each, name) == values[name][at] for name, at in (found.held | (other or {})).items())


def _is_at(found: WhatIf, each: tuple[int, str, int], line: int, across: int) -> bool:
    on_line = found.lines is None or _value(each, found.lines.name) == found.lines.values[line]
    return on_line and _value(each, found.across.name) == found.across.values[across] and _is_held(found, each)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant_sweep(tmp_path_factory.mktemp("sweep"))


def test_the_command_prints_sentences_and_a_table(sweep: Path) -> None:
    done = CliRunner().invoke(group, ["whatif", str(sweep)])
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[0].startswith(
        "Mk1: it stops fitting below 256 KiB per tile; with 128 KiB per tile the fullest tile needs "
    )
    assert lines[1].startswith("Mk2: it stops fitting below 624 KiB per tile; with 128 KiB per tile ")
    assert "1 point has no report: not run, or failed before there was one." in lines
    table = [line.split() for line in lines[lines.index("") + 1 :]]
    assert table[0] == [
        "Memory",
        "per",
        "tile",
        "Mk1",
        "device_time",
        "Mk1",
        "peak",
        "Mk2",
        "device_time",
        "Mk2",
        "peak",
    ]
    assert table[2][:5] == ["128", "KiB", "does", "not", "fit"]
    assert table[3][-2:] == ["-", "-"]


def test_the_command_exports_all_axes(sweep: Path) -> None:
    done = CliRunner().invoke(
        group, ["whatif", str(sweep), "--across", "target", "--lines", "memoryBytesPerTile", "--json"]
    )
    rows = json.loads(done.stdout)
    refresh(sweep)
    cycles = select_reports(sweep).set_index("report")["device_time"].to_dict()
    assert {(row[MEMORY], row["axis.target"]) for row in rows} == set(POINTS)
    for row in rows:
        sample = POINTS[row[MEMORY], row["axis.target"]]
        assert row["fits"] == (sample != "out_of_memory")
        assert (row["device_time"] is None) == (sample == "out_of_memory")
        assert row["fits"] is False or row["device_time"] == pytest.approx(cycles[row["report"]])
    csv = CliRunner().invoke(group, ["whatif", str(sweep), "--csv"]).stdout.splitlines()
    assert csv[0].startswith(f"{MEMORY},axis.target,report,")
    assert len(csv) == 1 + len(POINTS)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--across", "speed"], "popvision: there is no axis with several values 'speed'"),
        (["--hold", "tiles"], "'tiles' is no AXIS=VALUE, such as tiles=64."),
        (["--speed", "peak"], "popvision: there is no such figure 'peak'; there are device_time, cycles,"),
        (["--csv", "--json"], "--csv and --json exclude each other."),
    ],
)
def test_bad_questions_of_the_command(
    sweep: Path, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from popvision.cli import main

    with pytest.raises(SystemExit):
        main(["whatif", str(sweep), *words])
    assert sentence in capsys.readouterr().err
