"""Documents of two reports: what changed in the parts that the view is about, as signed bars and tables, then the view
of each report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from popvision.analysis.compare.changes import Changes, program_changes, variable_changes
from popvision.analysis.compare.exchange import compared_exchanges
from popvision.analysis.compare.matching import Matching, match_programs, match_steps, match_variables
from popvision.analysis.compare.memory import replica_of_target
from popvision.analysis.compare.what_changed import NOT_ATTRIBUTED, Part, Waterfall, nothing_changed, waterfalls
from popvision.analysis.liveness.curve import curve
from popvision.analysis.memory.usage import memory_by_tile
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.source import ReportSource
from popvision.export.diff_rows import difference_text, value_text
from webapp.base.arrays import Float64Array, Int64Array
from webapp.base.formats import in_units
from webapp.base.view import ViewContext
from webapp.documents.bars import difference_bars
from webapp.documents.confidential import Names
from webapp.documents.document import Block, Curves, Drawing, Field, Note, Table
from webapp.documents.pictures import matrix_scale
from webapp.documents.program_views import exchange_blocks, exchange_matrix, exchange_shown
from webapp.graph_analyser.liveness.state import liveness_state, where_text
from webapp.graph_analyser.memory.state import memory_state

#: Parts of each waterfall's table, and of its picture; the last one adds up the others.
MOST_PARTS, MOST_BARS = 20, 8

#: Rows of a table of changes.
MOST_CHANGES = 100

#: Kind of the names that a waterfall's parts have.
_NAME_KINDS = {"operation": "operation", "source line": "file"}

Blocks = Callable[[ViewContext, Names], list[Block]]


def compared_blocks(view: str, context: ViewContext, target: ReportSource, names: Names, blocks: Blocks) -> list[Block]:
    """The differences, then what `blocks` gives for the source and for the target."""
    if view == "exchange":
        context, blocks = _one_exchange(context, target, blocks)
    other = replace(context, opened=target, params=_params_of_target(context, target))
    parts = [*_what_changed(view, context.source, target, names)]
    for question in _QUESTIONS.get(view, ()):
        try:
            parts.append(question(context, other, names))
        except NotRecordedError as problem:
            parts.append(Note(str(problem)))
    for role, one in (("Source", context), ("Target", other)):
        try:
            parts += _of_role(role, blocks(one, names))
        except NotRecordedError as problem:
            parts.append(Note(f"{role}: {problem}"))
    return parts


def _one_exchange(context: ViewContext, target: ReportSource, blocks: Blocks) -> tuple[ViewContext, Blocks]:
    """The context with the program whose matrices are drawn, and blocks that draw both in one scale of colours."""
    program = exchange_shown(context)
    if program is None:
        return context, blocks
    chosen = replace(context, params={**context.params, "program": str(program)})
    other = replace(chosen, opened=target, params=_params_of_target(chosen, target))
    partner = exchange_shown(other)
    matrices = []
    for each, shown in ((chosen, program), (other, partner)):
        try:
            matrices += [] if shown is None else [exchange_matrix(each, shown)]
        except NotRecordedError:
            continue  # its block says so
    return chosen, partial(exchange_blocks, scale=matrix_scale(*matrices)) if len(matrices) == 2 else blocks


def _of_role(role: str, blocks: Sequence[Block]) -> list[Block]:
    """Blocks whose headings say of which report they are."""
    return [
        Note(f"{role}: {each.text}")
        if isinstance(each, Note)
        else replace(each, title=f"{role}: {each.title[:1].lower()}{each.title[1:]}" if each.title else role)
        for each in blocks
    ]


def _params_of_target(context: ViewContext, target: ReportSource) -> dict[str, str]:
    """The selection with the target's own numbers of what it selects; what has no partner is left out."""
    params = dict(context.params)
    matchings: dict[str, Callable[[ReportSource, ReportSource], Matching]] = {
        "program": match_programs,
        "step": match_steps,
        "variable": match_variables,
    }
    for key, match in matchings.items():
        number = params.get(key, "")
        if not number.isdecimal():
            continue
        rows = match(context.source, target).target_rows()
        partner = int(rows[int(number)]) if int(number) < len(rows) else -1
        params.pop(key)
        if partner >= 0:
            params[key] = str(partner)
    return params


