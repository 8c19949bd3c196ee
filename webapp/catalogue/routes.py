"""Routes of the catalogue's page. Queries: `folder` (its number among those of the viewer), `where` (an SQL condition
on the columns), `sort`, `down` ("1" = highest first).

GET /data/catalogue/rows?page=       JSON: state, columns, a page of rows, and how many rows there are
GET /data/catalogue/points?x=&y=     JSON: points of a scatter of two figures, at most one for each cell of a grid
GET /data/catalogue/table.csv, .json all rows that the condition selects
GET /data/catalogue/refresh          look for new and changed reports; JSON: the state
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from flask import Flask, Response, request

from popvision.analysis.compare.metrics import METRICS
from popvision.analysis.report.not_recorded import FormatError
from popvision.catalogue.scatter import fits, number_columns, positions, scatter, series_of
from popvision.catalogue.selection import select_page
from popvision.export.cells import safe_frame
from webapp.base.query import number_of
from webapp.catalogue.folders import CatalogueFolders

if TYPE_CHECKING:
    import pandas as pd

    from webapp.base.library import Library

#: Rows of one page of the table.
PAGE = 100

#: Seconds after which a condition is given up.
MOST_SECONDS = 5.0

#: Reports that do not fit and lack the figure, which the scatter marks at its edge.
MOST_OUTSIDE = 500

_MOST_LETTERS = 2_000

#: Facts that the table shows before the axes and the metrics.
_FACTS = ("state", "target", "commit")

#: Kinds of columns that are no metrics.
_KINDS = {"modified_s": "time", "commit_time_s": "time", "size_bytes": "bytes"}


def register(server: Flask, library: Library, folders: CatalogueFolders) -> None:
    """Add the routes."""
    add = partial(add_route, server, library)
    add("catalogue/rows", lambda folder: _rows(library, folders, folder))
    add("catalogue/points", lambda folder: _points(library, folder))
    add("catalogue/table.csv", partial(_export, kind="csv"))
    add("catalogue/table.json", partial(_export, kind="json"))
    add("catalogue/refresh", lambda folder: json_of({"state": asdict(folders.start(folder))}))


def add_route(server: Flask, library: Library, name: str, answer: Callable[[Path], Response]) -> None:
    """Answer `/data/<name>` for the folder that the query means; what is wrong with the query is a sentence."""

    def view() -> Response:
        try:
            response = answer(folder_asked(library))
        except (ValueError, FormatError) as problem:
            return Response(str(problem), status=400, mimetype="text/plain")
        response.headers["Cache-Control"] = "no-store"
        return response

    server.add_url_rule(f"/data/{name}", name.replace("/", "-").replace(".", "-"), view)


def folder_asked(library: Library) -> Path:
    """The folder that the query means. Raises ValueError where there is none."""
    folders = library.folders
    if not folders:
        raise ValueError("The viewer was given no folder: open one with popvision view FOLDER.")
    return folders[number_of(request.args, "folder", 0, len(folders) - 1, default=0)]


def _rows(library: Library, folders: CatalogueFolders, folder: Path) -> Response:
    state = folders.state(folder)
    if not state.turn and not state.is_reading:
        state = folders.start(folder)
    answer: dict[str, Any] = {"state": asdict(state), "columns": [], "rows": [], "total": 0, "page": 0, "pages": 1}
    if state.is_reading and not (folder / ".popvision-catalogue.parquet").is_file():
        return json_of(answer)
    if state.problem:
        return json_of(answer)
    page = number_of(request.args, "page", 0, 1 << 20, default=0)
    frame, total = _selected(folder, (page + 1) * PAGE)
    pages = max(1, -(-total // PAGE))
    shown = frame.iloc[page * PAGE :]
    columns = _columns(frame)
    keys = keys_of(library, folder)
    cells = [[plain(value) for value in shown[each["name"]]] for each in columns]
    rows = [
        {"key": keys.get(name, ""), "report": name, "problem": problem or "", "cells": list(values)}
        for name, problem, *values in zip(shown["report"], shown["problem"], *cells, strict=True)
    ]
    answer |= {"columns": columns, "rows": rows, "total": total, "page": page, "pages": pages}
    axes = [str(name) for name in frame.columns if name.startswith("axis.")]
    numbers = [name for name in number_columns(frame) if name not in axes]
    return json_of(
        answer | {"figures": [column_of(name) for name in numbers], "axes": [column_of(name) for name in axes]}
    )


def _points(library: Library, folder: Path) -> Response:
    frame, _ = _selected(folder, None)
    x, y = request.args.get("x", "cycles"), request.args.get("y", "peak_used")
    found = scatter(frame, x, y)
    keys = keys_of(library, folder)
    names = frame["report"].to_numpy()[found.row].tolist()
    fitting, along = fits(frame), positions(frame, x)[0]
    outside = np.flatnonzero(~fitting & np.isfinite(along) & frame[y].isna().to_numpy())[:MOST_OUTSIDE]
    places = zip(along[outside].tolist(), frame["report"].to_numpy()[outside].tolist(), strict=True)
    series, names_of_series = series_of(frame, found.row, x)
    return json_of(
        {
            "x": column_of(x) | {"values": found.x.tolist(), "labels": found.labels},
            "y": column_of(y) | {"values": found.y.tolist()},
            "count": found.count.tolist(),
            "report": names,
            "key": [keys.get(name, "") for name in names],
            "series": series,
            "names": names_of_series,
            "fits": fitting[found.row].tolist(),
            "outside": [{"x": place, "report": name, "key": keys.get(name, "")} for place, name in places],
            "missing": found.missing,
            "total": len(frame),
        }
    )


def _selected(folder: Path, limit: int | None) -> tuple[pd.DataFrame, int]:
    where = request.args.get("where", "")
    if len(where) > _MOST_LETTERS:
        raise ValueError(f"a condition has at most {_MOST_LETTERS:,} letters, not {len(where):,}")
    sort, down = request.args.get("sort", "") or "report", request.args.get("down") == "1"
    return select_page(folder, where=where, sort=sort, descending=down, limit=limit, most_seconds=MOST_SECONDS)


def _columns(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The columns of the table: some facts, axes with a value, and the metrics with a value."""
    names = [name for name in frame.columns if name.startswith("axis.")] + [each.name for each in METRICS]
    shown = [name for name in names if name in frame.columns and frame[name].notna().any()]
    facts = [name for name in _FACTS if (frame[name].fillna("") != "").any()]
    return [column_of(str(name)) for name in (*facts, *shown)]


