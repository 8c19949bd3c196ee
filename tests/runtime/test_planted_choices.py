"""Live ranges of programs with branches, each shortened by one index: the address-accurate mode detects all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from runtime.both_engines import ACCURATE, graph_of
from runtime.program_trees import LENGTH, Builder

from simulator.base.options.run import RunSettings
from simulator.poplar import Graph, compileGraph, poplar_error
from simulator.poplar.program import Copy
from simulator.runtime.engine_core import EngineCore
from simulator.runtime.values.numeric_plan import NumericPlan

START = np.array([5, 0, 7, 2], np.int32)
STARTS = range(8)  #: added to it, so that every way is taken
#: A loop carries v0 and its counter and reads v1; then v0 or v1 is taken, and v2 is made in both branches.
TREE = [
    ("copy", 1, 0),
    ("while", 3, True, [("mix", 0, 1)]),
    ("if", 0, 3, [("copy", 2, 0)], [("mix", 1, 0), ("copy", 2, 1)]),
    ("switch", 2, [[("mix", 2, 0)], [("mix", 2, 1)]], [("mix", 2, 0), ("mix", 2, 1)]),
]


class Impatient(EngineCore):
    """Gives up on loops that no longer end."""

    def chose(self, choice: int) -> None:
        super().chose(choice)
        if len(self.choices) > 50:
            raise poplar_error("no end")


def outcome(compiled: Any) -> list[int]:
    plan = NumericPlan(compiled.source.store, compiled.source.programs)
    core = Impatient(compiled, plan, RunSettings(recording=False, runs_kept=0))
    core.load()
    found = []
    for first in STARTS:
        core.write("start", START + first)
        core.run(0, "")
        found.append(np.zeros(LENGTH, np.int32))
        core.read("end", found[-1])
    return np.concatenate(found).tolist()


@pytest.fixture(scope="module")
def compiled():
    _, graph = graph_of(4)
    builder = Builder(graph, np.random.default_rng(3).integers, [])
    start, end = graph.clone(builder.vectors[0]), graph.clone(builder.vectors[2])
    graph.createHostWrite("start", start)
    graph.createHostRead("end", end)
    program = builder.program(TREE)
    program.programs.insert(0, Copy(start, builder.vectors[0]))
    program.add(Copy(builder.vectors[2], end))
    assert isinstance(graph, Graph)
    return compileGraph(graph, program, ACCURATE).compiled


@pytest.mark.parametrize(("side", "by"), [("ends", -1), ("starts", 1)])
def test_ranges_one_too_short_are_found(compiled, side, by):
    report = compiled.compilation
    live, right = report.eq_classes, outcome(compiled)
    owner = np.repeat(np.arange(len(live.offsets) - 1), np.diff(live.offsets))
    names: dict[int, set[str]] = {}
    for tile in report.lowered:
        for name, class_ in zip(tile.name.tolist(), tile.eq_class.tolist(), strict=True):
            names.setdefault(class_, set()).add(report.lowered_names[name])
    missed = []
    for row in np.flatnonzero(live.ends - live.starts > 1).tolist():
        column = getattr(live, side).copy()
        column[row] += by
        try:
            found = outcome(replace(compiled, compilation=replace(report, eq_classes=replace(live, **{side: column}))))
        except poplar_error:
            continue
        if found == right and names.get(int(owner[row])):
            missed.append((names[int(owner[row])], int(live.starts[row]), int(live.ends[row])))
    types = compiled.lowered.table.type
    # What all branches write lives from the choice on (branch_liveness), earlier than it need.
    at = [types[int(report.liveness.program[begin])] for _, begin, _ in missed]
    assert [row for row, type_ in zip(missed, at, strict=True) if side == "ends" or type_ not in ("If", "Switch")] == []
