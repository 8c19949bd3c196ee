"""Graphs as dot files, for `Graph.outputComputeGraph` and `outputVertexGraph`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from simulator.base import regions
from simulator.graph import program as host
from simulator.graph.objects import DataStream, RemoteBuffer
from simulator.graph.program import programs_within
from simulator.graph.programs.base import checked
from simulator.graph.tensor import Tensor

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore
    from simulator.graph.vertices import VertexBlock

#: Colours that Poplar's documentation names; the shades are ours.
VARIABLE, COMPUTE_SET, VERTICES, UNLINKED, COPY = "palegreen", "lightblue", "orange", "yellow", "red"

Edge = tuple[str, str]


@dataclass
class _Links:
    """Connections as pairs of dot nodes, each pair once, in order of appearance."""

    black: dict[Edge, None] = field(default_factory=dict)
    red: dict[Edge, None] = field(default_factory=dict)
    outside: dict[str, str] = field(default_factory=dict)  #: streams and remote buffers: node -> label
    variables: set[int] = field(default_factory=set)


def compute_graph(store: GraphStore, programs: Sequence[host.Program]) -> Iterator[str]:
    """The lines of the compute graph: all compute sets, or with programs those that they execute, and their copies."""
    programs = [checked(each) for each in programs]
    links = _Links()
    shown = _compute_sets(store, programs)
    counts = Counter[int]()
    for block in store.blocks:
        if block.compute_set in shown:
            counts[block.compute_set] += len(block)
            _link_block(store, block, links)
    for program in programs_within(store, programs):
        if isinstance(program, host.Copy | host.CrossReplicaCopy):
            _link_copy(program, links)
    yield "digraph compute_graph {"
    yield "  node [shape=box, style=filled];"
    for cs in sorted(shown):
        yield from _compute_set(cs, store.compute_set_names[cs], counts[cs])
    yield from _variables(store, links)
    for node, label in links.outside.items():
        yield f"  {node} [label={quoted(label)}, shape=ellipse, style=solid];"
    yield from (f"  {a} -> {b} [color=black];" for a, b in links.black)
    yield from (f"  {a} -> {b} [color={COPY}];" for a, b in links.red)
    yield "}"


def vertex_graph(store: GraphStore, programs: Sequence[host.Program]) -> Iterator[str]:
    """The lines of the vertex graph: every vertex (with programs, of the compute sets that they execute), the variables
    that its fields are connected to, and copies between variables."""
    programs = [checked(each) for each in programs]
    links = _Links()
    shown = _compute_sets(store, programs)
    edges: list[str] = []
    yield "digraph vertex_graph {"
    yield "  node [shape=box, style=filled];"
    for block in store.blocks:
        if block.compute_set in shown:
            for row in range(len(block)):
                name = f"{block.type.name} {block.first_id + row}"
                yield f"  vertex{block.first_id + row} [label={quoted(name)}, fillcolor={VERTICES}];"
            edges += _vertex_edges(store, block, links)
    for program in programs_within(store, programs):
        if isinstance(program, host.Copy | host.CrossReplicaCopy):
            _link_copy(program, links)
    yield from _variables(store, links)
    for node, label in links.outside.items():
        yield f"  {node} [label={quoted(label)}, shape=ellipse, style=solid];"
    yield from edges
    yield from (f"  {a} -> {b} [color={COPY}];" for a, b in links.red)
    yield "}"


def quoted(text: str) -> str:
    """A dot string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'


def _compute_sets(store: GraphStore, programs: Sequence[host.Program]) -> set[int]:
    if not programs:
        return set(range(len(store.compute_set_names)))
    return {p.compute_set for p in programs_within(store, programs) if isinstance(p, host.Execute)}


def _compute_set(cs: int, name: str, vertices: int) -> Iterator[str]:
    """A blue box with an orange one inside."""
    yield f"  subgraph cluster_cs{cs} {{"
    yield f"    label={quoted(name or f'compute set {cs}')}; style=filled; color={COMPUTE_SET};"
    yield f'    cs{cs} [label="{vertices} {"vertex" if vertices == 1 else "vertices"}", fillcolor={VERTICES}];'
    yield "  }"


def _link_block(store: GraphStore, block: VertexBlock, links: _Links) -> None:
    for name, edges in block.edges.items():
        direction = block.type.fields_by_name[name].direction
        for variable in regions.distinct(store.variable_of(edges.starts)).tolist():
            links.variables.add(variable)
            if direction in ("in", "inout"):
                links.black[f"v{variable}", f"cs{block.compute_set}"] = None
            if direction in ("out", "inout"):
                links.black[f"cs{block.compute_set}", f"v{variable}"] = None


def _vertex_edges(store: GraphStore, block: VertexBlock, links: _Links) -> Iterator[str]:
    n = len(block)
    for name, edges in block.edges.items():
        direction = block.type.fields_by_name[name].direction
        variables = store.variable_of(edges.starts)
        links.variables.update(regions.distinct(variables).tolist())
        pairs = np.unique(np.stack([edges.vertex_of_region(n), variables], axis=1), axis=0)
        for row, variable in pairs.tolist():
            vertex = f"vertex{block.first_id + row}"
            ends = (vertex, f"v{variable}") if direction == "out" else (f"v{variable}", vertex)
            both = ", dir=both" if direction == "inout" else ""
            yield f"  {ends[0]} -> {ends[1]} [label={quoted(name)}{both}];"


def _link_copy(copy: host.Copy | host.CrossReplicaCopy, links: _Links) -> None:
    sources, destinations = (_ends(end, links) for end in (copy.source, copy.destination))
    for a in sources:
        for b in destinations:
            links.red[a, b] = None


def _ends(end: object, links: _Links) -> list[str]:
    if isinstance(end, Tensor):
        links.variables.update(end.view.variables())
        return [f"v{v}" for v in end.view.variables()]
    if isinstance(end, DataStream | RemoteBuffer):
        kind = "stream" if isinstance(end, DataStream) else "remote"
        links.outside[f"{kind}{end.id}"] = f"{end.handle()} [{end.numElements()}]"
        return [f"{kind}{end.id}"]
    return []  # code of functions is no data


def _variables(store: GraphStore, links: _Links) -> Iterator[str]:
    """Green boxes for what is linked; yellow ones for the rest, those of equal name and size as one."""
    v = store.variables
    for variable in sorted(links.variables):
        yield f"  v{variable} [label={quoted(_label(store, variable))}, fillcolor={VARIABLE}];"
    alike: dict[tuple[str, int], list[int]] = {}
    for variable in range(len(v.base)):
        if variable not in links.variables:
            alike.setdefault((v.name[variable], v.numel[variable]), []).append(variable)
    for same in alike.values():
        times = f" x {len(same)}" if len(same) > 1 else ""
        yield f"  v{same[0]} [label={quoted(_label(store, same[0]) + times)}, fillcolor={UNLINKED}];"


def _label(store: GraphStore, variable: int) -> str:
    v = store.variables
    return f"{v.name[variable] or f'variable {variable}'} [{v.numel[variable]}]"


def programs_of(programs: Iterable[host.Program]) -> list[host.Program]:
    """A list of programs, from one of them or several."""
    return [programs] if isinstance(programs, host.Program) else list(programs)
