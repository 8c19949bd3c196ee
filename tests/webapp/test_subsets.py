"""Reports that lack tables or columns: every view is laid out and exported, or says in one sentence what is missing."""

from __future__ import annotations

import os
import random
import sqlite3
from pathlib import Path

import pytest

from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.source import ReportSource
from popvision.formats.errors import FormatError
from popvision.formats.profile.schema import TABLES
from tests.reports import write_tiny
from webapp.base.problems import LOST
from webapp.base.view import View, ViewContext
from webapp.base.views import views_of
from webapp.documents.export import DOCUMENTS, export_document
from webapp.graph_analyser.summary import page


@pytest.mark.parametrize("foreign", [False, True], ids=["damaged", "foreign"])
@pytest.mark.parametrize("seed", range(8))
def test_any_subset_of_tables_gives_pages_or_sentences(tmp_path: Path, seed: int, foreign: bool) -> None:
    rng = random.Random(seed)
    path = write_tiny(tmp_path)
    with sqlite3.connect(path) as db:
        for table in rng.sample(list(TABLES), rng.randint(1, 12)):
            db.execute(f"DROP TABLE {table}")
        if foreign:
            db.execute("DROP TABLE parts")
            db.execute("PRAGMA application_id = 0")
    db.close()
    try:
        source = ReportSource(path, salvage=True)
    except FormatError:
        return  # nothing known is left of a foreign file
    assert source.lost or foreign
    for view in views_of("report"):
        assert "\n" not in show(view, source)


#: Seeds 10, 53, 61, 93 and 112 once ended in an IndexError or a ValueError.
@pytest.mark.parametrize("seed", [0, 10, 53, 61, 93, 112])
def test_any_subset_of_a_foreign_file_s_columns_gives_pages_or_sentences(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    path = write_tiny(tmp_path)
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE parts")
        db.execute("PRAGMA application_id = 0")
        columns = [(table, row[1]) for table in TABLES for row in db.execute(f"PRAGMA table_info({table})")]
        for table, column in rng.sample(columns, rng.randint(1, 10)):
            drop_column(db, table, column)
    db.close()
    source = ReportSource(path, salvage=True)
    for view in views_of("report"):
        assert "\n" not in show(view, source)


def test_arrays_that_are_not_there_are_named(tmp_path: Path) -> None:
    path = write_tiny(tmp_path)
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE parts")
        db.execute("PRAGMA application_id = 0")
        drop_column(db, "memory_arrays", "bytes_array")
    db.close()
    with pytest.raises(FormatError, match="Table memory_arrays of this report has no column bytes_array"):
        ReportSource(path, salvage=True).reader.category_memory()


def drop_column(db: sqlite3.Connection, table: str, column: str) -> None:
    """Also one of the key, which ALTER TABLE does not drop."""
    rest = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[1] != column]
    if rest:
        db.execute(f"CREATE TABLE rest AS SELECT {', '.join(rest)} FROM {table}")
        db.execute(f"DROP TABLE {table}")
        db.execute(f"ALTER TABLE rest RENAME TO {table}")


def show(view: View, source: ReportSource) -> str:
    """Lay the view out and export it; the sentence that stands in its place, "" for none."""
    context = ViewContext("key", source, {"tiles": "0", "liveness": "1", "program": "1"})
    try:
        view.missing(context) or view.layout(context)
        if view.id in DOCUMENTS:
            export_document(source, view.id, {"tiles": "0"})
    except (FormatError, NotRecordedError) as sentence:
        return str(sentence)
    return ""


def _words(component: object) -> str:
    if isinstance(component, list | tuple):
        return " ".join(map(_words, component))
    return _words(component.children) if hasattr(component, "children") else str(component or "")


#: Table -> cards whose figure it takes; the others keep theirs.
TAKEN = {
    "memory_by_tile": {"Fullest tile", "Memory in use", "Peak liveness"},
    "liveness": {"Peak liveness"},
    "programs": {"Longest program"},
    "runs": {"Total device cycles", "Longest program"},
    "steps": {"Total device cycles", "Longest program"},  # a run counts when it is whole in every table
    "run_tail": {"Total device cycles", "Longest program"},
    "compute_sets": set(),
}
UNTRUE = ("Memory was not recorded", "No run was recorded", "Liveness was not recorded")


def _laid_out(path: Path) -> tuple[dict[str, str], str]:
    """(text of each card by title, text of the page)."""
    laid_out = page.layout(ViewContext("key", ReportSource(path, salvage=True), {}))
    assert not isinstance(laid_out.children[0].children, str)
    cards = [" ".join(_words(card).split()) for card in laid_out.children[0].children]
    titles = ("Total device cycles", "Fullest tile", "Memory in use", "Longest program", "Peak liveness")
    return dict(zip(titles, cards, strict=True)), " ".join(_words(laid_out).split())


@pytest.mark.parametrize("table", TAKEN)
def test_damage_to_a_table_takes_only_its_own_cards_of_the_summary(tmp_path: Path, table: str) -> None:
    path = write_tiny(tmp_path)
    whole, _ = _laid_out(path)
    with sqlite3.connect(path) as db:
        db.execute(f"DROP TABLE {table}")
    db.close()
    os.utime(path, (0, 0))  # of a file written this moment each question reads anew, and may meet other damage
    cards, text = _laid_out(path)
    assert {title for title, card in cards.items() if "Lost: the file is damaged" in card} == TAKEN[table]
    assert {title for title in cards if cards[title] == whole[title]} == set(cards) - TAKEN[table]
    assert not [sentence for sentence in UNTRUE if sentence in text]
    if table in ("runs", "steps", "run_tail"):
        assert LOST in text


@pytest.mark.parametrize("table", ["meta", "arrays"])
def test_what_describes_the_device_may_be_lost(tmp_path: Path, table: str) -> None:
    path = write_tiny(tmp_path)
    with sqlite3.connect(path) as db:
        db.execute(f"DROP TABLE {table}")
    db.close()
    cards, text = _laid_out(path)
    assert not [sentence for sentence in UNTRUE if sentence in text]
    assert "43" in cards["Total device cycles"] or "Lost" in cards["Total device cycles"]
    assert "Report files" in text
