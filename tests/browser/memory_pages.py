"""A small report with replicas, served and open in headless Chromium: for the memory and liveness pages."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from tests.analysis.memory.memory_case import make_case, write_case
from tests.browser.frame import open_page, until_quiet
from tests.browser.shared_viewer import SharedViewer


@dataclass
class Opened:
    """`sql(query)` asks profile.pop directly; `problems` fills, see `noted_problems`."""

    base: str
    key: str
    path: Path
    page: Page
    problems: list[str]

    def go(self, view: str, query: str = "") -> None:
        open_page(self.page, self.base, f"/r/{self.key}/{view}{'?' + query if query else ''}")

    def sql(self, query: str) -> list[Any]:
        """Rows; a single column comes as plain values."""
        with sqlite3.connect(self.path / "profile.pop") as db:
            rows = db.execute(query).fetchall()
        return [row[0] if len(row) == 1 else row for row in rows]

    def figure(self, plot: str) -> dict[str, list[Any]]:
        """Curves of a plot as drawn: name -> y values without the two outer edges of its steps."""
        self.wait_for_plot(plot)
        found: list[tuple[str, list[Any]]] = self.page.evaluate(
            "id => document.querySelector('#' + id + ' .js-plotly-plot').data"
            ".filter(t => t.name && t.y).map(t => [t.name, Array.from(t.y)])",
            plot,
        )
        return {name: values[1:-1] for name, values in found}

    def point(self, plot: str, position: int) -> tuple[float, float]:
        """Pixel in the middle of a position of a plot."""
        x, y = self.page.evaluate(
            "([id, at]) => { const g = document.querySelector('#' + id + ' .js-plotly-plot');"
            "const box = g.getBoundingClientRect(); const l = g._fullLayout;"
            "return [box.x + l._size.l + l.xaxis.d2p(at), box.y + l._size.t + l._size.h / 2]; }",
            [plot, position],
        )
        return x, y

    def click(self, plot: str, position: int, *, add: bool = False) -> None:
        """Click a position of a plot that is drawn, with Shift to add it; never the second half of a double click. A
        click is of the point that the plot has under the pointer, which it looks up some time after a move."""
        until_quiet(self.page)
        self.page.evaluate("id => { document.querySelector('#' + id + ' .js-plotly-plot')._mouseDownTime = 0; }", plot)
        self.page.mouse.move(*self.point(plot, position))
        self.page.wait_for_function(
            "([id, at]) => (document.querySelector('#' + id + ' .js-plotly-plot')._hoverdata || [])"
            ".some((point) => Math.abs(point.x - at) < 0.5)",
            arg=[plot, position],
        )
        if add:
            self.page.keyboard.down("Shift")
        self.page.mouse.click(*self.point(plot, position))
        if add:
            self.page.keyboard.up("Shift")

    def wait_for_plot(self, plot: str, condition: str = "data.length > 0") -> None:
        """Wait until the plot has data and a JavaScript condition on its `data` and `layout` holds."""
        self.page.wait_for_function(
            f"() => {{ const g = document.querySelector('#{plot} .js-plotly-plot');"
            f"if (!g || !g.data || !g.data.length) return false; const {{data, layout}} = g; return {condition}; }}"
        )

    def wait_for_text(self, selector: str, text: str) -> None:
        self.page.locator(selector, has_text=text).first.wait_for()


def opened(shared: SharedViewer, folder: Path, seed: int = 12) -> Opened:
    """Two replicas of two IPUs with three tiles each."""
    write_case(folder / "case", make_case(seed, ipus=4, tiles_per_ipu=3, replicas=2, indices=12))
    key = shared.show(folder)["case"]
    return Opened(shared.base, key, folder / "case", shared.visit(), shared.problems)
