"""Live ranges against a twin that unrolls every loop and looks ahead from each position."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulator.compiler.arrange import Accesses
from simulator.compiler.liveness import ALWAYS, NEVER, live_classes
from simulator.compiler.program_table import ProgramTable, Work
from simulator.compiler.static_order import static_order

NUMEL = 4
NONE = np.empty(0, np.int64)


def array(values):
    return np.array(sorted(values), np.int64)


class Program:
    """A tree of leaves (reads, writes, halves) and loops, and its table. `halves` writes elements of one half:
    (variable, 0 or 1)."""

    def __init__(self, body):
        self.table = ProgramTable()
        root = self.table.add(None, "Sequence")
        switch = self.table.add(root, "OnEveryTileSwitch")
        self.branch = self.table.add(switch, "Sequence")
        self.leaves = {}
        self._fill(self.branch, body)
        self.order = static_order(self.table, [self.branch], {})

    def _fill(self, parent, body):
        for item in body:
            if isinstance(item, list):
                loop = self.table.add(parent, "Repeat", repeat_count=3)
                self._fill(self.table.add(loop, "Sequence"), item)
            else:
                reads, writes, halves = item
                parts = [(v, half * 2, 2) for v, half in sorted(halves) if v not in writes]
                partial = tuple(np.array([p[i] for p in parts], np.int64) for i in range(3))
                accesses = Accesses(array(reads), array(writes), partial)
                row = self.table.add(parent, "OnTileExecute", work=Work(accesses=accesses))
                self.leaves[row] = item

    def classes(self, variables, always=()):
        flags = np.isin(np.arange(variables), list(always))
        return live_classes(self.table, self.order, np.full(variables, NUMEL), flags, 0)


def positions(live, variable):
    number = live.of_variable[variable]
    if number < 0:
        return int(number)
    rows = range(live.offsets[number], live.offsets[number + 1])
    return {p for row in rows for p in range(live.starts[row], live.ends[row])}


def leaf(reads=(), writes=(), halves=()):
    return (set(reads), set(writes), set(halves))


def test_from_the_write_to_the_last_read():
    p = Program([leaf(writes=[0]), leaf(reads=[0], writes=[1]), leaf(reads=[0, 1]), leaf()])
    live = p.classes(2)
    at = [p.order.program.index(row) for row in p.leaves]
    assert positions(live, 0) == {at[0], at[1], at[2]}
    assert positions(live, 1) == {at[1], at[2]}


def test_read_before_written_must_survive_from_run_to_run():
    assert Program([leaf(reads=[0]), leaf(writes=[0])]).classes(1).of_variable.tolist() == [ALWAYS]


def test_untouched_is_never_live_unless_the_host_sees_it():
    assert Program([leaf()]).classes(2, always=[1]).of_variable.tolist() == [NEVER, ALWAYS]


def test_a_loop_that_reads_first_keeps_the_variable_for_all_of_it():
    p = Program([leaf(writes=[0]), [leaf(reads=[0]), leaf(), leaf(writes=[0]), leaf()], leaf()])
    at = [p.order.program.index(row) for row in p.leaves]
    # Written in the loop for the next trip: live at its end too, dead between the read and the write.
    repeat, body = at[0] + 1, at[0] + 2
    assert positions(p.classes(1), 0) == {at[0], repeat, body, at[1], at[3], at[4]}


def test_two_halves_written_one_after_the_other_are_one_write():
    p = Program([leaf(halves=[(0, 0)]), leaf(halves=[(0, 1)]), leaf(reads=[0])])
    at = [p.order.program.index(row) for row in p.leaves]
    assert positions(p.classes(1), 0) == set(at)


def test_half_a_write_keeps_the_other_half_from_the_run_before():
    p = Program([leaf(halves=[(0, 0)]), leaf(reads=[0]), leaf(halves=[(0, 1)])])
    assert p.classes(1).of_variable.tolist() == [ALWAYS]


leaves = st.builds(leaf, st.sets(st.integers(0, 2), max_size=2), st.sets(st.integers(0, 2), max_size=2))
bodies = st.recursive(
    st.lists(leaves, min_size=1, max_size=4),
    lambda inner: st.lists(leaves | inner, min_size=1, max_size=4),
    max_leaves=12,
)


def unrolled(body, table_rows):
    """Leaves in the order they run, each loop twice: what crosses the back edge shows in the second trip."""
    for item in body:
        if isinstance(item, list):
            rows = list(unrolled_rows(item, table_rows))
            yield from rows
            yield from rows
        else:
            yield next(table_rows), item


def unrolled_rows(body, table_rows):
    return list(unrolled(body, table_rows))


@given(bodies)
def test_equal_to_looking_ahead_over_the_unrolled_program(body):
    p = Program(body)
    trace = list(unrolled(body, iter(list(p.leaves))))
    live = p.classes(3)
    position_of = {row: p.order.program.index(row) for row in p.leaves}
    for variable in range(3):
        touched = [(row, item) for row, item in trace if variable in item[0] | item[1]]
        got = positions(live, variable)
        if not touched:
            assert got == NEVER
            continue
        if variable in touched[0][1][0]:
            assert got == ALWAYS
            continue
        expected = set()
        for i, (row, item) in enumerate(trace):
            later = [x for _, x in trace[i + 1 :] if variable in x[0] | x[1]]
            needed_after = bool(later) and variable in later[0][0]
            earlier = any(variable in x[1] for _, x in trace[:i])
            if variable in item[0] | item[1] or (needed_after and earlier):
                expected.add(position_of[row])
        assert {x for x in got if x in position_of.values()} == expected
