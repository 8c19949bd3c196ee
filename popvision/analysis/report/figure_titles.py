"""The catalogue of figures: title, help, formula and export name of each column.

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

    `field` names the column in the viewer's exports, `column` in frames of `popvision.open`; "" = the id. "{place}" in
    `title` and `field` stands for the place of the figure; without it the place follows the field after a comma."""

    title: str
    help: str = ""
    formula: str = ""
    field: str = ""
    column: str = ""

    @property
    def hint(self) -> str:
        """Help and formula in one line."""
        return " = ".join(part for part in (self.help, self.formula) if part)


def _exported_by_title(title: str, help: str = "", formula: str = "") -> FigureTitle:
    """A figure that exports name by its title."""
    return FigureTitle(title, help, formula, title)


_CODE = "Bytes, once per tile that holds it; a dash where the size is not known"

#: What every table of two reports has (compare/join.py).
_OF_JOINS = {
    "matched": FigureTitle(
        "Matched by", "Rule that matched the rows: debug identity, name or order; empty = unmatched"
    ),
    "in_report": FigureTitle("In", "The report that has the row: both, source or target alone"),
}

#: A row per lowered program; programs/figures.py defines "self" and "total".
_PROGRAMS = {
    "id": FigureTitle("Id", "Id in the program tree", column="program"),
    "type": FigureTitle("Type"),
    "name": FigureTitle("Name"),
    "self": FigureTitle(
        "Self cycles", "Device cycles of its own steps, all runs but those once per attachment", column="self_cycles"
    ),
    "total": FigureTitle(
        "Total cycles",
        "Self cycles plus those of all programs below and of the functions called",
        column="total_cycles",
    ),
    "apart": FigureTitle(
        "Cycles once",
        "Device cycles of its own steps in runs that happen once per attachment; not in self and total cycles",
        column="apart_cycles",
    ),
    "executions": FigureTitle("Executions", "How often the program ran in all recorded runs"),
    "received": FigureTitle("Received", "Bytes received by its own steps and all below", column="received_bytes"),
    "live": FigureTitle(
        "Peak live",
        "Maximum of the liveness curve (of the first replica) while it runs",
        column="live_bytes",
    ),
    "code": FigureTitle("Code", "Exchange and control code of the program itself", column="code_bytes"),
    "trips": FigureTitle("Trips", "Iterations of a Repeat per execution"),
    "sent": FigureTitle("Sent", "Bytes sent by its own steps and all below", column="sent_bytes"),
}

#: Figures that add up over operations.
_OPERATION_SUMS = {
    "cycles": FigureTitle(
        "Cycles",
        "Cycles of the steps of its programs in all recorded runs, on the selected IPU or summed over all; without "
        "runs that happen once per attachment, which are not in shares",
        column="total_cycles",
    ),
    "cycles_apart": FigureTitle(
        "Cycles once",
        "Cycles of runs that happen once per attachment (weights, seed and rates of a framework); not in shares",
        column="apart_cycles",
    ),
    "code": FigureTitle(
        "Code",
        "Exchange and control code of its programs + code of the vertex types that no other operation uses on the same "
        "tile; bytes over all tiles",
        column="code_bytes",
    ),
    "exchange_code": FigureTitle("Exchange code", "Bytes over all tiles", column="exchange_code_bytes"),
    "control_code": FigureTitle("Control code", "Bytes over all tiles", column="control_code_bytes"),
    "vertex_code": FigureTitle(
        "Vertex code",
        "Code of the vertex types that no other operation uses on the same tile; shared code is not attributed",
        column="vertex_code_bytes",
    ),
    "flops": FigureTitle(
        "FLOPs",
        "Estimated floating point operations of one execution of each compute set x its recorded executions; – = not "
        "recorded",
    ),
    "flops_once": FigureTitle(
        "FLOPs once",
        "Estimated floating point operations when each program executes once",
        column="once_flops",
    ),
    "received": FigureTitle("Received", "Bytes that its steps receive, all IPUs and runs", column="received_bytes"),
    "sent": FigureTitle("Sent", "Bytes that its steps send, all IPUs and runs", column="sent_bytes"),
    "always_live": FigureTitle(
        "Always live",
        "Bytes of its always-live variables, one replica",
        column="always_live_bytes",
    ),
    "not_always_live": FigureTitle(
        "Not always live (sum)",
        "Sizes of its other variables added up, one replica. They are not live at one time, so the sum can be larger "
        "than the peak; Live at peak counts those that are live there",
        column="not_always_live_bytes",
    ),
    "live_at_peak": FigureTitle(
        "Live at peak",
        "Bytes of its variables that are live at the peak of the report",
        column="peak_live_bytes",
    ),
    "programs": FigureTitle("Programs", "Lowered programs that it creates"),
    "compute_sets": FigureTitle("Compute sets", "Compute sets that only its programs run"),
    "variables": FigureTitle("Variables", "Variables that it creates"),
    "steps": FigureTitle("Steps", "Recorded execution steps of its programs"),
}

