"""What the program tree in the browser asks for: the shape of a tree, texts of the rows on the screen, matches.

/data/<key>/program_tree/tree?root=R            u4 n, then columns of n rows: u4 program, u4 size, u2 depth, u1 type
/data/<key>/program_tree/rows?ids=1,2&ipu=0     JSON, one object per program
/data/<key>/program_tree/find?root=R&text=T     u4 rows of the tree
/data/<key>/program_tree/related?program=P      u4 programs
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from dash import Dash
from flask import Response, request

from popvision.analysis import program_tree as analysis
from popvision.analysis.program_details import code_bytes_of
from popvision.analysis.program_figures import figures
from webapp.library import Library

if TYPE_CHECKING:
    from popvision.analysis.source import ReportSource

#: Rows of texts in one answer; a screen holds far fewer.
MOST_ROWS = 500

_MOST_DEPTH = 65_535


def register(app: Dash, library: Library) -> None:
    """Add the four routes."""

    def add(name: str, answer: Callable[[ReportSource], Response]) -> None:
        def route(key: str) -> Response:
            try:
                return answer(library.report(key))
            except ValueError as problem:
                return Response(str(problem), status=400, mimetype="text/plain")

        app.server.add_url_rule(f"/data/<key>/program_tree/{name}", f"program_tree-{name}", route)

    add("tree", _tree)
    add("rows", _rows)
    add("find", _find)
    add("related", _related)


def _number(name: str) -> int:
    text = request.args.get(name, "")
    if not (text.isascii() and text.isdecimal() and len(text) < 12):
        raise ValueError(f"{name} must be a whole number, not {text[:40]!r}")
    return int(text)


def _binary(*columns: Any) -> Response:
    return Response(b"".join(column.tobytes() for column in columns), mimetype="application/octet-stream")


def _tree(source: ReportSource) -> Response:
    rows = analysis.tree_rows(source, _number("root"))
    types = analysis.type_indices(source)
    return _binary(
        np.array([len(rows.program)], "<u4"),
        rows.program.astype("<u4"),
        rows.size.astype("<u4"),
        np.minimum(rows.depth, _MOST_DEPTH).astype("<u2"),
        types[rows.program],
    )


def _find(source: ReportSource) -> Response:
    return _binary(analysis.matching_rows(source, _number("root"), request.args.get("text", "")[:200]).astype("<u4"))


def _related(source: ReportSource) -> Response:
    return _binary(analysis.related_programs(source, _number("program")).astype("<u4"))


def _rows(source: ReportSource) -> Response:
    texts = request.args.get("ids", "").split(",")
    if len(texts) > MOST_ROWS or not all(text.isascii() and text.isdecimal() and len(text) < 12 for text in texts):
        raise ValueError(f"ids must be up to {MOST_ROWS} whole numbers")
    reader = source.reader
    programs = analysis.programs_of(source)
    ids = [int(text) for text in texts if int(text) < len(programs.type)]
    ipu = _number("ipu") if request.args.get("ipu") else None
    if ipu is not None and ipu >= reader.target().num_ipus:
        raise ValueError(f"there is no IPU {ipu}")
    sums = figures(source, ipu)
    total = reader.total_cycles()
    code = code_bytes_of(source, ids)
    guessed = analysis.guessed(source)
    rows = [
        {
            "id": program,
            "name": programs.name[program],
            "note": analysis.note(source, program),
            "self": int(sums.self_cycles[program]),
            "total": int(sums.total_cycles[program]),
            "share": int(sums.total_cycles[program]) / total if total else None,
            "executions": int(sums.executions[program]),
            "bytes": int(sums.bytes_received[program]),
            "code": size,
            "guess": bool(guessed[program]),
        }
        for program, size in zip(ids, code, strict=True)
    ]
    return Response(orjson.dumps(rows), mimetype="application/json")
