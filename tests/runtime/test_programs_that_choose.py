"""Programs with branches that depend on data: results, steps, branch records, and runs that they end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from runtime.both_engines import ACCURATE, graph_of

from simulator.codelets.vertex import InOut, Output, Vertex
from simulator.poplar import BOOL, INT, UNSIGNED_INT, Engine, ErrorCode, application_runtime_error
from simulator.poplar.program import (
    Abort,
    AbortOnCondition,
    Block,
    Call,
    Copy,
    ErrorProgram,
    Execute,
    If,
    Loop,
    Program,
    Repeat,
    RepeatWhileFalse,
    RepeatWhileTrue,
    Sequence,
    Switch,
)
from simulator.runtime.clock import data_dependent_time
from simulator.runtime.clock.device_clock import DeviceClock

PROFILED = {
    "debug.instrumentControlFlow": "true",
    "debug.retainDebugInformation": "true",
    "autoReport.executionProfileProgramRunCount": "9",
}


class Count(Vertex):
    x = InOut(INT)
    below = Output(BOOL)
    limit = INT

    def compute(self):
        self.x = self.x + 1
        self.below = self.x < self.limit

    @classmethod
    def estimate(cls, sizes, values, target):
        return 9


class Bench:
    """x on tile 0, a flag on tile 1, and a result on tile 2."""

    def __init__(self, ipus: int = 1) -> None:
        self.device, self.graph = graph_of(4, ipus)
        self.graph.addCodelets(Count)
        self.x = self.variable(INT, "x", 0)
        self.flag = self.variable(BOOL, "flag", 1)
        self.result = self.variable(INT, "result", 2)
        self.graph.createHostWrite("x", self.x)
        self.graph.createHostWrite("flag", self.flag)
        self.graph.createHostRead("x", self.x)
        self.graph.createHostRead("result", self.result)

    def variable(self, type_: Any, name: str, tile: int) -> Any:
        tensor = self.graph.addVariable(type_, [], name)
        self.graph.setTileMapping(tensor, tile)
        return tensor

    def put(self, value: int) -> Copy:
        constant = self.graph.addConstant(INT, [], value)
        self.graph.setTileMapping(constant, 3)
        return Copy(constant, self.result)

    def count(self, limit: int = 0) -> Execute:
        compute_set = self.graph.addComputeSet("count")
        vertex = self.graph.addVertex(compute_set, "Count", {"x": self.x, "below": self.flag, "limit": limit})
        self.graph.setTileMapping(vertex, 0)
        return Execute(compute_set)

    def run(self, program: Program, x: int = 0, flag: bool = False, **options: str) -> tuple[int, int, Engine]:
        """(x, result, the engine) after a run."""
        engine = Engine(self.graph, program, {**PROFILED, **options})
        engine.load(self.device)
        engine.writeTensor("x", np.array([x], np.int32))
        engine.writeTensor("flag", np.array([flag]))
        engine.run()
        found = np.zeros(2, np.int32)
        engine.readTensor("x", found[:1])
        engine.readTensor("result", found[1:])
        return int(found[0]), int(found[1]), engine


BOTH = pytest.mark.parametrize("options", [{}, {k.replace(".", "_"): v for k, v in ACCURATE.items()}])


def spelled(options: dict[str, str]) -> dict[str, str]:
    return {k.replace("_", "."): v for k, v in options.items()}


@BOTH
@pytest.mark.parametrize("ipus", [1, 2])
@pytest.mark.parametrize(("flag", "wanted"), [(True, 1), (False, 2)])
def test_if(options, ipus, flag, wanted):
    bench = Bench(ipus)
    program = If(bench.flag, bench.put(1), bench.put(2))
    assert bench.run(program, flag=flag, **spelled(options))[1] == wanted


@BOTH
@pytest.mark.parametrize(("value", "wanted"), [(3, 30), (-1, 10), (0, 99), (2**31 - 1, 40)])
def test_switch(options, value, wanted):
    bench = Bench()
    cases = [(-1, bench.put(10)), (3, bench.put(30)), (2**31 - 1, bench.put(40))]
    assert bench.run(Switch(bench.x, cases, bench.put(99)), x=value, **spelled(options))[1] == wanted


def test_an_unsigned_value_is_compared_by_its_bits():
    bench = Bench()
    control = bench.variable(UNSIGNED_INT, "u", 2)
    bench.graph.setInitialValue(control, 2**32 - 1)
    assert bench.run(Switch(control, [(-1, bench.put(5))]))[1] == 5


@BOTH
@pytest.mark.parametrize(("x", "trips"), [(0, 4), (3, 1), (4, 0), (9, 0)])
def test_while_true_looks_after_its_condition(options, x, trips):
    bench = Bench()
    loop = RepeatWhileTrue(bench.count(5), bench.flag, Sequence())
    assert bench.run(Sequence(loop, bench.put(1)), x=x, **spelled(options))[0] == x + trips + 1


def test_while_false_runs_its_body_as_long_as_the_predicate_is_0():
    bench = Bench()
    flag = bench.variable(INT, "stop", 3)
    bench.graph.setInitialValue(flag, 0)
    seven = bench.graph.addConstant(INT, [], 7)
    bench.graph.setTileMapping(seven, 0)
    loop = RepeatWhileFalse(Sequence(), flag, Sequence(bench.count(), Copy(seven, flag)))
    assert bench.run(loop, x=1)[0] == 2


def programs(engine: Engine) -> dict[str, list[Any]]:
    """The programs of a report by type."""
    found: dict[str, list[Any]] = {}
    for program in engine.getReport().compilation.programs:
        found.setdefault(program.type.name, []).append(program)
    return found


def steps(engine: Engine) -> list[str]:
    """Types and names of the last run's steps below the root switch."""
    record = engine.core.recorder.records[-1]
    table = engine.core.compiled.lowered.table
    first = table.children[table.type.index("OnEveryTileSwitch")][0]
    return [f"{table.type[row]} {table.name[row]}".strip() for row in record.program.tolist() if row > first]


