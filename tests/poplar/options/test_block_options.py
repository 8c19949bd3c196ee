"""profiler.blocks.* and profiler.programs.filter: one program, two values, what differs."""

import pytest

from simulator.poplar import invalid_option
from simulator.poplar.program import Repeat, Sequence
from tests.compiler.tiny_graphs import hardware, model
from tests.runtime.block_programs import Programs, counts, hundred, spans, stages

OPERATION = {"profiler.programs.filter": "operation"}
EVERYTHING = OPERATION | {"debug.instrumentExternalExchange": "true"}
KEPT = OPERATION | {"profiler.blocks.implicitFlush": "false"}


def test_filters_choose_blocks():
    programs = Programs(model(ipus=2))
    program = stages(programs)
    names = {}
    for option, value in (
        ("profiler.blocks.filter", "stage.|op2"),
        ("profiler.blocks.filter", "stage"),
        ("profiler.blocks.filter", ".*1"),
        ("profiler.programs.filter", "op1"),
    ):
        report = programs.report(program, {option: value})
        names[option, value] = [[name for name, _, _ in spans(report, tile)] for tile in (0, 4)]
    assert list(names.values()) == [
        [["stage1", "op2"] * 5, ["stage2", "op2"] * 5],
        [[], []],  # a filter matches whole names
        [["stage1", "op1"] * 5, ["op1"] * 5],
        [["op1", "op1"] * 5, ["op1", "op1"] * 5],  # the Block of that name, and the compute set in it
    ]


def test_named_sequences_and_loops_can_be_chosen():
    """Programs that hold others, by the names that the program tree shows."""
    programs = Programs(model())
    body = Sequence([programs.execute("op1", 10), programs.execute("op2", 20)], "body")
    report = programs.report(
        Sequence([Repeat(3, body, "loop")], "whole"), {"profiler.programs.filter": "body|loop|whole"}
    )
    lengths = [(name, end - begin) for name, begin, end in spans(report)]
    assert lengths == [("whole", 90), ("loop", 90), *[("body", 30)] * 3]


def test_nothing_is_recorded_without_a_filter():
    programs = Programs(model(ipus=2))
    report = programs.report(stages(programs), {"debug.retainDebugInformation": "true"})
    assert [len(report.execution.blocks(tile)) for tile in range(8)] == [0] * 8


def test_flushes_keep_the_buffer_from_overflowing():
    programs = Programs(model())
    program = hundred(programs)
    assert counts(programs.report(program, EVERYTHING)) == (100, 300, 6, 0)  # as published
    assert counts(programs.report(program, OPERATION)) == (100, 0, 0, 0)  # they empty it unseen
    assert counts(programs.report(program, KEPT)) == (42, 0, 0, 1)  # as published


def test_a_larger_buffer_overflows_later():
    programs = Programs(model())
    program = hundred(programs)
    kept, memory = {}, {}
    for size in ("16", "40", "1000", "2404", "0x1000"):
        report = programs.report(program, KEPT | {"profiler.blocks.bufferSize": size})
        kept[size] = counts(report)
        memory[size] = [tile.memory.category.instrumentationResults.total for tile in report.compilation.tiles]
    assert kept == {
        "16": (1, 0, 0, 1),  # the first beginning only
        "40": (2, 0, 0, 1),
        "1000": (42, 0, 0, 1),
        "2404": (100, 0, 0, 0),  # 200 records of 12 bytes and their number
        "0x1000": (100, 0, 0, 0),
    }
    assert memory == {size: [int(size, 0), 0, 0, 0] for size in kept}


def test_another_tile_records():
    programs = Programs(model(ipus=2))
    program = stages(programs)
    first, other = (
        programs.report(program, {"profiler.blocks.filter": "op1", "profiler.blocks.tile": tile}) for tile in ("0", "3")
    )
    assert [len(first.execution.blocks(tile)) for tile in range(8)] == [5, 0, 0, 0, 5, 0, 0, 0]
    assert [len(other.execution.blocks(tile)) for tile in range(8)] == [0, 0, 0, 5, 0, 0, 0, 5]
    assert {end - begin for _, begin, end in spans(first)} == {100}
    assert {end - begin for _, begin, end in spans(other, 3)} == {0}  # its vertices are elsewhere


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"profiler.blocks.filter": "("}, "Option 'profiler.blocks.filter' cannot be '('; it takes a regular expr"),
        ({"profiler.programs.filter": "[a"}, "Option 'profiler.programs.filter' cannot be '\\[a'"),
        (KEPT | {"profiler.blocks.tile": "4"}, "Option 'profiler.blocks.tile' cannot be '4'; the last tile is 3"),
        (KEPT | {"profiler.blocks.bufferSize": "15"}, "cannot be '15'; a buffer of one record takes 16 bytes"),
        ({"profiler.blocks.bufferSize": "many"}, "Option 'profiler.blocks.bufferSize' cannot be 'many'"),
    ],
)
def test_bad_values(options, sentence):
    programs = Programs(model())
    with pytest.raises(invalid_option, match=sentence.replace("(", r"\(")):
        programs.report(hundred(programs), options)


def test_recording_takes_time_on_hardware_only():
    cycles = {}
    for name, target in (("model", model()), ("hardware", hardware())):
        for options in ({}, KEPT):
            programs = Programs(target)
            engine = programs.engine(hundred(programs), options)
            begin = engine.getTimeStamp()
            engine.run()
            cycles[name, bool(options)] = engine.getTimeStamp().device_cycles - begin.device_cycles
    assert cycles["model", True] == cycles["model", False]
    # 66 cycles before each block, 8 inside it, 65 after it (simulator.machine.block_records)
    assert cycles["hardware", True] == cycles["hardware", False] + 100 * 139


def test_a_flush_takes_a_copy_to_the_host():
    programs = Programs(hardware())
    report = programs.report(hundred(programs), EVERYTHING | {"debug.instrument": "true"})
    flushes = [step for step in report.execution.steps if step.program.name == "BlockFlush"]
    assert [step.program.type.name for step in flushes] == ["StreamCopyBegin", "StreamCopyMid", "StreamCopyEnd"] * 100
    assert {step.ipus[0].dataOut for step in flushes[1::3]} == {1000}
