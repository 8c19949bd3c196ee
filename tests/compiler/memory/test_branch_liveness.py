"""Live ranges of programs with branches: exact on small programs, never too short on random ones.

Safe: whatever way a program takes, a value is live where it is written, where it is read and at every step between.
"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulator.compiler.ir.accesses import Accesses, elements_of
from simulator.compiler.ir.program_table import ProgramTable, Work
from simulator.compiler.ir.static_order import static_order
from simulator.compiler.memory.liveness import ALWAYS, live_classes

VARIABLES = 3


def leaf(reads=(), writes=()):
    return ("leaf", tuple(reads), tuple(writes))


class Tree:
    """Programs: leaves, ("if", predicate, then, other), ("while", predicate, cond, body), ("repeat", count, body)."""

    def __init__(self, body):
        self.table = ProgramTable()
        switch = self.table.add(self.table.add(None, "Sequence"), "OnEveryTileSwitch")
        self.branch = self.table.add(switch, "Sequence")
        self.leaves = []  #: rows of leaves, in order
        self.body = self._fill(self.branch, body)
        self.order = static_order(self.table, [self.branch], {})
        self.at = {row: self.order.program.index(row) for row in range(len(self.table)) if row in self.order.program}
        self.live = live_classes(self.table, self.order, np.ones(VARIABLES, np.int64), np.zeros(VARIABLES, bool), 0)

    def _work(self, reads, writes=()):
        parts = [elements_of([(np.array([v]), np.array([1])) for v in side]) for side in (reads, writes)]
        return Work(accesses=Accesses(*parts))

    def _fill(self, parent, body):
        """The tree with the rows of its programs."""
        return [self._one(parent, *item) for item in body]

    def _one(self, parent, what, *rest):
        add = self.table.add
        if what == "leaf":
            self.leaves.append(add(parent, "OnTileExecute", work=self._work(*rest)))
            return (self.leaves[-1], what, *rest)
        if what == "repeat":
            row = add(parent, "Repeat", repeat_count=rest[0])
            return (row, what, rest[0], self._fill(add(row, "Sequence"), rest[1]))
        if what == "if":
            row = add(parent, "If", work=self._work([rest[0]]))
            return (row, what, rest[0], *(self._fill(add(row, "Sequence"), part) for part in rest[1:]))
        row = add(parent, "RepeatWhile")
        cond = self._fill(add(row, "Sequence"), rest[1])
        look = add(row, "SetLocalConsensusFromVar", work=self._work([rest[0]]))
        add(row, "Sync")
        return (look, what, rest[0], cond, self._fill(add(row, "Sequence"), rest[2]))

    def positions(self, variable):
        """Where a variable is live; ALWAYS or NEVER."""
        number = int(self.live.of_variable[variable])
        if number < 0:
            return number
        rows = range(self.live.offsets[number], self.live.offsets[number + 1])
        return {p for row in rows for p in range(self.live.starts[row], self.live.ends[row])}

    def places(self):
        return [self.at[row] for row in self.leaves]


class Walk:
    """One way through a tree: `choose()` decides."""

    def __init__(self, tree, choose):
        self.tree, self.choose = tree, choose
        self.since = {}  #: positions passed since each variable was written
        self.live = [tree.positions(v) for v in range(VARIABLES)]

    def go(self, body):
        for row, what, *rest in body:
            if what == "leaf":
                self.step(row, *rest)
            elif what == "repeat":
                for _ in range(rest[0]):
                    self.go(rest[1])
            elif what == "if":
                self.step(row, [rest[0]])
                self.go(rest[1] if self.choose() else rest[2])
            else:
                self.go(rest[1])
                self.step(row, [rest[0]])
                while self.choose():
                    self.go(rest[2])
                    self.go(rest[1])
                    self.step(row, [rest[0]])

    def step(self, row, reads, writes=()):
        here = self.tree.at[row]
        for passed in self.since.values():
            passed.add(here)
        for v in reads:
            if self.live[v] != ALWAYS:
                assert v in self.since, f"variable {v} is read at {here} before it was written, but not always live"
                assert self.since[v] <= self.live[v], (v, here, self.since[v] - self.live[v])
        for v in writes:
            self.since[v] = {here}
            assert self.live[v] == ALWAYS or here in self.live[v]


_variables = st.lists(st.integers(0, VARIABLES - 1), max_size=2)
_leaf = st.builds(leaf, _variables, _variables)
_trees = st.lists(
    st.recursive(
        _leaf,
        lambda inner: st.one_of(
            st.tuples(st.just("if"), st.integers(0, 2), st.lists(inner, max_size=3), st.lists(inner, max_size=3)),
            st.tuples(st.just("while"), st.integers(0, 2), st.lists(inner, max_size=2), st.lists(inner, max_size=3)),
            st.tuples(st.just("repeat"), st.integers(0, 2), st.lists(inner, max_size=3)),
        ),
        max_leaves=10,
    ),
    max_size=6,
)


@given(_trees, st.lists(st.booleans(), max_size=30), st.randoms(use_true_random=False))
def test_no_way_loses_a_value(body, choices, random):
    """Three runs, so that what survives from run to run is checked too."""
    tree = Tree([leaf((), (0, 1)), *body])
    left = iter([*choices, *(random.random() < 0.4 for _ in range(200))])
    walk = Walk(tree, lambda: next(left, False))
    for _ in range(3):
        walk.go(tree.body)
    table = tree.table
    assert all(table.type[row] != "Sync" for row in tree.order.program)


def test_written_in_both_branches_and_read_after():
    tree = Tree([leaf((), [1]), ("if", 1, [leaf((), [0])], [leaf((), [0])]), leaf([0])])
    first, _, _, last = tree.places()
    choice = tree.at[tree.table.type.index("If")]
    assert tree.positions(0) == set(range(choice, last + 1))
    assert tree.positions(1) == set(range(first, choice + 1))


def test_written_in_one_branch_only_needs_the_value_before():
    tree = Tree([leaf((), [0, 1]), leaf(), ("if", 1, [leaf((), [0])], []), leaf([0])])
    first, _, _, last = tree.places()
    assert tree.positions(0) == set(range(first, last + 1))
    alone = Tree([leaf((), [1]), ("if", 1, [leaf((), [0])], []), leaf([0])])
    assert alone.positions(0) == ALWAYS


def test_a_temporary_of_a_branch_lives_there_alone():
    tree = Tree([leaf((), [1]), leaf(), ("if", 1, [leaf((), [0]), leaf([0])], [leaf()]), leaf()])
    places = tree.places()
    assert tree.positions(0) == {places[2], places[3]}
    twice = Tree([leaf((), [1]), ("if", 1, [leaf((), [0]), leaf([0])], [leaf((), [0]), leaf([0])]), leaf()])
    at = twice.places()
    assert twice.positions(0) == {at[1], at[2], at[3], at[4]}


def test_what_the_second_branch_reads_lives_over_the_first():
    tree = Tree([leaf((), [0, 1]), ("if", 1, [leaf()], [leaf([0]), leaf()]), leaf()])
    first, _, reader, _, _ = tree.places()
    assert tree.positions(0) == set(range(first, reader + 1))


def test_a_while_carries_what_its_condition_reads():
    tree = Tree([leaf((), [0]), ("while", 1, [leaf([0], [1])], [leaf([0], [0]), leaf()]), leaf()])
    first, cond, _, idle, _ = tree.places()
    look = tree.at[tree.table.type.index("SetLocalConsensusFromVar")]
    assert tree.positions(0) == set(range(first, idle + 1))  # to the end of the body, from where it starts again
    assert tree.positions(1) == {cond, look} | set(range(cond, look))


def test_what_a_condition_makes_for_the_body_is_made_anew_each_trip():
    tree = Tree([leaf((), [1]), ("while", 1, [leaf((), [0])], [leaf([0]), leaf()]), leaf()])
    _, cond, reader, _, _ = tree.places()
    assert tree.positions(0) == set(range(cond, reader + 1))


def test_a_repeat_of_no_trips_writes_nothing():
    tree = Tree([leaf((), [0]), ("repeat", 0, [leaf((), [0])]), leaf([0])])
    first, _, last = tree.places()
    assert tree.positions(0) == set(range(first, last + 1))
