"""The program tree, in pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from popvision.answers.page import Page, named, page_of
from popvision.formats.errors import FormatError
from popvision.formats.profile.model import PROGRAM_TYPES

if TYPE_CHECKING:
    from popvision.opened.report import OpenedReport

#: What rows can be sorted by; "tree" = as they stand.
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

_FIGURES = ("received_bytes", "sent_bytes", "live_bytes", "code_bytes", "trips", "compute_set", "callee")


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
    """Rows of the tree below `root` (all trees by default) no deeper than `depth`, whose name or type contains `name`
    and whose type is `type`: root, program, depth, rows, type, name, self_cycles, total_cycles, executions,
    received_bytes, sent_bytes, live_bytes, code_bytes, trips, compute_set, callee.

    Raises FormatError for a program, an IPU, a type or an order that is not there."""
    if order not in ORDERS:
        raise FormatError(f"there is no order {order!r}; use one of {', '.join(ORDERS)}.")
    if type and type not in PROGRAM_TYPES:
        raise FormatError(f"there is no type of program {type!r}; use one of {', '.join(PROGRAM_TYPES)}.")
    table = report.tree(root, ipu)
    provenance = table.attrs["provenance"]
    figures = report.programs(ipu).set_index("program")[list(_FIGURES)]
    units = table.attrs["units"] | {each: "bytes" for each in _FIGURES if each.endswith("_bytes")}
    table = table.join(figures, on="program")
    if depth is not None:
        table = table[table.depth <= depth]
    if type:
        table = table[table.type == type]
    table = named(table, name, ("name", "type"))
    if order != "tree":  # a program that stands in several places counts once
        table = table.drop_duplicates("program").sort_values([order, "program"], ascending=[False, True])
    table.attrs = {"units": units}
    return {"provenance": provenance, "ipu": ipu, "order": order} | page_of(table, page)
