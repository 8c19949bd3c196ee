"""Functions share code; a function buffer makes a function's code live from the copy to the last call."""

import numpy as np
import pytest

from simulator.base.target import Target
from simulator.compiler.compile import compile_graph
from simulator.engine.devices.what_if import overridden
from simulator.machine.targets import MK2
from simulator.poplar import (
    FLOAT,
    Engine,
    FunctionBufferMappingType,
    Graph,
    IPUModel,
    TargetType,
    control_program_error,
    graph_connection_error,
    graph_object_creation_error,
)
from simulator.poplar.program import Call, Copy, Repeat, Sequence
from simulator.poplibs import popops, poputil

LOCAL, REMOTE = FunctionBufferMappingType.LOCAL, FunctionBufferMappingType.REMOTE


def hardware():
    target = Target(TargetType.IPU, MK2, num_ipus=1, compile_ipu_code=True)
    return overridden(target, {"POPVISION_TILES": "4"})


class Case:
    """x += (x + x) / 2 as a function, and an addition of its own afterwards."""

    def __init__(self, device=None):
        self.graph = Graph(device if device is not None else hardware())
        self.x = self.graph.addVariable(FLOAT, [96], "x")
        poputil.mapTensorLinearly(self.graph, self.x)
        self.body = Sequence()
        twice = popops.add(self.graph, self.x, self.x, self.body, "twice")
        popops.scaledAddTo(self.graph, self.x, twice, 0.5, self.body, "half")
        self.function = self.graph.addFunction(self.body)
        self.graph.createHostWrite("x", self.x)
        self.graph.createHostRead("x", self.x)

    def compiled(self, *programs):
        return compile_graph(self.graph.store, self.graph.getTarget(), [Sequence(*programs)]).compilation

    def buffer(self, mapping):
        return self.graph.addFunctionBuffer(self.function, mapping)


def sums(compilation):
    found = {}
    for row in compilation.category_memory:
        found[row.category] = found.get(row.category, 0) + int(row.bytes.sum())
    return found


def always(compilation, name):
    table = compilation.variables
    return [bool(table.always_live[i]) for i, n in enumerate(table.name) if n == name]


def live_at(compilation, name):
    """Program types and names at which the rows of a variable are live."""
    table, classes, at = compilation.variables, compilation.eq_classes, compilation.liveness.program
    found = []
    for row in [i for i, n in enumerate(table.name) if n == name]:
        number = int(table.eq_class[row])
        rows = range(int(classes.offsets[number]), int(classes.offsets[number + 1]))
        ranges = [range(int(classes.starts[r]), int(classes.ends[r])) for r in rows]
        found.append([compilation.programs.type[int(at[p])] for part in ranges for p in part])
    return found


def test_calls_take_less_control_code_than_the_same_programs_inlined():
    case = Case()
    called = sums(case.compiled(*[Call(case.function)] * 5))["controlCode"]
    inlined = sums(case.compiled(*(Sequence(*case.body.programs) for _ in range(5))))["controlCode"]
    # a body of two compute sets with vertices on 3 tiles: 2 * 12 bytes there, five times inlined, once called; 5 calls
    # of 8 bytes on each of 4 tiles
    assert inlined - called == 4 * 3 * 2 * 12 - 4 * 5 * 8
    added_again = sums(case.compiled(*[case.body] * 5))["controlCode"]
    assert added_again == called


def test_without_a_buffer_code_is_always_live():
    found = sums((case := Case()).compiled(Call(case.function)))
    assert "sharedCodeStorage" not in found


