"""Route of the graph of operations.

/data/<key>/operations/graph?ops_layer=..&ops_group=..   JSON: width, height, nodes (x and y of their centres), edges
                                                         (points from end to end), note. With ops_open=C the programs
                                                         and variables of the operation whose debug context is C; with
                                                         ops_find=T each node's "found".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from dash import Dash
from flask import Response, request

from popvision.analysis.operations.derived import library_call
from popvision.analysis.operations.drawing import Drawing, Node, flow_drawing, parts_drawing
from popvision.analysis.operations.layered_layout import Layout, layered_layout
from popvision.analysis.operations.operations import operation_row
from webapp.base.data_routes import report_route
from webapp.base.formats import bytes_text, cycles_text, integer_text, percent_text
from webapp.base.query import optional_number_of
from webapp.graph_analyser.operations.state import OperationState
from webapp.graph_analyser.operations.tables import FIGURES

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from webapp.base.library import Library

#: Size of a box and the distance between layers, in pixels at 100 %.
WIDTH, HEIGHT, PITCH = 176, 46, 92

_MARGIN = 24

#: Short names of program types.
_TYPES = {
    "OnTileExecute": "compute",
    "DoExchange": "exchange",
    "GlobalExchange": "exchange",
    "StreamCopyMid": "host copy",
}


def register_routes(app: Dash, library: Library) -> None:
    """Add the route."""
    report_route(app, library, "operations/graph", _graph)


def _graph(source: ReportSource) -> Response:
    state = OperationState.read(source, request.args)
    context = optional_number_of(request.args, "ops_open")
    groups = state.groups(source)
    if context is None:
        drawing, kind = flow_drawing(source, groups, state.by), FIGURES[state.by][1]
    else:
        row = operation_row(groups.sums, context)
        drawing, kind = parts_drawing(source, groups.sums.owners, [row]), "cycles"
    layout = layered_layout([node.rank for node in drawing.nodes], [(e.source, e.target) for e in drawing.edges], WIDTH)
    answer = drawn(source, drawing, layout, kind)
    if state.find:
        for node in answer["nodes"]:
            node["found"] = state.find.lower() in node["name"].lower()
    if context is not None:
        _shorten_names(answer["nodes"], groups.sums.owners.name[row])
    return Response(orjson.dumps(answer), mimetype="application/json")


def _shorten_names(nodes: list[dict[str, Any]], name: str) -> None:
    """Shorten the names of nodes within an operation: drop the operation's own name."""
    for node in nodes:
        if name and node["name"].startswith(f"{name}/"):
            node["short"] = node["name"][len(name) + 1 :]


def drawn(source: ReportSource, drawing: Drawing, layout: Layout, kind: str) -> dict[str, Any]:
    """The drawing with the positions of its layout, as JSON."""
    clock = source.reader.target().clock_hz
    nodes = [
        {
            "kind": node.kind,
            "name": node.name,
            "detail": _detail(source, node, kind, clock),
            "share": node.value / node.total if node.total > 0 else None,
            "context": node.context,
            "program": node.program,
            "variable": node.variable,
            "type": node.type,
            "deeper": node.deeper,
            "x": round(float(layout.x[at]) + _MARGIN, 1),
            "y": int(layout.layer[at]) * PITCH + HEIGHT // 2 + _MARGIN,
        }
        for at, node in enumerate(drawing.nodes)
    ]
    edges = []
    for edge, bends in zip(drawing.edges, layout.bends, strict=True):
        middle = [[round(x + _MARGIN, 1), layer * PITCH + HEIGHT // 2 + _MARGIN] for x, layer in bends]
        ends = [[nodes[each]["x"], nodes[each]["y"]] for each in (edge.source, edge.target)]
        back = layout.layer[edge.target] <= layout.layer[edge.source]
        count = f"{edge.variables:,} variables" if edge.variables != 1 else "1 variable"
        edges.append(
            {
                "source": edge.source,
                "target": edge.target,
                "points": [ends[0], *middle, ends[1]],
                "back": bool(back),
                "bytes": edge.bytes,
                "text": f"{count}, {bytes_text(edge.bytes)}",
            }
        )
    layers = int(layout.layer.max(initial=-1)) + 1
    return {
        "width": layout.width + 2 * _MARGIN,
        "height": max(0, layers - 1) * PITCH + HEIGHT + 2 * _MARGIN,
        "box": [WIDTH, HEIGHT],
        "nodes": nodes,
        "edges": edges,
        "note": drawing.left_out,
    }


def _detail(source: ReportSource, node: Node, kind: str, clock: float) -> str:
    if node.kind in ("rest", "outside"):
        return "writes" if node.rank < 0 else "reads"
    if node.kind in ("variable", "input"):
        return bytes_text(node.value)
    shown = {"cycles": lambda v: cycles_text(v, clock), "bytes": bytes_text}.get(kind, integer_text)(node.value)
    share = f" · {percent_text(node.value / node.total)}" if node.total > 0 else ""
    lead = {"group": f"{node.count:,} ops · ", "program": f"{_TYPES.get(node.type, node.type)} · "}.get(node.kind, "")
    if node.kind == "operation":
        call = library_call(source, node.context).rpartition("::")[2]
        lead = f"{call} · " if call and not node.name.endswith(call) else ""
    return f"{lead}{shown}{share}"
