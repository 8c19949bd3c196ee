"""A slow, obvious machine: it runs a program vertex by vertex on one flat memory, in Python loops.

It has no kernels, clocks of tiles or compilation; tests compare it with the whole-array kernels and with NumPy. It also
refuses what no tile can do: two vertices of a compute set that access memory which one of them writes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from simulator.base import regions
from simulator.building.graph import Graph
from simulator.graph.tensor import Tensor
from simulator.graph.vertices import FieldEdges, VertexBlock
from simulator.poplar.program import (
    Call,
    Copy,
    Execute,
    If,
    LibraryGroup,
    Program,
    Repeat,
    RepeatWhile,
    Sequence,
    Switch,
    WriteUndef,
)
from simulator.runtime.values.kernels import kernel


class SlowMachine:
    """Memory for every variable of a graph, one array per element type, and a program runner."""

    def __init__(self, graph: Graph, kernels: bool = False) -> None:
        self.graph = graph
        self.kernels = kernels
        store = graph.store
        self.memory = {t: np.zeros(store.num_elements, t.dtype) for t in {*store.variables.type} if t.dtype is not None}
        for v, constant in enumerate(store.variables.constant):
            if constant is not None:
                base, type_ = store.variables.base[v], store.variables.type[v]
                self.memory[type_][base : base + store.variables.numel[v]] = np.asarray(constant).reshape(-1)

    def _type(self, element: int) -> Any:
        return self.graph.store.variables.type[int(self.graph.store.variable_of(np.array([element]))[0])]

    def _memory_of(self, tensor: Tensor) -> Any:
        """The memory of the tensor's variables, in the type to which the tensor reinterprets them."""
        starts = tensor.regions()[0]
        held = self._type(int(starts[0])) if len(starts) else tensor.elementType()
        return self.memory.setdefault(held, np.zeros(0, held.dtype)).view(tensor.elementType().dtype)

    def write(self, tensor: Tensor, values: Any) -> None:
        self._memory_of(tensor)[regions.elements(*tensor.regions())] = np.asarray(values).reshape(-1)

    def read(self, tensor: Tensor) -> Any:
        return self._memory_of(tensor)[regions.elements(*tensor.regions())].reshape(tensor.shape())

    def run(self, program: Program) -> None:
        if isinstance(program, LibraryGroup) and self.kernels:
            outputs = [self.read(t) for t in program.outputs]
            kernel(program.kernel)(outputs, [self.read(t) for t in program.inputs], program.attributes)
            for tensor, values in zip(program.outputs, outputs, strict=True):
                self.write(tensor, values)
        elif isinstance(program, Sequence):
            for part in program.programs:
                self.run(part)
        elif isinstance(program, Repeat):
            for _ in range(program.count):
                self.run(program.body)
        elif isinstance(program, If | Switch):
            value = int(self.read(program.reads()[0]))
            place = program.branch_of(value) if isinstance(program, Switch) else int(value == 0)
            self.run(program.nested()[place])
        elif isinstance(program, RepeatWhile):
            self.run(program.cond)
            while bool(self.read(program.predicate)) == program.wanted:
                self.run(program.body)
                self.run(program.cond)
        elif isinstance(program, Call):
            self.run(self.graph.store.functions[program.function])
        elif isinstance(program, Copy):
            self.write(program.destination, self.read(program.source))
        elif isinstance(program, Execute):
            self._execute(program.compute_set)
        elif isinstance(program, WriteUndef):
            self.write(program.tensor, np.full(program.tensor.shape(), 77))  # whoever reads this gets a wrong value
        else:
            raise AssertionError(f"the slow machine cannot run {program!r}")

    def _execute(self, compute_set: int) -> None:
        blocks = [b for b in self.graph.store.blocks if b.compute_set == compute_set]
        _check_parallel(blocks, self.graph.store.num_elements)
        for block in blocks:
            for row in range(len(block)):
                self._vertex(block, row)

    def _vertex(self, block: VertexBlock, row: int) -> None:
        fields: dict[str, Any] = {}
        written: list[tuple[Any, Any, Any]] = []
        for spec in block.type.fields:
            if spec.kind == "value":
                value = block.values[spec.name]
                fields[spec.name] = value[row] if np.ndim(value) else value
                continue
            rows = vectors_of(block.edges[spec.name], row, spec.kind == "vectors")
            parts = [self._gather(elements) for elements in rows]
            fields[spec.name] = parts if spec.kind == "vectors" else parts[0]
            if spec.direction != "in":
                written += [(self._type(int(e[0])), e, p) for e, p in zip(rows, parts, strict=True)]
        block.type.compute(SimpleNamespace(**fields))
        for type_, elements, part in written:
            self.memory[type_][elements] = part

    def _gather(self, elements: Any) -> Any:
        return self.memory[self._type(int(elements[0]))][elements].copy()


def vectors_of(edges: FieldEdges, row: int, nested: bool) -> list[Any]:
    """The element numbers of each inner vector of one vertex (one for a plain vector field)."""

    def spell(first: int, last: int) -> Any:
        return regions.elements(edges.starts[first:last], edges.lengths[first:last])

    if edges.offsets is None:
        return [spell(row, row + 1)]
    first, last = int(edges.offsets[row]), int(edges.offsets[row + 1])
    if not nested:
        return [spell(first, last)]
    if edges.row_offsets is not None:
        return [spell(int(edges.row_offsets[j]), int(edges.row_offsets[j + 1])) for j in range(first, last)]
    return [spell(j, j + 1) for j in range(first, last)]


def _check_parallel(blocks: list[VertexBlock], elements: int) -> None:
    writers = np.full(elements, -1)
    base = 0
    for block in blocks:
        for name, edges in block.edges.items():
            if block.type.fields_by_name[name].direction == "in":
                continue
            owner = np.repeat(edges.vertex_of_region(len(block)) + base, edges.lengths)
            touched = regions.elements(edges.starts, edges.lengths)
            assert len(np.unique(touched)) == len(touched), f"{block.type.name} writes an element twice"
            assert (writers[touched] < 0).all()
            writers[touched] = owner
        base += len(block)
    base = 0
    for block in blocks:
        for name, edges in block.edges.items():
            owner = np.repeat(edges.vertex_of_region(len(block)) + base, edges.lengths)
            writer = writers[regions.elements(edges.starts, edges.lengths)]
            assert ((writer < 0) | (writer == owner)).all(), (
                f"{block.type.name}.{name} reads what another vertex writes"
            )
        base += len(block)
