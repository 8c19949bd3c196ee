"""Titles of figures of memory and of the liveness report, whose indices have estimates of cycles and FLOPs too."""

from __future__ import annotations

from popvision.analysis.report.titles.figure_title import FigureTitle, exported_by_title

_CODE = "Bytes, once per tile that holds it; a dash where the size is not known"

#: Table -> figure -> its entry.
OF_MEMORY: dict[str, dict[str, FigureTitle]] = {
    "vertices_on_tiles": {
        "name": exported_by_title("Vertex type"),
        "vertex_type": exported_by_title("Id"),
        "kind": exported_by_title("Kind"),
        "instance_bytes": exported_by_title("State each", "Bytes of state of one instance"),
        "instances": exported_by_title("Instances", "Vertices of the type"),
        "state_bytes": exported_by_title("State", "Bytes of vertex state", "instances x state of one instance"),
        "code_bytes": exported_by_title("Code", _CODE),
    },
    "compute_sets_on_tiles": {
        "name": exported_by_title("Compute set"),
        "compute_set": exported_by_title("Id"),
        "programs": exported_by_title("Programs", "Programs that run the compute set"),
        "program": exported_by_title("Program", "Id of the first program that runs it"),
        "vertices": exported_by_title("Vertices", "Vertices of the compute set"),
        "state_bytes": exported_by_title(
            "State", "Bytes of vertex state", "sum over its vertices of the state of one instance"
        ),
    },
    "exchanges_on_tiles": {
        "name": exported_by_title("Exchange"),
        "type": exported_by_title("Type"),
        "program": exported_by_title("Program", "Id of the program"),
        "code_bytes": exported_by_title("Code", "Bytes of exchange code"),
        "received_bytes": exported_by_title("Received", "Bytes received in one execution"),
        "sent_bytes": exported_by_title("Sent", "Bytes sent in one execution, a multicast once"),
    },
    "variables_on_tiles": {
        "name": exported_by_title("Variable"),
        "variable": exported_by_title("Id"),
        "live": exported_by_title("Live", "always, or at times"),
        "size_bytes": exported_by_title("Bytes"),
    },
    "variables": {
        "name": exported_by_title("Variable"),
        "variable": exported_by_title("Id"),
        "size_bytes": exported_by_title("Bytes", "Over all tiles of one replica"),
        "live": exported_by_title("Live", "always, or at times"),
    },
    "lowered_variables": {
        "id": exported_by_title("Id"),
        "name": exported_by_title("Name"),
        "variable_name": exported_by_title("Variable"),
        "category": exported_by_title("Category"),
        "region": exported_by_title("Region"),
        "address": exported_by_title("Address", "Byte offset within the tile's memory"),
        "size_bytes": exported_by_title("Bytes"),
        "live": FigureTitle("Live (indices)", "Liveness indices at which it is live, last included", field="Live"),
        "indices": exported_by_title("Indices", "How many liveness indices it is live at"),
        "shared": exported_by_title("Shared", "yes: another allocation uses one of its addresses at another time"),
        "variable": exported_by_title("Variable Id"),
    },
    "variable_parts": {
        "tile": exported_by_title("Tile"),
        "ipu": exported_by_title("IPU"),
        "name": exported_by_title("Part", "Name of the lowered variable"),
        "address": exported_by_title("Address", "Byte offset in the memory of the tile"),
        "size_bytes": exported_by_title("Bytes"),
    },
    "memory_details": {
        "path": exported_by_title("Path", "Keys of the row and of the rows above it"),
        "memory": exported_by_title("Memory"),
        "size_bytes": FigureTitle("{place}", "Bytes; in the row Physical Tile Id the id", field="{place}"),
    },
    "tile_peak": {
        "kind": FigureTitle("Kind", "part: adds its bytes; total: the sum so far"),
        "group": FigureTitle("Group"),
        "part": exported_by_title("Part"),
        "label": exported_by_title("What"),
        "category": exported_by_title("Category"),
        "size_bytes": exported_by_title("Bytes"),
        "so_far_bytes": exported_by_title("So far", "Sum of the parts down to this one"),
        "share": exported_by_title("Share", formula="bytes / memory of a tile"),
        "variable": exported_by_title("Variable Id"),
        "variables": FigureTitle("Variables", "Variables that the row stands for"),
    },
    "always_live_variables": {
        "name": exported_by_title("Variable"),
        "variable": exported_by_title("Id"),
        "size_bytes": exported_by_title("Bytes", "Bytes on the tiles of the source"),
    },
    "live_variables": {
        "name": exported_by_title("Variable"),
        "variable": exported_by_title("Id"),
        "live": FigureTitle("Live (indices)", "Liveness indices at which it is live, last included", field="Live"),
        "size_bytes": exported_by_title("Index {place}", "Bytes live there"),
        "change_bytes": FigureTitle(
            "{place}", "Bytes at the first of these indices less bytes at the second", field="Change {place}"
        ),
    },
    "liveness_curve": {
        "liveness_index": exported_by_title("Index", "Liveness index: place in the static order of the program"),
        "program": exported_by_title("Program", "Id in the program tree"),
        "step": exported_by_title("Step"),
        "not_always_live_bytes": exported_by_title("Not always live", "Bytes live at this index, not always"),
        "live_bytes": exported_by_title("Total", formula="not always live + always live"),
    },
    "live_vertices": {
        "name": exported_by_title("Vertex type"),
        "kind": exported_by_title("Kind"),
        "instances": exported_by_title("Instances", "Vertices of the type"),
        "state_bytes": exported_by_title("State", "Bytes of vertex state", "instances x state of one instance"),
        "state_change_bytes": FigureTitle("State {place}", "Change of state", field="Change of state {place}"),
    },
    "cycle_estimates": {
        "liveness_index": exported_by_title("Index", "Liveness index: place in the static order of the program"),
        "program": exported_by_title("Program", "Id in the program tree"),
        "step": exported_by_title("Step"),
        "longest_cycles": FigureTitle(
            "Max cycles", "Cycles of the longest tile: the length of the step", field="Maximum"
        ),
        "mean_cycles": FigureTitle("Mean cycles", formula="sum of cycles / number of tiles", field="Mean"),
        "shortest_cycles": FigureTitle("Min cycles", "Cycles of the shortest tile", field="Minimum"),
        "longest_tile": FigureTitle("Longest tile", "The tile that has the maximum", field="Tile"),
        "balance": exported_by_title("Balance", formula="mean / maximum over all these tiles"),
        "device_us": FigureTitle(
            "Device µs", "Device time, modelled, not measured", "maximum / clock", field="Time us"
        ),
        "provenance": exported_by_title(
            "Basis", "Least certain source of the vertices' cycles: exact, fitted or guess"
        ),
    },
    "flop_estimates": {
        "name": exported_by_title("Vertex type"),
        "flops": exported_by_title("FLOP", "Floating point operations of one execution over all tiles"),
    },
}