# ---- what changed ----


def _what_changed(view: str, source: ReportSource, target: ReportSource, names: Names) -> list[Block]:
    """Pictures and tables of the view's waterfalls, or the sentence that nothing changed."""
    both = [each for each in waterfalls(source, target) if view in ("overview", "summary") or view in _views_of(each)]
    if not both:
        return [] if view in _QUESTIONS else [Note("Neither cycles nor memory are recorded in both reports.")]
    if not any(each.parts for each in both):
        return [Note(nothing_changed(both))]
    return [block for each in both if each.parts for block in _waterfall(each, names)]


def _views_of(waterfall: Waterfall) -> tuple[str, ...]:
    """The views about what a waterfall counts, or about what it is split by."""
    by = {"phase": "execution", "operation": "operations", "source line": "source", "category": "memory"}[waterfall.by]
    of = {"Device cycles": ("execution", "program_tree"), "Live memory at the peak": ("liveness",)}
    return (by, *of.get(waterfall.measure, ()))


def _waterfall(waterfall: Waterfall, names: Names) -> list[Block]:
    title = f"What changed: {waterfall.title.lower()}"
    short, kind = waterfall.with_at_most(MOST_BARS), waterfall.kind
    bars = [
        (_label(short, part, names), part.difference, difference_text(part.difference, kind))
        for part in [*short.parts, short.total]
    ]
    drawing = Drawing(title, difference_bars(title, bars))
    has_names = any(part.named for part in waterfall.parts)  # a confidential document has none
    note = [Note(in_units(waterfall.note))] if waterfall.note and not (has_names and names.confidential) else []
    return [drawing, *note, _table(waterfall.with_at_most(MOST_PARTS), names)]


def _table(waterfall: Waterfall, names: Names) -> Table:
    kind = waterfall.kind
    rows = [
        {
            "part": _label(waterfall, part, names),
            "source": value_text(part.source, kind),
            "target": value_text(part.target, kind),
            "difference": difference_text(part.difference, kind),
        }
        for part in [*waterfall.parts, waterfall.total]
    ]
    fields = [Field("part", "Part"), Field("source", "Source"), Field("target", "Target")]
    return Table(f"Figures of {waterfall.title.lower()}", [*fields, Field("difference", "Difference")], rows)


def _label(waterfall: Waterfall, part: Part, names: Names) -> str:
    """The name, replaced in a confidential document; words of the viewer stay."""
    is_name = part in waterfall.parts and part.label != NOT_ATTRIBUTED and not part.label.endswith(" others")
    kind = _NAME_KINDS.get(waterfall.by)
    return names.show(kind, part.label) if kind and is_name else part.label


# ---- what a view compares beside that ----


def _memory_of_both(context: ViewContext, other: ViewContext, names: Names) -> Block:
    state = memory_state(context.source, context.params)
    replicas = (state.replica, replica_of_target(other.source, state.replica))
    memory = [memory_by_tile(one.source, replica) for one, replica in zip((context, other), replicas, strict=True)]
    curves = [each.including_gaps if state.gaps else each.excluding_gaps for each in memory]
    gaps = "including" if state.gaps else "excluding"
    names_of_both = [f"Source, {gaps} gaps", f"Target, {gaps} gaps"]
    return Curves("Memory by tile of both", "tile", names_of_both, curves, first=memory[0].tiles.start, colours=[1, 2])


