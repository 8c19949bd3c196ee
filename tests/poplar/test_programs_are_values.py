"""A program contains others as they were when they were added; later additions do not reach it, as in Poplar."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from simulator.poplar import INT, Engine, Graph, IPUModel, Tensor, control_program_error
from simulator.poplar.program import (
    AbortOnCondition,
    AssumeEqualAcrossReplicas,
    Block,
    Call,
    If,
    Program,
    Repeat,
    RepeatWhileFalse,
    RepeatWhileTrue,
    Sequence,
    Switch,
    WriteUndef,
)
from simulator.poplibs import popops

Holder = Callable[[Graph, Tensor, Program], Program]


class Counting:
    """A counter `n` in a graph, and programs that add to it."""

    def __init__(self) -> None:
        model = IPUModel("ipu2")
        model.tilesPerIPU = 4
        self.device = model.createDevice()
        self.graph = Graph(self.device)
        self.n, self.flag, self.spare = (self.graph.addVariable(INT, [], name) for name in ("n", "flag", "spare"))
        for t in (self.n, self.flag, self.spare):
            self.graph.setTileMapping(t, 0)
            self.graph.setInitialValue(t, 0)
        self.graph.createHostRead("n", self.n)

    def plus(self, amount: int) -> Sequence:
        program = Sequence()
        constant = self.graph.addConstant(INT, [], amount)
        self.graph.setTileMapping(constant, 0)
        popops.addInPlace(self.graph, self.n, constant, program)
        return program

    def after(self, program: Program) -> int:
        with Engine(self.graph, program) as engine:
            return self.run(engine)

    def run(self, engine: Engine) -> int:
        engine.load(self.device)
        engine.run(0)
        value = np.zeros((), np.int32)
        engine.readTensor("n", value)
        return int(value)


HOLDERS: dict[str, Holder] = {
    "Sequence": lambda g, flag, body: Sequence(body),
    "Sequence of a list": lambda g, flag, body: Sequence([body]),
    "Repeat": lambda g, flag, body: Repeat(1, body),
    "Block": lambda g, flag, body: Block(body, "block"),
    "If": lambda g, flag, body: If(flag, Sequence(), body),
    "Switch": lambda g, flag, body: Switch(flag, {0: body}),
    "Switch, default": lambda g, flag, body: Switch(flag, {1: Sequence()}, body),
    "RepeatWhileTrue, condition": lambda g, flag, body: RepeatWhileTrue(body, flag, Sequence()),
    "RepeatWhileFalse, condition": lambda g, flag, body: Sequence(
        RepeatWhileTrue(Sequence(body), flag, Sequence(RepeatWhileFalse(body, flag, body)))
    ),
    "Call": lambda g, flag, body: Call(g.addFunction(body)),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_adding_to_a_program_does_not_reach_what_holds_it(name: str) -> None:
    counting = Counting()
    body = counting.plus(1)
    holder = HOLDERS[name](counting.graph, counting.flag, body)
    body.add(counting.plus(10))
    assert counting.after(Sequence(holder)) == 1
    assert counting.after(HOLDERS[name](counting.graph, counting.flag, body)) == 11


def test_a_program_within_itself_is_what_it_was() -> None:
    counting = Counting()
    program = counting.plus(1)
    program.add(program)
    program.add(program)
    assert counting.after(program) == 4


def test_a_case_added_to_a_held_switch_is_not_there() -> None:
    counting = Counting()
    switch = Switch(counting.flag, {3: counting.plus(5)})
    held = Sequence(switch)
    switch.add(0, counting.plus(1))
    assert counting.after(held) == 0
    assert counting.after(Sequence(held, switch)) == 1


def test_adding_to_a_program_does_not_reach_an_engine() -> None:
    counting = Counting()
    program = counting.plus(1)
    with Engine(counting.graph, [program]) as engine:
        program.add(counting.plus(10))
        assert counting.run(engine) == 1


def test_parts_are_one_object_until_something_is_added_and_each_use_has_an_id_of_its_own() -> None:
    counting = Counting()
    inner = Sequence(counting.plus(1), debugContext="inner")
    outer = Sequence(inner, inner)
    inner.add(counting.plus(1))
    outer.add(inner)
    first, second, third = outer.nested()
    assert first is second is not third
    with Engine(counting.graph, outer, {"debug.retainDebugInformation": "true"}) as engine:
        assert counting.run(engine) == 4
        ids = [p._id for p in engine.getReport().compilation.programs]
    assert len(set(ids)) == len(ids)
    assert {part.debug.getPathName() for part in outer.nested()} == {"inner"}
    with pytest.raises(control_program_error, match="This Sequence is a part of another program and cannot be added"):
        third.add(Sequence())  # type: ignore[attr-defined]


def test_programs_bear_their_debug_names_in_reports() -> None:
    counting = Counting()
    graph, flag = counting.graph, counting.flag
    program = Sequence(
        Repeat(1, Sequence(counting.plus(1), debugContext="trip"), "repeat"),
        If(flag, Sequence(), Sequence(), "if"),
        Switch(flag, {0: Sequence()}, "switch"),
        RepeatWhileTrue(Sequence(), flag, Sequence(debugContext="never"), "while"),
        Call(graph.addFunction(counting.plus(1)), "call"),
        WriteUndef(counting.spare, "undef"),
        AssumeEqualAcrossReplicas(flag, "equal"),
        AbortOnCondition(flag, "message", "abort"),
        debugContext="all",
    )
    with Engine(graph, program, {"debug.retainDebugInformation": "true"}) as engine:
        assert counting.run(engine) == 2
        named = {(p.type.name, p.name) for p in engine.getReport().compilation.programs}
    assert named >= {
        ("Sequence", "all"),
        ("Repeat", "repeat"),
        ("Sequence", "trip"),
        ("If", "if"),
        ("Sequence", "true"),
        ("Switch", "switch"),
        ("Sequence", "case 0"),
        ("RepeatWhile", "while"),
        ("Sequence", "body"),
        ("Call", "call"),
        ("WriteUndef", "undef"),
        ("AssumeEqualAcrossReplicas", "equal"),
        ("AbortOnCondition", "abort"),
    }
