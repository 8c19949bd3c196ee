"""Binary routes of the exchange drawing, below /data/<key>/exchange/.

    tiles?program=&step=&order=&vs=       the program to show and its columns, one entry per tile
    matrix?program=&order=&size=&row=&rows=&column=&columns=&vs=
                                          cells of `size` x `size` positions from position `row`, `column`; `rows` and
                                          `columns` count cells. Sparse (`cell`, `value`) or dense (`value`)
    partners?program=&tile=               partners of one tile
    messages.csv?program=                 every message, streamed

A query that cannot be answered gets status 400 and one sentence; the header's `reason` says what is not recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from dash import Dash
from flask import Response, request

from popvision.analysis.compare.difference import signed
from popvision.analysis.compare.exchange import matrix_difference, partner_of
from popvision.analysis.exchange.matrix import matrix_of
from popvision.analysis.exchange.messages import messages_of, partners, ranks
from popvision.analysis.exchange.tiles import ExchangeTiles, exchange_of, exchange_tiles
from popvision.analysis.report.columns import programs_of
from popvision.analysis.report.floor_plan import floor_plan
from popvision.analysis.report.not_recorded import NotRecordedError, if_recorded
from popvision.analysis.report.tiles import target_of
from webapp.base.arrays import AnyArray, Int64Array
from webapp.base.data_routes import pair_route
from webapp.base.packed import packed_response
from webapp.base.query import number_of, whole_number

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from webapp.base.library import Library

#: Cells of one answer: 4 bytes each.
MOST_CELLS = 120_000

_COLUMNS = ("received", "sent", "code", "fan_in", "fan_out", "moving", "estimated", "recorded")
_LINES_AT_ONCE = 20_000


def register_routes(app: Dash, library: Library) -> None:
    """Add the four routes."""
    pair_route(app, library, "exchange/tiles", tiles)
    pair_route(app, library, "exchange/matrix", matrix)
    pair_route(app, library, "exchange/partners", partner_tiles)
    pair_route(app, library, "exchange/messages.csv", export)


def tiles(source: ReportSource, target: ReportSource | None) -> Response:
    """Columns of the selected program; with a target, differences (target - source)."""
    machine = target_of(source)
    program, step = exchange_of(source, _lenient("program"), _lenient("step"))
    if program is None:
        return packed_response({"program": None, "reason": "This report has no program that moves data."}, {})
    traffic = exchange_tiles(source, program, step)
    header: dict[str, Any] = {
        "program": program,
        "step": traffic.step,
        "chosen": step,
        "type": programs_of(source).type[program],
        "name": programs_of(source).name[program],
        "tiles": machine.num_tiles,
        "perIpu": machine.tiles_per_ipu,
        "rate": machine.exchange_bytes_per_cycle,
        "reason": "",
        "signed": target is not None,
    }
    columns = {name: getattr(traffic, name) for name in _COLUMNS}
    try:
        messages_of(source, program)
        if target is not None:
            columns = _differences(
                traffic, exchange_tiles(target, partner_of(source, target, program)), machine.num_tiles
            )
    except NotRecordedError as lacking:
        header["reason"] = str(lacking)
    arrays = {name: _narrow(values) for name, values in columns.items() if values is not None}
    plan = if_recorded(lambda: floor_plan(machine))
    if plan is not None:
        header |= {"plan": [plan.width, plan.height]}
        arrays |= {"x": plan.x.astype(np.uint32), "y": plan.y.astype(np.uint32)}
    arrays["rank"] = ranks(machine, _order(machine.physical_tile is not None)).astype(np.uint32)
    return packed_response(header, arrays)


def _differences(one: ExchangeTiles, other: ExchangeTiles, tiles: int) -> dict[str, Int64Array | None]:
    """target - source of each column; a tile that the target lacks counts as 0."""

    def difference(name: str) -> Int64Array | None:
        before, after = getattr(one, name), getattr(other, name)
        if before is None or after is None:
            return None
        fitted = np.zeros(tiles, np.int64)
        fitted[: min(tiles, len(after))] = after[:tiles]
        return signed(before, fitted)

    return {name: difference(name) for name in _COLUMNS}


def matrix(source: ReportSource, target: ReportSource | None) -> Response:
    """Bytes of the cells of a window, row by row, sparse or dense."""
    program, order = number_of(request.args, "program"), _order(target_of(source).physical_tile is not None)
    traffic = matrix_of(source, program, order) if target is None else matrix_difference(source, target, program, order)
    size = number_of(request.args, "size", 1, traffic.tiles)
    rows, columns = (
        number_of(request.args, "rows", 1, traffic.tiles),
        number_of(request.args, "columns", 1, traffic.tiles),
    )
    if rows * columns > MOST_CELLS:
        raise ValueError(f"{rows} x {columns} cells are more than {MOST_CELLS}: ask for fewer rows")
    row, column = number_of(request.args, "row", 0, traffic.tiles), number_of(request.args, "column", 0, traffic.tiles)
    cells = traffic.block((row, row + rows * size), (column, column + columns * size), size).values
    header = {"rows": rows, "columns": columns, "largest": traffic.largest(size), "leftOut": traffic.left_out}
    there = np.flatnonzero(cells)
    if 2 * len(there) < len(cells):
        return packed_response(header, {"cell": there.astype(np.uint32), "value": _narrow(cells[there])})
    return packed_response(header, {"value": _narrow(cells)})


def partner_tiles(source: ReportSource, _target: ReportSource | None) -> Response:
    """The tiles that one tile receives from and sends to, with bytes, heaviest first."""
    tile = number_of(request.args, "tile", 0, target_of(source).num_tiles - 1)
    try:
        traffic = partners(source, number_of(request.args, "program"), tile)
    except NotRecordedError as lacking:
        return packed_response({"reason": str(lacking)}, {})
    arrays = {"from": traffic.sources.astype(np.uint32), "fromBytes": _narrow(traffic.received)}
    arrays |= {"to": traffic.destinations.astype(np.uint32), "toBytes": _narrow(traffic.sent)}
    return packed_response({"reason": ""}, arrays)


def export(source: ReportSource, _target: ReportSource | None) -> Response:
    """All messages as CSV, streamed in pieces."""
    program = number_of(request.args, "program")
    sent_messages = messages_of(source, program)

    def lines() -> Iterator[str]:
        yield "source_tile,destination_tile,bytes\n"
        for begin in range(0, len(sent_messages.src), _LINES_AT_ONCE):
            part = slice(begin, begin + _LINES_AT_ONCE)
            rows = zip(
                sent_messages.src[part].tolist(),
                sent_messages.dst[part].tolist(),
                sent_messages.bytes[part].tolist(),
                strict=True,
            )
            yield "".join(f"{src},{dst},{size}\n" for src, dst, size in rows)

    answer = Response(lines(), mimetype="text/csv")
    answer.headers["Content-Disposition"] = f'attachment; filename="messages-{program}.csv"'
    return answer


def _narrow(values: Int64Array) -> AnyArray:
    """The values in the narrowest packed type that holds them."""
    if not len(values):
        return values.astype(np.uint32)
    low, high = int(values.min()), int(values.max())
    if low >= 0 and high < 2**32:
        return values.astype(np.uint32)
    return values.astype(np.int32 if low >= -(2**31) and high < 2**31 else np.float64)


def _order(has_physical: bool) -> str:
    return "hardware" if request.args.get("order") == "hardware" and has_physical else "software"


def _lenient(name: str) -> int | None:
    """A number of the query, None for other text: the page passes on its own address unchecked."""
    return whole_number(request.args.get(name, ""))
