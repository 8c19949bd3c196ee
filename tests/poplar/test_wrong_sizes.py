"""Sizes that no system has and numbers that a type does not hold are refused at the call; the graph goes on."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.pva import openReport
from simulator.building import variables
from simulator.poplar import (
    CHAR,
    FLOAT,
    HALF,
    INT,
    LONGLONG,
    UNSIGNED_CHAR,
    UNSIGNED_INT,
    UNSIGNED_SHORT,
    Engine,
    Graph,
    graph_object_creation_error,
    poplar_error,
    stream_connection_error,
    tensor_creation_error,
    type_error,
)
from simulator.poplar.program import Copy, Sequence, WriteUndef
from tests.example_profiles import costly
from tests.poplar.options.small import model

VARIABLE, REMOTE, HOST = 2**38, 2**48, 2**34  #: bytes at most
INTEGERS = (CHAR, UNSIGNED_CHAR, UNSIGNED_SHORT, INT, UNSIGNED_INT, LONGLONG)
TYPES = (HALF, FLOAT, *INTEGERS)


def small():
    """A graph, two of its tensors and a program that copies one to the other."""
    graph = Graph(model())
    x, y = (graph.addVariable(INT, [2], name) for name in "xy")
    for tensor in (x, y):
        graph.setTileMapping(tensor, 0)
    graph.setInitialValue(x, [3, 4])
    graph.createHostRead("y", y)
    return graph, x, Copy(x, y)


def check_usable(graph, program):
    """The graph compiles and its program does what it did before."""
    engine = Engine(graph, program)
    engine.load(model())
    engine.run()
    out = np.zeros(2, np.int32)
    engine.readTensor("y", out)
    assert out.tolist() == [3, 4]


#: what is asked for with a type and a number of elements, the bytes that it may take, and the error
SIZES = {
    "variable": (lambda g, t, n: g.addVariable(t, [n], "v"), VARIABLE, tensor_creation_error),
    "variable of two dimensions": (lambda g, t, n: g.addVariable(t, [n, 1], "v"), VARIABLE, tensor_creation_error),
    "external variable": (lambda g, t, n: g.addExternalVariable(t, [n], "v"), VARIABLE, tensor_creation_error),
    "constant": (lambda g, t, n: g.addConstant(t, [n], 0), HOST, tensor_creation_error),
    "stream": (lambda g, t, n: g.addHostToDeviceFIFO("s", t, n), VARIABLE, graph_object_creation_error),
    "stream to the host": (lambda g, t, n: g.addDeviceToHostFIFO("s", t, n), VARIABLE, graph_object_creation_error),
    "remote buffer": (lambda g, t, n: g.addRemoteBuffer("r", t, n), REMOTE, graph_object_creation_error),
    "rows": (lambda g, t, n: g.addRemoteBuffer("r", t, 1, n), REMOTE, graph_object_creation_error),
}


@given(st.sampled_from(sorted(SIZES)), st.sampled_from(TYPES), st.integers(0, 80))
@costly()
def test_what_is_too_large_is_refused_in_one_sentence(what, type_, beyond):
    make, most, kind = SIZES[what]
    graph, _, program = small()
    count = most // type_.size + 2**beyond
    with pytest.raises(kind, match=rf"{count * type_.size} bytes.*more than {most}") as caught:
        make(graph, type_, count)
    assert "\n" not in str(caught.value)
    check_usable(graph, program)


@pytest.mark.parametrize("what", [name for name in SIZES if name != "constant"])
def test_the_largest_is_taken(what):
    make, most, _ = SIZES[what]
    make(small()[0], FLOAT, most // 4)


@given(st.lists(st.tuples(st.booleans(), st.sampled_from(TYPES), st.integers(1, 40)), max_size=12))
def test_values_of_a_whole_graph_have_one_limit(steps):
    """Constants and initial values, against a sum: what goes beyond is refused, a smaller one after it is taken."""
    limit, held = 200, 8
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(variables, "HOST_BYTES", limit)
        graph, _, program = small()
        for constant, type_, count in steps:
            tensor = None if constant else graph.addVariable(type_, [count])
            error = None
            try:
                _ = graph.addConstant(type_, [count], 1) if constant else graph.setInitialValue(tensor, [1] * count)
            except (tensor_creation_error, type_error) as caught:
                error = str(caught)
            size = count * type_.size
            if held + size > limit:
                assert f"{size} bytes of the host, with those of the graph before {held + size}, more than 200" in error
            else:
                assert error is None
                held += size
        check_usable(graph, program)


def test_values_of_copies_and_of_calls_that_fail_do_not_count():
    graph, x, _ = small()
    with pytest.raises(type_error):
        graph.setInitialValue(x, [1, 2, 3])
    assert graph.store.variables.held_bytes == graph.store.copy().variables.held_bytes == 8
    graph.addConstant(INT, [3], 0)
    assert graph.store.variables.held_bytes == 20


def test_a_graph_that_the_host_cannot_compile_is_one_sentence(monkeypatch):
    graph, _, program = small()

    def none(*arguments):
        raise MemoryError("Unable to allocate 12 GiB")

    with monkeypatch.context() as patch:
        patch.setattr("simulator.engine.compilation.compile_graph", none)
        with pytest.raises(
            poplar_error, match=r"^The host has too little memory to compile the graph \(Unable .*\); use "
        ):
            Engine(graph, program)
    check_usable(graph, program)


def test_values_that_the_host_has_no_memory_for_are_one_sentence(monkeypatch):
    graph, _, program = small()

    def none(*arguments):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(np, "full", none)
        with pytest.raises(tensor_creation_error, match=r"too little memory for 400 bytes of values; let the program"):
            graph.addConstant(INT, [100], 0)
    check_usable(graph, program)


def test_a_program_that_overflows_its_tiles_compiles_and_reports(tmp_path, capsys):
    """64 GiB on one tile of a model: no more than 2^38, and no values of the host."""
    graph, _, program = small()
    large = graph.addVariable(FLOAT, [2**34], "large")
    graph.setTileMapping(large, 1)
    options = {"autoReport.all": "true", "autoReport.directory": str(tmp_path)}
    with Engine(graph, Sequence(program, WriteUndef(large), Copy(large[0], large[1])), options) as engine:
        assert "Out of memory" in engine.executable.compiled.out_of_memory
    assert "Tile 1 holds more than 4 GiB, which an ELF file cannot say" in capsys.readouterr().err
    report = openReport(tmp_path / "profile.pop")
    assert report.compilation.tiles[1].memory.total.includingGaps >= 2**36
    assert [v.bytes for v in report.compilation.loweredVariables.forTile(1) if v.name == "large"] == [2**36]


def test_a_variable_that_the_host_cannot_hold_is_one_sentence_at_the_load(monkeypatch):
    graph, _, program = small()
    engine = Engine(graph, program)

    def none(autoload):
        raise MemoryError("Unable to allocate 128 GiB")

    with monkeypatch.context() as patch:
        patch.setattr(engine.core._plan, "memories", none)
        with pytest.raises(poplar_error, match=r"The host has too little memory .*128 GiB.*use smaller ones\."):
            engine.load(model())
    check_usable(graph, program)


@given(st.sampled_from(INTEGERS), st.floats(0, 100).filter(lambda value: value % 1 != 0), st.booleans())
@costly()
def test_fractions_are_no_whole_numbers(type_, value, as_array):
    graph, x, program = small()
    values = np.array([1, value]) if as_array else [1, value]
    sentence = f"{value} is not a value of type {type_}, which holds whole numbers; round it first."
    with pytest.raises(tensor_creation_error, match=sentence):
        graph.addConstant(type_, [2], values)
    with pytest.raises(type_error, match="which holds whole numbers"):
        graph.setInitialValue(x, values)
    check_usable(graph, program)


def test_whole_numbers_may_be_floats():
    graph, x, program = small()
    graph.setInitialValue(x, np.array([3.0, 4.0]))
    graph.addConstant(INT, [2], [1.0, -2.0])
    check_usable(graph, program)


@pytest.mark.filterwarnings("error")
def test_halves_are_compared_with_a_type_without_a_warning():
    graph = Graph(model())
    t = graph.addVariable(UNSIGNED_SHORT, [1], "t")
    graph.setInitialValue(t, np.array([2.0], np.float16))


MAKERS = {
    "stream": lambda g, x: g.addHostToDeviceFIFO("a", INT, 2),
    "stream to the host": lambda g, x: g.addDeviceToHostFIFO("a", INT, 2),
    "remote buffer": lambda g, x: g.addRemoteBuffer("a", INT, 2),
    "host read": lambda g, x: g.createHostRead("a", x),
    "host write": lambda g, x: g.createHostWrite("a", x),
}


@pytest.mark.parametrize("second", MAKERS)
@pytest.mark.parametrize("first", MAKERS)
def test_a_handle_in_use_is_refused(first, second):
    graph, x, program = small()
    MAKERS[first](graph, x)
    if {first, second} == {"host read", "host write"}:  # a program names a tensor once for both directions
        MAKERS[second](graph, x)
    else:
        with pytest.raises((stream_connection_error, graph_object_creation_error), match="'a' exists already; give"):
            MAKERS[second](graph, x)
    check_usable(graph, program)


def test_a_larger_buffer_takes_a_tensor():
    graph, _, program = small()
    engine = Engine(graph, program)
    engine.load(model())
    engine.run()
    out = np.full(5, 9, np.int32)
    engine.readTensor("y", out)
    assert out.tolist() == [3, 4, 9, 9, 9]
    with pytest.raises(stream_connection_error, match="has 2 elements, but the buffer holds 1"):
        engine.readTensor("y", out[:1])


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_an_engine_is_not_copied(copied):
    graph, _, program = small()
    engine = Engine(graph, program)
    with pytest.raises(poplar_error, match=r"An engine cannot be copied; make another one with Engine"):
        copied(engine)
    check_usable(graph, program)
