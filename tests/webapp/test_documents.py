"""A view as one HTML file: its numbers, its silence towards the network, names as text, names left out."""

from __future__ import annotations

import dataclasses
import re
import sqlite3
import struct
import zlib
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.exchange.matrix import matrix_of
from popvision.analysis.exchange.table import exchange_programs_table
from popvision.analysis.insights.rules import insights
from popvision.analysis.liveness.curve import curve
from popvision.analysis.report.source import ReportSource
from popvision.cli.html import command
from popvision.formats.debug_info import DebugInfo, SourceText, write_debug_info
from popvision.formats.profile.writer import ProfileWriter
from tests.reports import tiny_compilation, tiny_run, write_tiny
from tests.samples import SAMPLES
from webapp.documents.charts import round_positions
from webapp.documents.confidential import Names
from webapp.documents.document import Document, Facts, Field, Note, Table
from webapp.documents.export import DOCUMENTS, ExportError, export_document
from webapp.documents.page import MOST_BYTES, safe_text, write_page
from webapp.documents.pictures import matrix_png, matrix_scale

HOSTILE = '</style></script><script>alert(1)</script>"><img src=x onerror=alert(2)>\u202e=cmd()' + "x" * 9_900


NAME = "privateName"


class Tags(HTMLParser):
    """Names of the elements, and the text outside of scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self._pieces: list[str] = []
        self.feed(page)
        self.text = "".join(self._pieces)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self._pieces.append(data)


def write_named(folder: Path, name: str) -> Path:
    """The tiny report in which everything that has a name has this one."""
    found = tiny_compilation()
    assert found.variables is not None
    folder.mkdir()
    with ProfileWriter(folder / "profile.pop") as writer:
        writer.write_compilation(
            dataclasses.replace(
                found,
                programs=dataclasses.replace(found.programs, name=[f"{name}{i}" for i in range(4)]),
                compute_sets=dataclasses.replace(found.compute_sets, name=[name]),
                vertex_types=dataclasses.replace(found.vertex_types, name=[name]),
                variables=dataclasses.replace(found.variables, name=[f"{name}{i}" for i in range(3)]),
                lowered_names=[f"{name}{i}" for i in range(3)],
                meta={**found.meta, "engineName": name, "engineOptions": {"autoReport.directory": name}},
            )
        )
        writer.append_run(dataclasses.replace(tiny_run(), name=name))
    file = f"/{name}/train.py"
    contexts = [
        DebugInfo(1, (), name, name, {name: name}, {}, file, 2),
        DebugInfo(2, (1,), name, name, {}, {}, file, 3),
    ]
    text = SourceText(file, f"import {name}\n\t{name} = 1\n{name}()\n")
    write_debug_info(folder, contexts, "tiny-run", sources=[text])
    return folder


def page_of(folder: Path, view: str, *, confidential: bool = False, theme: str = "both") -> str:
    source = ReportSource(folder, salvage=True)
    params = {"tiles": "0", "liveness": "1", "mem_vars": "private", "src_line": "3", "src_file": f"/{NAME}/train.py"}
    return export_document(source, view, params, confidential=confidential, theme=theme).decode("utf-8")


@pytest.mark.parametrize(
    ("view", "query", "text"),
    [
        ("summary", "select sum(cycles) from runs", "Total device cycles{:,}"),
        ("memory", "select sum(excluding_gaps) from memory_by_tile", "Excluding gaps{0:,} B{0:,} B"),
        ("liveness", "select max(bytes) from liveness", "Peak{} B"),
        ("program_tree", "select count(*) from steps where program = 1", "layer/matmul3636{:,}"),
        ("execution", "select sum(cycles) from execution_cycle_totals", "Device cycles{:,}"),
        ("exchange", "select sum(data_in) from steps_by_ipu", "{:,} B"),
    ],
)
def test_numbers_are_those_of_the_database(tmp_path: Path, view: str, query: str, text: str) -> None:
    path = write_tiny(tmp_path / "tiny")
    with sqlite3.connect(path) as db:
        number = int(db.execute(query).fetchone()[0])
    if view == "liveness":
        number += 400  # always live, four tiles of 100 B
    assert text.format(number) in Tags(page_of(tmp_path / "tiny", view)).text


@pytest.mark.parametrize("view", DOCUMENTS)
def test_names_are_text_and_nothing_is_loaded(tmp_path: Path, view: str) -> None:
    page = page_of(write_named(tmp_path / "a", HOSTILE), view)
    parsed = Tags(page)
    assert parsed.tags.count("script") == 1
    assert set(parsed.tags) & {"link", "iframe", "object", "base", "form", "video"} == set()
    assert all("data:" in each for each in re.findall(r"<img[^>]*", page))
    assert not re.search(r"(src|href|url)\s*[=(]\s*[\"']?(https?:)?//", page)
    assert "default-src 'none'" in unescape(page)
    assert len(page) < 600_000
    assert "alert(1)" in parsed.text  # shown, as text


@pytest.mark.parametrize("view", DOCUMENTS)
def test_confidential_pages_hold_no_name(tmp_path: Path, view: str) -> None:
    folder = write_named(tmp_path / "private-folder", NAME)
    page = page_of(folder, view, confidential=True)
    assert "private" not in page.lower()
    assert str(tmp_path) not in page
    assert NAME in page_of(folder, view)


def test_stand_ins_are_the_same_in_every_view(tmp_path: Path) -> None:
    folder = write_named(tmp_path / "a", "n")
    for view in ("program_tree", "execution"):
        assert "program 1<" in page_of(folder, view, confidential=True)
    assert "variable 1<" in page_of(folder, "liveness", confidential=True)


def test_a_damaged_report_says_what_was_lost(tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "a")
    with sqlite3.connect(path) as db:
        db.execute("UPDATE memory_by_tile SET total = 7")
    text = Tags(page_of(tmp_path / "a", "memory")).text
    assert "This report is damaged" in text
    assert "table memory_by_tile is damaged" in text
    assert "7 B" not in text
    assert str(tmp_path) not in text


def test_themes(tmp_path: Path) -> None:
    write_tiny(tmp_path / "a")
    both, dark = (page_of(tmp_path / "a", "summary", theme=each) for each in ("both", "dark"))
    assert 'id="theme"' in both
    assert "prefers-color-scheme" in both
    assert 'id="theme"' not in dark
    assert "color-scheme:dark" in dark


def test_text_is_made_harmless() -> None:
    assert safe_text("a\0b\nc\x9f\ud800") == "a\u2400b\u240ac\ufffd\ufffd"
    assert safe_text("y" * 10_000).endswith("(10,000 characters)")


def test_the_overview_has_findings_with_their_places() -> None:
    source = ReportSource(SAMPLES / "train_mlp")
    finding = insights(source).findings[0]
    copying = f"Tiles spend {finding.saves:,} cycles copying operands"
    page = export_document(source, "overview", {}).decode()
    assert copying in page
    assert "layer1/updateWeights/ScaledAdd/PreArrange-0" in page
    assert "Who makes the tiles wait" in page
    fewer = export_document(source, "overview", {"dismissed": finding.key}).decode()
    assert copying not in fewer
    assert "Findings that are dismissed: 1." in fewer
    hidden = export_document(source, "overview", {}, confidential=True).decode()
    assert f"{finding.saves:,} cycles" in hidden
    assert "ScaledAdd" not in hidden
    assert "train_mlp.py" not in hidden


def test_the_command_writes_one_file(tmp_path: Path) -> None:
    write_tiny(tmp_path / "a")
    done = CliRunner().invoke(command, [str(tmp_path / "a"), "--view", "memory", "-o", str(tmp_path / "o.html")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "o.html").read_text().startswith("<!DOCTYPE html>")
    with pytest.raises(ExportError, match="use one of overview, summary, memory"):
        page_of(tmp_path / "a", "nothing")


def test_lines_of_a_source_file(tmp_path: Path) -> None:
    folder = write_named(tmp_path / "a", NAME)
    with sqlite3.connect(folder / "profile.pop") as db:
        cycles = db.execute("select sum(cycles) from steps_by_ipu join steps on step_id = id where program = 1")
        expected = cycles.fetchone()[0]
    page = page_of(folder, "source")
    rows = [re.sub("<[^>]+>", "|", each) for each in re.findall(r"<tr>.*?</tr>", page)]
    line = next(each for each in rows if f"{NAME}()" in each)
    assert re.findall(r"[^|]+", line)[:2] == ["3", f"{expected:,}"]
    assert f"        {NAME} = 1" in page  # a tab
    hidden = Tags(page_of(folder, "source", confidential=True)).text
    assert "Lines of file 0" in hidden
    assert f"{expected:,}" in hidden
    assert "Texts are omitted" in hidden


def test_a_file_without_lines_says_which_option_records_them(tmp_path: Path) -> None:
    write_tiny(tmp_path / "a")
    assert "autoReport.outputDebugInfo=true" in page_of(tmp_path / "a", "source")


@pytest.mark.parametrize(("view", "key"), [("memory", "mem_graph=map"), ("liveness", "live_graph=heat")])
def test_a_map_is_said_to_be_another_graph(tmp_path: Path, view: str, key: str) -> None:
    write_tiny(tmp_path / "a")
    source = ReportSource(tmp_path / "a")
    page = export_document(source, view, dict([key.split("=")])).decode()
    assert "; this file shows " in page
    assert "; this file shows " not in export_document(source, view, {}).decode()


def test_a_file_that_grows_too_large_is_cut_and_says_so(tmp_path: Path) -> None:
    write_tiny(tmp_path / "a")
    names = Names(ReportSource(tmp_path / "a"), confidential=False)
    rows = [{"text": "\u20ac" * 200}] * 40_000
    table = Table("Big", [Field("text", "Text", "code")], rows)
    facts = Facts([("a", "b", "x" * 200)] * 900, "Many")
    document = Document("View", "report", [], [table, facts, Note("short")], ["lost"] * 5_000)
    page = write_page(document, names)
    assert len(page.encode()) <= MOST_BYTES
    text = Tags(page).text
    shown = int(text.split("the first ")[1].split(" of 40,000 rows")[0].replace(",", ""))
    assert shown == page.count('<td class="code">') < 40_000
    assert "An exported file has at most 8 MB" in text
    assert "Omitted: Many." in text
    assert "short" in text
    whole = write_page(Document("View", "report", [], [facts]), names)
    assert "at most" not in whole


@given(st.integers(0, 10**12), st.integers(1, 10**9))
def test_ticks_stand_at_round_numbers(first: int, count: int) -> None:
    places = round_positions(first, count)
    assert len(places) <= 10
    assert len(places) >= 2 or count < 10
    steps = {after - before for before, after in pairwise(places)}
    assert len(steps) <= 1
    for step in steps:
        assert str(step).rstrip("0") in ("1", "2", "5")
        assert all((first + place) % step == 0 for place in places)


def test_execution_has_the_flame_graph_of_the_page() -> None:
    source = ReportSource(SAMPLES / "matmul_chain")
    page = export_document(source, "execution", {}).decode()
    titles = [unescape(each) for each in re.findall(r"<g><title>(.*?)</title>", page)]
    length = source.reader.total_cycles()
    products = [each for each in titles if each.startswith(("m4/Conv_1,", "m5/Conv_1,"))]
    assert len(products) == 2
    assert sum(int(each.split(", ")[1].split(" ")[0].replace(",", "")) for each in products) < length
    labels = re.findall(r'<text class="bar-label[^>]*>(.*?)</text>', page)
    assert {"m4/Conv_1", "Convolve", "OnTileExecute"} <= set(labels)
    begin, end = 8_464, 18_819  # the longest step
    window = export_document(source, "execution", {"sel": f"{begin}-{end}"}).decode()
    assert "Flame graph of IPU 0" in window


def test_summary_has_the_bar_of_the_page() -> None:
    page = export_document(ReportSource(SAMPLES / "matmul_chain"), "summary", {}).decode()
    section = page[page.index("Where the time goes") :]
    widths = [float(each) for each in re.findall(r'<rect class="bar-edge" x="[\d.]+" y="2" width="([\d.]+)"', section)]
    assert sum(widths) == pytest.approx(1_100, abs=0.5)
    assert "Compute 55.09 %" in section


def test_exchange_has_the_matrix_of_the_page() -> None:
    source = ReportSource(SAMPLES / "train_mlp")
    program = int(exchange_programs_table(source)["program"][0])
    matrix = matrix_of(source, program, "software")
    size, largest = matrix_scale(matrix)
    png = matrix_png(matrix, size, largest)
    assert (size, largest) == (1, int(matrix.messages.bytes.max()))
    width, height = struct.unpack(">II", png[16:24])
    assert width == height == matrix.tiles == 64
    data = png[png.index(b"IDAT") + 4 : png.index(b"IEND") - 8]
    rows = (
        np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, 1 + 4 * width)[:, 1:].reshape(height, width, 4)
    )
    cells = {(int(s), int(d)) for s, d in zip(matrix.messages.src, matrix.messages.dst, strict=True)}
    assert {(int(y), int(x)) for y, x in np.argwhere(rows[..., 3])} == cells
    page = export_document(source, "exchange", {"program": str(program)}).decode()
    assert f"Bytes between tiles, program {program}" in page


def test_curves_are_areas_that_say_their_values() -> None:
    source = ReportSource(SAMPLES / "matmul_chain")
    page = export_document(source, "liveness", {}).decode()
    line = curve(source)
    top = int(line.not_always_live.argmax())
    readings = [unescape(each) for each in re.findall(r'class="reading"[^>]*><title>(.*?)</title>', page)]
    assert len(readings) == len(line.not_always_live)
    assert readings[top].startswith(f"liveness index {top}: Not always live, on top of always live 57.1 MiB")
    assert page.index('path class="area series-2"') < page.index('path class="area series-1"')


def test_the_picture_of_tiles_has_two_axes_and_says_its_shares() -> None:
    source = ReportSource(SAMPLES / "matmul_chain")
    page = export_document(source, "execution", {}).decode()
    picture = page[page.index("Tiles of IPU 0 over time") :]
    picture = picture[: picture.index("</svg>")]
    ticks = re.findall(r'<text class="tick end"[^>]*>([\d,]+)</text>', picture)
    assert ticks == ["0", "200", "400", "600", "800", "1,000", "1,200", "1,400"]
    assert ">Tile</text>" in picture
    readings = re.findall(r"<title>(Tiles .*?)</title>", picture)
    assert len(readings) == 80 * 8
    assert readings[0].startswith("Tiles 0 to 183, cycles 0 to 429: ")
    assert readings[-1].startswith("Tiles 1,288 to 1,471, cycles ")
    for reading in readings:
        shares = [float(each) for each in re.findall(r"([\d.]+)%", reading)]
        assert sum(shares) <= 100.5
    whole = [reading for reading in readings if reading.endswith(": compute 100.0%")]
    assert len(whole) > 100  # the product's convolve takes a third of the run on all tiles


def test_code_that_is_not_recorded_is_no_figure_of_0_bytes() -> None:
    note = "Code: not recorded. This report holds no code sizes"
    model = Tags(export_document(ReportSource(SAMPLES / "matmul_chain"), "exchange", {}).decode()).text
    assert note in model
    hardware = Tags(export_document(ReportSource(SAMPLES / "matmul_chain_hardware"), "exchange", {}).decode()).text
    assert note not in hardware


def test_programs_that_did_not_run_have_no_figure_of_0_cycles() -> None:
    page = Tags(export_document(ReportSource(SAMPLES / "out_of_memory"), "program_tree", {}).decode()).text
    assert "No run was recorded: the program does not fit into the memory of the tiles, so it cannot run." in page