def _live_bytes_of_both(context: ViewContext, other: ViewContext, names: Names) -> Block:
    where = liveness_state(context.source, context.params).where
    lines = [curve(one.source, where) for one in (context, other)]
    totals = [line.not_always_live + line.always_live for line in lines]
    title = f"Live bytes of {where_text(where, 1)}, always live included, of both"
    return Curves(title, "liveness index of each report", ["Source", "Target"], totals, colours=[1, 2])


def _changed_programs(context: ViewContext, other: ViewContext, names: Names) -> Block:
    return _changes(program_changes(context.source, other.source), "program")


def _changed_variables(context: ViewContext, other: ViewContext, names: Names) -> Block:
    return _changes(variable_changes(context.source, other.source), "variable")


def _changes(changes: Changes, kind: str) -> Block:
    """Rows whose values differ; what one report alone has counts in full."""
    frame = changes.frame
    values = [frame[f"value_{side}"].to_numpy() for side in ("source", "target")]
    difference = values[1] - values[0]
    if len(difference) and np.isnan(difference).all():
        return Note(_not_recorded(changes.about, values))
    order = _differing(difference)
    if not len(order):
        return Note(f"Nothing changed: {changes.title} are equal ({changes.about}).")
    rows = [
        {
            "name": frame["name_source"].iat[row] or frame["name_target"].iat[row] or frame["type"].iat[row],
            "matched": frame["matched"].iat[row],
            "in_report": frame["in_report"].iat[row],
            "source": value_text(values[0][row], changes.kind),
            "target": value_text(values[1][row], changes.kind),
            "difference": difference_text(difference[row], changes.kind),
        }
        for row in order[:MOST_CHANGES].tolist()
    ]
    return Table(f"Changed {changes.title}: {changes.about}", _change_fields(kind), rows, len(order))


def _differing(difference: Float64Array) -> Int64Array:
    """Rows that differ, the largest difference first; those that one report did not record are left out."""
    order = np.argsort(-np.nan_to_num(np.abs(difference)), kind="stable")
    return np.asarray(order[np.nan_to_num(difference[order]) != 0], np.int64)


def _not_recorded(about: str, values: Sequence[Float64Array]) -> str:
    lacking = [side for side, each in zip(("source", "target"), values, strict=True) if np.isnan(each).all()]
    return f"Not compared: {about}: not recorded in the {' and the '.join(lacking)}."


def _changed_exchanges(context: ViewContext, other: ViewContext, names: Names) -> Block:
    table = compared_exchanges(context.source, other.source)
    values = [np.asarray(table.column("total", side=side).values, float) for side in ("source", "target")]
    difference = values[1] - values[0]
    if len(difference) and np.isnan(difference).all():
        return Note(_not_recorded("bytes over all runs", values))
    order = _differing(difference)
    if not len(order):
        return Note("Nothing changed: every exchange program moves as many bytes in both reports.")
    rows = [
        {
            "name": table["name"][row],
            "matched": table["matched"][row],
            "in_report": table["in_report"][row],
            "source": value_text(values[0][row], "bytes"),
            "target": value_text(values[1][row], "bytes"),
            "difference": difference_text(difference[row], "bytes"),
        }
        for row in order[:MOST_CHANGES].tolist()
    ]
    return Table("Changed exchange programs: bytes over all runs", _change_fields("program"), rows, len(order))


def _change_fields(kind: str) -> list[Field]:
    return [
        Field("name", "Name", kind),
        Field("matched", "Matched by"),
        Field("in_report", "In"),
        Field("source", "Source"),
        Field("target", "Target"),
        Field("difference", "Difference"),
    ]


_Question = Callable[[ViewContext, ViewContext, Names], Block]

_QUESTIONS: dict[str, tuple[_Question, ...]] = {
    "memory": (_memory_of_both, _changed_variables),
    "liveness": (_live_bytes_of_both, _changed_variables),
    "program_tree": (_changed_programs,),
    "execution": (_changed_programs,),
    "exchange": (_changed_exchanges,),
}