@pytest.mark.parametrize("mapping", [LOCAL, REMOTE])
def test_code_is_live_from_the_copy_to_the_call(mapping):
    case = Case()
    plain = case.compiled(Call(case.function))
    moved = case.compiled(Copy(case.buffer(mapping), case.function), Call(case.function))
    assert always(moved, "function 0") == [False, False]  # code, and the state of its vertices
    copy = ["OnTileExecute"] if mapping is LOCAL else ["StreamCopyMid", "StreamCopyEnd"]
    body = ["Call", "Sequence", "OnTileExecute", "OnTileExecute"]
    assert live_at(moved, "function 0") == [copy + body] * 2
    # control code of two executes, and a vertex of 16 bytes of each kind, on the 3 tiles with 32 elements
    found, before = sums(moved), sums(plain)
    copies = 2 if mapping is LOCAL else 1
    assert found["sharedCodeStorage"] == copies * 2 * 12 * 3
    assert found["sharedDataStorage"] == copies * 2 * 16 * 3
    if mapping is REMOTE:
        assert before["vertexInstanceState"] == 2 * 16 * 3
        assert "vertexInstanceState" not in found


def test_remote_code_comes_through_the_host_link():
    case = Case()
    moved = case.compiled(Copy(case.buffer(REMOTE), case.function), Call(case.function))
    [received] = [
        p.rx
        for p in moved.program_on_ipu
        if moved.programs.name[p.program] == "function 0" and moved.programs.type[p.program] == "StreamCopyMid"
    ]
    assert received.tolist() == [24 + 32, 24 + 32, 24 + 32, 0]


def test_a_loop_that_calls_again_keeps_the_code():
    case = Case()
    load, call = Copy(case.buffer(REMOTE), case.function), Call(case.function)
    moved = case.compiled(load, Repeat(3, Sequence(call)))
    assert always(moved, "function 0") == [False, False]
    assert always(case.compiled(Repeat(3, Sequence(call)), load), "function 0") == [True, True]


def test_results_are_those_of_a_plain_call():
    device = IPUModel()
    device.tilesPerIPU = 4
    values = np.arange(96, dtype=np.float32)
    results = []
    for mapping in (None, LOCAL, REMOTE):
        case = Case(attached := device.createDevice())
        program = Sequence(Call(case.function), Call(case.function))
        if mapping is not None:
            buffer = case.buffer(mapping)
            program = Sequence(Copy(buffer, case.function), program, Copy(case.function, buffer))
        with Engine(case.graph, program) as engine:
            engine.load(attached)
            engine.writeTensor("x", values)
            engine.run(0)
            result = np.empty_like(values)
            engine.readTensor("x", result)
            results.append(result)
    assert results[0].tolist() == results[1].tolist() == results[2].tolist() == (4 * values).tolist()


def test_a_variable_of_a_function_is_live_alike_in_all_calls():
    """`out` of the function is read after the second call only, and all the same held to the end of the first."""
    case = Case()
    kept = Sequence()
    out = popops.add(case.graph, case.x, case.x, kept, "out")
    last = Sequence()
    popops.add(case.graph, case.x, case.x, kept, "later")
    function = case.graph.addFunction(kept)
    popops.add(case.graph, out, case.x, last, "reader")
    compilation = case.compiled(Call(function), Call(case.function), Call(function), last)
    name = case.graph.store.variables.name[int(out.view.variables()[0])]
    [types] = live_at(compilation, name)
    # its write and the compute set behind it in the first call; both again in the second; then the reader
    assert types == ["OnTileExecute"] * 4 + ["Sequence", "OnTileExecute"]


def test_bad_copies_are_refused():
    case, other = Case(), Case()
    second = case.graph.addFunction(Sequence())
    buffer = case.buffer(LOCAL)
    with pytest.raises(graph_connection_error, match="function 0, the destination that of function 1"):
        Copy(buffer, second)
    with pytest.raises(graph_connection_error, match="same function buffer"):
        Copy(buffer, buffer)
    with pytest.raises(graph_connection_error, match="function buffer is copied"):
        Copy(buffer, case.x)
    with pytest.raises(graph_object_creation_error, match="needs a function"):
        case.graph.addFunctionBuffer("f", LOCAL)
    with pytest.raises(graph_object_creation_error, match="LOCAL or REMOTE"):
        case.graph.addFunctionBuffer(case.function, "local")
    with pytest.raises(control_program_error, match="not of this graph"):
        other.compiled(Copy(buffer, case.function), Call(case.function))
