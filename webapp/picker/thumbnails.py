"""Thumbnails of the first page: a trace, memory by category, a difference, as images of 320 x 150 pixels.

They are drawn from the sample reports with the analyses and colours of the views that they open. The browser asks for
them after the page is there, in its theme, and keeps them for an hour; the page itself opens no report for them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from dash import html
from dash.development.base_component import Component
from flask import Flask, Response, abort, request

from popvision.analysis.compare.what_changed import waterfalls
from popvision.analysis.memory.usage import breakdown
from popvision.analysis.report.source import ReportSource
from webapp.base.library import Entry, Library
from webapp.base.theme import THEMES, tokens
from webapp.components.attributes import attributes
from webapp.documents.pictures import bsp_picture
from webapp.graph_analyser.plots.category_colours import part_colour

WIDTH, HEIGHT = 320, 150

#: Columns of the picture of memory: a column has the mean of its tiles.
_COLUMNS = 160

#: Bars of the picture of a difference.
_MOST_BARS = 7


@dataclass(frozen=True)
class Thumbnail:
    """A picture of a sample report and the page that it opens. `state` is what is selected there, `against` the sample
    that it is compared with."""

    name: str
    title: str
    about: str
    report: str
    view: str
    state: str
    against: str = ""


THUMBNAILS = (
    Thumbnail(
        "trace",
        "Where the time goes",
        "Each tile over device cycles; opens at the longest step",
        "matmul_chain",
        "execution",
        "step=19",
    ),
    Thumbnail(
        "memory",
        "What fills the memory",
        "Bytes of each tile by category; opens at the fullest tile",
        "matmul_chain",
        "memory",
        "tiles=0&mem_by=category",
    ),
    Thumbnail(
        "difference",
        "What changed",
        "Device cycles by phase, the model against a run on simulated hardware with fewer tiles; opens the comparison",
        "matmul_chain",
        "summary",
        "tiles=0",
        "matmul_chain_hardware",
    ),
)


def thumbnails(library: Library) -> list[Component]:
    """The links with their pictures; none where the samples are not installed."""
    samples = {each.path.name: each for each in library.entries() if each.path.parent == library.samples}
    return [
        _link(each, samples)
        for each in THUMBNAILS
        if each.report in samples and (not each.against or each.against in samples)
    ]


def _link(shown: Thumbnail, samples: dict[str, Entry]) -> Component:
    key = samples[shown.report].key
    other = samples[shown.against].key if shown.against else ""
    href = f"/r/{key}/{shown.view}?{shown.state}" + (f"&vs={other}" if other else "")
    address = f"/data/{key}/thumbnail/{shown.name}?theme=%s" + (f"&vs={other}" if other else "")
    # Backgrounds: the browser asks for that of the theme it shows, and for none before it has drawn the page.
    pictures = [
        html.Span(className=f"thumbnail-picture only-{theme}", style={"backgroundImage": f"url('{address % theme}')"})
        for theme in THEMES
    ]
    badge = html.Span("sample", className="badge", title=f"The sample {shown.report}, shipped with PopVision")
    text = [html.Strong([shown.title, " ", badge]), html.Span(shown.about, className="dim")]
    return html.A([*pictures, *text], href=href, className="thumbnail", **attributes(data_nav="to"))


def register(server: Flask, library: Library) -> None:
    """The route of the pictures: `/data/<key>/thumbnail/<name>?theme=dark[&vs=<key>]`."""

    @server.get("/data/<key>/thumbnail/<name>")
    def thumbnail(key: str, name: str) -> Response:
        theme = request.args.get("theme", "light")
        if name not in {each.name for each in THUMBNAILS} or theme not in THEMES:
            abort(404)
        source = library.report(key)
        draw: Callable[[], tuple[bytes, str]] = partial(_drawn, source, name, theme)
        if name == "difference":
            draw = partial(_difference, source, library.report(request.args.get("vs", "")), theme)
        content, mimetype = draw()
        response = Response(content, mimetype=mimetype)
        response.headers["Cache-Control"] = "private, max-age=3600"
        return response


def _drawn(source: ReportSource, name: str, theme: str) -> tuple[bytes, str]:
    if name == "memory":
        return _memory(source, theme)
    length = int(source.reader.total_cycles() or 1)
    return source.kept.once(("thumbnail", "trace"), lambda: bsp_picture(source, 0, 0, length)[0]), "image/png"


def _memory(source: ReportSource, theme: str) -> tuple[bytes, str]:
    """Categories above each other, tiles to the right, up to the fullest column."""
    parts = breakdown(source, "category")
    tiles = len(parts.values[0]) if parts.values else 0
    starts = np.unique(np.linspace(0, tiles, min(tiles, _COLUMNS), endpoint=False).astype(np.int64))
    counts = np.diff(np.append(starts, tiles))
    layers = [np.add.reduceat(values, starts) / counts for values in parts.values] if tiles else []
    top = max(float(np.sum(layers, axis=0).max(initial=0)), 1.0) if layers else 1.0
    edges = WIDTH * np.append(starts, tiles) / max(tiles, 1)
    below = np.zeros(len(starts))
    drawn = []
    for key, values in zip(parts.keys, layers, strict=True):
        above = below + values
        drawn.append(f'<path fill="{part_colour(key, theme)}" d="{_band(edges, below / top, above / top)}"/>')
        below = above
    return _svg(drawn)


def _band(edges: np.ndarray, below: np.ndarray, above: np.ndarray) -> str:
    """Steps along the upper values, and back along the lower ones; values 0..1."""
    there = [f"{x0:.1f} {HEIGHT * (1 - y):.1f}H{x1:.1f}" for x0, x1, y in zip(edges, edges[1:], above, strict=False)]
    back = [f"{x1:.1f} {HEIGHT * (1 - y):.1f}H{x0:.1f}" for x0, x1, y in zip(edges, edges[1:], below, strict=False)]
    return "M" + "L".join([*there, *back[::-1]]) + "Z"


def _difference(source: ReportSource, target: ReportSource, theme: str) -> tuple[bytes, str]:
    """The first waterfall of two reports: signed bars from the middle, the last one their sum."""
    parts = next((each for each in waterfalls(source, target) if each.parts), None)
    if parts is None:
        return _svg([])
    colours = tokens(theme)
    shown = [*parts.with_at_most(_MOST_BARS - 1).parts, parts.total]
    largest = max(abs(each.difference) for each in shown) or 1
    pitch, middle = HEIGHT / len(shown), WIDTH / 2
    drawn = [f'<path stroke="{colours["line-strong"]}" d="M{middle} 0V{HEIGHT}"/>']
    for at, part in enumerate(shown):
        width = middle * abs(part.difference) / largest
        left = middle if part.difference > 0 else middle - width
        fill = colours["diff-more" if part.difference > 0 else "diff-less"]
        box = f'x="{left:.1f}" y="{at * pitch + 3:.1f}" width="{width:.1f}" height="{pitch - 6:.1f}"'
        drawn.append(f'<rect fill="{fill}" {box}/>')
    return _svg(drawn)


def _svg(parts: list[str]) -> tuple[bytes, str]:
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(parts)}</svg>'.encode(), "image/svg+xml"
