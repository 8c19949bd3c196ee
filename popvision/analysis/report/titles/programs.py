"""Titles of figures of programs, operations and lines of source."""

from __future__ import annotations

from popvision.analysis.report.titles.figure_title import FigureTitle

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

#: Table -> figure -> its entry.
OF_PROGRAMS: dict[str, dict[str, FigureTitle]] = {
    "programs": _PROGRAMS,
    "program_tiles": {
        "tile": FigureTitle("Tile"),
        "ipu": FigureTitle("IPU"),
        "estimated_cycles": FigureTitle("Estimate", "Estimated cycles of one execution"),
        "recorded_cycles": FigureTitle("Recorded", "Cycles in the last recorded step of the program"),
        "received_bytes": FigureTitle("Received", "Bytes received in one execution"),
        "sent_bytes": FigureTitle("Sent", "Bytes sent in one execution"),
        "exchange_code_bytes": FigureTitle("Exchange code", "Bytes of exchange code of the program itself"),
        "control_code_bytes": FigureTitle("Control code", "Bytes of control code of the program itself"),
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
}
