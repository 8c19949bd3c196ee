"""One row of the catalogue: a report's headline figures, and where it came from.

report           its folder, relative to the catalogued one
signature        time and size of profile.pop, its journal and point.json: the row holds while these stay
state            complete, running, not closed, truncated or damaged, as the list of reports says; changing for a
                 report written while it was read, whose figures are missing until the next refresh
problem          the sentence about damage, or the error of a failed point of a sweep
target, label    as the viewer names them
modified_s       seconds since the epoch; size_bytes of the folder
tile_memory      bytes of memory of each tile of the target
program          of a point of a sweep: the name of its program, and of the engine where an engine has one
digest, commit, commit_time_s      of a point of a sweep (docs/sweeps.md)
axis.NAME        its coordinates
...              the metrics of docs/compare.md by name; missing = the report does not hold the figure
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from popvision.analysis.compare.metrics import METRICS, measure
from popvision.analysis.report.not_recorded import if_recorded
from popvision.analysis.summary.report_list import ReportPath, describe, open_report
from popvision.formats.errors import FormatError, NotRecordedError

#: Columns of every row, in this order; axes and metrics follow.
FACTS = (
    "report",
    "signature",
    "state",
    "problem",
    "label",
    "target",
    "modified_s",
    "size_bytes",
    "tile_memory",
    "program",
    "digest",
    "commit",
    "commit_time_s",
)
METRIC_NAMES = tuple(metric.name for metric in METRICS)
AXIS = "axis."
_TILE_MEMORY = "tile_memory"

#: Files of a report that its signature depends on.
SIGNED = ("profile.pop", "profile.pop-wal", "point.json", "../point.json")


def signature_of(folder: Path) -> str:
    """Changes when a file that the row depends on does."""
    parts = []
    for name in SIGNED:
        try:
            state = (folder / name).stat()
        except OSError:
            continue
        parts.append(f"{name} {state.st_mtime_ns} {state.st_size}")
    return "; ".join(parts)


def read_row(root: Path, folder: Path) -> dict[str, Any]:
    """The row of the report in `folder`. Damage becomes its state and problem."""
    before = signature_of(folder)
    card = describe(ReportPath("report", folder))
    row: dict[str, Any] = {
        "report": str(folder.relative_to(root)),
        "signature": before,
        "state": card.state,
        "problem": card.problem,
        "label": card.label,
        "target": card.target,
        "modified_s": card.modified,
        "size_bytes": card.size_bytes,
    }
    point, engine = point_of(folder)
    row |= {
        "program": ", ".join(filter(None, (Path(str(point.get("program", ""))).name, engine))),
        "digest": str(point.get("digest", "")),
        "commit": str(point.get("commit", "")),
        "commit_time_s": point.get("commit_time") or None,
    }
    row["problem"] = row["problem"] or str(point.get("error", ""))
    axes = point.get("axes")
    row |= {f"{AXIS}{name}": value for name, value in (axes.items() if isinstance(axes, dict) else ())}
    values = _figures(folder)
    row["tile_memory"] = values.pop(_TILE_MEMORY, None)
    if signature_of(folder) != before:
        return row | {"signature": "", "state": "changing"}
    return row | values


def _figures(folder: Path) -> dict[str, float | None]:
    try:
        source = open_report(folder)
        values = measure(source)
        target = if_recorded(source.reader.target)
    except (FormatError, NotRecordedError, OSError):
        return {}
    found = {name: None if value is None else float(value) for name, value in values.items() if name in METRIC_NAMES}
    return found | {_TILE_MEMORY: None if target is None else float(target.bytes_per_tile)}


def point_of(folder: Path) -> tuple[dict[str, Any], str]:
    """(point.json of a sweep in the folder, or above it for the report of a named engine; {} without one; that name)"""
    for place, engine in ((folder, ""), (folder.parent, folder.name)):
        try:
            document = json.loads((place / "point.json").read_text())
        except (OSError, ValueError):
            continue
        if isinstance(document, dict) and "digest" in document:
            return document, engine
    return {}, ""
