"""Random trees of programs, built on a graph and interpreted in plain Python.

A tree is made of tuples: what happens to vectors of four integers, by number. The interpreter knows nothing of tiles,
lowering or liveness: it takes the tree as it stands.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from simulator.codelets.vertex import InOut, Input, Output, Vector, Vertex
from simulator.poplar import BOOL, INT, Graph, Tensor, Type
from simulator.poplar.program import (
    Call,
    Copy,
    Execute,
    If,
    Program,
    Repeat,
    RepeatWhileFalse,
    RepeatWhileTrue,
    Sequence,
    Switch,
)
from simulator.poplibs import popops

VECTORS, LENGTH = 4, 4
Tree = tuple[Any, ...]
State = list[np.ndarray]


class Mix(Vertex):
    x = Input(Vector(INT))
    y = InOut(Vector(INT))

    def compute(self):
        self.y[:] = mixed(self.y, self.x)

    @classmethod
    def estimate(cls, sizes, values, target):
        return 20 + 4 * sizes["x"]


class Remainder(Vertex):
    x = Input(INT)
    by = INT
    out = Output(INT)

    def compute(self):
        self.out = self.x % self.by

    @classmethod
    def estimate(cls, sizes, values, target):
        return 15


class Less(Vertex):
    x = Input(INT)
    limit = INT
    wanted = BOOL
    out = Output(BOOL)

    def compute(self):
        self.out = (self.x < self.limit) == self.wanted

    @classmethod
    def estimate(cls, sizes, values, target):
        return 11


class Next(Vertex):
    x = InOut(INT)

    def compute(self):
        self.x = self.x + 1

    @classmethod
    def estimate(cls, sizes, values, target):
        return 9


def mixed(y: np.ndarray, x: np.ndarray) -> np.ndarray:
    return (y * 3 + x + 1) % 1009


_vector = st.integers(0, VECTORS - 1)
_leaf = st.one_of(
    st.tuples(st.just("copy"), _vector, _vector),
    st.tuples(st.just("constant"), _vector, st.integers(0, 9)),
    st.tuples(st.just("mix"), _vector, _vector),
    st.tuples(st.just("add"), _vector, _vector),
    st.tuples(st.just("call"), st.integers(0, 1)),
)


def _bodies(children: st.SearchStrategy[Tree]) -> st.SearchStrategy[list[Tree]]:
    return st.lists(children, max_size=3)


def trees() -> st.SearchStrategy[list[Tree]]:
    """What a program does."""
    return st.lists(
        st.recursive(
            _leaf,
            lambda children: st.one_of(
                st.tuples(st.just("if"), _vector, st.sampled_from([2, 3]), _bodies(children), _bodies(children)),
                st.tuples(
                    st.just("switch"), _vector, st.lists(_bodies(children), min_size=1, max_size=2), _bodies(children)
                ),
                st.tuples(st.just("repeat"), st.integers(0, 3), _bodies(children)),
                st.tuples(st.just("while"), st.integers(0, 3), st.booleans(), _bodies(children)),
            ),
            max_leaves=8,
        ),
        min_size=1,
        max_size=5,
    )


def interpreted(tree: list[Tree], state: State, functions: list[list[Tree]]) -> State:
    """The vectors afterwards."""
    for what, *arguments in tree:
        match what:
            case "copy":
                into, source = arguments
                state[into] = state[source].copy()
            case "constant":
                into, value = arguments
                state[into] = np.arange(LENGTH, dtype=np.int32) + value
            case "mix" if arguments[0] != arguments[1]:
                into, source = arguments
                state[into] = mixed(state[into], state[source]).astype(np.int32)
            case "add":
                into, source = arguments
                state[into] = state[into] + state[source]
            case "call":
                interpreted(functions[arguments[0]], state, [])
            case "if":
                number, by, then, other = arguments
                interpreted(then if state[number][0] % by else other, state, functions)
            case "switch":
                number, cases, default = arguments
                value = int(state[number][1] % 4)
                interpreted(cases[value] if value < len(cases) else default, state, functions)
            case "repeat":
                for _ in range(arguments[0]):
                    interpreted(arguments[1], state, functions)
            case "while":
                for _ in range(arguments[0]):
                    interpreted(arguments[2], state, functions)
    return state


class Builder:
    """Builds trees on a graph; `pick(n)` chooses one of n tiles."""

    def __init__(self, graph: Graph, pick: Any, functions: list[list[Tree]]) -> None:
        self.graph, self._pick = graph, pick
        graph.addCodelets([Mix, Remainder, Less, Next])
        self.vectors = [self._variable(f"v{i}", [LENGTH]) for i in range(VECTORS)]
        self.functions = [graph.addFunction(self.program(body)) for body in functions]

    def program(self, tree: list[Tree]) -> Sequence:
        """The program of a tree."""
        made = Sequence()
        for step in tree:
            for part in self._step(*step, made=made):
                made.add(part)
        return made

    def _step(self, what: str, *arguments: Any, made: Sequence) -> list[Program]:
        graph, vectors = self.graph, self.vectors
        match what:
            case "copy":
                into, source = arguments
                return [] if into == source else [Copy(vectors[source], vectors[into])]
            case "constant":
                values = graph.addConstant(INT, [LENGTH], [int(i) + arguments[1] for i in range(LENGTH)])
                graph.setTileMapping(values, self._tile())
                return [Copy(values, vectors[arguments[0]])]
            case "mix":
                into, source = arguments
                return [] if into == source else [self._vertex("Mix", x=vectors[source], y=vectors[into])]
            case "add":
                popops.addInPlace(graph, vectors[arguments[0]], vectors[arguments[1]], made)
                return []
            case "call":
                return [Call(self.functions[arguments[0]])]
            case "if":
                number, by, then, other = arguments
                flag = self._variable("flag", [], INT)
                look = self._vertex("Remainder", x=vectors[number][0], by=by, out=flag)
                return [look, If(flag, self.program(then), self.program(other))]
            case "switch":
                number, cases, default = arguments
                control = self._variable("control", [], INT)
                look = self._vertex("Remainder", x=vectors[number][1], by=4, out=control)
                bodies = [(value, self.program(body)) for value, body in enumerate(cases)]
                return [look, Switch(control, bodies, self.program(default))]
            case "repeat":
                return [Repeat(arguments[0], self.program(arguments[1]))]
            case _:
                return self._while(*arguments)

    def _while(self, trips: int, sense: bool, body: list[Tree]) -> list[Program]:
        counter, flag = self._variable("counter", [], INT), self._variable("flag", [], BOOL)
        zero = self.graph.addConstant(INT, [], 0)
        self.graph.setTileMapping(zero, self._tile())
        look = self._vertex("Less", x=counter, limit=trips, wanted=sense, out=flag)
        loop = RepeatWhileTrue if sense else RepeatWhileFalse
        trip = Sequence(self.program(body), self._vertex("Next", x=counter))
        return [Copy(zero, counter), loop(look, flag, trip)]

    def _vertex(self, type_: str, **fields: Any) -> Execute:
        compute_set = self.graph.addComputeSet(type_)
        self.graph.setTileMapping(self.graph.addVertex(compute_set, type_, fields), self._tile())
        return Execute(compute_set)

    def _variable(self, name: str, shape: list[int], type_: Type = INT) -> Tensor:
        """A variable, a vector in two parts that may lie on two tiles."""
        tensor = self.graph.addVariable(type_, shape, name)
        if shape:
            self.graph.setTileMapping(tensor[:2], self._tile())
            self.graph.setTileMapping(tensor[2:], self._tile())
        else:
            self.graph.setTileMapping(tensor, self._tile())
        return tensor

    def _tile(self) -> int:
        return int(self._pick(self.graph.getTarget().getNumTiles()))