_OPERATION_PERCENTS = {
    f"{id}_percent": FigureTitle(
        "Percent",
        formula=f"{entry.title} / {entry.title.lower()} of the report",
        column=f"{entry.column or id}_percent",
    )
    for id, entry in _OPERATION_SUMS.items()
}

_OPERATION_SHARES = {
    f"{id}_share": FigureTitle(f"{entry.title}, share", formula=f"{entry.title} / {entry.title.lower()} of the report")
    for id, entry in _OPERATION_SUMS.items()
}

#: Figures of a line of source, or of a file.
_SOURCE_SUMS = {
    "cycles": FigureTitle(
        "Cycles", "Cycles of the steps of its programs on one IPU, all recorded runs", column="total_cycles"
    ),
    "received": FigureTitle("Received", "Bytes that those steps receive, all IPUs", column="received_bytes"),
    "live": FigureTitle(
        "Live at peak", "Bytes of its variables that are live at the peak, one replica", column="live_bytes"
    ),
}

_USE = (
    "Achieved / plain rate. DoExchange: bytes received / (cycles x 4 B x tiles that receive); GlobalExchange: bytes "
    "received / (cycles x bytes per cycle of an IPU's links x IPUs that receive); host copy: bytes / (cycles x bytes "
    "per cycle of the host link x IPUs). Tiles that share a bus receive the same data at twice the rate, so it may "
    "exceed 100 %. – = rate not stored (format 1.0)"
)

