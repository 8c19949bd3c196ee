"""A generated report with two IPUs, served and open in headless Chromium, and the slow obvious picture of its tiles.

Nothing here asks popvision about the report: figures come from plain SQL, arrays from blobs, colours from tokens.css.
"""

from __future__ import annotations

import base64
import re
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import zstandard
from playwright.sync_api import Page

from popvision.formats.generate.report import Size, generate
from tests.browser.frame import PATIENCE, open_page
from tests.browser.shared_viewer import SharedViewer

TILES, IPUS = 24, 2
_TOKENS = Path(__file__).parents[2] / "webapp" / "assets" / "shared" / "tokens.css"
#: Until no trace moves, misses anything or waits for its selected step, and the page was told of the last movement.
_RESTS = """(patience) => new Promise((resolve, reject) => {
  const end = performance.now() + patience;
  const isPicked = (trace) => !trace.picked || (trace.selected && trace.picked.endsWith(":" + trace.selected.step));
  const look = (due) => {
    const traces = [popvision.execution.current, popvision.execution.target].filter((each) => each);
    const rests = (trace) => due - trace.movedAt > 350 && !trace.loop.frame && isPicked(trace);
    if (traces.length && traces.every((each) => rests(each) && each.host.dataset.state === "complete")) resolve();
    else if (due > end) reject(new Error("the traces do not come to rest"));
    else later();
  };
  const later = () => setTimeout(look, 50, performance.now() + 50); /* timers run in the order in which they are due */
  later();
})"""
_CLASSES = ("compute", "exchange", "global", "host", "wait", "sync")
_CLASS_OF_TYPE = {
    "OnTileExecute": 0,
    "DoExchange": 1,
    "GlobalExchange": 2,
    "StreamCopyMid": 3,
    "StreamCopyBegin": 4,
    "StreamCopyEnd": 5,
    "Sync": 5,
    "Sans": 5,
    "SyncAns": 5,
}


@dataclass
class Opened:
    """`problems` fills, see `noted_problems`."""

    base: str
    key: str
    path: Path
    page: Page
    problems: list[str]

    def go(self, query: str = "") -> None:
        open_page(self.page, self.base, f"/r/{self.key}/execution{'?' + query if query else ''}")
        self.page.wait_for_selector('[data-trace][data-first-complete]:not([data-first-complete=""])')
        self.page.wait_for_load_state("networkidle")
        self.settle()

    def settle(self) -> None:
        """Until nothing visible is missing and the page has followed the window."""
        self.page.evaluate(_RESTS, PATIENCE)

    def sql(self, query: str) -> list[Any]:
        """Rows; a single column comes as plain values."""
        with sqlite3.connect(self.path) as db:
            rows = db.execute(query).fetchall()
        return [row[0] if len(row) == 1 else row for row in rows]

    def params(self) -> dict[str, str]:
        """The query string of the address."""
        found: dict[str, str] = self.page.evaluate("() => Object.fromEntries(new URLSearchParams(location.search))")
        return found

    def view(self) -> dict[str, Any]:
        """Where the drawing is: pitch, first column, width, zoom, bands."""
        found: dict[str, Any] = self.page.evaluate(
            "() => { const t = popvision.execution.current, v = t.viewport;"
            " return {pitch: v.pitch, first: v.first, width: v.width, percent: v.percent, from: v.from, to: v.to,"
            " top: t.view.bandsTop, gutter: popvision.execution.GUTTER, row: popvision.execution.ROW,"
            " scroll: t.bands.scroll, bands: t.bands.list}; }"
        )
        return found

    def view_height(self) -> int:
        """Height of the drawing in pixels."""
        height: int = self.page.evaluate("() => popvision.execution.current.view.height")
        return height

    def pixels(self, x: int, y: int, width: int, height: int) -> Any:
        """Canvas pixels as an array (height, width, 3)."""
        text = self.page.evaluate(
            "([x, y, w, h]) => { const t = popvision.execution.current; t.pointer = null; t.step(performance.now());"
            " const d = t.draw.getImageData(x, y, w, h).data; let s = '';"
            " for (let i = 0; i < d.length; i += 8192) s += String.fromCharCode(...d.subarray(i, i + 8192));"
            " return btoa(s); }",
            [x, y, width, height],
        )
        return np.frombuffer(base64.b64decode(text), np.uint8).reshape(height, width, 4)[:, :, :3]

    def array(self, identity: int) -> list[int]:
        """A stored array, decoded here."""
        with sqlite3.connect(self.path) as db:
            row = db.execute("SELECT dtype, codec, data FROM arrays WHERE id = ?", (identity,)).fetchone()
        data = zstandard.ZstdDecompressor().decompress(row[2]) if row[1] else row[2]
        return [int(value) for value in np.frombuffer(data, "<" + row[0])]

    def cells(self, ipu: int) -> list[tuple[int, int, int, int]]:
        """(class, tile, begin, end) of every interval of an IPU."""
        rows = self.sql(
            "SELECT t.name, b.cycles_base, b.start_array, b.cycles_array FROM steps_by_ipu b"
            " JOIN steps s ON s.id = b.step_id JOIN program_types t ON t.name = s.type"
            f" WHERE b.ipu = {ipu} ORDER BY b.step_id"
        )
        found = []
        for kind, base, start, cycles in rows:
            pairs = zip(self.array(start), self.array(cycles), strict=True)
            found += [(_CLASS_OF_TYPE[kind], tile, base + s, base + s + c) for tile, (s, c) in enumerate(pairs) if c]
        return found


