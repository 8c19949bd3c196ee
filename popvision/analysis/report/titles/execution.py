"""Titles of figures of recorded steps: the execution trace, exchanges and copies of the host."""

from __future__ import annotations

from popvision.analysis.report.titles.figure_title import FigureTitle

_USE = (
    "Achieved / plain rate. DoExchange: bytes received / (cycles x 4 B x tiles that receive); GlobalExchange: bytes "
    "received / (cycles x bytes per cycle of an IPU's links x IPUs that receive); host copy: bytes / (cycles x bytes "
    "per cycle of the host link x IPUs). Tiles that share a bus receive the same data at twice the rate, so it may "
    "exceed 100 %. – = rate not stored (format 1.0)"
)

#: Table -> figure -> its entry.
OF_EXECUTION: dict[str, dict[str, FigureTitle]] = {
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
}