TITLES: dict[str, dict[str, FigureTitle]] = {
    "programs": _PROGRAMS,
    "program_tiles": {
        "tile": _exported_by_title("Tile"),
        "ipu": _exported_by_title("IPU"),
        "estimated_cycles": _exported_by_title("Estimate", "Estimated cycles of one execution"),
        "recorded_cycles": _exported_by_title("Recorded", "Cycles in the last recorded step of the program"),
        "received_bytes": _exported_by_title("Received", "Bytes received in one execution"),
        "sent_bytes": _exported_by_title("Sent", "Bytes sent in one execution"),
        "exchange_code_bytes": _exported_by_title("Exchange code", "Bytes of exchange code of the program itself"),
        "control_code_bytes": _exported_by_title("Control code", "Bytes of control code of the program itself"),
    },
    "operations": {
        "name": FigureTitle("Name", "Name of the operation's debug context"),
        "operation": FigureTitle(
            "Operation", "Library call, kind of a framework's operation, or the number of operations in the group"
        ),
        "context": FigureTitle("Context", "Id of the operation's debug context"),
        "operations": FigureTitle("Operations", "Number of operations in the group"),
        **_OPERATION_SUMS,
        **_OPERATION_PERCENTS,
        "cumulative": FigureTitle(
            "Cumulative, all rows",
            formula="this row and all above it, rows that a filter hides too / the report's",
            column="cumulative_percent",
        ),
        **_OPERATION_SHARES,
        "cumulative_share": FigureTitle(
            "Cumulative, all rows",
            formula="this row and all above it, rows that a filter hides too / the report's",
        ),
        "rate": FigureTitle("FLOP / cycle", formula="FLOPs / cycles"),
        "intensity": FigureTitle("FLOP / byte", formula="FLOPs / bytes received"),
        "first_index": FigureTitle("First index", "First liveness index of its programs"),
        "last_index": FigureTitle("Last index", "Last liveness index of its programs"),
    },
    "exchange_programs": {
        "program": FigureTitle("Id", "Id of the program, as in the program tree"),
        "type": FigureTitle("Type"),
        "name": FigureTitle("Name"),
        "total": FigureTitle("Total received", "Bytes received in all recorded executions"),
        "share": FigureTitle("Share", formula="total received / that of all exchange programs"),
        "received": FigureTitle("Received", "Bytes received in one execution; counts every receiver"),
        "sent": FigureTitle("Sent", "Bytes sent in one execution; counts a multicast once"),
        "multicast": FigureTitle("Multicast", formula="bytes received / bytes sent"),
        "messages": FigureTitle("Messages", "Pairs of tiles; – = not recorded, or a host copy"),
        "fan_mean": FigureTitle("Fan-out", formula="messages / tiles that send"),
        "fan_worst": FigureTitle("Max", "Largest fan-out of a tile"),
        "receivers": FigureTitle("Receivers", "Tiles that receive"),
        "worst_tile": FigureTitle("Busiest tile", "The tile that receives most bytes"),
        "worst_bytes": FigureTitle("Its bytes", "Bytes that the busiest tile receives"),
        "estimated": FigureTitle("Estimate", "Estimated cycles of the longest tile"),
        "cycles": FigureTitle(
            "Cycles each", formula="all cycles / executions; the estimate without a recorded execution"
        ),
        "executions": FigureTitle("Executions", "Recorded execution steps"),
        "all_cycles": FigureTitle(
            "All cycles",
            "Cycles of the longest tile, summed over all recorded executions. The flat bar in the trace is shorter "
            "where other tiles work at the same time",
        ),
        "achieved": FigureTitle("B / cycle", formula="bytes of one execution / cycles each"),
        "use": FigureTitle("Relative to plain rate", _USE),
        "dictated": FigureTitle(
            "Busiest explains",
            "Share of the length that the bytes of the busiest tile explain; above 100 % where the tile shares a bus",
            "ceil(bytes of the busiest tile / 4) / cycles each",
        ),
        "code": FigureTitle("Code", "Bytes of exchange code over all tiles"),
    },
    "exchange_pairs": {
        "source": FigureTitle("Source tile"),
        "destination": FigureTitle("Destination tile"),
        "source_ipu": FigureTitle("Source IPU"),
        "destination_ipu": FigureTitle("Destination IPU"),
        "bytes": FigureTitle("Bytes", "Bytes of one execution"),
        "share": FigureTitle("Share", formula="bytes / bytes of all messages"),
    },
    "host_copies": {
        "program": FigureTitle("Id", "Id of the copy's StreamCopyMid"),
        "name": FigureTitle("Stream"),
        "executions": FigureTitle("Executions"),
        "to_device": FigureTitle(
            "To device", "Bytes received in its recorded steps, all IPUs", column="to_device_bytes"
        ),
        "to_host": FigureTitle("To host", "Bytes sent in its recorded steps, all IPUs", column="to_host_bytes"),
        "begin": FigureTitle(
            "Begin", "Cycles of the tile that waits longest for the host, all executions", column="begin_cycles"
        ),
        "mid": FigureTitle(
            "Mid",
            "Cycles of the tile that transfers longest, all executions, including cycles that overlap with other tiles",
            column="mid_cycles",
        ),
        "end": FigureTitle(
            "End", "Cycles of the tile that rearranges longest after it, all executions", column="end_cycles"
        ),
        "achieved": FigureTitle(
            "B / cycle", formula="bytes / cycles of StreamCopyMid", column="achieved_bytes_per_cycle"
        ),
        "use": FigureTitle(
            "Relative to plain rate",
            "– = rate not stored (format 1.0)",
            "B / cycle / (host_bytes_per_cycle of the target x active IPUs)",
            column="use_share",
        ),
    },
    "vertices_on_tiles": {
        "name": _exported_by_title("Vertex type"),
        "vertex_type": _exported_by_title("Id"),
        "kind": _exported_by_title("Kind"),
        "instance_bytes": _exported_by_title("State each", "Bytes of state of one instance"),
        "instances": _exported_by_title("Instances", "Vertices of the type"),
        "state_bytes": _exported_by_title("State", "Bytes of vertex state", "instances x state of one instance"),
        "code_bytes": _exported_by_title("Code", _CODE),
    },
    "compute_sets_on_tiles": {
        "name": _exported_by_title("Compute set"),
        "compute_set": _exported_by_title("Id"),
        "programs": _exported_by_title("Programs", "Programs that run the compute set"),
        "program": _exported_by_title("Program", "Id of the first program that runs it"),
        "vertices": _exported_by_title("Vertices", "Vertices of the compute set"),
        "state_bytes": _exported_by_title(
            "State", "Bytes of vertex state", "sum over its vertices of the state of one instance"
        ),
    },
    "exchanges_on_tiles": {
        "name": _exported_by_title("Exchange"),
        "type": _exported_by_title("Type"),
        "program": _exported_by_title("Program", "Id of the program"),
        "code_bytes": _exported_by_title("Code", "Bytes of exchange code"),
        "received_bytes": _exported_by_title("Received", "Bytes received in one execution"),
        "sent_bytes": _exported_by_title("Sent", "Bytes sent in one execution, a multicast once"),
    },
    "variables_on_tiles": {
        "name": _exported_by_title("Variable"),
        "variable": _exported_by_title("Id"),
        "live": _exported_by_title("Live", "always, or at times"),
        "size_bytes": _exported_by_title("Bytes"),
    },
    "variables": {
        "name": _exported_by_title("Variable"),
        "variable": _exported_by_title("Id"),
        "size_bytes": _exported_by_title("Bytes", "Over all tiles of one replica"),
        "live": _exported_by_title("Live", "always, or at times"),
    },
    "lowered_variables": {
        "id": _exported_by_title("Id"),
        "name": _exported_by_title("Name"),
        "variable_name": _exported_by_title("Variable"),
        "category": _exported_by_title("Category"),
        "region": _exported_by_title("Region"),
        "address": _exported_by_title("Address", "Byte offset within the tile's memory"),
        "size_bytes": _exported_by_title("Bytes"),
        "live": FigureTitle("Live (indices)", "Liveness indices at which it is live, last included", field="Live"),
        "indices": _exported_by_title("Indices", "How many liveness indices it is live at"),
        "shared": _exported_by_title("Shared", "yes: another allocation uses one of its addresses at another time"),
        "variable": _exported_by_title("Variable Id"),
    },
    "variable_parts": {
        "tile": _exported_by_title("Tile"),
        "ipu": _exported_by_title("IPU"),
        "name": _exported_by_title("Part", "Name of the lowered variable"),
        "address": _exported_by_title("Address", "Byte offset in the memory of the tile"),
        "size_bytes": _exported_by_title("Bytes"),
    },
    "always_live_variables": {
        "name": _exported_by_title("Variable"),
        "variable": _exported_by_title("Id"),
        "size_bytes": _exported_by_title("Bytes", "Bytes on the tiles of the source"),
    },
    "live_variables": {
        "name": _exported_by_title("Variable"),
        "variable": _exported_by_title("Id"),
        "live": FigureTitle("Live (indices)", "Liveness indices at which it is live, last included", field="Live"),
        "size_bytes": _exported_by_title("Index {place}", "Bytes live there"),
        "change_bytes": FigureTitle(
            "{place}", "Bytes at the first of these indices less bytes at the second", field="Change {place}"
        ),
    },
    "liveness_curve": {
        "liveness_index": _exported_by_title("Index", "Liveness index: place in the static order of the program"),
        "program": _exported_by_title("Program", "Id in the program tree"),
        "step": _exported_by_title("Step"),
        "not_always_live_bytes": _exported_by_title("Not always live", "Bytes live at this index, not always"),
        "live_bytes": _exported_by_title("Total", formula="not always live + always live"),
    },
    "live_vertices": {
        "name": _exported_by_title("Vertex type"),
        "kind": _exported_by_title("Kind"),
        "instances": _exported_by_title("Instances", "Vertices of the type"),
        "state_bytes": _exported_by_title("State", "Bytes of vertex state", "instances x state of one instance"),
        "state_change_bytes": FigureTitle("State {place}", "Change of state", field="Change of state {place}"),
    },
    "cycle_estimates": {
        "liveness_index": _exported_by_title("Index", "Liveness index: place in the static order of the program"),
        "program": _exported_by_title("Program", "Id in the program tree"),
        "step": _exported_by_title("Step"),
        "longest_cycles": FigureTitle(
            "Max cycles", "Cycles of the longest tile: the length of the step", field="Maximum"
        ),
        "mean_cycles": FigureTitle("Mean cycles", formula="sum of cycles / number of tiles", field="Mean"),
        "shortest_cycles": FigureTitle("Min cycles", "Cycles of the shortest tile", field="Minimum"),
        "longest_tile": FigureTitle("Longest tile", "The tile that has the maximum", field="Tile"),
        "balance": _exported_by_title("Balance", formula="mean / maximum over all these tiles"),
        "device_us": FigureTitle(
            "Device µs", "Device time, modelled, not measured", "maximum / clock", field="Time us"
        ),
        "provenance": _exported_by_title(
            "Basis", "Least certain source of the vertices' cycles: exact, fitted or guess"
        ),
    },
    "flop_estimates": {
        "name": _exported_by_title("Vertex type"),
        "flops": _exported_by_title("FLOP", "Floating point operations of one execution over all tiles"),
    },
    "step_groups": {
        "name": FigureTitle("Name"),
        "count": FigureTitle("Steps", "Steps with time in the window"),
        "self_cycles": FigureTitle(
            "Self cycles", "Cycles of the flat bars of the steps with exactly this name (or last part)"
        ),
        "total_cycles": FigureTitle("Total cycles", "Cycles of the flat bars of all steps under this name"),
        "self_tile_cycles": FigureTitle("Self tile cycles", "Sum over tiles of their cycles in the self steps"),
        "total_tile_cycles": FigureTitle(
            "Total tile cycles", "Sum over tiles of their cycles in all steps under this name"
        ),
        "share": FigureTitle("Total share", formula="total cycles / (window x IPUs)", column="time_share"),
        "self_share": FigureTitle("Self share", formula="self cycles / (window x IPUs)"),
        "cumulative": FigureTitle(
            "Cumulative self share",
            "Self share of this row and of all rows with more self cycles",
            column="cumulative_share",
        ),
        "mean": FigureTitle("Mean", formula="total cycles / steps", column="mean_cycles"),
        "min": FigureTitle("Min", "Shortest step, clipped to the window", column="min_cycles"),
        "max": FigureTitle("Max", "Longest step, clipped to the window", column="max_cycles"),
    },
    "vertex_groups": {
        "name": FigureTitle("Vertex type"),
        "kind": FigureTitle("Kind"),
        "compute_sets": FigureTitle("Compute sets", "Compute sets with this vertex type that ran in the window"),
        "executions": FigureTitle(
            "Executions",
            "Executions of those compute sets; steps that cross the edge of the window count fully",
        ),
        "instances": FigureTitle("Vertices run", formula="vertices x executions"),
        "thread_cycles": FigureTitle("Thread cycles", "Worker vertices: cycles of one worker context"),
        "thread_cycles_share": FigureTitle("Of all thread cycles"),
        "tile_cycles": FigureTitle("Tile cycles", "Supervisor and multi vertices: cycles of the whole tile"),
        "tile_cycles_share": FigureTitle("Of all tile cycles"),
    },
    "worker_vertices": {
        "vertex": FigureTitle("Vertex", "Issue order on the tile"),
        "type": FigureTitle("Type"),
        "context": FigureTitle("Context"),
        "begin": FigureTitle("Begin", "Tile cycles from the begin of the compute set"),
        "end": FigureTitle("End", "Tile cycles from the begin of the compute set"),
        "thread_cycles": FigureTitle("Thread cycles", "Worker vertices only, as stored; never shown as time"),
        "tile_cycles": FigureTitle("Tile cycles", "Worker vertices: contexts x thread cycles; others: as stored"),
    },
    "workers_by_tile": {
        "tile": FigureTitle("Tile", "Tile, counted over all IPUs"),
        "vertices": FigureTitle("Vertices"),
        "length": FigureTitle("Tile cycles", formula="worker part + tile cycles of supervisor and multi vertices"),
        "worker_part": FigureTitle("Worker part", formula="contexts x thread cycles of the fullest context"),
        "alone": FigureTitle("Alone", "Tile cycles of supervisor and multi vertices"),
        "thread_cycles": FigureTitle("Thread cycles", "Sum over worker vertices; never shown as time"),
        "idle_share": FigureTitle(
            "Idle slots",
            "Idle share",
            "1 - sum of thread cycles / (contexts x thread cycles of the fullest context)",
        ),
    },
    "operation_programs": {
        "id": FigureTitle("Id"),
        "depth": FigureTitle("Depth", "Levels below the first program of the operation"),
        "type": FigureTitle("Program"),
        "name": FigureTitle("Name"),
        "cycles": FigureTitle("Self cycles", "Cycles of its own steps, all recorded runs"),
        "share": FigureTitle("Share", formula="self cycles / those of all programs of the operation"),
        "steps": FigureTitle("Executions", "Recorded steps"),
        "exchange_code": FigureTitle("Exchange code", "Bytes over all tiles"),
        "control_code": FigureTitle("Control code", "Bytes over all tiles"),
        "first_index": FigureTitle("Index", "First liveness index; – = none"),
    },
    "operation_vertex_types": {
        "type": FigureTitle("Vertex type"),
        "tiles": FigureTitle("Tiles", "Tiles that hold the code because of this operation"),
        "code": FigureTitle("Code", "Code of the type x tiles"),
        "compute_sets": FigureTitle("Compute sets", "Compute sets of the operation with this type"),
    },
    "operation_compute_sets": {
        "program": FigureTitle("Program"),
        "name": FigureTitle("Compute set"),
        "flops_once": FigureTitle("FLOPs once", "Estimate of one execution over all tiles"),
        "steps": FigureTitle("Executions", "Recorded steps"),
        "flops": FigureTitle("FLOPs", formula="FLOPs once x executions"),
        "cycles": FigureTitle("Cycles", "Self cycles of its steps"),
        "rate": FigureTitle("FLOP / cycle", formula="FLOPs / cycles"),
    },
    "operation_variables": {
        "variable": FigureTitle("Id"),
        "name": FigureTitle("Variable"),
        "bytes": FigureTitle("Bytes", "Bytes over all tiles of one replica"),
        "share": FigureTitle("Share", formula="bytes / bytes of all variables of the operation"),
        "live": FigureTitle("Live", "always, at times (see the liveness report) or never"),
    },
    "blocks": {
        "name": FigureTitle("Name"),
        "kind": FigureTitle("Kind"),
        "tile": FigureTitle("Tile", "The recording tile"),
        "program": FigureTitle("Program", "Id in the program tree; -1: an overflow"),
        "count": FigureTitle("Executions", "Blocks that overlap the window; each counts fully"),
        "min": FigureTitle("Min", "Shortest execution"),
        "median": FigureTitle("Median", "Half of the executions take no longer than this"),
        "mean": FigureTitle("Mean", formula="total cycles / executions"),
        "max": FigureTitle("Max", "Longest execution"),
        "total": FigureTitle("Total cycles", "Sum over executions; nested blocks count in each block around them"),
    },
    "window_steps": {
        "step": FigureTitle("Step", "Execution step, counted over all runs"),
        "name": FigureTitle("Name"),
        "type": FigureTitle("Type"),
        "program": FigureTitle("Program", "Id in the program tree"),
        "run": FigureTitle("Run", "Engine run"),
        "begin": FigureTitle("From", "Largest begin over all tiles, device cycle"),
        "end": FigureTitle("To", "Largest end over all tiles, device cycle"),
        "cycles": FigureTitle(
            "Cycles", "Length of the flat bar; the lengths of all steps add up to the total", "to - from"
        ),
        "active_tiles": FigureTitle("Active tiles", "Tiles with cycles > 0"),
        "mean_cycles": FigureTitle(
            "Mean of all tiles", "Mean of cycles over all tiles of the IPU", "sum of tile cycles / tiles of the IPU"
        ),
        "active_mean_cycles": FigureTitle(
            "Mean of active tiles", "Mean of cycles over tiles with cycles > 0", "sum of tile cycles / active tiles"
        ),
        "max_cycles": FigureTitle(
            "Max cycles",
            "Maximum of cycles over all tiles. It and the means may exceed Cycles: tiles may enter a step early, while"
            " its bar begins when the last tile enters",
        ),
        "last_tile": FigureTitle("Last tile", "The tile that ends last; of tiles that tie the first, and their number"),
        "tile_balance": FigureTitle(
            "Tile balance", formula="mean(tile cycles) / max(tile cycles) over all tiles of the IPU"
        ),
        "data_in": FigureTitle("Data in", "Bytes received"),
        "data_out": FigureTitle("Data out", "Bytes sent"),
    },
    "source_files": {
        "file": FigureTitle("File"),
        "lines": FigureTitle("Lines", "Lines with programs or variables"),
        **_SOURCE_SUMS,
    },
    "source_lines": {
        "line": FigureTitle("Line"),
        **_SOURCE_SUMS,
        "executions": FigureTitle("Executions", "Execution steps of its programs"),
        "programs": FigureTitle("Programs", "Programs that it creates"),
        "variables": FigureTitle("Variables", "Variables that it creates"),
    },
    "memory_details": {
        "path": _exported_by_title("Path", "Keys of the row and of the rows above it"),
        "memory": _exported_by_title("Memory"),
        "size_bytes": FigureTitle("{place}", "Bytes; in the row Physical Tile Id the id", field="{place}"),
    },
    "tile_peak": {
        "kind": FigureTitle("Kind", "part: adds its bytes; total: the sum so far"),
        "group": FigureTitle("Group"),
        "part": _exported_by_title("Part"),
        "label": _exported_by_title("What"),
        "category": _exported_by_title("Category"),
        "size_bytes": _exported_by_title("Bytes"),
        "so_far_bytes": _exported_by_title("So far", "Sum of the parts down to this one"),
        "share": _exported_by_title("Share", formula="bytes / memory of a tile"),
        "variable": _exported_by_title("Variable Id"),
        "variables": FigureTitle("Variables", "Variables that the row stands for"),
    },
}


