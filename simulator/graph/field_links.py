"""Connections between fields of vertices: a field gets the elements that another field is connected to, at once or as
soon as there are any."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulator.base.errors import graph_connection_error

if TYPE_CHECKING:
    from simulator.graph.objects import FieldRef
    from simulator.graph.store import GraphStore
    from simulator.graph.vertex_builder import BlockBuilder


@dataclass(frozen=True)
class FieldLink:
    """Field `field` of vertex `row` of a block is to be connected to what `other` is connected to."""

    builder: BlockBuilder
    row: int
    field: str
    other: FieldRef

    @property
    def ready(self) -> bool:
        """Whether the other field is connected, or is a simple field, which `connect` refuses."""
        vertex, fields = self.other.vertex, self.other.vertex.builder.fields
        return self.other.name not in fields.edges or fields.edges[self.other.name].holds(vertex.row)

    def connect(self) -> None:
        vertex = self.other.vertex
        tensors = vertex.builder.tensors_of(vertex.row, self.other.name)
        if vertex.builder.type.fields_by_name[self.other.name].kind == "vectors":
            self.builder.connect_list(self.row, self.field, tensors)
        else:
            self.builder.connect(self.row, self.field, tensors[0])


def connect_links(store: GraphStore) -> None:
    """Connect the fields that wait for others. Raises graph_connection_error for a field that leads to no element."""
    while store.field_links:
        ready = [link for link in store.field_links if link.ready]
        if not ready:
            link = store.field_links[0]
            raise graph_connection_error(
                f"{link.builder.fields.vertex(link.row)}: field '{link.field}' is connected to field "
                f"'{link.other.name}' of {link.other.vertex!r}, which is connected to nothing; connect that one to a "
                "tensor."
            )
        for link in ready:
            link.connect()
        store.field_links = [link for link in store.field_links if link not in ready]
