"""How an opened report or trace shows itself: text in a terminal, a table for rich, HTML with plots in a notebook.

Every name that comes from a file is escaped in HTML, and stripped of control characters in a terminal."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any, TypeVar

from popvision.analysis.liveness.curve import curve
from popvision.analysis.memory.usage import memory_by_tile
from popvision.analysis.report.provenance import provenance_line
from popvision.analysis.summary.headline import headline
from popvision.formats.errors import FormatError, NotRecordedError
from popvision.opened.pictures import line_picture, share_picture
from popvision.opened.printable import printable

if TYPE_CHECKING:
    from rich.table import Table

    from popvision.opened.report import OpenedReport
    from popvision.opened.trace import OpenedTrace

T = TypeVar("T")

#: Columns of the picture of a trace.
_COLUMNS = 500

_ASK = "ask: summary() tiles() memory() liveness() programs() steps() exchanges() operations() query(sql) ..."


def report_text(report: OpenedReport) -> str:
    """A line per figure; one line for a closed report."""
    return _text(f"Report {report.path}", lambda: [*_report_rows(report), ("", _ASK)])


def report_table(report: OpenedReport) -> Table:
    return _table(f"Report {report.path}", lambda: _report_rows(report))


def report_html(report: OpenedReport) -> str:
    """A table of figures, the memory of all tiles, the liveness curve and the shares of time: what the report holds."""
    pictures = [_held(lambda draw=draw: draw(report)) for draw in (_tiles, _live, _shares)]  # type: ignore[misc]
    return _html(f"Report {report.path}", lambda: _report_rows(report), [each for each in pictures if each])


def trace_text(trace: OpenedTrace) -> str:
    return _text(
        f"Host trace {trace.path}", lambda: [*_trace_rows(trace), ("", "ask: events() statistics() series() ...")]
    )


def trace_table(trace: OpenedTrace) -> Table:
    return _table(f"Host trace {trace.path}", lambda: _trace_rows(trace))


def trace_html(trace: OpenedTrace) -> str:
    """A table of figures and how many events run over time."""
    picture = _held(lambda: _running(trace))
    return _html(f"Host trace {trace.path}", lambda: _trace_rows(trace), [picture] if picture else [])


def _report_rows(report: OpenedReport) -> list[tuple[str, str]]:
    source = report.source
    found = headline(source)
    rows = [("made by", _held(lambda: provenance_line(source)) or "unknown")]
    if found.total_cycles is not None:
        seconds = "" if found.device_seconds is None else f" ({found.device_seconds * 1e3:,.3f} ms of device time)"
        rows.append(
            (
                "executed",
                f"{found.runs:,} {'run' if found.runs == 1 else 'runs'}, {found.total_cycles:,} cycles{seconds}",
            )
        )
    if found.longest is not None:
        longest = found.longest
        rows.append(("longest program", f"#{longest.program} {longest.type} {longest.name}: {longest.cycles:,} cycles"))
    if found.shares is not None:
        rows.append(("time of tiles", ", ".join(f"{phase} {share:.1%}" for phase, share in found.shares.items())))
    if found.tile_bytes is not None:
        share = "" if found.tile_share is None else f" ({found.tile_share:.1%} of {found.tile_capacity:,})"
        rows.append(("fullest tile", f"{found.tile_bytes:,} bytes{share} on tile {found.worst_tile}"))
        rows.append(("used", f"{found.used_bytes:,} bytes over all tiles, gaps not counted"))
    if found.tiles_out_of_memory:
        rows.append(("out of memory", f"{found.tiles_out_of_memory:,} tiles"))
    if found.live_peak is not None:
        peak = found.live_peak
        rows.append(("peak liveness", f"{peak.total:,} bytes at liveness index {peak.index} (program #{peak.program})"))
    return rows + [("lost", sentence) for sentence in report.lost[:3]]


def _trace_rows(trace: OpenedTrace) -> list[tuple[str, str]]:
    source = trace.source
    return [
        ("threads", f"{len(source.threads):,}"),
        ("events", f"{source.events:,}"),
        ("spans", f"{trace.duration_us / 1e3:,.3f} ms of the host's clock"),
        ("channels", ", ".join(source.names.channel_name)),
        ("line graphs", f"{len(source.series):,} series"),
        ("heat maps", f"{len(source.heatmaps):,}"),
    ]


def _tiles(report: OpenedReport) -> str:
    memory = memory_by_tile(report.source, None)
    title = f"Memory of each tile, including gaps; a tile has {memory.capacity:,} bytes"
    axis = (f"tile {memory.tiles.start}", f"tile {memory.tiles.stop - 1}")
    return line_picture(memory.including_gaps, title, "bytes", axis, float(memory.capacity))


def _live(report: OpenedReport) -> str:
    line = curve(report.source)
    axis = ("liveness index 0", f"liveness index {len(line.program) - 1:,}")
    return line_picture(line.not_always_live + line.always_live, "Live bytes of one replica", "bytes", axis)


def _shares(report: OpenedReport) -> str:
    shares = headline(report.source).shares
    return share_picture(shares, "Time of tiles by phase") if shares else ""


def _running(trace: OpenedTrace) -> str:
    from popvision.analysis.trace.drawing import overview

    shares, _ = overview(trace.source, _COLUMNS)
    under_way = shares.sum(axis=0, dtype=float) / 255
    title = "Events under way, nested ones and those of all threads added up"
    return line_picture(under_way, title, "events", ("0 ms", f"{trace.duration_us / 1e3:,.1f} ms"))


def _held(ask: Callable[[], T]) -> T | None:
    """The answer, None where the report does not hold it or it is damaged."""
    try:
        return ask()
    except (FormatError, NotRecordedError):
        return None


def _rows(ask: Callable[[], list[tuple[str, str]]]) -> list[tuple[str, str]]:
    try:
        return ask()
    except (FormatError, NotRecordedError) as problem:
        return [("problem", str(problem))]


def _text(title: str, ask: Callable[[], list[tuple[str, str]]]) -> str:
    rows = _rows(ask)
    width = max(len(name) for name, _ in rows)
    return "\n".join([printable(title), *(f"  {name:<{width}}  {printable(value)}" for name, value in rows)])


def _table(title: str, ask: Callable[[], list[tuple[str, str]]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(printable(title)), show_header=False)
    for name, value in _rows(ask):
        table.add_row(Text(name), Text(printable(value)))
    return table


def _html(title: str, ask: Callable[[], list[tuple[str, str]]], pictures: list[Any]) -> str:
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(printable(value))}</td></tr>" for name, value in _rows(ask))
    head = f"<strong>{escape(printable(title))}</strong>"
    return f"<div>{head}<table><tbody>{rows}</tbody></table>{''.join(f'<div>{each}</div>' for each in pictures)}</div>"
