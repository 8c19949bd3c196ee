"""Random nested programs: fused, vertex by vertex and on the bytes of the tiles they do what a plain interpreter does,
and their reports keep the laws of time."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from poplibs.slow_machine import SlowMachine
from runtime.both_engines import ACCURATE, graph_of
from runtime.program_trees import LENGTH, VECTORS, Builder, State, Tree, interpreted, trees

from popvision.formats.profile.model import RunRecord
from simulator.poplar import Engine, Graph
from simulator.poplar.program import Copy, Sequence
from tests.example_profiles import costly

PROFILED = {"debug.instrument": "true"}


def built(tree: list[Tree], functions: list[list[Tree]], seed: int, ipus: int) -> tuple[Any, Graph, Sequence, Builder]:
    """The tree between copies from `start` and to `end`, so that its vectors are not always live."""
    device, graph = graph_of(4, ipus)
    builder = Builder(graph, np.random.default_rng(seed).integers, functions)
    ends = [[graph.clone(vector) for vector in builder.vectors] for _ in range(2)]
    for number, (start, end) in enumerate(zip(*ends, strict=True)):
        graph.createHostWrite(f"start{number}", start)
        graph.createHostRead(f"end{number}", end)
    program = Sequence([Copy(a, b) for a, b in zip(ends[0], builder.vectors, strict=True)])
    program.add(builder.program(tree))
    for a, b in zip(builder.vectors, ends[1], strict=True):
        program.add(Copy(a, b))
    return device, graph, program, builder


def by_engine(device: Any, graph: Graph, program: Sequence, start: State, options: dict[str, str]) -> list[Any]:
    """The vectors after each of two runs, and the records of both."""
    with Engine(graph, program, options) as engine:
        engine.load(device)
        found = []
        for turn in range(2):
            for number, values in enumerate(start):
                engine.writeTensor(f"start{number}", values + turn)
            engine.run()
            for number in range(VECTORS):
                found.append(np.zeros(LENGTH, np.int32))
                engine.readTensor(f"end{number}", found[-1])
        return [found, list(engine.core.recorder.records)]


@costly()
@given(trees(), st.lists(trees(), min_size=2, max_size=2), st.integers(0, 99), st.sampled_from([1, 1, 2]))
def test_all_ways_of_running_agree(tree: list[Tree], bodies: list[list[Tree]], seed: int, ipus: int) -> None:
    functions = [[step for step in body if step[0] in ("copy", "constant", "mix", "if", "while")] for body in bodies]
    functions = [[step for step in body if "call" not in str(step)] for body in functions]
    device, graph, program, builder = built(tree, functions, seed, ipus)
    rng = np.random.default_rng(seed)
    start = [rng.integers(0, 1000, LENGTH).astype(np.int32) for _ in range(VECTORS)]
    wanted = []
    for turn in range(2):
        wanted += interpreted(tree, [values + turn for values in start], functions)
    found, records = by_engine(device, graph, program, start, PROFILED)
    assert np.array_equal(found, wanted)
    assert np.array_equal(by_engine(device, graph, program, start, ACCURATE)[0], wanted)
    machine = SlowMachine(graph)
    for vector, values in zip(builder.vectors, start, strict=True):
        machine.write(vector, values)
    machine.run(program.programs[VECTORS])
    assert np.array_equal([machine.read(vector) for vector in builder.vectors], wanted[:VECTORS])
    for record in records:
        check_time(record)


def check_time(record: RunRecord) -> None:
    """On every tile the steps of a run and what comes after the last fill it, none begins before another has ended."""
    assert not record.truncated
    for ipu, tail in enumerate(record.tail):
        spent = np.zeros(len(tail), np.int64)
        for step in range(len(record.program)):
            there = record.patterns[int(record.pattern[step, ipu])]
            begin = int(record.base[step, ipu]) - int(record.base[0, ipu]) + there.start
            assert (begin == spent).all()
            spent += there.cycles
        assert (spent + tail == record.cycles).all()
