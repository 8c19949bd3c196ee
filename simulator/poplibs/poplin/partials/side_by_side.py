"""Programs of several operations on tiles of their own, run beside each other.

Each operation is built alone, for a virtual graph. Then the copies that come next in all of them are put beside each
other, which makes one exchange of them, and the vertices that come next into one compute set. What is neither (a loop)
runs alone. On values the operations run one after another: none reads what another writes (`independent`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from collections.abc import Sequence as SequenceOf
from itertools import permutations
from typing import Any

from simulator.arrays import AnyArray
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context
from simulator.graph.program import Copy, Execute, LibraryGroup, Program, Sequence, WriteUndef
from simulator.graph.tensor import Tensor
from simulator.runtime.values.kernels import kernel, register

_MOVES = (Copy, WriteUndef)


def independent(parts: SequenceOf[Sequence]) -> bool:
    """Whether no part reads or writes what another one writes."""
    operands = [[_operands(program) for program in part.programs] for part in parts]
    reads = [[tensor for _, inputs, _, _ in steps for tensor in inputs] for steps in operands]
    writes = [[tensor for _, _, outputs, _ in steps for tensor in outputs] for steps in operands]
    return not any(
        written.intersectsWith(tensor)
        for writer, reader in permutations(range(len(parts)), 2)
        for written in writes[writer]
        for tensor in (*reads[reader], *writes[reader])
    )


def side_by_side(graph: Graph, parts: SequenceOf[Sequence], name: Context) -> LibraryGroup:
    """One program of `independent` parts, which are library operations and copies and may not be used any more."""
    inputs: list[Tensor] = []
    outputs: list[Tensor] = []
    steps = []
    for program in (program for part in parts for program in part.programs):
        step = _operands(program)
        begins = len(inputs), len(outputs)
        inputs += step[1]
        outputs += step[2]
        ends = len(inputs), len(outputs)
        steps.append({"kernel": step[0], "begins": list(begins), "ends": list(ends), "attributes": step[3]})
    merged = list(_merged(graph, [deque(_leaves(part)) for part in parts]))
    return LibraryGroup(merged, "poplin.sideBySide", inputs, outputs, {"steps": steps}, name)


def _operands(program: Program) -> tuple[str, list[Tensor], list[Tensor], dict[str, Any]]:
    """(kernel, inputs, outputs, attributes) of a library operation or a copy."""
    if isinstance(program, LibraryGroup):
        return program.kernel, program.inputs, program.outputs, program.attributes
    assert isinstance(program, Copy)
    return "poplin.copied", [program.source], [program.destination], {}


def _leaves(program: Program) -> Iterator[Program]:
    """The steps of a program in order; a loop is one step."""
    if isinstance(program, Sequence):
        for part in program.programs:
            yield from _leaves(part)
    else:
        yield program


def _merged(graph: Graph, left: list[deque[Program]]) -> Iterator[Program]:
    while any(left):
        for steps in left:
            while steps and isinstance(steps[0], _MOVES):
                yield steps.popleft()
        executes = [step for steps in left if steps and isinstance(step := steps[0], Execute)]
        if executes:
            for steps in left:
                if steps and isinstance(steps[0], Execute):
                    steps.popleft()
            yield _one_compute_set(graph, executes)
        else:
            yield from (steps.popleft() for steps in left if steps)


def _one_compute_set(graph: Graph, executes: list[Execute]) -> Execute:
    """The first, with the vertices of the others too."""
    first = executes[0]
    others = {step.compute_set for step in executes[1:]}
    for block in graph.store.settled_blocks:
        if block.compute_set in others:
            block.compute_set = first.compute_set
    return first


@register("poplin.copied")
def _copied_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: dict[str, Any]) -> None:
    outputs[0][...] = inputs[0]


@register("poplin.sideBySide")
def _side_by_side_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: dict[str, Any]) -> None:
    for step in attributes["steps"]:
        (first_input, first_output), (end_input, end_output) = step["begins"], step["ends"]
        own = outputs[first_output:end_output], inputs[first_input:end_input]
        kernel(step["kernel"])(*own, step["attributes"])
