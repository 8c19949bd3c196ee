"""Live ranges against a twin that unrolls every loop and looks ahead from each position, element by element."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulator.compiler.ir.accesses import Accesses, elements_of
from simulator.compiler.ir.program_table import ProgramTable, Work
from simulator.compiler.ir.static_order import static_order
from simulator.compiler.memory.liveness import ALWAYS, NEVER, live_classes

NUMEL = 4


def elements(halves):
    """Runs of the element space: half 0 or 1 of a variable of four elements, or (v, None) for all of it."""
    parts = [(v * NUMEL + (half or 0) * 2, NUMEL if half is None else 2) for v, half in halves]
    return elements_of([(np.array([start]), np.array([length])) for start, length in parts])


class Program:
    """A tree of leaves (reads, writes; sets of variables or of (variable, half)) and loops, and its table."""

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
                reads, writes, undefined = item
                accesses = Accesses(elements(reads), elements(writes))
                work = Work(accesses=accesses, undefined=elements(undefined) if undefined else None)
                self.leaves[self.table.add(parent, "OnTileExecute", work=work)] = item

    def classes(self, variables, always=()):
        flags = np.isin(np.arange(variables), list(always))
        return live_classes(self.table, self.order, np.full(variables, NUMEL), flags, 0)

    def at(self):
        """The position of each leaf."""
        return [self.order.program.index(row) for row in self.leaves]


def positions(live, variable, half=None):
    """Where a variable is live, or half of it; ALWAYS or NEVER."""
    number = live.of_variable[variable]
    if half is not None and live.parted is not None:
        covers = (live.parted.begin <= variable * NUMEL + half * 2) & (live.parted.end > variable * NUMEL + half * 2)
        number = live.parted.live_class[covers][0] if covers.any() else number
    if number < 0:
        return int(number)
    rows = range(live.offsets[number], live.offsets[number + 1])
    return {p for row in rows for p in range(live.starts[row], live.ends[row])}


def leaf(reads=(), writes=(), undefined=()):
    return tuple({v if isinstance(v, tuple) else (v, None) for v in part} for part in (reads, writes, undefined))


def test_from_the_write_to_the_last_read():
    p = Program([leaf(writes=[0]), leaf(reads=[0], writes=[1]), leaf(reads=[0, 1]), leaf()])
    live, at = p.classes(2), p.at()
    assert positions(live, 0) == {at[0], at[1], at[2]}
    assert positions(live, 1) == {at[1], at[2]}
    assert live.parted is None


def test_read_before_written_must_survive_from_run_to_run():
    assert Program([leaf(reads=[0]), leaf(writes=[0])]).classes(1).of_variable.tolist() == [ALWAYS]


def test_untouched_is_never_live():
    """Not even a constant, or what would have an initial value: no program is there to use it."""
    p = Program([leaf(), leaf(reads=[2])])
    assert p.classes(3, always=[1, 2]).of_variable.tolist() == [NEVER, NEVER, ALWAYS]


def test_a_loop_that_reads_first_keeps_the_variable_for_all_of_it():
    p = Program([leaf(writes=[0]), [leaf(reads=[0]), leaf(), leaf(writes=[0]), leaf()], leaf()])
    at = p.at()
    # Written in the loop for the next trip: live at its end too, dead between the read and the write.
    repeat, body = at[0] + 1, at[0] + 2
    assert positions(p.classes(1), 0) == {at[0], repeat, body, at[1], at[3], at[4]}


def test_halves_written_and_read_one_after_the_other():
    """Each half lives from its own write to its own last read; the variable has memory while either lives."""
    p = Program([leaf(writes=[(0, 0)]), leaf(writes=[(0, 1)]), leaf(reads=[(0, 0)]), leaf(reads=[(0, 1)])])
    live, at = p.classes(1), p.at()
    assert positions(live, 0) == set(at)
    assert positions(live, 0, 0) == set(at[:3])
    assert positions(live, 0, 1) == set(at[1:])


def test_half_a_write_keeps_all_of_it_from_run_to_run():
    p = Program([leaf(writes=[(0, 0)]), leaf(reads=[0]), leaf(writes=[(0, 1)])])
    assert p.classes(1).of_variable.tolist() == [ALWAYS]


def test_elements_that_nothing_touches_live_as_long_as_the_others():
    p = Program([leaf(writes=[(0, 0)]), leaf(reads=[(0, 0)]), leaf()])
    assert positions(p.classes(1), 0, 1) == positions(p.classes(1), 0, 0) == set(p.at()[:2])


def test_undefined_halves_end_apart():
    p = Program([leaf(writes=[0]), leaf(undefined=[(0, 0)]), leaf(), leaf(reads=[(0, 1)])])
    live, at = p.classes(1), p.at()
    assert positions(live, 0, 0) == {at[0]}
    assert positions(live, 0, 1) == set(at)


def test_a_run_over_two_variables_touches_both():
    p = Program([leaf(writes=[0, 1]), leaf(reads=[(0, 1), (1, 0)])])
    live, at = p.classes(2), p.at()
    assert [positions(live, v, h) for v in (0, 1) for h in (0, 1)] == [{at[0]}, set(at), set(at), {at[0]}]


halves = st.tuples(st.integers(0, 2), st.sampled_from([0, 1, None]))
leaves = st.builds(leaf, st.sets(halves, max_size=2), st.sets(halves, max_size=2))
bodies = st.recursive(
    st.lists(leaves, min_size=1, max_size=4),
    lambda inner: st.lists(leaves | inner, min_size=1, max_size=4),
    max_leaves=12,
)


def unrolled(body, table_rows):
    """Leaves in the order they run, each loop twice: what crosses the back edge shows in the second trip."""
    for item in body:
        if isinstance(item, list):
            rows = list(unrolled(item, table_rows))
            yield from rows
            yield from rows
        else:
            yield next(table_rows), item


def touches(part, variable, half):
    return bool(part & {(variable, half), (variable, None)})


@given(bodies)
def test_equal_to_looking_ahead_over_the_unrolled_program(body):
    p = Program(body)
    trace = list(unrolled(body, iter(list(p.leaves))))
    live = p.classes(3)
    position_of = {row: p.order.program.index(row) for row in p.leaves}
    for variable in range(3):
        wanted = {half: looked_ahead(trace, position_of, variable, half) for half in (0, 1)}
        if ALWAYS in wanted.values():
            assert positions(live, variable) == ALWAYS
            continue
        known = [at for at in wanted.values() if at != NEVER]
        for half in (0, 1):
            got = positions(live, variable, half)
            if not known:
                assert got == NEVER
                continue
            expected = wanted[half] if wanted[half] != NEVER else known[0]
            assert {x for x in got if x in position_of.values()} == expected


def looked_ahead(trace, position_of, variable, half):
    """Where half a variable is live, ALWAYS when it is read before it is written, NEVER when nothing touches it."""
    uses = [(row, touches(reads, variable, half), touches(writes, variable, half)) for row, (reads, writes, _) in trace]
    used = [(read, written) for _, read, written in uses if read or written]
    if not used:
        return NEVER
    if used[0][0]:
        return ALWAYS
    expected = set()
    for i, (row, read, written) in enumerate(uses):
        later = [each_read for _, each_read, each_written in uses[i + 1 :] if each_read or each_written]
        earlier = any(each_written for _, _, each_written in uses[:i])
        if read or written or (later and later[0] and earlier):
            expected.add(position_of[row])
    return expected
