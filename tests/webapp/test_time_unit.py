"""With time preferred, device cycles are shown as time wherever they are device cycles; thread cycles never are."""

from __future__ import annotations

from typing import Any

from popvision.analysis.report.source import ReportSource
from popvision.analysis.summary.report_list import describe, find
from tests.samples import SAMPLES, program_ending
from tests.webapp.preferring import preferring
from webapp.base.formats import cycles_text
from webapp.base.view import ViewContext
from webapp.graph_analyser.execution.aggregation_tab import vertex_columns
from webapp.graph_analyser.execution.workers_tab import content, tile_columns
from webapp.graph_analyser.execution.workers_tab import vertex_columns as lane_columns
from webapp.picker.rows import total_cycles

SAMPLE = SAMPLES / "train_mlp"


def _facts(component: Any) -> dict[str, str]:
    """Term -> description of the first list of terms in a component."""
    if type(component).__name__ == "Dl":
        cells = component.children
        return {cells[at].children: str(cells[at + 1].children) for at in range(0, len(cells), 2)}
    children = getattr(component, "children", None)
    for child in children if isinstance(children, list | tuple) else [children]:
        found = _facts(child) if hasattr(child, "to_plotly_json") else {}
        if found:
            return found
    return {}


def _workers(source: ReportSource) -> dict[str, str]:
    convolve = program_ending(source, "layer1/fwd/Conv_1/Convolve")
    step = source.reader.steps().program.tolist().index(convolve)
    return _facts(content(ViewContext("key", source, {"step": str(step), "detail": "workers"})))


def test_facts_of_a_tile_are_times_and_thread_cycles_stay_counts() -> None:
    source = ReportSource(SAMPLE)
    clock = source.reader.target().clock_hz
    plain = _workers(source)
    with preferring(time="time"):
        timed = _workers(source)
    assert timed["Thread cycles"] == plain["Thread cycles"]
    for name in ("Worker part", "Alone", "Beyond vertices", "Estimate", "Recorded", "Held up by"):
        with preferring(time="time"):
            assert timed[name] == cycles_text(int(plain[name].replace(",", "")), clock) != plain[name]


def test_no_column_of_thread_cycles_is_shown_as_time() -> None:
    columns = [each for each in (*tile_columns(), *lane_columns(), *vertex_columns()) if each.field == "thread_cycles"]
    assert len(columns) == 3
    assert {each.kind for each in columns} == {"integer"}


def test_cards_of_the_first_page_follow_the_unit() -> None:
    card = describe(find(SAMPLE)[0][0])
    assert card.clock_hz == ReportSource(SAMPLE).reader.target().clock_hz
    with preferring(time="time"):
        assert total_cycles(card).children == cycles_text(card.total_cycles, card.clock_hz) != f"{card.total_cycles:,}"
