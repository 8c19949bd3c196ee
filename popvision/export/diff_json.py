"""A comparison as one JSON document, for `popvision diff --json`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from popvision.analysis.compare.changes import Changes
from popvision.analysis.compare.limits import Outcome
from popvision.analysis.compare.report_diff import Figure, ReportDiff
from popvision.analysis.compare.what_changed import Part, Waterfall, waterfalls
from popvision.analysis.report.origin import provenance_line

if TYPE_CHECKING:
    from pandas import DataFrame

    from popvision.analysis.report.source import ReportSource

#: Changes when a key changes its meaning or is removed. 2.0: a row that one report lacks has 0 as that report's value,
#: and a difference; both were null in 1.0. 3.0: "how" of a row is "matched" and "inReport".
FORMAT_VERSION = "3.0"


def diff_document(diff: ReportDiff, outcomes: list[Outcome], most: int) -> dict[str, Any]:
    """Lists of rows hold the `most` largest (0 = all), with their full lengths beside them. null = unknown, or no
    relative change because the source is 0."""
    return {
        "format": "popvision.diff",
        "formatVersion": FORMAT_VERSION,
        "rule": "difference = target - source; relative = difference / source",
        "source": _report(diff.source),
        "target": _report(diff.target),
        "notes": diff.notes,
        "whatChanged": [_waterfall(each) for each in waterfalls(diff.source, diff.target)],
        "metrics": {figure.metric.name: _figure(figure) for figure in diff.figures},
        "settings": [
            {"group": each.group, "name": each.name, "source": each.source, "target": each.target}
            for each in diff.settings_that_differ
        ],
        "steps": None if diff.steps is None else vars(diff.steps),
        "changes": {changes.what: _changes(changes, most) for changes in diff.changes},
        "limits": [_outcome(outcome) for outcome in outcomes],
        "broken": sum(outcome.broken for outcome in outcomes),
    }


def _waterfall(waterfall: Waterfall) -> dict[str, Any]:
    """All parts that differ, whose differences add up to that of the total."""
    parts = [_part(each) for each in waterfall.parts]
    total = _part(waterfall.total)
    return {
        "title": waterfall.title,
        "by": waterfall.by,
        "unit": waterfall.kind,
        "total": total,
        "parts": parts,
        "note": waterfall.note,
    }


def _part(part: Part) -> dict[str, Any]:
    return {"label": part.label, "source": part.source, "target": part.target, "difference": part.difference}


def _report(source: ReportSource) -> dict[str, Any]:
    return {
        "path": str(source.reader.path),
        "label": source.label,
        "reportId": source.report_id,
        "generation": source.generation,
        "provenance": provenance_line(source),
    }


def _figure(figure: Figure) -> dict[str, Any]:
    return {
        "title": figure.metric.title,
        "unit": figure.metric.kind,
        "formula": figure.metric.formula,
        "source": figure.source,
        "target": figure.target,
        "difference": figure.difference,
        "relative": _finite(figure.relative),
    }


def _outcome(outcome: Outcome) -> dict[str, Any]:
    return {
        "limit": outcome.limit.text,
        "metric": outcome.limit.metric.name,
        "broken": outcome.broken,
        "problem": outcome.problem or None,
    }


def _changes(changes: Changes, most: int) -> dict[str, Any]:
    parts = {
        "changed": changes.changed,
        "renamed": changes.renamed,
        "onlySource": changes.only_source,
        "onlyTarget": changes.only_target,
    }
    matched = changes.frame[(changes.frame["source"] >= 0) & (changes.frame["target"] >= 0)]
    counts = {name: len(rows) for name, rows in parts.items()}
    return {
        "value": changes.about,
        "unit": changes.kind,
        "counts": counts | {"matched": len(matched)},
        "matchedBy": {str(how): int(count) for how, count in matched["matched"].value_counts().items()},
        **{name: _rows(rows, most) for name, rows in parts.items()},
    }


def _rows(frame: DataFrame, most: int) -> list[dict[str, Any]]:
    chosen = frame if most == 0 else frame.head(most)
    return [
        {
            "source": _id(row["source"]),
            "target": _id(row["target"]),
            "type": row["type"],
            "nameSource": row["name_source"],
            "nameTarget": row["name_target"],
            "matched": row["matched"],
            "inReport": row["in_report"],
            "valueSource": _finite(row["value_source"]),
            "valueTarget": _finite(row["value_target"]),
            "difference": _finite(row["difference"]),
        }
        for row in chosen.to_dict("records")
    ]


def _id(row: int) -> int | None:
    return None if row < 0 else int(row)


def _finite(value: float | None) -> float | int | None:
    if value is None or not math.isfinite(value):
        return None
    return int(value) if value == int(value) else float(value)
