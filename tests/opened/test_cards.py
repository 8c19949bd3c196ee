"""Cards of opened reports and traces, and the questions of a trace."""

from __future__ import annotations

import io
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import popvision
from popvision import pva
from popvision.analysis.insights.rules import insights
from popvision.analysis.report.source import ReportSource
from popvision.formats.errors import FormatError
from popvision.opened.pictures import COLOURS, CURVE, LIMIT, line_picture
from popvision.opened.trace import OpenedTrace
from tests.plain_report import PlainProgram, PlainReport, PlainVariable
from tests.samples import SAMPLES

HOSTILE = "<script>alert(1)</script>\x1b[2J\u202e</td>&"


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [str(value) for name, value in attributes if name in ("src", "href", "onload", "style")]


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    programs = [PlainProgram("OnTileExecute", HOSTILE, 100)]
    return PlainReport(programs, [PlainVariable(HOSTILE, {0: 64}, (0, 0))], label=HOSTILE).write(tmp_path / "r").parent


def test_notebooks_get_plots_without_requests_and_names_escaped(hostile: Path) -> None:
    for path in (hostile, SAMPLES / "train_mlp", SAMPLES / "host_trace"):
        found = _Tags()
        found.feed(popvision.open(path)._repr_html_())
        assert "svg" in found.tags
        assert not {"script", "img", "link", "iframe", "style", "use", "image"} & set(found.tags)
        assert not found.links
    text = popvision.open(hostile)._repr_html_()
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "\x1b" not in text


def test_terminals_get_no_control_characters(hostile: Path) -> None:
    report = popvision.open(hostile)
    console = Console(file=io.StringIO(), width=200)
    console.print(report)
    for text in (repr(report), console.file.getvalue()):
        assert "100 cycles" in text
        assert "\\x1b[2J" in text
        assert not {"\x1b", "\u202e"} & set(text)


def test_repr_of_a_sample() -> None:
    lines = repr(popvision.open(SAMPLES / "train_mlp")).splitlines()
    assert lines[0].endswith("train_mlp/profile.pop")
    theirs = pva.openReport(str(SAMPLES / "train_mlp" / "profile.pop"))
    assert f"{theirs.execution.totalCycles.total:,} cycles" in lines[2]
    fullest = max(tile.memory.total.excludingGaps for tile in theirs.compilation.tiles)
    assert any(line.strip().startswith("fullest tile") and f"{fullest:,} bytes" in line for line in lines)


def test_a_card_says_what_stands_out() -> None:
    lines = [line.strip() for line in repr(popvision.open(SAMPLES / "train_mlp")).splitlines()]
    found = [line for line in lines if line.startswith("stands out")]
    assert len(found) == 3
    finding = insights(ReportSource(SAMPLES / "train_mlp")).findings[0]
    assert f"Tiles spend {finding.saves:,} cycles copying operands" in found[0]
    assert found[0].endswith(f"(at most {finding.saves:,} cycles, {finding.share:.1%})".replace("%", " %"))


def test_a_card_has_the_units_and_the_colours_of_the_viewer() -> None:
    card = popvision.open(SAMPLES / "train_mlp")._repr_html_()
    assert "in use, without gaps; a tile has 624.0 KiB" in card
    assert "KiB (" in card
    light = (Path(__file__).parents[2] / "webapp" / "assets" / "shared" / "tokens.css").read_text()
    for name, colour in COLOURS.items():
        token = "global" if name == "global exchange" else name
        assert f"--step-{token}-fill: {colour};" in light
        assert colour in card or name == "global exchange"
    assert f"--series-1: {CURVE};" in light
    assert f"--series-2: {LIMIT};" in light
    overfull = popvision.open(SAMPLES / "out_of_memory")._repr_html_()
    assert "up to the highest address; a tile has 624.0 KiB" in overfull


def test_a_curve_longer_than_the_picture_keeps_its_maxima() -> None:
    values = np.zeros(100_000)
    values[77_777] = 5
    text = line_picture(values, "t", "u", ("a", "b"))
    assert len(text) < 40_000
    assert " 28.0 " in text  # the one peak reaches the top


@pytest.fixture(scope="module")
def trace() -> OpenedTrace:
    found = popvision.open(SAMPLES / "host_trace")
    assert isinstance(found, OpenedTrace)
    return found


def test_a_trace_is_that_of_pva(trace: OpenedTrace) -> None:
    theirs = pva.openTrace(str(SAMPLES / "host_trace" / "host_trace.pvti"))

    def walk(event: pva.Event) -> list[tuple[str, str, float]]:
        below = [row for child in event.children() for row in walk(child)]
        return [(event.channel, event.label, event.duration), *below]

    expected = [
        row
        for process in theirs.processes
        for thread in process.threads
        for event in thread.events
        for row in walk(event)
    ]
    table, instants = trace.events(), trace.instants()
    found = list(zip(table.channel, table.label, table.duration_us.astype(int), strict=True))
    found += [(channel, label, 0) for channel, label in zip(instants.channel, instants.label, strict=True)]
    assert len(instants) == trace.threads().instants.sum() > 0
    assert sorted(found) == sorted(expected)
    assert min(table.begin_us.min(), trace.series().time_us.min()) == 0
    assert len(trace.events(1)) == trace.threads().events[1]
    assert trace.statistics()["count"].sum() == len(table)


def test_series_and_heat_maps_of_a_trace(trace: OpenedTrace) -> None:
    series = trace.series()
    assert set(series.series) >= {"Training", "Batch", "Epoch"}
    times, edges, quantities = trace.heatmap(0)
    assert quantities.shape == (len(times), len(edges) + 1)
    assert trace.heatmaps().columns[0] is not None
    assert trace.processes().pid.tolist() == trace.threads().pid.unique().tolist()
    for wrong in (lambda: trace.heatmap(1), lambda: trace.events(9)):
        with pytest.raises(FormatError):
            wrong()


def test_traces_beside_a_report_and_closing() -> None:
    report = popvision.open(SAMPLES / "train_mlp")
    (beside,) = report.traces
    assert beside.facts["run_id"] == report.facts()["Run id"]
    with beside:
        assert beside.duration_us > 0
    with pytest.raises(FormatError, match="was closed"):
        beside.events()
    with pytest.raises(FormatError, match="takes no debug"):
        popvision.open(SAMPLES / "host_trace" / "host_trace.pvti", debug="debug.cbor")
