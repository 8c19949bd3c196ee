"""What a graph writes of itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from popvision.formats.serialized_graph import serialized_messages
from popvision.formats.tensor_views import tensor_views_message
from simulator.base import regions
from simulator.base.errors import poplar_error
from simulator.base.overloads import Overloads, Parameter, instance_of, other_than
from simulator.base.types import SerializationFormat, type_named
from simulator.graph.program import Program
from simulator.graph.tensor import Tensor, tensor_of
from simulator.programming import dot_graphs
from simulator.programming.codelets import CodeletMethods
from simulator.programming.serialization import (
    as_json,
    checked_views,
    graph_columns,
    views_as_json,
    views_of,
    write_bytes,
    write_text,
)

_OUT = Parameter("out")
_FORMAT = Parameter("format", instance_of(SerializationFormat))
_SERIALIZE = Overloads(
    "serialize", poplar_error, ((_OUT, _FORMAT), (_OUT, Parameter("progs", other_than(SerializationFormat)), _FORMAT))
)


class OutputMethods(CodeletMethods):
    def outputVertexGraph(self, outputStream: Any, progs: Sequence[Program] = ()) -> None:
        """Write vertices and the variables they are connected to as a dot graph; with programs, the vertices that these
        execute, and their copies (red)."""
        write_text(outputStream, "\n".join(dot_graphs.vertex_graph(self.store, dot_graphs.programs_of(progs))) + "\n")

    def outputComputeGraph(self, outputStream: Any, progs: Sequence[Program] = ()) -> None:
        """Write compute sets and variables as a dot graph: green boxes are variables with their number of elements,
        blue boxes compute sets, orange boxes in them their number of vertices, yellow boxes variables that nothing is
        linked to (equal ones as one), black edges inputs and outputs, red edges copies of `progs`. With programs, only
        the compute sets that these execute."""
        write_text(outputStream, "\n".join(dot_graphs.compute_graph(self.store, dot_graphs.programs_of(progs))) + "\n")

    @overload
    def serialize(self, out: Any, format: SerializationFormat) -> None: ...
    @overload
    def serialize(self, out: Any, progs: Sequence[Program], format: SerializationFormat) -> None: ...
    def serialize(self, *arguments: Any, **names: Any) -> None:
        """Write the graph as pretty-printed JSON or as Cap'n Proto messages (popvision/formats/serialized_graph.capnp);
        with programs, which variables their copies copy. A graph cannot be made from it again.

        Raises `poplar_error` for the binary format and a text file."""
        _, given = _SERIALIZE.choose(arguments, names)
        target = {"target": self._target.getTargetArchString(), "tiles": self._target.getNumTiles()}
        columns = graph_columns(self.store, dot_graphs.programs_of(given.get("progs", ())), target)
        if given["format"] is SerializationFormat.JSON:
            write_text(given["out"], as_json(columns))
        else:
            write_bytes(given["out"], b"".join(serialized_messages(columns)))

    def serializeTensors(self, out: Any, tensors: Sequence[Tensor], format: SerializationFormat) -> None:
        """Write type, shape and expression of tensors, and type and number of elements of the variables that they are
        made of, as pretty-printed JSON or as a Cap'n Proto message (popvision/formats/tensor_views.capnp).

        Raises `poplar_error` for a tensor of another graph, and for the binary format and a text file."""
        views = views_of(self.store, tensors)
        if format is SerializationFormat.JSON:
            write_text(out, views_as_json(views))
        elif format is SerializationFormat.Binary:
            write_bytes(out, tensor_views_message(views))
        else:
            raise poplar_error(f"serializeTensors: {format!r} is not a SerializationFormat.")

    def deserializeTensors(self, in_: Any, format: SerializationFormat = SerializationFormat.Binary) -> list[Tensor]:
        """Add the variables of serialized tensors to the graph and make the tensors again. The new variables have no
        tile mapping.

        Raises `poplar_error` for SerializationFormat.JSON, `parse_error` for data that do not fit together."""
        views = checked_views(in_.read() if format is SerializationFormat.Binary else b"", format)
        variables = [self.addVariable(type_named(v.type), [v.num_elements], v.name) for v in views.variables]
        return [self._view(t.type, t.shape, t.regions, variables) for t in views.tensors]

    def _view(self, type_: str, shape: list[int], rows: list[tuple[int, int, int]], variables: list[Tensor]) -> Tensor:
        if not rows:
            return self.addVariable(type_named(type_), shape)
        starts = np.array([variables[v].view.start + begin for v, begin, _ in rows], np.int64)
        lengths = np.array([length for _, _, length in rows], np.int64)
        pieces = self.store.cut_at_variables(*regions.merged(starts, lengths))
        first = variables[rows[0][0]]
        same = all(v == rows[0][0] for v, _, _ in rows)
        view = first.view.with_pieces(tuple(shape), pieces, first.view.variable if same else -1)
        out = tensor_of(first.element_type, view)
        return out if out.elementType() is type_named(type_) else out.reinterpret(type_named(type_))