def test_what_an_if_becomes():
    bench = Bench()
    _, _, engine = bench.run(If(bench.flag, bench.put(1), Sequence()), flag=True)
    (node,) = programs(engine)["If"]
    assert [child.name for child in node.children] == ["true", "false"]
    assert steps(engine) == [
        "Sync Internal",
        "DoExchange copy1_switchControlBroadcast1/ExchangePre",
        "OnTileExecute copy2_Copy_<const>_to_result/OnTileCopy-0",
    ]
    work = engine.core.compiled.lowered.table.work
    (sent,) = [
        w.exchange
        for w, name in zip(work, engine.core.compiled.lowered.table.name, strict=True)
        if "copy1_switchControl" in name
    ]
    assert (sent.tx.tolist(), sent.rx.tolist()) == ([0, 4, 0, 0], [4, 0, 4, 4])  # a word, from the tile of the flag


def test_what_a_while_becomes():
    bench = Bench()
    _, _, engine = bench.run(RepeatWhileTrue(bench.count(3), bench.flag, Block(bench.put(1), "named")))
    found = programs(engine)
    (loop,) = found["RepeatWhile"]
    assert [(c.type.name, c.name) for c in loop.children] == [
        ("Sequence", "condition"),
        ("SetLocalConsensusFromVar", ""),
        ("Sync", "Internal"),
        ("Sequence", "body"),
    ]
    assert [block.name for block in found["Block"]] == ["named"]
    look = ["OnTileExecute count", "Sync Internal", "DoExchange cs1_count/ExchangePost", "Sync Internal"]
    put = ["OnTileExecute copy2_Copy_<const>_to_result/OnTileCopy-0"]
    assert steps(engine) == [*look, *put, *look, *put, *look]


def test_branch_records_follow_the_run():
    bench = Bench()
    loop = RepeatWhileTrue(bench.count(4), bench.flag, If(bench.flag, bench.put(1), bench.put(2)))
    choice = Switch(bench.x, [(4, Repeat(3, bench.put(7)))], bench.put(8))
    _, _, engine = bench.run(Sequence(loop, choice))
    engine.writeTensor("x", np.array([8], np.int32))
    engine.run()
    table = engine.core.compiled.lowered.table
    rows = {type_: table.type.index(type_) for type_ in ("RepeatWhile", "If", "Switch", "Repeat")}
    found = []
    for record in engine.core.recorder.records:
        counts = zip(*(column.tolist() for column in vars(record.branches).values()), strict=True)
        found.append({row: (entered, trips) for row, entered, trips in counts})
    then, other = table.children[rows["If"]]
    case, default = table.children[rows["Switch"]]
    assert {name: found[0][row] for name, row in rows.items()} == {
        "RepeatWhile": (1, 3),
        "If": (3, 3),
        "Switch": (1, 1),
        "Repeat": (1, 3),
    }
    assert (found[0][then], found[0][case]) == ((3, 3), (1, 1))
    assert other not in found[0]
    assert found[1][rows["RepeatWhile"]] == (1, 0)
    assert (found[1][default], rows["If"] in found[1], rows["Repeat"] in found[1]) == ((1, 1), False, False)


