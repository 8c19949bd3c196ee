"""The variables that programs read and write, from their copies and from the fields of their vertices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from simulator.compiler.ir.accesses import elements_of, variables_in
from simulator.graph.program import Execute, programs_within
from simulator.graph.tensor import tensor_of
from simulator.graph.view import View
from simulator.poplar import Graph, Tensor
from simulator.poplar.program import Program


@dataclass
class Accesses:
    """Numbers of variables."""

    read: set[int] = field(default_factory=set)
    written: set[int] = field(default_factory=set)


def accesses_of(graph: Graph, programs: Iterable[Program]) -> Accesses:
    """What the programs access, with all that they contain and call. A field that a vertex changes counts twice."""
    found, sets = Accesses(), set()
    for program in programs_within(graph.store, programs):
        for tensor in program.reads():
            found.read.update(variables_of(tensor))
        for tensor in program.writes():
            found.written.update(variables_of(tensor))
        if isinstance(program, Execute):
            sets.add(program.compute_set)
    inputs, outputs = [], []
    for block in graph.store.blocks:
        if block.compute_set not in sets:
            continue
        for name, edges in block.edges.items():
            direction = block.type.fields_by_name[name].direction
            runs = edges.starts, edges.lengths
            inputs += [runs] if direction != "out" else []
            outputs += [runs] if direction != "in" else []
    bases = graph.store.bases()
    found.read.update(variables_in(elements_of(inputs), bases).tolist())
    found.written.update(variables_in(elements_of(outputs), bases).tolist())
    return found


def variables_of(tensor: Tensor) -> set[int]:
    """The variables that a tensor has elements of."""
    return {int(variable) for variable in tensor.view.variables()}


def whole_variable(graph: Graph, variable: int) -> Tensor:
    """A variable as a vector."""
    columns = graph.store.variables
    return tensor_of(columns.type[variable], View.of_variable(graph.store, variable, (columns.numel[variable],)))
