"""A window of a host trace as SVG: a row per lane with the blocks of its events, the device below, and line graphs.

Blocks of one channel and lane are one path, so that a lane of 600 blocks takes some 12 kB.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from popvision.analysis.execution.bars import bars_in_window
from popvision.analysis.execution.raster import CLASSES, GRAIN, LEVELS, Grid
from popvision.analysis.execution.timeline import TYPE_NAMES
from popvision.analysis.trace.columns import HostTrace, Lane
from popvision.analysis.trace.drawing import blocks_in, instants_in, samples_in
from webapp.base.arrays import AnyArray
from webapp.base.formats import seconds_text
from webapp.base.theme import STEP_FAMILY, tokens
from webapp.documents.confidential import Names
from webapp.documents.page import safe_text
from webapp.system_analyser.timeline.channel_colours import channel_colour, channel_pattern
from webapp.system_analyser.timeline.device_rows import DrawnDevice
from webapp.system_analyser.timeline.difference_flame import DifferenceBlock
from webapp.system_analyser.timeline.measured import length_text

WIDTH, LEFT, RIGHT, ROW = 1100, 170, 10, 16
_HEAD, _GRAPH = 24, 90
_PLOT = WIDTH - LEFT - RIGHT

#: Blocks of a lane are merged below this share of the plot's width.
_BLOCKS = 600

#: Channels with a key.
_MOST_KEYS = 400

#: Strokes of the patterns of channels past the eighth, in a square of 8 pixels, by `channel_pattern`.
_PATTERNS = (
    "",
    "M-2 10L10 -2M-2 2L2 -2M6 10L10 6",
    "M1 1h2v2h-2zM5 5h2v2h-2z",
    "M-2 -2L10 10M6 -2L10 2M-2 6L2 10",
    "M0 2h8M0 6h8",
    "M0 1h8M1 0v8",
)

#: What the classes of a step are called.
_CLASS_TEXTS = ("compute", "exchange", "global exchange", "host transfer", "waiting for host", "sync")

#: Pixels of a block from which on its pattern shows.
_PATTERNED = 4

#: Pixels of a block with a label, and of a character of it.
_LABEL, _CHARACTER = 34, 6.2


@dataclass(frozen=True)
class Window:
    """The time shown, ns since the epoch, of a trace without some channels."""

    source: HostTrace
    begin: int
    end: int
    hidden: frozenset[int]

    def x(self, time: AnyArray) -> AnyArray:
        """Pixels from the left of the drawing, clipped to the window."""
        share = (np.clip(time, self.begin, self.end) - self.begin) / max(1, self.end - self.begin)
        return np.asarray(LEFT + _PLOT * share)

    def visible_lanes(self, thread: int) -> list[Lane]:
        """A thread's lanes that have an event in the window."""
        lanes = self.source.lanes_without(thread, self.hidden)
        return [lane for lane in lanes if np.subtract(*lane.between(self.begin, self.end))]


def flames_svg(window: Window, threads: Sequence[int], names: Names) -> str:
    """The lanes of some threads under a time axis."""
    parts: list[str] = []
    top = _HEAD
    files = window.source.files
    for thread in threads:
        row = window.source.threads[thread].row
        name = names.show("thread", row.name or str(row.tid))
        if len(files) > 1:  # the table of threads says which file a number is
            name = f"{next(number for number, file in enumerate(files, 1) if thread in file.threads)}: {name}"
        parts.append(_text(4, top + 12, _shortened(name, LEFT - 12), "tick"))
        lanes = window.visible_lanes(thread)
        for lane in lanes:
            parts.extend(_lane(window, lane, top, names))
            top += ROW
        top += _marks(window, thread, top, parts)
        top += 4
    axis = _axis(window, top)
    definitions = _pattern_definitions(np.unique(window.source.names.channel))
    return _svg(f"Events of each thread over {window.source.clock}", top + 4, [definitions, *axis, *parts])


