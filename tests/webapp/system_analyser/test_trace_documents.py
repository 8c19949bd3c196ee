"""`popvision html` of a host trace: its figures against the trace, what confidential files hide, hostile traces."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner

from popvision.analysis.execution.timeline import timeline
from popvision.analysis.report.source import ReportSource
from popvision.analysis.trace.activity import RUN_LABEL
from popvision.analysis.trace.source import TraceSource
from popvision.cli.html import command
from popvision.formats.profile.writer import ProfileWriter
from popvision.formats.pvti.generate import generate_trace
from popvision.formats.pvti.writer import TraceWriter
from tests.analysis.trace.trace_case import make_trace
from tests.reports import tiny_compilation, tiny_run
from webapp.documents.export import ExportError, export_trace

SPANS = [(0, 0, 1_000_000, "app/epoch"), (0, 100_000, 300_000, "app/load"), (1, 500_000, 900_000, "io/write")]


def page_of(source: TraceSource, confidential: bool = False, **params: str) -> str:
    return export_trace(source, params, confidential=confidential).decode()


def rows_of(page: str, title: str) -> list[list[str]]:
    """Cells of the table under a title."""
    section = next(part for part in page.split("<section>") if part.startswith(f"<h2>{title}"))
    rows = re.findall(r"<tr>(.*?)</tr>", section)[1:]
    return [[re.sub("<.*?>", "", cell) for cell in re.findall(r"<td.*?>(.*?)</td>", row)] for row in rows]


def test_figures_are_those_of_the_trace(tmp_path: Path) -> None:
    page = page_of(make_trace(tmp_path / "t.pvti", SPANS, [(1, 600_000, "io/flag")]))
    statistics = {row[0]: row[1:] for row in rows_of(page, "Time of each label")}
    assert statistics["epoch"][:4] == ["app", "1", "1,000.000", "800.000"]
    assert statistics["load"][:4] == ["app", "1", "200.000", "200.000"]
    assert rows_of(page, "Threads") == [["thread 0", "2", "0", "2"], ["thread 1", "1", "1", "1"]]
    assert "1 ms" in page
    assert re.search(r"Events shown</dt><dd>3<", page)


def test_the_drawing_has_each_block_where_it_belongs(tmp_path: Path) -> None:
    """The plot is 920 pixels wide from pixel 170 on: an event from a tenth to three tenths of the time."""
    page = page_of(make_trace(tmp_path / "t.pvti", SPANS))
    assert re.findall(r'd="M170\.0 24h920\.0v15', page)
    assert re.findall(r'd="M262\.0 40h184\.0v15', page)
    assert re.findall(r'd="M630\.0 60h368\.0v15', page)


def test_the_device_lies_under_its_engine_run(tmp_path: Path) -> None:
    """One run of 43 cycles from a tenth to half of the time, under the threads; confidential files hide its names."""
    spans = [(0, 0, 100_000_000, "app/epoch"), (0, 10_000_000, 50_000_000, f"app/{RUN_LABEL}")]
    source = make_trace(tmp_path / "t.pvti", spans)
    run = replace(tiny_run(), name="training", host_start_us=10_000, host_end_us=50_000)
    with ProfileWriter(tmp_path / "profile.pop") as writer:
        writer.write_compilation(tiny_compilation())
        writer.append_run(run)
    report = ReportSource(tmp_path)
    page = export_trace(source, {}, reports=[(0, report)]).decode()
    assert "Engine::run #0 (training), 43 cycles" in page
    assert re.findall(r'd="M262\.0 24h368\.0v15', page)  # 170 + 92, 0.4 x 920
    begin, end = timeline(report, 0).begin[1], timeline(report, 0).end[1]
    x, width = 262 + 368 * float(begin) / 43, 368 * float(end - begin) / 43
    assert f"M{x:.1f} 40h{width:.1f}v15" in page
    assert "never added to host time" in page
    assert "Steps of the device" not in export_trace(source, {"tl_device": "0"}, reports=[(0, report)]).decode()
    hidden = export_trace(source, {}, confidential=True, reports=[(0, report)]).decode()
    assert "training" not in hidden
    assert "run 0, 43 cycles" in hidden


def test_a_window_and_hidden_channels(tmp_path: Path) -> None:
    source = make_trace(tmp_path / "t.pvti", SPANS)
    page = page_of(source, tl_from="400000", tl_to="800000")
    assert re.search(r"Events shown</dt><dd>2<", page)
    assert {row[0] for row in rows_of(page, "Time of each label")} == {"epoch", "write"}
    assert "timeline?tl_from=400000&amp;tl_to=800000" in page
    hidden = source.names.channel_name.index("io")
    assert "1 channels are hidden" in page_of(source, tl_hide=str(hidden))
    # An address of another trace shows everything.
    assert re.search(r"Events shown</dt><dd>3<", page_of(source, tl_from="x", tl_to="-5", tl_hide="99,y"))


def test_a_page_of_two_traces_gives_a_file_of_the_source_that_says_so(tmp_path: Path) -> None:
    source = make_trace(tmp_path / "t.pvti", SPANS)
    sentence = "The page compares two traces; this file shows the source alone."
    assert (sentence in page_of(source, vs="key"), sentence in page_of(source)) == (True, False)


def test_a_confidential_file_holds_no_name(tmp_path: Path) -> None:
    path = tmp_path / "secret-file.pvti"
    writer = TraceWriter(path, {"command": "secret-command --token"}, clock_offset_ns=0)
    with writer.transaction():
        writer.add_process(1, 1, None, "secret-process")
        writer.set_thread(1, 1, 100, "secret-thread")
        writer.set_channel(1, "secret-channel", True)
        writer.add_string(1, "secret-label")
        writer.add_string(2, '{"key": "secret-metadata"}')
        writer.add_site(1, 1, 1, 2)
        writer.add_events(1, [4, 5], [0, 1_000_000])
        writer.add_graph(1, "secret-graph", "secret-unit")
        writer.add_series(1, 1, "secret-line")
        writer.add_samples(1, [0, 500_000], [1.0, 2.0])
    writer.close()
    source = TraceSource(path)
    assert "secret" not in page_of(source, confidential=True)
    assert {"secret-label", "secret-channel", "secret-thread", "secret-graph", "secret-line"} <= set(
        re.findall(r"secret-\w+", page_of(source))
    )
    assert "label 0" in page_of(source, confidential=True)


class Tags(HTMLParser):
    """Names of the elements and of their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    evil = '"><script>alert(1)</script><img src=x onerror=alert(1)>'
    source = make_trace(tmp_path / "t.pvti", [(0, 0, 10**6, f"{evil.replace('/', '')}/{evil.replace('/', '')}")])
    tags = Tags()
    tags.feed(page_of(source))
    assert "img" not in tags.tags
    assert "onerror" not in tags.attributes


def test_an_empty_and_a_large_trace(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "empty.pvti", {}, clock_offset_ns=0)
    writer.close()
    assert "This trace holds no events." in page_of(TraceSource(tmp_path / "empty.pvti"))
    generate_trace(tmp_path / "large.pvti", 200_000, threads=60, seed=2)
    page = page_of(TraceSource(tmp_path / "large.pvti"))
    assert "The drawing shows the 40 threads with most events of 60." in page
    assert len(page) < 8_000_000
    with pytest.raises(ExportError, match="unknown theme"):
        export_trace(TraceSource(tmp_path / "large.pvti"), {}, theme="blue")


def test_the_command(tmp_path: Path) -> None:
    make_trace(tmp_path / "t.pvti", SPANS)
    done = CliRunner().invoke(command, [str(tmp_path / "t.pvti"), "-o", str(tmp_path / "o.html")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "o.html").read_text().startswith("<!DOCTYPE html>")
    wrong = CliRunner().invoke(command, [str(tmp_path / "t.pvti"), "--view", "memory", "-o", "-"])
    assert "is a host trace, which has no view 'memory': use timeline." in str(wrong.exception)
    assert "--view is missing" in CliRunner().invoke(command, [str(tmp_path)]).output
