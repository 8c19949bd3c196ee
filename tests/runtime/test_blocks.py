"""Laws of what lightweight profiling records: blocks nest, lie within the run, agree with the steps, and are recorded
each time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.formats.profile.model import COMMON, OVERFLOW
from simulator.compiler.blocks.recording import BlockRecording, RecordedProgram
from simulator.compiler.ir.program_table import ProgramTable
from simulator.machine.block_records import capacity
from simulator.poplar import INT
from simulator.poplar.program import Block, Call, Copy, Repeat, Sequence, Switch
from simulator.runtime.clock.segments import Marks
from simulator.runtime.recording.block_buffers import blocks_of_run
from tests.compiler.tiny_graphs import hardware, model, tutorial3
from tests.runtime.block_programs import Programs, counts, hundred, spans, stages

ALL = {"profiler.blocks.filter": ".*", "profiler.blocks.implicitFlush": "false", "profiler.blocks.bufferSize": "100000"}
WITH_STEPS = {"debug.instrumentCompute": "true"}


def trees():
    leaf = st.integers(1, 3).map(lambda cycles: ("execute", cycles))
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(lambda parts: ("sequence", parts)),
            st.tuples(st.just("repeat"), st.integers(0, 3), inner),
            st.tuples(st.just("block"), st.sampled_from("abc"), inner),
        ),
        max_leaves=6,
    )


def built(tree, programs):
    match tree:
        case "execute", cycles:
            return programs.execute(f"work{cycles}", cycles)
        case "sequence", parts:
            return Sequence([built(part, programs) for part in parts])
        case "repeat", count, body:
            return Repeat(count, built(body, programs))
        case "block", name, body:
            return Block(built(body, programs), name)


def holds_something(tree):
    if tree[0] == "sequence":
        return any(map(holds_something, tree[1]))
    return tree[0] == "execute" or holds_something(tree[2])


def expected(tree, now, found):
    """Walk a tree by hand: the time after it, and its blocks into `found`."""
    match tree:
        case "execute", cycles:
            return now + cycles
        case "sequence", parts:
            for part in parts:
                now = expected(part, now, found)
        case "repeat", count, body:
            for _ in range(count):
                now = expected(body, now, found)
        case "block", name, body:
            if not holds_something(body):  # no tile takes part
                return now
            place, begin = len(found), now
            found.append(None)
            now = expected(body, now, found)
            found[place] = (name, begin, now)
    return now


@given(trees())
def test_every_execution_of_every_block(tree):
    programs = Programs(model())
    report = programs.report(Sequence(built(tree, programs)), ALL)
    run = report.execution.totalCycles.total
    found = []
    length = expected(tree, 0, found)
    first = run - length  # nothing follows the program in its run
    assert sorted(spans(report)) == sorted((name, first + a, first + b) for name, a, b in found)
    times = [(begin, -end) for _, begin, end in spans(report)]
    assert times == sorted(times)


def nested(blocks):
    """Whether any two blocks are apart or one within the other."""
    open_ = []
    for _, begin, end in blocks:
        while open_ and open_[-1] <= begin and open_[-1] < end:
            open_.pop()
        if open_ and end > open_[-1]:
            return False
        open_.append(end)
    return True


@pytest.mark.parametrize("target", [model(), hardware()], ids=["model", "hardware"])
@pytest.mark.parametrize("tile", ["0", "2"])
def test_a_block_lasts_from_its_first_step_to_its_last(target, tile):
    """Of a program with exchanges and syncs. On hardware the step before or after holds the time of the records."""
    tutorial = tutorial3(target)
    programs = Programs(target)
    programs.graph = tutorial.graph
    program = Repeat(3, Block(tutorial.program, "all"))
    report = programs.report(program, ALL | WITH_STEPS | {"profiler.blocks.tile": tile})
    reader = report._columns.reader
    ends = [base + start + cycles for _, base, start, cycles in reader.intervals(0, 0, len(reader.steps().run))]
    rows = [i for i, step in enumerate(report.execution.steps) if step.program in _below(report, "all")]
    assert len(rows) % 3 == 0
    inside = len(rows) // 3
    on = int(tile)
    blocks = spans(report, on)
    before, within, after = (66, 8, 65) if target.getTargetType().name == "IPU" else (0, 0, 0)
    owed = 0  # of the record after the block before
    for trip, (name, begin, end) in enumerate(blocks):
        first, last = rows[trip * inside], rows[(trip + 1) * inside - 1]
        assert name == "all"
        assert begin == ends[first - 1][on] + owed + before
        assert end == ends[last][on] + within
        owed = within + after
    assert len(blocks) == 3


def _below(report, name):
    found, pending = set(), [p for p in report.compilation.programs if p.name == name]
    while pending:
        program = pending.pop()
        found.add(program)
        pending += program.children
    return found


@pytest.mark.parametrize("target", [model(ipus=2), hardware(num_ipus=2)], ids=["model", "hardware"])
def test_steps_lie_end_to_end_and_blocks_within_the_run(target):
    programs = Programs(target)
    options = ALL | WITH_STEPS | {"profiler.programs.filter": "op.*", "profiler.blocks.implicitFlush": "true"}
    report = programs.report(Sequence(stages(programs), Repeat(4, programs.execute("op3", 7))), options, runs=2)
    columns, total = report._columns, report.execution.totalCycles.total
    all_steps = target.getTargetType().name != "IPU"
    for ipu in range(2):
        ends = np.zeros(4, np.int64)
        for _, base, start, cycles in columns.reader.intervals(ipu, 0, len(columns.reader.steps().run)):
            if base + start.max() >= total // 2 and ends.max() <= total // 2:
                ends = ends + columns.reader.run_tail(0, ipu)
            # hardware without counters of external exchange records no stream copies: gaps, no overlaps
            assert (base + start == ends).all() if all_steps else (base + start >= ends).all()
            ends = base + start + cycles
        end = ends + columns.reader.run_tail(1, ipu)
        assert (end == total).all() if all_steps else (end <= total).all()
        blocks = spans(report, 4 * ipu)
        assert nested(blocks)
        assert len(blocks) == 2 * (5 * 5 + (4 if ipu == 0 else 0))
        assert all(0 <= begin <= end <= total for _, begin, end in blocks)


def test_both_runs_are_alike():
    programs = Programs(hardware())
    report = programs.report(hundred(programs), {"profiler.programs.filter": "operation"}, runs=3)
    blocks = spans(report)
    assert len(blocks) == 300
    length = blocks[100][1] - blocks[0][1]
    assert blocks[100:] == [(name, begin + length, end + length) for name, begin, end in blocks[:200]]
    assert len({end - begin for _, begin, end in blocks}) == 1
    assert len(report.execution.runs) == 0  # steps were not asked for, and hardware has no counters


def test_models_keep_steps_of_the_first_runs_and_blocks_of_all():
    programs = Programs(model())
    report = programs.report(hundred(programs), {"profiler.programs.filter": "operation"}, runs=4)
    executions = [s for s in report.execution.steps if s.program.type.name == "OnTileExecute"]
    assert (len(report.execution.runs), len(executions)) == (2, 200)
    blocks = spans(report)
    assert len(blocks) == 400
    windows = [(s.ipus[0].activeCycles.cyclesFrom.min, s.ipus[0].activeCycles.cyclesTo.max) for s in executions]
    assert [span[1:] for span in blocks[:200]] == windows


def test_a_file_keeps_blocks_with_and_without_steps(tmp_path):
    from popvision import pva

    kept = {}
    for execution in ("true", "false"):
        for at_once in ("true", "false"):
            folder = tmp_path / execution / at_once
            options = {
                "autoReport.directory": str(folder),
                "autoReport.outputGraphProfile": "true",
                "autoReport.outputExecutionProfile": execution,
                "autoReport.streamAtEachRun": at_once,
                "debug.instrumentExternalExchange": "false",
                "profiler.programs.filter": "operation",
            }
            programs = Programs(model())
            programs.report(hundred(programs), options, runs=3)
            report = pva.openReport(str(folder / "profile.pop"))
            kept[execution, at_once] = len(report.execution.runs), len(report.execution.blocks(0))
    assert kept["true", "true"] == kept["true", "false"] == (2, 200)  # executionProfileProgramRunCount
    assert kept["false", "true"] == kept["false", "false"] == (0, 300)


def test_stream_copies_are_recorded_where_they_occur():
    """The published I/O example: tile 0 computes, tile 2 takes what the stream brings."""
    programs = Programs(model())
    graph = programs.graph
    in1, in2 = graph.addVariable(INT, [], "in1"), graph.addVariable(INT, [], "in2")
    graph.setTileMapping(in1, 2)
    graph.setTileMapping(in2, 0)
    stream, op = graph.addHostToDeviceFIFO("in", INT, 1), programs.execute("operation", 50)
    body = Sequence(Copy(in1, in2), Copy(stream, in1), op)
    program = Sequence(Copy(stream, in1), Repeat(4, body), Copy(in1, in2), op)
    options = {
        "profiler.programs.filter": "operation",
        "debug.instrumentExternalExchange": "true",
        "profiler.blocks.implicitFlush": "false",
    }
    engine = programs.engine(program, options)
    engine.connectStream("in", np.zeros(1, np.int32))
    engine.run()
    report = engine.getReport()
    types = [[block.program.type.name for block in report.execution.blocks(tile)] for tile in range(4)]
    triplet = ["StreamCopyBegin", "StreamCopyMid", "StreamCopyEnd"]
    assert types == [triplet * 2 + ["OnTileExecute"] * 5, [], triplet * 5, []]
    assert counts(report) == (5, 0, 6, 0)
    assert counts(report, 2) == (0, 0, 15, 0)
    memory = [tile.memory.category.instrumentationResults.total for tile in report.compilation.tiles]
    assert [memory[0] - memory[1], memory[2] - memory[1]] == [1000, 1000]


def test_flushes_stand_outside_recorded_blocks():
    """A block that holds a loop is not lengthened: the loop around it has the flush."""
    programs = Programs(model())
    inner = Repeat(3, Block(programs.execute("op", 5), "inner"))
    program = Repeat(2, Block(inner, "outer"))
    lengths = {}
    for flush in ("true", "false"):
        report = programs.report(program, {"profiler.blocks.filter": ".*", "profiler.blocks.implicitFlush": flush})
        lengths[flush] = [(name, end - begin) for name, begin, end in spans(report)]
        flushes = [p for p in report.compilation.programs if p.name == "BlockFlush"]
        assert len(flushes) == (3 if flush == "true" else 0)
    assert lengths["true"] == lengths["false"] == ([("outer", 15)] + [("inner", 5)] * 3) * 2


def test_the_innermost_loop_that_records_is_flushed():
    programs = Programs(model())
    op = Block(programs.execute("op", 5), "op")
    other = programs.execute("other", 5)
    trees = {
        "inner": Repeat(2, Sequence(Repeat(3, op), other)),
        "both": Repeat(2, Sequence(Repeat(3, op), Block(other, "other"))),
        "neither": Repeat(2, Sequence(Repeat(3, other))),
        "called": Repeat(2, Call(programs.graph.addFunction(Sequence(op)))),
        "called in a block": Repeat(2, Block(Call(programs.graph.addFunction(Repeat(2, op))), "call")),
    }
    found = {}
    for name, program in trees.items():
        report = programs.report(program, {"profiler.blocks.filter": ".*"})
        begins = [p for p in report.compilation.programs if p.name == "BlockFlush" and p.type.name.endswith("Begin")]
        found[name] = len(begins)
    assert found == {"inner": 1, "both": 2, "neither": 0, "called": 1, "called in a block": 1}


def test_programs_that_data_choose():
    """Blocks of the branches that ran, as often as they ran."""
    programs = Programs(model())
    graph = programs.graph
    which = graph.addVariable(INT, [], "which")
    graph.setTileMapping(which, 0)
    graph.createHostWrite("which", which)
    switch = Switch(which, [(0, Block(programs.execute("a", 3), "a"))], Block(programs.execute("b", 4), "b"))
    engine = programs.engine(Repeat(2, switch), ALL)
    for value in (0, 1, 0):
        engine.writeTensor("which", np.array([value], np.int32))
        engine.run()
    assert [(n, end - begin) for n, begin, end in spans(engine.getReport())] == [("a", 3)] * 2 + [("b", 4)] * 2 + [
        ("a", 3)
    ] * 2


def test_a_saved_executable_records_as_well(tmp_path):
    from simulator.engine.devices.device import Device
    from simulator.poplar import Engine, Executable

    target = hardware()
    tutorial = tutorial3(target)
    programs = Programs(target)
    programs.graph = tutorial.graph
    engine = programs.engine(Repeat(2, Block(tutorial.program, "all")), ALL)
    engine.run()
    path = tmp_path / "saved"
    with path.open("wb") as file:
        engine.serializeExecutable(file)
    with path.open("rb") as file:
        again = Engine(Executable.deserialize(file), ALL)
    device = Device(target)
    device.attach()
    again.load(device)
    again.run()
    assert spans(again.getReport()) == spans(engine.getReport()) != []


class ByHand:
    """A buffer, record by record."""

    def __init__(self, room):
        self.room, self.stored, self.full_since = room, 0, None
        self.open, self.blocks = [], []

    def record(self, event, time, end_of_emptying=False):
        if end_of_emptying:
            self.empty(time)
        kept = self.stored < self.room
        self.stored += kept
        if not kept and self.full_since is None:
            self.full_since = time
        if event % 2 == 0:
            self.open.append((event // 2, time, kept))
            return
        program, begin, begun = self.open.pop()
        if begun:
            self.blocks.append((program, COMMON, begin, time if kept else self.full_since))

    def empty(self, time):
        if self.full_since is not None:
            self.blocks.append((-1, OVERFLOW, self.full_since, time))
        self.stored, self.full_since = 0, None


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=40), st.integers(16, 100))
def test_buffers_by_hand(moves, size):
    """Program 0 empties the buffer (recorded itself), programs 1 to 3 nest as they come."""
    events, time, open_ = [], 0, []
    for program, step in moves:
        time += step
        if open_ and open_[-1] == program:
            events.append((2 * open_.pop() + 1, time))
        elif len(open_) < 3 and program not in open_ and 0 not in open_:
            open_.append(program)
            events.append((2 * program, time))
    while open_:
        events.append((2 * open_.pop() + 1, time))
    by_hand = ByHand(capacity(size))
    for event, at in events:
        by_hand.record(event, at, end_of_emptying=event == 1)
    by_hand.empty(time + 5)
    table = ProgramTable()
    for _ in range(4):
        table.add(None, "OnTileExecute")
    tiles = np.array([7])
    recording = BlockRecording({row: RecordedProgram(tiles) for row in range(4)}, size, tiles, emptying=frozenset({0}))
    columns = np.array(events, np.int64).reshape(-1, 2)
    marks = Marks(columns[:, 0], np.full(len(columns), 7), columns[:, 1])
    found = [
        row
        for on_tile in blocks_of_run(marks, recording, table, time + 5)
        for row in zip(*(c.tolist() for c in (on_tile.program, on_tile.kind, on_tile.start, on_tile.end)), strict=True)
    ]
    assert sorted(found) == sorted(by_hand.blocks)
