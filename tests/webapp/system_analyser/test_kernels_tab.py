"""Kernels of PyTorch's profiler on the page, in the document and in answers to agents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from popvision.agents.catalogue import Catalogue
from popvision.agents.tools import find_tool
from popvision.analysis.trace.kernels import FORMULAS
from popvision.answers.page import Page
from tests.analysis.trace.test_kernels import EVENTS, kernel, write
from tests.cli.called import popvision
from webapp.base.library import Library
from webapp.base.view import ViewContext
from webapp.components.table import MOST_ROWS
from webapp.system_analyser.timeline.kernels_tab import HEADINGS
from webapp.system_analyser.timeline.tabs import tab_content


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return write(tmp_path / "rank.json", EVENTS, 1)


def shown(path: Path) -> str:
    library = Library([path])
    key = next(entry.key for entry in library.entries() if entry.path == path)
    content: Any = tab_content(ViewContext(key, library.trace(key), library=library), "kernels")
    return json.dumps(content.to_plotly_json(), ensure_ascii=False, default=lambda value: value.to_plotly_json())


def test_the_tab_has_each_table_and_each_formula(trace: Path) -> None:
    content = shown(trace)
    for words in (*HEADINGS.values(), "matmul", "(all communication)"):
        assert words in content
    assert [formula for formula in FORMULAS.values() if formula not in content] == []


def test_a_trace_without_kernels_says_so(tmp_path: Path) -> None:
    assert "has no kernels of an accelerator" in shown(write(tmp_path / "t.json", EVENTS[-1:]))


def test_kernels_of_more_names_than_a_table_holds_are_cut(tmp_path: Path) -> None:
    events = [kernel(at, at + 1 + at / 1e3, 7, f"kernel {at}.", at) for at in range(MOST_ROWS + 2)]
    content = shown(write(tmp_path / "t.json", events))
    assert "The first 5,000 of 5,002 rows, by time." in content
    assert ("kernel 5001." in content, "kernel 0." in content) == (True, False)


def test_the_document_has_them(trace: Path, tmp_path: Path) -> None:
    assert popvision("html", trace, "-o", tmp_path / "t.html").returncode == 0
    document = (tmp_path / "t.html").read_text()
    for words in (*HEADINGS.values(), FORMULAS["host_us"]):
        assert words in document
    assert popvision("html", trace, "-o", tmp_path / "c.html", "--confidential").returncode == 0
    assert "matmul" not in (tmp_path / "c.html").read_text()


def test_agents_ask_for_them(trace: Path) -> None:
    popvision("trace", "import", trace, "-o", trace.with_suffix(".pvti"))
    catalogue = Catalogue([trace.parent])
    (name,) = catalogue.traces
    tool = find_tool("trace_kernels")
    answer = tool.answer(catalogue, {"report": name, "show": "idle", "name": ""}, Page())
    assert (answer["rows"][0]["rank"], answer["rows"][0]["communication_us"]) == (1, 20)
