"""The table of a program's tiles against SQL, and of two programs side by side."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from popvision.analysis.compare.matching import match_programs
from popvision.analysis.compare.programs import program_tiles_pair
from popvision.analysis.exchange.messages import messages_of
from popvision.analysis.programs.table import program_tiles
from popvision.analysis.report.figure_titles import viewer_frame
from popvision.analysis.report.source import ReportSource
from tests.browser.small_traces import write_small
from tests.planted import planted
from tests.samples import SAMPLES, program_ending


def test_rows_are_those_of_the_arrays() -> None:
    source = ReportSource(SAMPLES / "train_mlp")
    program = program_ending(source, "layer1/fwd/Conv_1/Convolve/ExchangePre")
    frame = viewer_frame(program_tiles(source, program))
    assert frame["tile"].tolist() == list(range(64))
    with sqlite3.connect(f"file:{SAMPLES / 'train_mlp' / 'profile.pop'}?mode=ro", uri=True) as db:
        ids = db.execute(
            "select cycles_array, rx_array, tx_array, exchange_code_array, control_code_array "
            f"from program_by_ipu where program = {program} and ipu = 0"
        ).fetchone()
        step = db.execute(f"select max(id) from steps where program = {program}").fetchone()[0]
        recorded = db.execute(f"select cycles_array from steps_by_ipu where step_id = {step}").fetchone()[0]
    columns = (
        "estimated_cycles", "received_bytes", "sent_bytes", "exchange_code_bytes", "control_code_bytes",
        "recorded_cycles",
    )  # fmt: skip
    for name, array in zip(columns, [*ids, recorded], strict=True):
        assert (name in frame) == (array >= 0)
        if name in frame:
            assert frame[name].tolist() == np.asarray(source.reader.array(array)).tolist()
    assert {"estimated_cycles", "received_bytes", "sent_bytes", "recorded_cycles"} < set(frame)
    assert frame["received_bytes"].sum() == messages_of(source, program).bytes.sum() > 0


def test_cycles_of_tiles_carry_the_class_of_their_program() -> None:
    source = ReportSource(SAMPLES / "train_mlp")
    program = program_ending(source, "layer1/fwd/Conv_1/Convolve")
    with sqlite3.connect(f"file:{SAMPLES / 'train_mlp' / 'profile.pop'}?mode=ro", uri=True) as db:
        classes = db.execute(
            "select distinct provenance from compute_set_vertices join programs using (compute_set) "
            f"where programs.id = {program}"
        ).fetchall()
        terms = db.execute(
            "select source from cost_terms where object = 'program:' || ? or object = "
            "(select 'computeSet:' || compute_set from programs where id = ?)",
            (program, program),
        ).fetchall()
    order = ["exact", "fitted", "guess", "unknown"]
    expected = max([name for (name,) in classes] + [text.partition(":")[0] for (text,) in terms], key=order.index)
    tiles = program_tiles(source, program)
    assert tiles.column("estimated_cycles").provenance == expected
    assert tiles.column("tile").provenance == ""


def test_a_planted_difference_is_on_its_tile(tmp_path: Path) -> None:
    source = ReportSource(planted().write(tmp_path / "source"))
    messages = [(tile, (tile + 1) % 8, 256 + 44 * (tile == 3)) for tile in range(8)]
    changed = ReportSource(planted().with_program(1, messages=messages).write(tmp_path / "changed"))
    pair = viewer_frame(program_tiles_pair(source, changed, 2))
    for name, where in (("received_bytes", 4), ("sent_bytes", 3)):
        change = (pair[f"{name}_target"] - pair[f"{name}_source"]).tolist()
        assert change == [44 * (tile == where) for tile in range(8)]
    same = viewer_frame(program_tiles_pair(source, source, 2))
    for name in [each.removesuffix("_source") for each in same if each.endswith("_source")]:
        assert same[f"{name}_source"].tolist() == same[f"{name}_target"].tolist()


def test_a_program_of_one_report_alone_has_one_side(tmp_path: Path) -> None:
    source = ReportSource(planted().write(tmp_path / "source"))
    shorter = ReportSource(planted().with_program(5, remove=True).write(tmp_path / "shorter"))
    assert match_programs(source, shorter).target_rows()[6] < 0
    pair = viewer_frame(program_tiles_pair(source, shorter, 6))
    assert pair["received_bytes_source"].tolist() == program_tiles(source, 6)["received_bytes"].tolist()
    assert pair["received_bytes_target"].isna().all()


@pytest.mark.parametrize(("level", "known"), [("Tile", True), ("Ipu", False)])
def test_no_tile_is_invented(tmp_path: Path, level: str, known: bool) -> None:
    path = write_small(tmp_path / "small", [("C", (2, 4)), ("X", (1, 3))], target="Ipu", level=level)
    source = ReportSource(path)
    program = int(source.reader.steps().program[0])
    assert ("recorded_cycles" in program_tiles(source, program)) is known
