"""The tables of a comparison as rows of text, shared by the terminal and Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from popvision.analysis.compare.changes import Changes
from popvision.analysis.compare.limits import Outcome
from popvision.analysis.compare.report_diff import Figure, ReportDiff
from popvision.export.diff_numbers import UNKNOWN, difference_text, relative_text, value_text


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
    tables = [_figure_table(diff, everything), _settings_table(diff)]
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
    shown = [each for each in diff.figures if each.difference or (everything and _known(each)) or _one_sided(each)]
    rows = [_figure_row(each) for each in shown]
    same = sum(1 for each in diff.figures if each.difference == 0)
    unknown = sum(1 for each in diff.figures if not _known(each))
    note = f"{same} other figures are equal, {unknown} are in neither report"
    return TextTable("Figures", note, ("Figure", *_NUMBERS), rows, _NUMBERS, tuple(_tone(e.difference) for e in shown))


def _known(figure: Figure) -> bool:
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
        f"Changed {changes.what}", _count_note(changes, len(rows), len(changed)), columns, rows, _NUMBERS, tones
    )


def _renamed_table(changes: Changes, most: int) -> TextTable:
    renamed = changes.renamed
    rows = [
        (row["name_source"], row["name_target"])
        for row in (renamed if most == 0 else renamed.head(most)).to_dict("records")
    ]
    note = "matched by order; " + _count_note(changes, len(rows), len(renamed))
    return TextTable(f"Renamed {changes.what}", note, ("Source", "Target"), rows)


def _unmatched_table(changes: Changes, most: int) -> TextTable:
    rows: list[tuple[str, ...]] = []
    sides = (("only source", changes.only_source, "value_source"), ("only target", changes.only_target, "value_target"))
    for where, frame, column in sides:
        for row in (frame if most == 0 else frame.head(most)).to_dict("records"):
            rows.append((where, _label(row), value_text(row[column], changes.kind)))
    total = sum(len(frame) for _, frame, _ in sides)
    note = _count_note(changes, len(rows), total)
    return TextTable(f"Unmatched {changes.what}", note, ("Where", "Name", "Value"), rows, ("Value",))


def _count_note(changes: Changes, shown: int, total: int) -> str:
    return f"{changes.about}; {f'{shown:,} of {total:,}' if shown < total else f'{total:,}'}"


def _label(row: Mapping[Any, Any]) -> str:
    type, name = str(row["type"]), str(row["name_target"] or row["name_source"])
    return f"{type} ({name})" if type and name else type or name
