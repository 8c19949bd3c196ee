"""Routes of the what-if page. Queries: `folder` (its number among those of the viewer), `program`, `across` and `lines`
(axes by their column, `lines` = "none" for one line), `hold.<axis>` (value of another axis), `report` (key of the one
whose values are held else), `speed` and `memory` (metrics).

GET /data/what-if/answer             JSON: axes, a cell for each point that has a report, sentences
GET /data/what-if/table.csv, .json   the cells, with the values of all axes
"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flask import Flask, Response, request

from popvision.catalogue.selection import select_reports
from popvision.catalogue.verdicts import verdicts
from popvision.catalogue.what_if import MEMORY, SPEED, Axis, WhatIf, cells, fit_counts, named_cells, what_if
from webapp.catalogue.folders import CatalogueFolders
from webapp.catalogue.routes import add_route, column_of, file_of, json_of, keys_of, plain

if TYPE_CHECKING:
    import pandas as pd

    from webapp.base.library import Library


def register(server: Flask, library: Library, folders: CatalogueFolders) -> None:
    """Add the routes."""
    add_route(server, library, "what-if/answer", partial(_answer, library, folders))
    for kind in ("csv", "json"):
        add_route(server, library, f"what-if/table.{kind}", partial(_export, library, kind=kind))


def _answer(library: Library, folders: CatalogueFolders, folder: Path) -> Response:
    state = folders.state(folder)
    if not state.turn and not state.is_reading:
        state = folders.start(folder)
    answer: dict[str, Any] = {"state": asdict(state), "cells": None}
    if state.problem or (state.is_reading and not (folder / ".popvision-catalogue.parquet").is_file()):
        return json_of(answer)
    keys = keys_of(library, folder)
    frame, found = _found(folder, keys)
    speed, memory = _figures()
    counts = fit_counts(frame, found)
    by_name = {axis.name: axis for axis in found.axes}
    return json_of(
        answer
        | {
            "program": found.program,
            "programs": list(found.programs),
            "axes": [{"name": axis.name, "title": axis.title} for axis in found.axes],
            "across": _axis(found.across),
            "lines": None if found.lines is None else _axis(found.lines),
            "held": [
                _axis(by_name[name]) | {"at": at, "fit": [list(pair) for pair in counts[name]]}
                for name, at in found.held.items()
            ],
            "speed": column_of(speed),
            "memory": column_of(memory),
            "speeds": [column_of(name) for name in SPEED],
            "memories": [column_of(name) for name in MEMORY],
            "cells": _cells(cells(frame, found, speed, memory), keys, speed, memory),
            "size": list(found.row.shape),
            "sentences": verdicts(frame, found, speed),
        }
    )


def _cells(table: pd.DataFrame, keys: dict[str, str], speed: str, memory: str) -> list[dict[str, Any]]:
    rows = []
    for row in table.to_dict("records"):
        cell = {name: plain(row[name]) for name in ("line", "across", "report", "note", "problem", "tile_memory")}
        figures = {"speed": plain(row[speed]), "memory": plain(row[memory])}
        rows.append(cell | figures | {"fits": bool(row["fits"]), "key": keys.get(str(row["report"]), "")})
    return rows


def _axis(axis: Axis) -> dict[str, Any]:
    places = range(len(axis.values))
    return {
        "name": axis.name,
        "title": axis.title,
        "texts": axis.texts,
        "shown": [axis.shown(at) for at in places],
        "phrases": [axis.phrase(at) for at in places],
    }


def _found(folder: Path, keys: dict[str, str]) -> tuple[pd.DataFrame, WhatIf]:
    frame = select_reports(folder)
    query = request.args
    held = {name.removeprefix("hold."): value for name, value in query.items() if name.startswith("hold.")}
    near = next((report for report, key in keys.items() if key == query.get("report")), "")
    chosen = {name: query.get(name, "") for name in ("program", "across", "lines")}
    return frame, what_if(frame, held=held, near=near, **chosen)


def _figures() -> tuple[str, str]:
    return request.args.get("speed") or SPEED[0], request.args.get("memory") or MEMORY[0]


def _export(library: Library, folder: Path, kind: str) -> Response:
    frame, found = _found(folder, keys_of(library, folder))
    return file_of(named_cells(frame, found, *_figures()), kind, "what_if")