def difference_svg(blocks: Sequence[DifferenceBlock], names: Names) -> str:
    """The differential flame graph; labels as `names` shows them."""
    parts: list[str] = []
    for block in blocks:
        left, width, top = WIDTH * block.left, max(0.7, WIDTH * block.width), 4 + ROW * block.depth
        kind = "diff-more" if block.change > 0 else "diff-less"
        label = names.show("label", block.label)
        title = escape(safe_text(block.title if label == block.label else label))
        place = f'x="{left:.1f}" y="{top}" width="{width:.1f}" height="{ROW - 1}"'
        colour = f'fill-opacity="{block.strength / 100}" stroke="currentColor" stroke-opacity="0.2"'
        parts.append(f'<rect class="{kind}" {colour} {place}><title>{title}</title></rect>')
        shown = _shortened(block.text.replace(block.label, label, 1), width - 6) if width >= _LABEL else ""
        if shown:
            parts.append(_text(left + 3, top + 12, shown, "axis"))
    depth = 1 + max((block.depth for block in blocks), default=0)
    return _svg("Calls of both traces, coloured by the difference", 8 + ROW * depth, parts)


def devices_svg(window: Window, devices: Sequence[DrawnDevice], names: Names) -> str:
    """Runs and steps of each IPU under the host's time axis, each run over its `Engine::run`; steps narrower than a
    pixel as one column of the shares of their phases."""
    parts: list[str] = []
    begin, end = window.begin - window.source.begin, window.end - window.source.begin
    pitch = -(-(end - begin) * GRAIN // _PLOT)
    grid = Grid(pitch, begin * GRAIN // pitch, _PLOT + 1)
    top = _HEAD
    for device in devices:
        title = f"IPU {device.strip.ipu} {names.show('report', device.report)}"
        parts.append(_text(4, top + 12, _shortened(title, LEFT - 12), "tick"))
        for run, left, right in _runs_in(window, device):
            fill, ink = (tokens("light")[f"step-run-{part}"] for part in ("fill", "ink"))
            parts.append(f'<path fill="{fill}" d="{_boxes(np.array([left]), np.array([right - left]), top)}"/>')
            text = names.show("run", device.names[run])
            text = _shortened(
                f"{text}, {int(device.strip.cycles[device.strip.run == run][0]):,} cycles", right - left - 6
            )
            parts.append(f'<text x="{left + 3:.1f}" y="{top + 12}" font-size="10" fill="{ink}">{escape(text)}</text>')
        top += ROW
        parts.extend(_steps(window, device, grid, top))
        top += ROW + 6
    return _svg("Steps of the device, each run over its Engine::run", top + 4, [*_axis(window, top), *parts])


def _runs_in(window: Window, device: DrawnDevice) -> Iterator[tuple[int, float, float]]:
    """(run, left, right) of the runs in the window that are a pixel wide or more."""
    left, right = (window.x(each + window.source.begin) for each in (device.runs.begin, device.runs.end))
    for row in np.flatnonzero(right - left >= 1).tolist():
        yield int(device.strip.run[row]), float(left[row]), float(right[row])


def _steps(window: Window, device: DrawnDevice, grid: Grid, top: int) -> Iterator[str]:
    bars, merged = bars_in_window([device.steps], grid)
    left, right = (window.x(each + window.source.begin) for each in (bars.begin, bars.end))
    boxes: dict[str, list[str]] = {}
    for x, stop, kind in zip(left.tolist(), right.tolist(), bars.kind.tolist(), strict=True):
        family = STEP_FAMILY.get(TYPE_NAMES[kind], "other")
        boxes.setdefault(family, []).append(f"M{x:.1f} {top}h{stop - x:.1f}v{ROW - 1}h-{stop - x:.1f}z")
    at = (merged.column.astype(np.int64) + grid.first) * grid.pitch // GRAIN + window.source.begin
    for x, shares in zip(window.x(at).tolist(), merged.shares.tolist(), strict=True):
        foot = float(top + ROW - 1)
        for number, family in enumerate(CLASSES):
            height = (ROW - 1) * (shares >> (5 * number) & LEVELS) / LEVELS
            foot -= height
            if height:
                boxes.setdefault(family, []).append(f"M{x:.1f} {foot:.1f}h1v{height:.1f}h-1z")
    for family, paths in boxes.items():
        yield f'<path fill="{tokens("light")[f"step-{family}-fill"]}" d="{"".join(paths)}"/>'


def device_legend_svg() -> str:
    """The colours of the phases."""
    parts = []
    for place, (family, text) in enumerate(zip(CLASSES, _CLASS_TEXTS, strict=True)):
        x = 150 * place
        parts.append(f'<rect x="{x}" y="4" width="11" height="11" fill="{tokens("light")[f"step-{family}-fill"]}"/>')
        parts.append(_text(x + 16, 14, text, "tick"))
    return _svg("Colours of the phases", 24, parts)


def _lane(window: Window, lane: Lane, top: int, names: Names) -> Iterator[str]:
    blocks = blocks_in(lane, window.begin, window.end, _BLOCKS)
    left, right = window.x(blocks.start), window.x(blocks.end)
    width = np.maximum(right - left, 0.7)
    channel = window.source.names.channel[blocks.name]
    for number in np.unique(channel).tolist():
        rows = np.flatnonzero(channel == number)
        yield f'<path fill="{channel_colour(number, "light")}" d="{_boxes(left[rows], width[rows], top)}"/>'
        wide = rows[width[rows] >= _PATTERNED]
        if channel_pattern(number) and len(wide):
            yield f'<path fill="{_pattern_fill(number)}" d="{_boxes(left[wide], width[wide], top)}"/>'
    for row in np.flatnonzero((width >= _LABEL) & (blocks.count == 1)).tolist():
        label = names.show("label", window.source.names.label[int(blocks.name[row])])
        shown = _shortened(label, float(width[row]) - 6)
        if shown:
            number = int(channel[row])
            halo = f' paint-order="stroke" stroke-width="4" stroke="{channel_colour(number, "light")}"'
            halo = halo if channel_pattern(number) else ""
            place = f'x="{left[row] + 3:.1f}" y="{top + 12}" font-size="10" fill="#000000"'
            yield f"<text {place}{halo}>{escape(shown)}</text>"


def _boxes(left: AnyArray, width: AnyArray, top: int) -> str:
    return "".join(
        f"M{x:.1f} {top}h{w:.1f}v{ROW - 1}h-{w:.1f}z" for x, w in zip(left.tolist(), width.tolist(), strict=True)
    )


def _pattern_fill(channel: int) -> str:
    return f"url(#channel-pattern-{channel_pattern(channel)})"


def _pattern_definitions(channels: AnyArray) -> str:
    """The patterns that these channels use; they serve the legend too."""
    used = sorted({channel_pattern(number) for number in channels.tolist()} - {0})
    patterns = [
        f'<pattern id="channel-pattern-{number}" width="8" height="8" patternUnits="userSpaceOnUse">'
        f'<path d="{_PATTERNS[number]}" stroke="#10131a" stroke-opacity="0.5" stroke-width="1.2" fill="none"/>'
        "</pattern>"
        for number in used
    ]
    return f"<defs>{''.join(patterns)}</defs>" if patterns else ""


def _marks(window: Window, thread: int, top: int, parts: list[str]) -> int:
    """Draw a thread's instant events as ticks; the height taken."""
    times, name, _ = instants_in(window.source.threads[thread], window.begin, window.end, _BLOCKS)
    shown = ~np.isin(window.source.names.channel[name], list(window.hidden))
    if not shown.any():
        return 0
    path = "".join(f"M{x:.1f} {top}v8" for x in window.x(times[shown]).tolist())
    parts.append(f'<path class="axis" stroke="currentColor" fill="none" d="{path}"/>')
    return 10


def legend_svg(window: Window, names: Names) -> str:
    """The colours of the channels that have events and are shown, of the first ones where they are many."""
    used = np.unique(window.source.names.channel).tolist()
    channels = [number for number in used if number not in window.hidden][:_MOST_KEYS]
    parts, per_row, wide = [], 4, WIDTH // 4
    for place, number in enumerate(channels):
        x, y = wide * (place % per_row), 4 + 18 * (place // per_row)
        parts.append(f'<rect x="{x}" y="{y}" width="11" height="11" fill="{channel_colour(number, "light")}"/>')
        if channel_pattern(number):
            parts.append(f'<rect x="{x}" y="{y}" width="11" height="11" fill="{_pattern_fill(number)}"/>')
        text = names.show("channel", window.source.names.channel_name[number])
        parts.append(_text(x + 16, y + 10, _shortened(text, wide - 24), "tick"))
    return _svg("Colours of the channels", 6 + 18 * -(-len(channels) // per_row), parts)


def graph_svg(window: Window, lines: Sequence[int], title: str) -> str:
    """The lines of one line graph; a value holds until the next sample."""
    drawn = [samples_in(*window.source.series[line][1:], window.begin, window.end, _PLOT) for line in lines]
    finite = [values[np.isfinite(values)] for _, values in drawn]
    low = min((float(values.min()) for values in finite if len(values)), default=0.0)
    high = max((float(values.max()) for values in finite if len(values)), default=1.0)
    span = high - low or 1.0
    parts = []
    for place, (times, values) in enumerate(drawn):
        usable = np.isfinite(values)
        x = window.x(times[usable]).tolist()
        y = (_HEAD + _GRAPH * (1 - (values[usable] - low) / span)).tolist()
        path = "".join(
            f"{'H' if at else 'M'}{a:.1f}{'V' if at else ' '}{b:.1f}"
            for at, (a, b) in enumerate(zip(x, y, strict=True))
        )
        if path:
            parts.append(f'<path class="line series-{place % 6 + 1}" d="{path}"/>')
    for value, y in ((high, _HEAD), (low, _HEAD + _GRAPH)):
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(_text(LEFT - 8, y + 4, f"{value:.4g}", "tick end"))
    return _svg(title, _HEAD + _GRAPH + 8, [*_axis(window, _HEAD + _GRAPH), *parts])


def _axis(window: Window, height: int) -> Iterator[str]:
    """Grid lines at round times since the first event of the trace."""
    length = max(1, window.end - window.begin)
    rough = length / 8
    power = 10.0 ** np.floor(np.log10(rough))
    step = max(1, round(next(each * power for each in (1, 2, 5, 10) if each * power >= rough)))
    first = -(-(window.begin - window.source.begin) // step) * step
    for time in range(first, window.end - window.source.begin + 1, step):
        x = float(window.x(np.array([time + window.source.begin]))[0])
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_HEAD - 6}" y2="{height}"/>'
        anchor = "tick mid" if x < WIDTH - 30 else "tick end"
        yield _text(min(x, WIDTH - 2.0), 12, "0" if time == 0 else clock_text(window.source, time), anchor)


def clock_text(source: HostTrace, ns: int) -> str:
    """A length of the trace's clock: seconds in a fitting unit, or what is no time."""
    return length_text(source, ns) if source.unit else seconds_text(ns / 1e9)


def _shortened(text: str, pixels: float) -> str:
    """The text, cut in the middle to the pixels there are; "" where nothing useful fits."""
    text = safe_text(text)
    most = int(pixels / _CHARACTER)
    if len(text) <= most:
        return text
    if most < 5:
        return ""
    return f"{text[: most - most // 3 - 1]}…{text[len(text) - most // 3 :]}"


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def _svg(label: str, height: int, parts: Sequence[str]) -> str:
    head = f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label, True)}">'
    return "".join([head, *parts, "</svg>"])
