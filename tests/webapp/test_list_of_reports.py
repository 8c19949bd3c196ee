"""The list of reports: states that are true, memory without gaps, phases, newest first."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from popvision.analysis.summary.headline import headline
from popvision.analysis.summary.report_list import ReportPath, describe, open_report
from popvision.formats.pvti.finalise import finalise
from popvision.formats.pvti.writer import TraceWriter
from tests.analysis.trace.trace_case import make_trace
from tests.reports import write_tiny
from tests.samples import SAMPLES
from webapp.base.library import Entry, Library
from webapp.picker import page as picker
from webapp.picker.rows import distinct_folders


@pytest.mark.parametrize(
    ("name", "state"), [("train_mlp", "complete"), ("out_of_memory", "does not fit"), ("damaged", "damaged")]
)
def test_states_are_those_of_the_pages(name: str, state: str) -> None:
    card = describe(ReportPath("report", SAMPLES / name))
    assert card.state == state
    assert card.total_cycles == headline(open_report(SAMPLES / name)).total_cycles
    assert bool(card.problem) == (state == "damaged")


def test_memory_is_that_in_use_without_gaps() -> None:
    card = describe(ReportPath("report", SAMPLES / "train_mlp"))
    with closing(sqlite3.connect(SAMPLES / "train_mlp" / "profile.pop")) as db:
        used, highest = db.execute("select max(excluding_gaps), max(total) from memory_by_tile").fetchone()
    assert (card.used_bytes, card.peak_bytes) == (used, highest)


def test_the_bar_of_phases_is_that_of_the_headline() -> None:
    card = describe(ReportPath("report", SAMPLES / "train_mlp"))
    assert card.shares == headline(open_report(SAMPLES / "train_mlp")).shares
    assert sum((card.shares or {}).values()) == pytest.approx(1)


def test_the_newest_report_stands_first(tmp_path: Path) -> None:
    for name, when in (("second", 200), ("first", 300), ("third", 100)):
        os.utime(write_tiny(tmp_path / name), (when, when))
    page = str(picker.layout(Library([tmp_path])))
    places = [page.index(f"'{name}'") for name in ("first", "second", "third")]
    assert places == sorted(places)


def test_a_trace_that_is_not_ended_is_not_called_complete(tmp_path: Path) -> None:
    path = tmp_path / "t.pvti"
    writer = TraceWriter(path, {}, clock_offset_ns=0)
    assert describe(ReportPath("trace", path)).state == "recording or killed"
    writer.close()
    finalise(path)
    assert describe(ReportPath("trace", path)).state == "no events"
    make_trace(path, [(0, 10, 20, "a/x")])
    assert describe(ReportPath("trace", path)).state == "complete"


def test_rows_of_one_name_are_told_apart_by_their_folder(tmp_path: Path) -> None:
    for folder in ("monday/run", "tuesday/run", "tuesday/other"):
        write_tiny(tmp_path / folder)
    page = str(picker.layout(Library([tmp_path])))
    assert "' in monday'" in page
    assert "' in tuesday'" in page
    assert page.count("'card-folder'") == 2


def test_folders_that_tell_apart_are_the_last_that_differ() -> None:
    paths = [("a", "run", Path("/x/p1/out/run")), ("b", "run", Path("/x/p2/out/run")), ("c", "else", Path("/x/p2"))]
    assert distinct_folders(paths) == {"a": "p1", "b": "p2"}


def test_samples_among_the_users_reports_are_marked(tmp_path: Path) -> None:
    own = write_tiny(tmp_path / "own").parent
    badge = "Shipped with PopVision: no program of yours"
    assert str(picker.layout(Library([SAMPLES / "train_mlp", own]))).count(badge) == 1
    assert badge not in str(picker.layout(Library([own])))


def test_a_report_that_comes_while_the_list_is_built_changes_what_was_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tiny(tmp_path / "first")
    library = Library([tmp_path], follows=True)
    monkeypatch.setattr("webapp.base.library._LOOK_EVERY", 0)
    found = library.entries

    def entries() -> list[Entry]:
        write_tiny(tmp_path / "second")
        return found()

    monkeypatch.setattr(library, "entries", entries)
    shown = picker.layout(library)
    assert "'second'" not in str(shown)
    assert getattr(shown, "data-look") != library.look()
