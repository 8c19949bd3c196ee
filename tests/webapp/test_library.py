"""Which reports the viewer lists, under which keys, and when it reads them again."""

from __future__ import annotations

import re
import shutil
import sqlite3
import time
from pathlib import Path

import pytest

from popvision.analysis.execution.timeline import run_bars, timeline
from popvision.analysis.report.not_recorded import FormatError
from popvision.analysis.report.source import ReportSource
from popvision.analysis.summary.report_list import find
from popvision.formats.profile.writer import ProfileWriter
from tests.reports import tiny_compilation, tiny_run, write_tiny
from webapp.base.library import Entry, Library, UnknownKeyError


def own(library: Library) -> list[Entry]:
    return [entry for entry in library.entries() if not entry.is_sample]


def test_everything_below_is_found(tmp_path: Path) -> None:
    write_tiny(tmp_path / "a")
    write_tiny(tmp_path / "b" / "training")
    write_tiny(tmp_path / ".hidden")
    (tmp_path / "b" / "host.pvti").write_bytes(b"")
    found = [(entry.kind, entry.path.relative_to(tmp_path).as_posix()) for entry in own(Library([tmp_path]))]
    assert found == [("report", "a"), ("trace", "b/host.pvti"), ("report", "b/training")]


def test_keys_are_stable_distinct_and_plain(tmp_path: Path) -> None:
    for name in ("a", "b", "x y/../c", "\u540d", "A"):
        write_tiny(tmp_path / "folder" / name)
    first, second = (sorted(entry.key for entry in own(Library([tmp_path]))) for _ in range(2))
    assert first == second
    assert len(set(first)) == 5
    assert all(re.fullmatch(r"[a-z0-9-]+", key) for key in first)


def test_a_file_stands_for_its_folder(tmp_path: Path) -> None:
    profile = write_tiny(tmp_path / "a")
    assert [entry.path for entry in own(Library([profile]))] == [tmp_path / "a"]


def test_unknown_keys_are_refused(tmp_path: Path) -> None:
    write_tiny(tmp_path / "a")
    library = Library([tmp_path])
    for key in ("", "..", str(tmp_path / "a"), "a"):
        with pytest.raises(UnknownKeyError):
            library.report(key)
    with pytest.raises(UnknownKeyError):
        library.trace(own(library)[0].key)


def test_sources_are_kept_and_the_oldest_goes(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        write_tiny(tmp_path / name)
    library = Library([tmp_path], capacity=2)
    a, b, c = (entry.key for entry in own(library))
    first = library.report(a)
    second = library.report(b)
    assert library.report(a) is first
    library.report(c)
    assert library.report(a) is first
    assert library.report(b) is not second


def test_a_new_run_opens_the_report_again(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with ProfileWriter(tmp_path / "a" / "profile.pop") as writer:
        writer.write_compilation(tiny_compilation())
        library = Library([tmp_path])
        key = own(library)[0].key
        before = library.report(key)
        assert (before.generation, library.card(own(library)[0]).runs) == (0, 0)
        writer.append_run(tiny_run())
        after = library.report(key)
        assert after is not before
        assert after.generation == 1
        card = library.card(own(library)[0])
        assert (card.runs, card.total_cycles, card.state) == (1, 43, "running")
    assert library.card(own(library)[0]).state == "complete"


def test_an_opened_report_stays_as_it_was_while_its_program_adds_runs(tmp_path: Path) -> None:
    """Its columns are read one after another, and a run that is added in between would be in some of them."""
    (tmp_path / "a").mkdir()
    with ProfileWriter(tmp_path / "a" / "profile.pop") as writer:
        writer.write_compilation(tiny_compilation())
        writer.append_run(tiny_run())
        source = Library([tmp_path]).report(own(Library([tmp_path]))[0].key)
        assert len(timeline(source, 0)) == 4
        writer.append_run(tiny_run())
        assert run_bars(source).end.tolist() == [43]
        assert (source.generation, len(source.reader.steps().type), source.reader.total_cycles()) == (1, 4, 43)
    assert len(timeline(ReportSource(tmp_path / "a"), 0)) == 8


def test_a_reading_during_a_commit_is_read_again_once_the_journal_rests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes of a commit are on the disk before SQLite lets others read it: the size and the time of the journal
    are then those of a state that the reading does not have."""
    (tmp_path / "a").mkdir()
    with ProfileWriter(tmp_path / "a" / "profile.pop") as writer:
        writer.write_compilation(tiny_compilation())
        writer.append_run(tiny_run())
        library = Library([tmp_path])
        key = own(library)[0].key
        early = library.report(key)
        stamp, written = library.stamp(key), library.written(key)
        assert library.report(key) is early
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + 3)
        assert library.written(key) == written
        assert library.stamp(key) != stamp
        later = library.report(key)
        assert later is not early
        monkeypatch.setattr(time, "time", lambda: now + 30)
        assert library.report(key) is later


def test_a_card_says_what_sql_says(tmp_path: Path) -> None:
    profile = write_tiny(tmp_path / "a")
    library = Library([tmp_path])
    card = library.card(own(library)[0])
    with sqlite3.connect(profile) as db:
        assert card.total_cycles == db.execute("select sum(cycles) from runs").fetchone()[0]
        assert card.peak_bytes == db.execute("select max(total) from memory_by_tile").fetchone()[0]
    db.close()
    assert (card.label, card.target, card.simulated) == ("a", "Mk2 IPU Model, 1 IPU x 4 tiles", True)
    assert card.size_bytes == profile.stat().st_size


@pytest.mark.parametrize("bytes_kept", [0, 10, 5000, 60_000])
def test_damage_is_listed_with_a_sentence(tmp_path: Path, bytes_kept: int) -> None:
    profile = write_tiny(tmp_path / "a")
    profile.write_bytes(profile.read_bytes()[:bytes_kept])
    library = Library([tmp_path])
    card = library.card(own(library)[0])
    assert card.state == "damaged"
    assert ("Damaged, opens in part. Lost: " if card.opens else "profile.pop") in card.problem
    assert "\n" not in card.problem
    assert card.opens == (bytes_kept > 1000)
    with pytest.raises(FormatError):
        library.report(own(library)[0].key).reader.tile_memory()


def test_a_folder_without_reports_says_so_and_how_to_make_one(tmp_path: Path) -> None:
    (note,) = Library([tmp_path]).notes
    assert str(tmp_path) in note
    assert "autoReport.directory" in note
    assert find(tmp_path / "nowhere") == (
        [],
        f"{tmp_path}/nowhere does not exist: give a report folder, or a folder above some.",
    )


def test_a_removed_report_is_forgotten(tmp_path: Path) -> None:
    write_tiny(tmp_path / "a")
    library = Library([tmp_path])
    key = own(library)[0].key
    library.report(key)
    shutil.rmtree(tmp_path / "a")
    library.scan()
    with pytest.raises(UnknownKeyError):
        library.report(key)
