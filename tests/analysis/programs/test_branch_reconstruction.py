"""What each Call took in runs whose way data chose, against the run played with what the engine chose."""

import numpy as np
import pytest
from runtime.test_programs_that_choose import PROFILED, Bench

from popvision.analysis.programs.figures import UNKNOWN, figures
from popvision.analysis.report.source import ReportSource
from popvision.formats.profile.model import PHASE_OF_TYPE
from simulator.poplar import Engine
from simulator.poplar.program import Call, If, Repeat, RepeatWhileTrue, Sequence, Switch
from simulator.runtime.clock.device_clock import DeviceClock


def report(bench, program, folder, x=0, control="true"):
    """(the report of one run, the choices of data in it)"""
    files = {"autoReport.directory": str(folder), "debug.instrumentControlFlow": control}
    files |= {f"autoReport.output{part}Profile": "true" for part in ("Graph", "Execution")}
    with Engine(bench.graph, program, PROFILED | files) as engine:
        engine.load(bench.device)
        engine.writeTensor("x", np.array([x], np.int32))
        engine.run()
        return ReportSource(folder / "profile.pop"), list(engine.core.choices)


def played(source, choices):
    """Total cycles of each Call: an interpreter that takes steps and choices one after the other."""
    programs = source.reader.programs()
    steps = iter(
        zip(source.reader.steps().program.tolist(), source.reader.steps_on_ipu(0).cycles.tolist(), strict=True)
    )
    ways, totals = iter(choices), {row: 0 for row, type_ in enumerate(programs.type) if type_ == "Call"}

    def play(row):
        type_ = programs.type[row]
        below = programs.children[programs.child_offsets[row] : programs.child_offsets[row + 1]].tolist()
        if type_ == "RepeatWhile":
            spent = sum(map(play, below[:-1]))
            while next(ways):
                spent += play(below[-1]) + sum(map(play, below[:-1]))
            return spent
        if type_ in ("If", "Switch"):
            return sum(map(play, below[next(ways) :][:1]))
        if type_ == "OnEveryTileSwitch":
            return play(below[0])
        if type_ == "Call":
            totals[row] += (spent := play(int(programs.callee[row])))
            return spent
        if not below and type_ in PHASE_OF_TYPE:
            step, cycles = next(steps)
            assert step == row
            return cycles
        return sum(sum(map(play, below)) for _ in range(programs.repeat_count[row] if type_ == "Repeat" else 1))

    play(next(row for row, owner in enumerate(programs.owner) if owner == "control"))
    assert next(steps, None) is None
    return totals


def branches(bench):
    """Two functions; in each of six trips one is called in a branch, then the first one again."""
    one, two = bench.graph.addFunction(bench.put(1)), bench.graph.addFunction(Sequence(bench.put(2), bench.put(3)))
    choice = If(bench.flag, Sequence(bench.put(5), Call(one)), Call(two))
    return Repeat(6, Sequence(bench.count(3), choice, Call(one)))


def loops(bench):
    """A function that chooses, called before, in and behind a loop."""
    inner = bench.graph.addFunction(Switch(bench.x, [(2, bench.put(7)), (3, Repeat(2, bench.put(8)))]))
    loop = RepeatWhileTrue(bench.count(5), bench.flag, Sequence(bench.put(4), Call(inner)))
    return Sequence(Call(inner), bench.put(9), loop, bench.put(6), Call(inner))


@pytest.mark.parametrize("control", ["true", "false"])
@pytest.mark.parametrize("make", [branches, loops])
def test_steps_belong_to_the_call_that_data_chose(make, control, tmp_path):
    source, choices = report(bench := Bench(), make(bench), tmp_path, control=control)
    found = figures(source, None)
    expected = played(source, choices)
    assert sum(expected.values()) > 0
    assert {row: int(found.total_cycles[row]) for row in expected} == expected


def either(bench, always):
    """The same function in both branches: its steps do not say which; `always`: the value is the same in each trip."""
    one = bench.graph.addFunction(bench.put(1))
    return Repeat(4, Sequence(bench.count(99 if always else 3), If(bench.flag, Call(one), Call(one))))


def test_the_branch_record_tells_calls_of_one_function_apart_where_one_way_was_taken(tmp_path):
    for name, always, control, known in (
        ("a", True, "true", True),
        ("b", True, "false", False),
        ("c", False, "true", False),
    ):
        source, choices = report(bench := Bench(), either(bench, always), tmp_path / name, control=control)
        found = figures(source, None)
        expected = played(source, choices)
        mine = {row: int(found.total_cycles[row]) for row in expected}
        assert mine == (expected if known else dict.fromkeys(expected, UNKNOWN))


def test_a_record_that_was_cut_is_followed_to_its_end(tmp_path, monkeypatch):
    """Of the steps that are there, those of the calls."""
    whole = DeviceClock.__init__

    def short(self, *given, **more):
        whole(self, *given, max_steps=40, **more)

    monkeypatch.setattr(DeviceClock, "__init__", short)
    source, _ = report(bench := Bench(), branches(bench), tmp_path)
    assert bool(source.reader.runs().truncated[0])
    assert source.reader.steps().program.size == 40
    calls = [row for row, type_ in enumerate(source.reader.programs().type) if type_ == "Call"]
    found = figures(source, None)
    assert max(found.total_cycles[row] for row in calls) > 0
    assert min(found.total_cycles[row] for row in calls) >= 0
