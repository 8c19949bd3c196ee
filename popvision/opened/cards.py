"""The card of an opened report or trace: text in a terminal, a table for rich, HTML with plots in a notebook.

HTML escapes every name that comes from a file; terminals get names without control characters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import TYPE_CHECKING

from popvision.analysis.insights.rules import insights
from popvision.analysis.liveness.curve import curve
from popvision.analysis.memory.usage import memory_by_tile
from popvision.analysis.report.origin import provenance_line
from popvision.analysis.summary.headline import headline
from popvision.analysis.trace.drawing import overview
from popvision.export.diff_rows import value_text
from popvision.formats.errors import FormatError, NotRecordedError
from popvision.opened.pictures import line_picture, percent, share_picture
from popvision.opened.printable import printable

if TYPE_CHECKING:
    from rich.table import Table

    from popvision.analysis.report.source import ReportSource
    from popvision.analysis.trace.source import TraceSource

#: Findings of the card of a report.
_FINDINGS = 3
#: Columns of the picture of a trace.
_COLUMNS = 500

_REPORT_METHODS = "summary() tiles() memory() liveness() programs() steps() exchanges() operations() query(sql) ..."
_TRACE_METHODS = "events() statistics() series() ..."


@dataclass(frozen=True)
class Card:
    """`rows` are (name, value); `methods` closes the text; `pictures` give SVG text, "" for none."""

    title: str
    rows: Sequence[tuple[str, str]]
    methods: str = ""
    pictures: Sequence[Callable[[], str]] = ()

    def text(self) -> str:
        """A line for the title and one per row."""
        rows = [*self.rows, *([("methods", self.methods)] if self.methods else [])]
        width = max(len(name) for name, _ in rows)
        return "\n".join([printable(self.title), *(f"  {name:<{width}}  {printable(value)}" for name, value in rows)])

    def table(self) -> Table:
        """A table for rich."""
        from rich.table import Table
        from rich.text import Text

        table = Table(title=Text(printable(self.title)), show_header=False)
        for name, value in self.rows:
            table.add_row(Text(name), Text(printable(value)))
        return table

    def html(self) -> str:
        """A table and the pictures that the report has data for."""
        left = '<div align="left">'  # notebooks align the cells of tables to the right
        rows = "".join(
            f"<tr><th>{left}{escape(name)}</div></th><td>{left}{escape(printable(value))}</div></td></tr>"
            for name, value in self.rows
        )
        head = f"<strong>{escape(printable(self.title))}</strong>"
        pictures = "".join(f"<div>{picture}</div>" for draw in self.pictures if (picture := _drawn(draw)))
        return f"<div>{head}<table><tbody>{rows}</tbody></table>{pictures}</div>"


def report_card(source: ReportSource) -> Card:
    """The main figures of a report, with plots of tile memory, liveness and shares of time."""
    pictures = [partial(draw, source) for draw in (_memory_picture, _liveness_picture, _time_picture)]
    return Card(f"Report {source.reader.path}", _report_rows(source), _REPORT_METHODS, pictures)


def trace_card(source: TraceSource) -> Card:
    """The counts of a host trace, with a plot of its events over time."""
    return Card(
        f"Host trace {source.reader.path}", _trace_rows(source), _TRACE_METHODS, [partial(_events_picture, source)]
    )


def _report_rows(source: ReportSource) -> list[tuple[str, str]]:
    figures = headline(source)
    rows = [("made by", _made_by(source))]
    if figures.total_cycles is not None:
        runs = f"{figures.runs:,} {'run' if figures.runs == 1 else 'runs'}"
        seconds = "" if figures.device_seconds is None else f" ({figures.device_seconds * 1e3:,.3f} ms of device time)"
        rows.append(("executed", f"{runs}, {figures.total_cycles:,} cycles{seconds}"))
    if figures.apart:
        rows.append(("set apart", figures.apart))
    if figures.longest is not None:
        longest = figures.longest
        rows.append(("longest program", f"#{longest.program} {longest.type} {longest.name}: {longest.cycles:,} cycles"))
    if figures.shares is not None:
        rows.append(("tile time", ", ".join(f"{phase} {percent(share)}" for phase, share in figures.shares.items())))
    if figures.not_recorded:
        rows.append(("not recorded", figures.not_recorded.removeprefix("Not recorded: ")))
    if figures.fullest is not None:
        (tile, size), room = figures.fullest, figures.tile_capacity
        share = f", {size / room:.2%} of {value_text(room, 'bytes')}".replace("%", " %") if room else ""
        with_gaps = ", with gaps" if figures.tiles_out_of_memory else ", without gaps"
        rows.append(("fullest tile", f"tile {tile}: {value_text(size, 'bytes')} ({size:,} bytes{share}){with_gaps}"))
        used = f"{value_text(figures.used_bytes, 'bytes')} ({figures.used_bytes:,} bytes)"
        rows.append(("memory in use", f"{used} over all tiles, without gaps"))
    if figures.tiles_out_of_memory:
        rows.append(("out of memory", f"{figures.tiles_out_of_memory:,} tiles"))
    if figures.live_peak is not None:
        peak = figures.live_peak
        size_text = f"{value_text(peak.total, 'bytes')} ({peak.total:,} bytes)"
        rows.append(("peak liveness", f"{size_text} at liveness index {peak.index} (program #{peak.program})"))
    return rows + _standing_out(source) + [("lost", sentence) for sentence in source.lost[:3]]


def _standing_out(source: ReportSource) -> list[tuple[str, str]]:
    """The findings that could save most, each with its bound."""
    rows = []
    for each in insights(source).findings[:_FINDINGS]:
        bound = f" (at most {each.saves:,} {each.unit}, {percent(each.share)})" if each.saves else ""
        rows.append(("stands out", each.sentence + bound))
    return rows


def _made_by(source: ReportSource) -> str:
    try:
        return provenance_line(source)
    except (FormatError, NotRecordedError):
        return "unknown"


def _trace_rows(source: TraceSource) -> list[tuple[str, str]]:
    return [
        ("threads", f"{len(source.threads):,}"),
        ("events", f"{source.events:,}"),
        ("duration", f"{_milliseconds(source):,.3f} ms of host time"),
        ("channels", ", ".join(source.names.channel_name)),
        ("line graphs", f"{len(source.series):,} series"),
        ("heat maps", f"{len(source.heatmaps):,}"),
        *(("lost", sentence) for sentence in source.lost[:3]),
    ]


def _milliseconds(source: TraceSource) -> float:
    return (source.end - source.begin) / 1e6


def _memory_picture(source: ReportSource) -> str:
    memory = memory_by_tile(source, None)
    overfull = len(memory.over_capacity) > 0
    gaps = "up to the highest address" if overfull else "in use, without gaps"
    title = f"Memory of each tile {gaps}; a tile has {value_text(memory.capacity, 'bytes')}"
    axis = (f"tile {memory.tiles.start}", f"tile {memory.tiles.stop - 1}")
    values = memory.including_gaps if overfull else memory.excluding_gaps
    return line_picture(values, title, "bytes", axis, float(memory.capacity))


def _liveness_picture(source: ReportSource) -> str:
    line = curve(source)
    axis = ("liveness index 0", f"liveness index {len(line.program) - 1:,}")
    return line_picture(line.not_always_live + line.always_live, "Live bytes of one replica", "bytes", axis)


def _time_picture(source: ReportSource) -> str:
    shares = headline(source).shares
    return share_picture(shares, "Time of tiles by phase") if shares else ""


def _events_picture(source: TraceSource) -> str:
    shares, _ = overview(source, _COLUMNS)
    title = "Open events, nested ones included, over all threads"
    end = f"{_milliseconds(source):,.1f} ms"
    return line_picture(shares.sum(axis=0, dtype=float) / 255, title, "events", ("0 ms", end))


def _drawn(draw: Callable[[], str]) -> str:
    """The picture; "" where the report does not hold its data or they are damaged."""
    try:
        return draw()
    except (FormatError, NotRecordedError):
        return ""
