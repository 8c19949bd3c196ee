"""The document of the operations view."""

from __future__ import annotations

from popvision.analysis.operations.derived import derived_table
from popvision.analysis.operations.table import operation_table
from webapp.base.arrays import Int64Array
from webapp.base.formats import integer_text, percent_text
from webapp.base.view import ViewContext
from webapp.documents.confidential import Names
from webapp.documents.document import Block, Facts, Note
from webapp.documents.memory_views import figure_table
from webapp.graph_analyser.operations.state import OperationState, chosen_operations
from webapp.graph_analyser.operations.tables import FIGURES, shown_figures


def operation_blocks(context: ViewContext, names: Names) -> list[Block]:
    """The selected operation, and all operations or groups with figures, shares and cumulative shares."""
    source = context.source
    state = OperationState.read(source, context.params)
    groups = state.groups(source)
    recorded = groups.sums.columns()
    rows = operation_table(source, state.layer, state.ipu, state.level, state.under, state.by)
    title, ids = (
        f"Operations, most {FIGURES[state.by][0].lower()} first",
        shown_figures(source, state, everything=False),
    )
    names_of_kinds = {"name": "operation", "operation": "operation"}
    table = figure_table(title, derived_table(source, rows, state.layer), ids, names_of_kinds)
    blocks: list[Block] = [Note(each) for each in groups.sums.remarks]
    chosen = chosen_operations(source, state, context.params)
    if chosen is not None:
        blocks.append(_facts(recorded, groups.totals, chosen.rows, names.show("operation", chosen.title)))
    return [*blocks, table]


def _facts(recorded: dict[str, Int64Array], totals: dict[str, int], rows: list[int], title: str) -> Facts:
    shown = []
    for field, values in recorded.items():
        own, total = int(values[rows].clip(min=0).sum()), totals[field]
        share = percent_text(own / total) if total > 0 else ""
        shown.append((FIGURES[field][0], integer_text(own), f"{share} of {total:,}" if share else ""))
    return Facts(shown, f"Selected: {title}")
