"""Routes of the Source view: rows and figures of a file at once, texts as the user scrolls.

/data/<key>/source/rows?file=NAME&ipu=0&vs=KEY                  JSON, see `_rows`
/data/<key>/source/text?file=NAME&vs=KEY&from=R&count=N         JSON, texts of N rows from row R on
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from dash import Dash
from flask import Response, request

from popvision.analysis.report.figure import plain_values
from popvision.analysis.source_code.lines import line_figures, line_table
from popvision.analysis.source_code.rows import SourceRows, row_texts, source_rows
from webapp.base.data_routes import pair_route
from webapp.base.library import Library
from webapp.base.query import number_of
from webapp.graph_analyser.source_code.exports import ipu_of

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: Rows of text in one answer, and characters shown of each.
MOST_ROWS, MOST_CHARACTERS = 200, 400

#: Rows of one file that the page can show.
MOST_LINES = 20_000

_FIELDS = ("cycles", "live", "received")


def register(app: Dash, library: Library) -> None:
    """Add the two routes."""
    pair_route(app, library, "source/rows", lambda source, target: _json(_rows(source, target)))
    pair_route(app, library, "source/text", lambda source, target: _json(_text(source, target)))


def _json(value: Any) -> Response:
    answer = Response(orjson.dumps(value), mimetype="application/json")
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _rows(source: ReportSource, target: ReportSource | None) -> dict[str, Any]:
    """`count` rows; line numbers in `source` and `target` (None: row r is line r + 1); figures by line of either."""
    file = request.args.get("file", "")[:4000]
    rows = source_rows(source, file, target)
    count = min(len(rows.source), MOST_LINES)
    plain = not rows.target_file and bool((rows.source[:count] == np.arange(1, count + 1)).all())
    return {
        "problem": rows.problem,
        "count": count,
        "cut": len(rows.source) - count,
        "source": None if plain else rows.source[:count].tolist(),
        "target": None if plain else rows.target[:count].tolist(),
        "compares": target is not None,
        "recorded": [_recorded(each) for each in (source, target) if each is not None],
        "figures": _figures(source, file, ipu_of(source, request.args)),
        "target_figures": _figures(target, rows.target_file, ipu_of(target, request.args))
        if target is not None and rows.target_file
        else {},
    }


def _recorded(source: ReportSource) -> list[bool]:
    """Which of the figures the report records: a line that it lacks has 0 of those."""
    figures = line_figures(source)
    return [getattr(figures, field) is not None for field in _FIELDS]


def _figures(source: ReportSource, file: str, ipu: int | None) -> dict[str, list[int | None]]:
    """Line -> cycles, live bytes and bytes received; None where not recorded."""
    table = line_table(source, file, ipu)
    columns = [plain_values(table[field]) for field in _FIELDS]
    return {str(line): list(values) for line, *values in zip(plain_values(table["line"]), *columns, strict=True)}


def _text(source: ReportSource, target: ReportSource | None) -> list[str]:
    rows: SourceRows = source_rows(source, request.args.get("file", "")[:4000], target)
    begin = number_of(request.args, "from", default=0)
    end = begin + min(number_of(request.args, "count", default=MOST_ROWS), MOST_ROWS)
    return [_shown(text) for text in row_texts(source, rows, begin, end, target)]


def _shown(text: str) -> str:
    text = text.expandtabs(4)
    cut = f"{text[:MOST_CHARACTERS]} … ({len(text):,} characters)" if len(text) > MOST_CHARACTERS else text
    return cut.encode("utf-8", "replace").decode()
