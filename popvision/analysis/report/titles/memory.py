"""Titles of figures of memory and of the liveness report, whose indices have estimates of cycles and FLOPs too."""

from __future__ import annotations

from popvision.analysis.report.titles.figure_title import FigureTitle

_CODE = "Bytes, once per tile that holds it; a dash where the size is not known"

#: Table -> figure -> its entry.
OF_MEMORY: dict[str, dict[str, FigureTitle]] = {
    "vertices_on_tiles": {
        "name": FigureTitle("Vertex type"),
        "vertex_type": FigureTitle("Id"),
        "kind": FigureTitle("Kind"),
        "instance_bytes": FigureTitle("State each", "Bytes of state of one instance"),
        "instances": FigureTitle("Instances", "Vertices of the type"),
        "state_bytes": FigureTitle("State", "Bytes of vertex state", "instances x state of one instance"),
        "code_bytes": FigureTitle("Code", _CODE),
    },
    "compute_sets_on_tiles": {
        "name": FigureTitle("Compute set"),
        "compute_set": FigureTitle("Id"),
        "programs": FigureTitle("Programs", "Programs that run the compute set"),
        "program": FigureTitle("Program", "Id of the first program that runs it"),
        "vertices": FigureTitle("Vertices", "Vertices of the compute set"),
        "state_bytes": FigureTitle(
            "State", "Bytes of vertex state", "sum over its vertices of the state of one instance"
        ),
    },
    "exchanges_on_tiles": {
        "name": FigureTitle("Exchange"),
        "type": FigureTitle("Type"),
        "program": FigureTitle("Program", "Id of the program"),
        "code_bytes": FigureTitle("Code", "Bytes of exchange code"),
        "received_bytes": FigureTitle("Received", "Bytes received in one execution"),
        "sent_bytes": FigureTitle("Sent", "Bytes sent in one execution, a multicast once"),
    },
    "variables_on_tiles": {
        "name": FigureTitle("Variable"),
        "variable": FigureTitle("Id"),
        "live": FigureTitle("Live", "always, or at times"),
        "size_bytes": FigureTitle("Bytes"),
    },
    "variables": {
        "name": FigureTitle("Variable"),
        "variable": FigureTitle("Id"),
        "size_bytes": FigureTitle("Bytes", "Over all tiles of one replica"),
        "live": FigureTitle("Live", "always, or at times"),
    },
    "lowered_variables": {
        "id": FigureTitle("Id"),
        "name": FigureTitle("Name"),
        "variable_name": FigureTitle("Variable"),
        "category": FigureTitle("Category"),
        "region": FigureTitle("Region"),
        "address": FigureTitle("Address", "Byte offset within the tile's memory"),
        "size_bytes": FigureTitle("Bytes"),
        "live": FigureTitle("Live (indices)", "Liveness indices at which it is live, last included"),
        "indices": FigureTitle("Indices", "How many liveness indices it is live at"),
        "shared": FigureTitle("Shared", "yes: another allocation uses one of its addresses at another time"),
        "variable": FigureTitle("Variable Id"),
    },
    "variable_parts": {
        "tile": FigureTitle("Tile"),
        "ipu": FigureTitle("IPU"),
        "name": FigureTitle("Part", "Name of the lowered variable"),
        "address": FigureTitle("Address", "Byte offset in the memory of the tile"),
        "size_bytes": FigureTitle("Bytes"),
    },
    "memory_details": {
        "path": FigureTitle("Path", "Keys of the row and of the rows above it"),
        "memory": FigureTitle("Memory"),
        "size_bytes": FigureTitle("{place}", "Bytes; in the row Physical Tile Id the id"),
    },
    "tile_peak": {
        "kind": FigureTitle("Kind", "part: adds its bytes; total: the sum so far"),
        "group": FigureTitle("Group"),
        "part": FigureTitle("Part"),
        "label": FigureTitle("What"),
        "category": FigureTitle("Category"),
        "size_bytes": FigureTitle("Bytes"),
        "so_far_bytes": FigureTitle("So far", "Sum of the parts down to this one"),
        "share": FigureTitle("Share", formula="bytes / memory of a tile"),
        "variable": FigureTitle("Variable Id"),
        "variables": FigureTitle("Variables", "Variables that the row stands for"),
    },
    "always_live_variables": {
        "name": FigureTitle("Variable"),
        "variable": FigureTitle("Id"),
        "size_bytes": FigureTitle("Bytes", "Bytes on the tiles of the source"),
    },
    "live_variables": {
        "name": FigureTitle("Variable"),
        "variable": FigureTitle("Id"),
        "live": FigureTitle("Live (indices)", "Liveness indices at which it is live, last included"),
        "size_bytes": FigureTitle("Index {place}", "Bytes live there"),
        "change_bytes": FigureTitle("{place}", "Bytes at the first of these indices less bytes at the second"),
    },
    "liveness_curve": {
        "liveness_index": FigureTitle("Index", "Liveness index: place in the static order of the program"),
        "program": FigureTitle("Program", "Id in the program tree"),
        "step": FigureTitle("Step"),
        "not_always_live_bytes": FigureTitle("Not always live", "Bytes live at this index, not always"),
        "live_bytes": FigureTitle("Total", formula="not always live + always live"),
    },
    "live_vertices": {
        "name": FigureTitle("Vertex type"),
        "kind": FigureTitle("Kind"),
        "instances": FigureTitle("Instances", "Vertices of the type"),
        "state_bytes": FigureTitle("State", "Bytes of vertex state", "instances x state of one instance"),
        "state_change_bytes": FigureTitle("State {place}", "Change of state"),
    },
    "cycle_estimates": {
        "liveness_index": FigureTitle("Index", "Liveness index: place in the static order of the program"),
        "program": FigureTitle("Program", "Id in the program tree"),
        "step": FigureTitle("Step"),
        "longest_cycles": FigureTitle("Max cycles", "Cycles of the longest tile: the length of the step"),
        "mean_cycles": FigureTitle("Mean cycles", formula="sum of cycles / number of tiles"),
        "shortest_cycles": FigureTitle("Min cycles", "Cycles of the shortest tile"),
        "longest_tile": FigureTitle("Longest tile", "The tile that has the maximum"),
        "balance": FigureTitle("Balance", formula="mean / maximum over all these tiles"),
        "device_us": FigureTitle("Device µs", "Device time, modelled, not measured", "maximum / clock"),
        "provenance": FigureTitle(
            "Basis", "Least certain source of the vertices' cycles: exact, fitted, given or guess"
        ),
    },
    "flop_estimates": {
        "name": FigureTitle("Vertex type"),
        "flops": FigureTitle("FLOP", "Floating point operations of one execution over all tiles"),
    },
}
