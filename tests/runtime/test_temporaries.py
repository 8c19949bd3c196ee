"""Sharing of arena memory: who may share, and that results do not depend on it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulator.poplar import FLOAT, Engine, Graph, IPUModel, Tensor
from simulator.poplar.program import Copy, Repeat, Sequence
from simulator.poplibs import popops
from simulator.poplibs.poputil import mapTensorLinearly
from simulator.runtime.values.temporaries import find_temporaries


def variable(graph: Graph, name: str, n: int = 64) -> Tensor:
    tensor = graph.addVariable(FLOAT, [n], name)
    mapTensorLinearly(graph, tensor)
    return tensor


def names(graph: Graph, program: Sequence) -> list[set[str]]:
    v = graph.store.variables
    return [{v.name[i] for i in group} for group in find_temporaries(graph.store, [program]).groups]


def test_results_that_are_no_longer_needed_give_their_memory_on() -> None:
    graph, program = Graph(IPUModel().createDevice()), Sequence()
    a = variable(graph, "a")
    b = popops.exp(graph, a, program, "b")
    c = popops.exp(graph, b, program, "c")
    d = popops.exp(graph, c, program, "d")
    popops.exp(graph, d, program, "e")
    # b is read by the step that makes c, so the first to take its memory is d.
    assert names(graph, program) == [
        {"b/Op/Exponent/Out", "d/Op/Exponent/Out"},
        {"c/Op/Exponent/Out", "e/Op/Exponent/Out"},
    ]


def test_what_the_host_sees_or_a_loop_carries_keeps_its_memory() -> None:
    graph, program = Graph(IPUModel().createDevice()), Sequence()
    a, total = variable(graph, "a"), variable(graph, "total")
    body = Sequence()
    b = popops.exp(graph, a, body, "b")
    c = popops.exp(graph, b, body, "c")
    d = popops.exp(graph, c, body, "d")
    popops.addInPlace(graph, total, d, body, "sum")
    graph.createHostRead("d", d)
    program.add(Repeat(3, body))
    after = popops.exp(graph, total, program, "after")
    program.add(Copy(after, a))
    assert names(graph, program) == []


@given(st.lists(st.tuples(st.sampled_from(["add", "mul", "max"]), st.integers(0, 9), st.integers(0, 9)), max_size=25))
def test_random_programs_compute_the_same_as_numpy(steps: list[tuple[str, int, int]]) -> None:
    graph, program = Graph(IPUModel().createDevice()), Sequence()
    a, b = variable(graph, "a"), variable(graph, "b")
    start = [np.linspace(-1, 1, 64, dtype=np.float32), np.linspace(2, 0.5, 64, dtype=np.float32)]
    for name, tensor in (("a", a), ("b", b)):
        graph.createHostWrite(name, tensor)
    tensors, values = [a, b], list(start)
    functions = {"add": np.add, "mul": np.multiply, "max": np.maximum}
    for op, left, right in steps:
        x, y = left % len(tensors), right % len(tensors)
        tensors.append(getattr(popops, op)(graph, tensors[x], tensors[y], program, op))
        values.append(functions[op](values[x], values[y]))
    graph.createHostRead("out", tensors[-1])
    with np.errstate(all="ignore"), Engine(graph, program) as engine:
        engine.load(IPUModel().createDevice())
        for name, data in zip(("a", "b"), start, strict=True):
            engine.writeTensor(name, data)
        engine.run(0)
        out = np.empty(64, np.float32)
        engine.readTensor("out", out)
    assert np.array_equal(out, values[-1])
