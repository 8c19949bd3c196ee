"""The catalogue of figures: what each column of a table is called, and how it comes about.

The viewer, `popvision.open` and the command line read `TITLES[table][figure]`. A figure that is not listed is an error,
so that nothing is shown under a guessed name or unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from popvision.analysis.report.figure import Figure, Table

if TYPE_CHECKING:
    import pandas as pd


class UnknownFigureError(KeyError):
    """A table or a figure that the catalogue does not list."""


@dataclass(frozen=True)
class FigureTitle:
    """`title` heads the column; `help` says what the figure is, `formula` how it comes about.

    `field` names the column in the viewer's exports and addresses; "" = the id. "{place}" in `title` and `field` stands
    for the place of the figure; without it the place follows the field after a comma."""

    title: str
    help: str = ""
    formula: str = ""
    field: str = ""

    @property
    def hint(self) -> str:
        """Help and formula in one line."""
        return " = ".join(part for part in (self.help, self.formula) if part)


def _titled(title: str, help: str = "", formula: str = "") -> FigureTitle:
    """A figure that exports name by its title."""
    return FigureTitle(title, help, formula, title)


_CODE = "Bytes, once per tile that holds it; a dash where the size is not known"

#: Of tables of two reports.
_IN_REPORT = {"in_report": _titled("In", "The report that has the row: both, source or target alone")}

TITLES: dict[str, dict[str, FigureTitle]] = {
    "vertices_on_tiles": {
        "name": _titled("Vertex type"),
        "vertex_type": _titled("Id"),
        "kind": _titled("Kind"),
        "instance_bytes": _titled("State each", "Bytes of state of one instance"),
        "instances": _titled("Instances", "Vertices of the type"),
        "state_bytes": _titled("State", "Bytes of vertex state", "instances x state of one instance"),
        "code_bytes": _titled("Code", _CODE),
        **_IN_REPORT,
    },
    "compute_sets_on_tiles": {
        "name": _titled("Compute set"),
        "compute_set": _titled("Id"),
        "programs": _titled("Programs", "Programs that run the compute set"),
        "program": _titled("Program", "Id of the first program that runs it"),
        "vertices": _titled("Vertices", "Vertices of the compute set"),
        "state_bytes": _titled("State", "Bytes of vertex state", "sum over its vertices of the state of one instance"),
        **_IN_REPORT,
    },
    "exchanges_on_tiles": {
        "name": _titled("Exchange"),
        "type": _titled("Type"),
        "program": _titled("Program", "Id of the program"),
        "code_bytes": _titled("Code", "Bytes of exchange code"),
        "received_bytes": _titled("Received", "Bytes received in one execution"),
        "sent_bytes": _titled("Sent", "Bytes sent in one execution, a multicast once"),
        **_IN_REPORT,
    },
    "variables_on_tiles": {
        "name": _titled("Variable"),
        "variable": _titled("Id"),
        "live": _titled("Live", "always, or at times"),
        "size_bytes": _titled("Bytes"),
        **_IN_REPORT,
    },
    "variables": {
        "name": _titled("Variable"),
        "variable": _titled("Id"),
        "size_bytes": _titled("Bytes", "Over all tiles of one replica"),
        "live": _titled("Live", "always, or at times"),
        **_IN_REPORT,
    },
    "lowered_variables": {
        "id": _titled("Id"),
        "name": _titled("Name"),
        "variable_name": _titled("Variable"),
        "category": _titled("Category"),
        "region": _titled("Region"),
        "address": _titled("Address", "Byte offset within the tile's memory"),
        "size_bytes": _titled("Bytes"),
        "live": FigureTitle("Live (indices)", "Liveness indices at which it is live, last included", field="Live"),
        "indices": _titled("Indices", "How many liveness indices it is live at"),
        "shared": _titled("Shared", "yes: another allocation uses one of its addresses at another time"),
        "variable": _titled("Variable Id"),
    },
    "variable_parts": {
        "tile": _titled("Tile"),
        "ipu": _titled("IPU"),
        "name": _titled("Part", "Name of the lowered variable"),
        "address": _titled("Address", "Byte offset in the memory of the tile"),
        "size_bytes": _titled("Bytes"),
    },
    "always_live_variables": {
        "name": _titled("Variable"),
        "variable": _titled("Id"),
        "target_variable": _titled("Target id"),
        "size_bytes": _titled("Bytes", "Bytes on the tiles of the source"),
    },
    "live_variables": {
        "name": _titled("Variable"),
        "variable": _titled("Id"),
        "target_variable": _titled("Target id"),
        "live": FigureTitle("Live (indices)", "Liveness indices at which it is live, last included", field="Live"),
        "size_bytes": _titled("Index {place}", "Bytes live there"),
        "change_bytes": FigureTitle(
            "{place}", "Bytes at the first of these indices less bytes at the second", field="Change {place}"
        ),
    },
    "liveness_curve": {
        "liveness_index": _titled("Index", "Liveness index: place in the static order of the program"),
        "target_index": _titled("Target index", "Its partner in the target; a dash: only in the source"),
        "program": _titled("Program", "Id in the program tree"),
        "target_program": _titled("Target program", "Id in the target's program tree"),
        "step": _titled("Step"),
        "not_always_live_bytes": _titled("Not always live", "Bytes live at this index, not always"),
        "live_bytes": _titled("Total", formula="not always live + always live"),
    },
    "live_vertices": {
        "name": _titled("Vertex type"),
        "kind": _titled("Kind"),
        "instances": _titled("Instances", "Vertices of the type"),
        "state_bytes": _titled("State", "Bytes of vertex state", "instances x state of one instance"),
        "state_change_bytes": FigureTitle("State {place}", "Change of state", field="Change of state {place}"),
    },
    "cycle_estimates": {
        "liveness_index": _titled("Index", "Liveness index: place in the static order of the program"),
        "target_index": _titled("Target index", "Its partner in the target"),
        "program": _titled("Program", "Id in the program tree"),
        "step": _titled("Step"),
        "longest_cycles": FigureTitle(
            "Max cycles", "Cycles of the longest tile: the length of the step", field="Maximum"
        ),
        "mean_cycles": FigureTitle("Mean cycles", formula="sum of cycles / number of tiles", field="Mean"),
        "shortest_cycles": FigureTitle("Min cycles", "Cycles of the shortest tile", field="Minimum"),
        "longest_tile": FigureTitle("Longest tile", "The tile that has the maximum", field="Tile"),
        "balance": _titled("Balance", formula="mean / maximum over all these tiles"),
        "device_us": FigureTitle(
            "Device µs", "Device time, modelled, not measured", "maximum / clock", field="Time us"
        ),
        "provenance": _titled("Basis", "Least certain source of the vertices' cycles: exact, fitted or guess"),
    },
    "flop_estimates": {
        "name": _titled("Vertex type"),
        "flops": _titled("FLOP", "Floating point operations of one execution over all tiles"),
    },
    "tile_ranking": {
        "rank": _titled("Rank", "By memory including gaps; equals share the first place"),
        "tile": _titled("Tile"),
        "ipu": _titled("IPU"),
        "physical_tile": _titled("Physical", "Physical id within the IPU, -1: not known"),
        "including_gaps_bytes": _titled("Including gaps", "Highest used address"),
        "excluding_gaps_bytes": _titled("Excluding gaps", "Bytes of all allocations, shared addresses once"),
        "gaps_bytes": _titled("Gaps", "Unused bytes below the highest used address"),
        "always_live_bytes": _titled("Always live", "Bytes that may be needed at every liveness index"),
        "not_always_live_bytes": _titled("Not always live", "The tile's own maximum over liveness indices"),
        "peak_live_bytes": _titled("Live at its peak", formula="always live + not always live at the tile's own peak"),
        "overflowed_bytes": _titled(
            "Beyond its memory", "Bytes that do not fit", "including gaps - memory of a tile, at least 0"
        ),
    },
}


def figure_title(table: str, figure: str) -> FigureTitle:
    """The entry of a figure. Raises UnknownFigureError, which says what to add where."""
    try:
        return TITLES[table][figure]
    except KeyError:
        raise UnknownFigureError(f"add {figure!r} of table {table!r} to TITLES in figure_titles.py") from None


def placed(text: str, place: str) -> str:
    """A title or a field with its place."""
    if "{place}" in text:
        return text.replace("{place}", place)
    return f"{text}, {place}" if place else text


def field_of(table: Table, figure: Figure) -> str:
    """The name of a column in the viewer's tables and exports, such as "State, tile 5_source"."""
    name = placed(figure_title(table.id, figure.id).field or figure.id, figure.place)
    return f"{name}_{figure.side}" if figure.side else name


def viewer_frame(table: Table) -> pd.DataFrame:
    """The table as the viewer shows and exports it. Raises UnknownFigureError."""
    import pandas as pd

    return pd.DataFrame({field_of(table, figure): figure.values for figure in table})


def opened_frame(table: Table) -> pd.DataFrame:
    """The table as `popvision.open` gives it: columns by id. Raises UnknownFigureError, ValueError where a figure
    stands twice."""
    import pandas as pd

    for figure in table:
        figure_title(table.id, figure.id)
    columns = {figure.id: figure.values for figure in table}
    if len(columns) < len(table.figures):
        raise ValueError(f"table {table.id} has a figure in several places: choose one")
    return pd.DataFrame(columns)
