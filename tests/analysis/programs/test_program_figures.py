"""Totals through calls: a function called at two places and in a loop, against a run played step by step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from popvision.analysis.liveness.curve import curve
from popvision.analysis.programs.figures import UNKNOWN, figures
from popvision.analysis.programs.memory import peak_live, range_maxima
from popvision.analysis.programs.program_tree import roots
from popvision.analysis.report.columns import programs_of
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import Where
from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Call, Copy, Repeat, Sequence, Sync, SyncType
from simulator.poplibs import popops


@pytest.fixture(scope="module")
def called(tmp_path_factory: pytest.TempPathFactory) -> ReportSource:
    """main = add; Repeat 3 { call outer }; call inner. outer = call inner; call inner; copy."""
    folder: Path = tmp_path_factory.mktemp("called")
    model = IPUModel()
    model.tilesPerIPU = 4
    device = model.createDevice()
    graph = Graph(device)
    a, b = (graph.addVariable(FLOAT, [64], name) for name in ("a", "b"))
    for tensor, step in ((a, 0), (b, 1)):
        for tile in range(4):
            part = tensor[16 * tile : 16 * tile + 16]
            graph.setTileMapping(part, (tile + step) % 4)
    body = Sequence()
    popops.addInPlace(graph, a, b, body, "inner/add")
    inner = graph.addFunction(body)
    outer = graph.addFunction(Sequence([Call(inner), Call(inner), Copy(a, b)]))
    main = Sequence()
    popops.addInPlace(graph, b, b, main, "main/add")
    main.add(Repeat(3, Sequence([Call(outer), Sync(SyncType.INTERNAL)])))
    main.add(Call(inner))
    engine = Engine(graph, main, {"autoReport.all": "true", "autoReport.directory": str(folder)})
    engine.load(device)
    engine.run(0)
    engine.run(0)
    del engine
    return ReportSource(folder)


def played(source: ReportSource) -> tuple[list[int], list[int]]:
    """(total cycles, times entered) by program: an interpreter that takes the recorded steps one after the other."""
    programs: Any = programs_of(source)
    steps = source.reader.steps().program.tolist()
    cycles = source.reader.steps_on_ipu(0).cycles.tolist()
    totals, entered = [0] * len(programs.type), [0] * len(programs.type)
    at = 0

    def play(program: int) -> int:
        nonlocal at
        entered[program] += 1
        took = 0
        if at < len(steps) and steps[at] == program:
            took += cycles[at]
            at += 1
        children = programs.children[programs.child_offsets[program] : programs.child_offsets[program + 1]].tolist()
        if programs.type[program] == "OnEveryTileSwitch":
            children = children[:1]
        for _ in range(programs.repeat_count[program] if programs.type[program] == "Repeat" else 1):
            took += sum(play(child) for child in children)
        if programs.callee[program] >= 0:
            took += play(int(programs.callee[program]))
        totals[program] += took
        return took

    for _ in range(2):
        play(0)
    assert at == len(steps)
    return totals, entered


def test_totals_include_the_functions_called(called: ReportSource) -> None:
    found = figures(called)
    totals, entered = played(called)
    assert found.calls_unknown == ""
    assert found.total_cycles.tolist() == totals
    assert found.entered.tolist() == entered
    control = [root.program for root in roots(called) if root.owner == "control"]
    assert sum(found.total_cycles[control]) == called.reader.total_cycles() == sum(found.self_cycles)
    assert found.total_received[0] == found.bytes_received.sum() == called.reader.steps_on_ipu(0).data_in.sum()
    calls = np.flatnonzero(np.array(programs_of(called).type) == "Call")
    assert sorted(found.entered[calls].tolist()) == [2, 6, 6, 6]


def test_what_calls_cost_is_unknown_where_the_steps_do_not_say(called: ReportSource) -> None:
    source = ReportSource(called.folder)
    programs = programs_of(source)
    object.__setattr__(programs, "callee", None)
    found = figures(source)
    assert "format 1.0" in found.calls_unknown
    calls = np.array(programs.type) == "Call"
    assert set(found.total_cycles[calls].tolist()) == {UNKNOWN}
    assert found.total_cycles[0] == UNKNOWN
    leaf = programs.type.index("DoExchange")
    assert found.total_cycles[leaf] == found.self_cycles[leaf] >= 0


def test_peak_live_of_a_call_is_that_of_its_own_place(called: ReportSource) -> None:
    line = curve(called, Where())
    live = (line.not_always_live + line.always_live).tolist()
    order = line.program.tolist()
    programs: Any = programs_of(called)
    expected = [-1] * len(programs.type)
    at = 0

    def walk(program: int) -> int:
        nonlocal at
        peak = -1
        if programs.type[program] != "Sync":
            assert order[at] == program
            peak = live[at]
            at += 1
        below = programs.children[programs.child_offsets[program] : programs.child_offsets[program + 1]].tolist()
        if programs.callee[program] >= 0:
            below.append(int(programs.callee[program]))
        peak = max([peak, *(walk(child) for child in below)])
        expected[program] = max(expected[program], peak)
        return peak

    walk(0)
    assert at == len(order)
    assert peak_live(called).tolist() == expected


def test_maxima_over_ranges() -> None:
    rng = np.random.default_rng(3)
    values = rng.integers(0, 100, 37)
    begin = rng.integers(0, 37, 200)
    end = begin + 1 + rng.integers(0, 37, 200) % (37 - begin)
    assert range_maxima(values, begin, end).tolist() == [
        max(values[b:e]) for b, e in zip(begin.tolist(), end.tolist(), strict=True)
    ]