def column_of(name: str) -> dict[str, Any]:
    """Name, title, kind and formula of a column."""
    metric = next((each for each in METRICS if each.name == name), None)
    if metric is not None:
        return {"name": name, "title": metric.title, "kind": metric.kind, "help": metric.formula}
    title = {"modified_s": "Time of the file", "commit_time_s": "Time of the commit", "size_bytes": "Size of the files"}
    text = title.get(name, name.removeprefix("axis.") if name.startswith("axis.") else name.capitalize())
    return {"name": name, "title": text, "kind": _KINDS.get(name, "value"), "help": ""}


def plain(value: Any) -> Any:
    """A value that JSON has; a number that is whole without its fraction, None for a missing one."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, (int, float, str)) else str(value)


def keys_of(library: Library, folder: Path) -> dict[str, str]:
    """Report as the catalogue names it -> its key in the viewer."""
    begin = f"{folder}{os.sep}"
    paths = ((str(entry.path), entry.key) for entry in library.entries() if entry.kind == "report")
    return {path[len(begin) :] or ".": key for path, key in paths if f"{path}{os.sep}".startswith(begin)}


def _export(folder: Path, kind: str) -> Response:
    frame, _ = _selected(folder, None)
    return file_of(frame.drop(columns=["signature"]), kind, "catalogue")


def file_of(frame: pd.DataFrame, kind: str, name: str) -> Response:
    """The rows as a file in "csv" or "json"."""
    if kind == "csv":
        response = Response(safe_frame(frame).to_csv(index=False), mimetype="text/csv")
    else:
        response = Response(frame.to_json(orient="records", double_precision=15), mimetype="application/json")
    response.headers["Content-Disposition"] = f"attachment; filename={name}.{kind}"
    return response


def json_of(answer: dict[str, Any]) -> Response:
    """An answer as JSON; NumPy's arrays become lists."""
    return Response(orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY), mimetype="application/json")
