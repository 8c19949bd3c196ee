"""The tables of a comparison as rows of text, and its figures as text, shared by the terminal and Markdown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from popvision.analysis.compare.changes import Changes
from popvision.analysis.compare.limits import Outcome
from popvision.analysis.compare.not_attributed import program_label
from popvision.analysis.compare.report_diff import Figure, ReportDiff
from popvision.analysis.compare.what_changed import Waterfall, waterfalls

#: Stands for a figure that a report does not hold.
UNKNOWN = "\u2013"


@dataclass(frozen=True)
class TextTable:
    """`numbers` are the titles of the columns that align right; `tone` of each row is -1 for less, 0, or 1 for more."""

    title: str
    note: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    numbers: tuple[str, ...] = ()
    tone: tuple[int, ...] = ()


_NUMBERS = ("Source", "Target", "Difference", "Change")


def diff_tables(diff: ReportDiff, most: int, *, everything: bool = False) -> list[TextTable]:
    """Main figures (those that differ, or all), settings, and of each kind the `most` largest changes (0 = all),
    renames and unmatched rows. Empty tables are left out."""
    tables = [_waterfall_table(each.with_at_most(most)) for each in waterfalls(diff.source, diff.target)]
    tables += [_figure_table(diff, everything), _settings_table(diff)]
    for changes in diff.changes:
        tables += [_changed_table(changes, most), _renamed_table(changes, most), _unmatched_table(changes, most)]
    return [table for table in tables if table.rows]


def steps_line(diff: ReportDiff) -> str:
    """Numbers of matched and unmatched execution steps."""
    if diff.steps is None:
        return "Execution steps: not recorded in both reports."
    steps = diff.steps
    return (
        f"Execution steps: {steps.matched:,} matched, {steps.only_source:,} only in the source, "
        f"{steps.only_target:,} only in the target."
    )


def outcome_line(outcome: Outcome) -> str:
    """A limit and the measured figure."""
    figure, kind = outcome.figure, outcome.figure.metric.kind
    change = f" ({relative_text(figure)})" if relative_text(figure) else ""
    measured = (
        f"{figure.metric.title}: {value_text(figure.source, kind)} -> {value_text(figure.target, kind)}, "
        f"{difference_text(figure.difference, kind)}{change}"
    )
    return f"{measured}; {outcome.problem}" if outcome.problem else measured


def _figure_table(diff: ReportDiff, everything: bool) -> TextTable:
    shown = [each for each in diff.figures if each.difference or (everything and _is_known(each)) or _one_sided(each)]
    rows = [_figure_row(each) for each in shown]
    same = sum(1 for each in diff.figures if each.difference == 0)
    unknown = sum(1 for each in diff.figures if not _is_known(each))
    parts = [f"{same} other figures are equal, {unknown} are in neither report"]
    for side in ("source", "target"):
        lacking = [each.metric.title for each in shown if getattr(each, side) is None and _is_known(each)]
        parts += [f"not recorded in the {side}: {', '.join(lacking)}"] if lacking else []
    note = "; ".join(parts)
    return TextTable("Figures", note, ("Figure", *_NUMBERS), rows, _NUMBERS, tuple(_tone(e.difference) for e in shown))


def _waterfall_table(waterfall: Waterfall) -> TextTable:
    parts = [*waterfall.parts, waterfall.total] if waterfall.parts else []
    rows = [
        (
            each.label,
            value_text(each.source, waterfall.kind),
            value_text(each.target, waterfall.kind),
            difference_text(each.difference, waterfall.kind),
        )
        for each in parts
    ]
    columns = ("Part", *_NUMBERS[:3])
    tones = tuple(_tone(each.difference) for each in parts)
    note = "the differences add up to that of the total" + (f". {waterfall.note}" if waterfall.note else "")
    return TextTable(f"What changed: {waterfall.title.lower()}", note, columns, rows, _NUMBERS, tones)


def _is_known(figure: Figure) -> bool:
    return figure.source is not None or figure.target is not None


def _one_sided(figure: Figure) -> bool:
    return (figure.source is None) != (figure.target is None)


def _tone(difference: float | None) -> int:
    return 0 if not difference or difference != difference else 1 if difference > 0 else -1


def _figure_row(figure: Figure) -> tuple[str, ...]:
    kind = figure.metric.kind
    texts = value_text(figure.source, kind), value_text(figure.target, kind), difference_text(figure.difference, kind)
    return (figure.metric.title, *texts, relative_text(figure))


def _settings_table(diff: ReportDiff) -> TextTable:
    rows = [
        (
            each.group,
            each.name,
            UNKNOWN if each.source is None else each.source,
            UNKNOWN if each.target is None else each.target,
        )
        for each in diff.settings_that_differ
    ]
    return TextTable("Options, machine and versions that differ", "", ("Of", "Name", "Source", "Target"), rows)


def _changed_table(changes: Changes, most: int) -> TextTable:
    changed = changes.changed
    shown = changed if most == 0 else changed.head(most)
    rows = [
        (
            _label(row),
            value_text(row["value_source"], changes.kind),
            value_text(row["value_target"], changes.kind),
            difference_text(row["difference"], changes.kind),
        )
        for row in shown.to_dict("records")
    ]
    columns = ("Name", *_NUMBERS[:3])
    tones = tuple(_tone(each) for each in shown["difference"])
    return TextTable(
        f"Changed {changes.title}", _count_note(changes, len(rows), len(changed)), columns, rows, _NUMBERS, tones
    )


def _renamed_table(changes: Changes, most: int) -> TextTable:
    renamed = changes.renamed
    rows = [
        (row["name_source"], row["name_target"])
        for row in (renamed if most == 0 else renamed.head(most)).to_dict("records")
    ]
    note = "matched by order; " + _count_note(changes, len(rows), len(renamed))
    return TextTable(f"Renamed {changes.title}", note, ("Source", "Target"), rows)


def _unmatched_table(changes: Changes, most: int) -> TextTable:
    rows: list[tuple[str, ...]] = []
    tones: list[int] = []
    sides = (("source", changes.only_source), ("target", changes.only_target))
    for where, frame in sides:
        for row in (frame if most == 0 else frame.head(most)).to_dict("records"):
            values = [value_text(row[column], changes.kind) for column in ("value_source", "value_target")]
            rows.append((where, _label(row), *values, difference_text(row["difference"], changes.kind)))
            tones.append(_tone(row["difference"]))
    total = sum(len(frame) for _, frame in sides)
    note = _count_note(changes, len(rows), total)
    columns = ("In", "Name", *_NUMBERS[:3])
    return TextTable(f"Unmatched {changes.title}", note, columns, rows, _NUMBERS[:3], tuple(tones))


def _count_note(changes: Changes, shown: int, total: int) -> str:
    return f"{changes.about}; {f'{shown:,} of {total:,}' if shown < total else f'{total:,}'}"


def _label(row: Mapping[Any, Any]) -> str:
    return program_label(str(row["type"]), str(row["name_target"] or row["name_source"]))


def value_text(value: float | None, kind: str) -> str:
    """A figure of `kind` (metrics.Metric): 638976 bytes -> "624.0 KiB", a share 0.5 -> "50.00 %"."""
    if value is None or math.isnan(value):
        return UNKNOWN
    if kind == "bytes":
        return _bytes(value)
    if kind == "percent":
        return f"{100 * value:.2f} %"
    if kind == "seconds":
        return _seconds(value)
    return f"{value:,.1f}" if kind == "decimal" and value != int(value) else f"{int(value):,}"


def difference_text(value: float | None, kind: str) -> str:
    """A difference with its sign; shares differ in percentage points."""
    if value is None or math.isnan(value):
        return UNKNOWN
    size = f"{100 * abs(value):.2f} pp" if kind == "percent" else value_text(abs(value), kind)
    return f"{'+' if value > 0 else '-' if value < 0 else ''}{size}"


def relative_text(figure: Figure) -> str:
    """The change as a percentage of the source; "" when unknown, "from 0" when the source is 0."""
    share = figure.relative
    if share is None or figure.metric.kind == "percent":
        return ""
    if math.isinf(share):
        return "from 0"
    return f"{'+' if share > 0 else '-' if share < 0 else ''}{abs(share):.2%}".replace("%", " %")


def _bytes(value: float) -> str:
    size = float(value)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(size) < (1024 if unit == "B" else 1023.95) or unit == "TiB":
            break
        size /= 1024
    return f"{value:,.0f} B" if unit == "B" else f"{size:,.1f} {unit}"


def _seconds(value: float) -> str:
    for limit, unit, factor in ((1e-6, "ns", 1e9), (1e-3, "\u00b5s", 1e6), (1.0, "ms", 1e3)):
        if abs(value) < limit:
            return f"{value * factor:.4g} {unit}"
    return f"{value:,.4g} s"
