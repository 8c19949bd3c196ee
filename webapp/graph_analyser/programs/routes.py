"""Routes of the program tree: the shape of a tree, the texts of visible rows, matches and related programs.

/data/<key>/program_tree/tree?root=R&vs=KEY          u4 n, then columns of n rows: u4 program, u4 target program
                                                     (only with vs), u2 depth, u1 type; 0xFFFFFFFF = none
/data/<key>/program_tree/rows?ids=1-1,2-&ipu=0&vs=KEY    JSON, one object per pair "program-target program"
/data/<key>/program_tree/find?root=R&text=T&vs=KEY   u4 rows of the tree
/data/<key>/program_tree/related?program=P&rule=L    u4 programs
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from dash import Dash
from flask import Response, request

from popvision.analysis.compare.merged_tree import MergedRows, merged_tree
from popvision.analysis.programs import program_tree as analysis
from popvision.analysis.programs.related_programs import related_programs
from popvision.analysis.programs.table import FIELDS, column_totals, program_columns
from popvision.analysis.report.columns import programs_of
from webapp.base.data_routes import pair_route
from webapp.base.library import Library
from webapp.base.query import number_of, optional_number_of, whole_number

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: Rows of texts in one answer, far more than a screen shows.
MOST_ROWS = 500

_MOST_DEPTH = 65_535
_NONE = 0xFFFFFFFF

#: Size in bytes above which an answer is compressed: a tree of 54,000 programs has 400 kB.
_WORTH_PACKING = 50_000


def register(app: Dash, library: Library) -> None:
    """Add the four routes."""
    pair_route(app, library, "program_tree/tree", _tree)
    pair_route(app, library, "program_tree/rows", _rows)
    pair_route(app, library, "program_tree/find", _find)
    pair_route(app, library, "program_tree/related", _related)


def _ipu(source: ReportSource) -> int | None:
    """The IPU of the query; None = all, also for an IPU that this report lacks: the selection may come from another."""
    ipu = optional_number_of(request.args, "ipu")
    return None if ipu is None or ipu >= _ipus(source) else ipu


def _binary(*columns: Any) -> Response:
    data = b"".join(column.tobytes() for column in columns)
    answer = Response(data, mimetype="application/octet-stream")
    if len(data) > _WORTH_PACKING and "gzip" in request.headers.get("Accept-Encoding", ""):
        answer.data = gzip.compress(data, compresslevel=1)
        answer.headers["Content-Encoding"] = "gzip"
    answer.headers["Vary"] = "Accept-Encoding"
    return answer


def _shape(source: ReportSource, target: ReportSource | None) -> MergedRows:
    root = number_of(request.args, "root")
    if target is not None:
        return merged_tree(source, target, root)
    rows = analysis.tree_rows(source, root)
    return MergedRows(rows.program, np.full(len(rows.program), -1), rows.depth, rows.size)


def _tree(source: ReportSource, target: ReportSource | None) -> Response:
    rows = _shape(source, target)
    types = analysis.type_indices(source)[np.maximum(rows.source, 0)]
    if target is not None:
        types = np.where(rows.source >= 0, types, analysis.type_indices(target)[np.maximum(rows.target, 0)])
    columns = [np.where(each >= 0, each, _NONE).astype("<u4") for each in (rows.source, rows.target)]
    return _binary(
        np.array([len(rows.source)], "<u4"),
        *(columns if target is not None else columns[:1]),
        np.minimum(rows.depth, _MOST_DEPTH).astype("<u2"),
        types.astype("u1"),
    )


def _find(source: ReportSource, target: ReportSource | None) -> Response:
    rows = _shape(source, target)
    text = request.args.get("text", "")[:200]
    hits = analysis.matching_programs(source, text)[np.maximum(rows.source, 0)] & (rows.source >= 0)
    if target is not None:
        theirs = analysis.matching_programs(target, text)[np.maximum(rows.target, 0)]
        hits |= theirs & (rows.source < 0) & (rows.target >= 0)
    return _binary(np.flatnonzero(hits).astype("<u4"))


def _related(source: ReportSource, _target: ReportSource | None) -> Response:
    rule = request.args.get("rule", "")[:200]
    return _binary(related_programs(source, number_of(request.args, "program"), rule).astype("<u4"))


def _rows(source: ReportSource, target: ReportSource | None) -> Response:
    pairs = [_pair(text) for text in request.args.get("ids", "").split(",")[: MOST_ROWS + 1]]
    if len(pairs) > MOST_ROWS:
        raise ValueError(f"ids must be up to {MOST_ROWS} pairs")
    ipu = _ipu(source)
    ours = _Side(source, ipu)
    theirs = None if target is None else _Side(target, None if ipu is None or ipu >= _ipus(target) else ipu)
    rows = []
    for mine, other in pairs:
        row = ours.row(mine)
        there = None if theirs is None else theirs.row(other)
        shown = row or there
        if shown is not None:
            row_of_both = {"key": f"{_text(mine)}-{_text(other)}", **shown}
            if theirs is not None:
                row_of_both |= {"source": row or ours.without(shown), "target": there or theirs.without(shown)}
            rows.append(row_of_both)
    return Response(orjson.dumps({"rows": rows, "totals": ours.totals}), mimetype="application/json")


def _ipus(source: ReportSource) -> int:
    return source.reader.target().num_ipus


def _pair(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    mine, other = (whole_number(each) if each else -1 for each in (first, last))
    if mine is None or other is None or not (first or last):
        raise ValueError("ids must be programs or pairs of them, such as 3, 3-5 or -5")
    return mine, other


def _text(program: int) -> str:
    return "" if program < 0 else str(program)


class _Side:
    """Names and figures of the programs of one report."""

    def __init__(self, source: ReportSource, ipu: int | None) -> None:
        self._source = source
        self._programs = programs_of(source)
        self._columns = program_columns(source, ipu)
        self._guessed = analysis.guessed_programs(source)
        self.totals = column_totals(source, ipu)

    def without(self, there: Mapping[str, Any]) -> dict[str, int | None]:
        """The figures of a program that only the other report has, `there`: 0 where this report records the figure and
        the other knows it, so that the difference counts in full."""
        recorded = {field: bool((self._columns[field] >= 0).any()) for field in FIELDS}
        return {field: 0 if recorded[field] and there[field] is not None else None for field in FIELDS}

    def row(self, program: int) -> dict[str, Any] | None:
        if not 0 <= program < len(self._programs.type):
            return None
        figures = {field: int(self._columns[field][program]) for field in FIELDS}
        return {
            "id": program,
            "name": self._programs.name[program],
            "note": analysis.note(self._source, program),
            "guess": bool(self._guessed[program]),
            **{field: None if value < 0 else value for field, value in figures.items()},
        }
