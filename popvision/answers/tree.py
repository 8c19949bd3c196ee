"""The program tree, in pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from popvision.answers.page import Page, page_of, with_name
from popvision.formats.errors import FormatError
from popvision.formats.profile.model import PROGRAM_TYPES

if TYPE_CHECKING:
    from popvision.opened.report import OpenedReport

#: Orders of rows; "tree" = the order of the tree.
ORDERS = (
    "tree",
    "self_cycles",
    "total_cycles",
    "executions",
    "received_bytes",
    "sent_bytes",
    "live_bytes",
    "code_bytes",
)

_PROGRAM_COLUMNS = ("received_bytes", "sent_bytes", "live_bytes", "code_bytes", "trips", "compute_set", "callee")


def tree_answer(
    report: OpenedReport,
    page: Page,
    *,
    root: int | None = None,
    depth: int | None = None,
    name: str = "",
    type: str = "",
    ipu: int | None = None,
    order: str = "tree",
) -> dict[str, Any]:
    """Rows of the tree below `root` (by default of all trees) down to `depth`, whose name or type contains `name` and
    whose type is `type`: root, program, depth, rows, type, name, self_cycles, total_cycles, executions,
    received_bytes, sent_bytes, live_bytes, code_bytes, trips, compute_set, callee.

    Raises FormatError for an unknown program, IPU, type or order."""
    if order not in ORDERS:
        raise FormatError(f"there is no order {order!r}; use one of {', '.join(ORDERS)}.")
    if type and type not in PROGRAM_TYPES:
        raise FormatError(f"there is no type of program {type!r}; use one of {', '.join(PROGRAM_TYPES)}.")
    table = report.tree(root, ipu)
    provenance = table.attrs["provenance"]
    programs = report.programs(ipu)
    units = {column: unit for column, unit in programs.attrs["units"].items() if column in _PROGRAM_COLUMNS}
    units = table.attrs["units"] | units
    figures = programs.set_index("program")[list(_PROGRAM_COLUMNS)]
    table = table.join(figures, on="program")
    if depth is not None:
        table = table[table.depth <= depth]
    if type:
        table = table[table.type == type]
    table = with_name(table, name, ("name", "type"))
    if order != "tree":  # a program with several parents counts once
        table = table.drop_duplicates("program").sort_values([order, "program"], ascending=[False, True])
    table.attrs = {"units": units}
    return {"provenance": provenance, "ipu": ipu, "order": order} | page_of(table, page)