def reference(cells: list[tuple[int, int, int, int]], view: dict[str, Any], rows: int, theme: str) -> Any:
    """Colours (rows, width, 3) of the picture of tiles: each interval cut at each column, shares rounded, and of a
    pixel's classes the one in which the pixel's threshold falls."""
    time = np.zeros((rows, view["width"], 6), np.int64)
    pitch = view["pitch"]
    row_of = [next(r for r in range(rows) if tile < (r + 1) * TILES // rows) for tile in range(TILES)]
    for kind, tile, begin, end in cells:
        left = max(view["first"], begin * 1024 // pitch)
        right = min(view["first"] + view["width"] - 1, (end * 1024 - 1) // pitch)
        for column in range(left, right + 1):
            inside = min(end * 1024, (column + 1) * pitch) - max(begin * 1024, column * pitch)
            time[row_of[tile], column - view["first"], kind] += inside
    fills = [rgb(f"step-{name}-fill", theme) for name in _CLASSES]
    empty = rgb("sunken", theme)
    picture = np.zeros((rows, view["width"], 3), np.uint8)
    for row in range(rows):
        whole = pitch * row_of.count(row)
        for column in range(view["width"]):
            levels = [(62 * int(t) + whole) // (2 * whole) or int(t > 0) for t in time[row, column]]
            threshold = ((view["first"] + column) * 3242174889 + row * 2447445414) % 2**32 >> 16
            is_full = 2 * (31 - sum(levels)) <= np.count_nonzero(levels)
            left, colour = threshold * (sum(levels) if is_full else 31) >> 16, empty
            for level, fill in zip(levels, fills, strict=True):
                if left < level:
                    colour = fill
                    break
                left -= level
            picture[row, column] = colour
    return picture


def rgb(token: str, theme: str) -> list[int]:
    block = _TOKENS.read_text().split(f'html[data-theme="{theme}"]')[1].split("}")[0]
    match = re.search(rf"--{token}: #([0-9a-f]{{6}});", block)
    assert match is not None
    return [int(match[1][at : at + 2], 16) for at in (0, 2, 4)]


def opened(shared: SharedViewer, folder: Path) -> Opened:
    """About 250 steps on two IPUs of 24 tiles."""
    path = folder / "trace" / "profile.pop"
    path.parent.mkdir()
    generate(path, Size(intervals=12_000, tiles=TILES, ipus=IPUS, layers=2, seed=5))
    key = shared.show(folder)["trace"]
    return Opened(shared.base, key, path, shared.visit(1100, 800), shared.problems)