@BOTH
def test_abort_on_condition(options):
    bench = Bench()
    program = Sequence(bench.put(1), AbortOnCondition(bench.flag, "the flag is set"), bench.put(2))
    assert bench.run(program, flag=False, **spelled(options))[1] == 2
    with pytest.raises(application_runtime_error, match=r"the flag is set \(program (\d+)\)\.") as caught:
        bench.run(program, flag=True, **spelled(options))
    (error,) = caught.value.errors
    assert (error.code, error.isSimulated) == (ErrorCode.TRAP, False)
    types = Engine(bench.graph, program).core.compiled.lowered.table.type
    assert types[error.location.program] == "AbortOnCondition"


@BOTH
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda b: Loop(Sequence(b.count(), Switch(b.x, [(4, Abort("enough"))]))), "enough"),
        (lambda b: Loop(Sequence(b.count(4), If(b.flag, Sequence(), Abort()))), "The program aborted"),
        (lambda b: ErrorProgram("x is", b.x), "x is 3"),
        (lambda b: Switch.switchWithBoundsChecking(b.x, [(1, Sequence())]), "value 3 has no case .cases: 1."),
        (lambda b: Switch.switchWithUnreachableDefault(b.x).add(2, b.put(1)), "value 3 has no case .cases: 2."),
    ],
)
def test_runs_that_end_themselves(options, make, message):
    bench = Bench()
    with pytest.raises(application_runtime_error, match=rf"{message}.* \(program \d+\)\.$"):
        bench.run(make(bench), x=3, **spelled(options))


def test_a_function_that_chooses_is_counted_at_each_call():
    bench = Bench()
    function = bench.graph.addFunction(RepeatWhileTrue(bench.count(3), bench.flag, Sequence()))
    _, _, engine = bench.run(Sequence(Call(function), Repeat(2, Call(function))))
    record = engine.core.recorder.records[0]
    row = engine.core.compiled.lowered.table.type.index("RepeatWhile")
    (at,) = np.flatnonzero(record.branches.program == row)
    assert (record.branches.entered[at], record.branches.trips[at]) == (3, 2)


def test_a_long_loop_is_timed_as_its_trips():
    bench = Bench()
    x, _, engine = bench.run(RepeatWhileTrue(bench.count(20_000), bench.flag, Sequence()))
    few = bench.run(RepeatWhileTrue(bench.count(10), bench.flag, Sequence()))[2].core.recorder.records[0]
    more = bench.run(RepeatWhileTrue(bench.count(20), bench.flag, Sequence()))[2].core.recorder.records[0]
    record = engine.core.recorder.records[0]
    assert x == 20_000
    assert record.cycles - more.cycles == (more.cycles - few.cycles) // 10 * (20_000 - 20)


def test_memory_of_choices():
    bench = Bench()
    plain = bench.run(bench.put(1))[2].getReport().compilation
    chosen = bench.run(If(bench.flag, bench.put(1), Sequence()))[2].getReport().compilation
    always = [sum(t.memory.alwaysLiveBytes for t in c.tiles) for c in (plain, chosen)]
    assert always[1] == always[0] + 4  # a word of the branch record
    peak = [sum(t.memory.total.excludingGaps for t in c.tiles) for c in (plain, chosen)]
    assert peak[1] >= peak[0]


def test_engines_do_not_see_later_changes_of_a_program():
    bench = Bench()
    choice = Switch(bench.x, [(1, bench.put(1))])
    engine = Engine(bench.graph, choice)
    choice.add(2, bench.put(2))
    engine.load(bench.device)
    engine.writeTensor("x", np.array([2], np.int32))
    engine.run()
    result = np.full(1, 77, np.int32)
    engine.readTensor("result", result)
    assert result.tolist() == [0]


@pytest.mark.parametrize("outer", ["Repeat", "RepeatWhile"])
def test_trips_that_choose_alike_are_timed_once(outer, monkeypatch):
    """The record is the one of a clock that goes through every trip."""

    def record(longest: int) -> tuple[Any, int]:
        bench, worked_out = Bench(), []
        inner = If(bench.flag, Repeat(2, If(bench.flag, bench.put(1), Sequence())), bench.put(2))
        body = Sequence(bench.count(20), inner)
        loop = Repeat(40, body) if outer == "Repeat" else RepeatWhileTrue(bench.count(40), bench.flag, body)
        in_order = DeviceClock.run_in_order
        with monkeypatch.context() as patch:
            patch.setattr(data_dependent_time, "_LONGEST_TRIP", longest)
            patch.setattr(DeviceClock, "run_in_order", lambda *given: worked_out.append(1) or in_order(*given))
            engine = bench.run(loop)[2]
        return engine.core.recorder.records[0], len(worked_out)

    (kept, few), (whole, many) = record(64), record(-1)
    assert 4 * few < many
    assert kept.cycles == whole.cycles
    for name in ("program", "base", "tail"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(whole, name))
    assert kept.branches.trips.tolist() == whole.branches.trips.tolist()