def figure_title(table: str, figure: str) -> FigureTitle:
    """The entry of a figure; "target_program" of a joined table is the program of the target. Raises
    UnknownFigureError, which says what to add where."""
    entries = TITLES.get(table, {})
    if (entry := entries.get(figure) or _OF_JOINS.get(figure)) is not None:
        return entry
    name = figure.removeprefix("target_")
    if name == figure or name not in entries:
        raise UnknownFigureError(f"add {figure!r} of table {table!r} to TITLES in figure_titles.py")
    entry = entries[name]
    title = f"Target {entry.title[:1].lower()}{entry.title[1:]}"
    help = f"In the target: {entry.hint}" if entry.hint else "In the target"
    return FigureTitle(title, help, field=title if entry.field else "", column=f"other_{entry.column or name}")


def placed(text: str, place: str) -> str:
    """A title or a field with its place."""
    if "{place}" in text:
        return text.replace("{place}", place)
    return f"{text}, {place}" if place else text


def heading(table: Table, figure: Figure) -> str:
    """The title of a column, with its place."""
    return placed(figure_title(table.id, figure.id).title, figure.place)


def field_of(table: Table, figure: Figure) -> str:
    """The name of a column in the viewer's tables and exports, such as "State, tile 5_source"."""
    name = placed(figure_title(table.id, figure.id).field or figure.id, figure.place)
    return f"{name}_{figure.side}" if figure.side else name


def column_of(table: str, figure: str) -> str:
    """The name of a column in frames of `popvision.open`. Raises UnknownFigureError."""
    return figure_title(table, figure).column or figure


def viewer_frame(table: Table) -> pd.DataFrame:
    """The table as the viewer shows and exports it. Raises UnknownFigureError."""
    import pandas as pd

    return pd.DataFrame({field_of(table, figure): figure.values for figure in table})


def opened_frame(table: Table) -> pd.DataFrame:
    """The table as `popvision.open` gives it; a figure of the other of two reports is "other_<name>". Raises
    UnknownFigureError, ValueError where a figure stands twice."""
    import pandas as pd

    columns = {opened_column(table, figure): figure.values for figure in table}
    if len(columns) < len(table.figures):
        raise ValueError(f"table {table.id} has a figure in several places: choose one")
    return pd.DataFrame(columns)


def opened_column(table: Table, figure: Figure) -> str:
    """The name of the column of a figure in `opened_frame`."""
    name = column_of(table.id, figure.id).replace("{place}", figure.place)
    return f"other_{name}" if figure.side == "target" else name
