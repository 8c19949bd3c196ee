"""Variables, streams, programs and debug records: their contents, and arguments that they refuse."""

from __future__ import annotations

import inspect
import subprocess
import sys

import numpy as np
import pytest

from simulator.poplar import (
    BOOL,
    FLOAT,
    HALF,
    INT,
    DebugContext,
    Function,
    Graph,
    IPUModel,
    SyncType,
    Target,
    TargetType,
    Tensor,
    VariableMappingMethod,
    VariableRef,
    compileGraph,
    control_program_error,
    graph_connection_error,
    graph_object_creation_error,
    graph_recursion_error,
    graph_replication_error,
    invalid_option,
    stream_connection_error,
    tensor_creation_error,
)
from simulator.poplar.program import (
    Call,
    Copy,
    Execute,
    LibraryGroup,
    PrintTensor,
    PrintTensorFmt,
    Repeat,
    Sequence,
    Sync,
    WriteUndef,
)


def new_graph() -> Graph:
    return Graph(Target(TargetType.IPU_MODEL, tiles_per_ipu=4))


def test_sequences_take_programs_lists_and_names() -> None:
    graph = new_graph()
    t = graph.addVariable(INT, [2])
    a, b = WriteUndef(t), Sync(SyncType.INTERNAL)
    assert Sequence(a, b).programs == [a, b] == Sequence([a, b]).programs
    assert Sequence((a, b), "named").debug.name == "named"
    assert Sequence(a, debugContext="x").debug.name == "x"
    assert Sequence().isEmpty()
    assert Sequence("only a name").debug.name == "only a name"
    sequence = Sequence()
    sequence.add(Repeat(3, a))
    assert isinstance(sequence.programs[0], Repeat)
    assert (sequence.programs[0].count, sequence.programs[0].body) == (3, a)
    with pytest.raises(control_program_error, match="is not a program; wrap compute sets in Execute"):
        sequence.add(graph.addComputeSet())


def test_copies_know_their_kind() -> None:
    graph = new_graph()
    a, b = graph.addVariable(INT, [4]), graph.addVariable(INT, [2, 2])
    inward, outward = graph.addHostToDeviceFIFO("in", INT, 4), graph.addDeviceToHostFIFO("out", INT, 4)
    assert Copy(a, b).kind == "tensor"
    assert Copy(a, b, "named").debug.name == "named"
    assert Copy(a, b, True, "x").dont_outline
    assert Copy(a, b, debugContext="y").debug.name == "y"
    assert PrintTensor("t", a, debugContext="z").debug.name == "z"
    assert graph.addVariable(INT, [1], debugContext="w").numElements() == 1
    assert graph.store.variables.name[-1] == "w"
    assert Copy(inward, a).kind == "host_to_device"
    assert Copy(b, outward).kind == "device_to_host"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda g, a, i, o: (a, a.slice(0, 2)), r"4 elements \(shape \[4\]\), the destination 2"),
        (lambda g, a, i, o: (a, g.addVariable(FLOAT, [4])), "the source holds int and the destination float"),
        (lambda g, a, i, o: (a.slice(0, 2), a.slice(1, 3)), "share elements"),
        (lambda g, a, i, o: (a, g.addConstant(INT, [4], 0)), "constants cannot be written"),
        (lambda g, a, i, o: (a, g.addVariable(INT, [1]).broadcast(4, 0)), "free of aliases"),
        (lambda g, a, i, o: (o, a), "'out' has the other direction; make it with Graph.addHostToDeviceFIFO"),
        (lambda g, a, i, o: (a, i), "'in' has the other direction; make it with Graph.addDeviceToHostFIFO"),
        (lambda g, a, i, o: (i, a.slice(0, 3)), "moves 4 elements, the tensor has 3"),
        (lambda g, a, i, o: (i, g.addVariable(HALF, [4])), "carries int, the tensor holds half"),
        (lambda g, a, i, o: (i, o), "between two tensors or a tensor and a stream"),
        (lambda g, a, i, o: (a, new_graph().addVariable(INT, [4])), "different graphs"),
    ],
)
def test_copies_that_cannot_work_are_refused(arguments, message: str) -> None:
    graph = new_graph()
    stream_in, stream_out = graph.addHostToDeviceFIFO("in", INT, 4), graph.addDeviceToHostFIFO("out", INT, 4)
    with pytest.raises(graph_connection_error, match=message):
        Copy(*arguments(graph, graph.addVariable(INT, [4]), stream_in, stream_out))


def test_other_programs_keep_and_check_their_arguments() -> None:
    graph = new_graph()
    t = graph.addVariable(INT, [2])
    assert PrintTensor("title", t).title == "title"
    assert PrintTensor(t).title == ""
    assert PrintTensor(t, PrintTensorFmt(digits=2)).format.digits == 2
    assert Execute(graph.addComputeSet()).compute_set == 0
    assert Call(graph.addFunction(Sequence())).function == 0
    group = LibraryGroup([WriteUndef(t)], "popops.add", [t], [t], {"n": 1}, "adding")
    assert (group.kernel, group.attributes, group.debug.name, len(group.programs)) == (
        "popops.add",
        {"n": 1},
        "adding",
        1,
    )
    with pytest.raises(control_program_error, match="count -1 is not an unsigned"):
        Repeat(-1, Sequence())
    with pytest.raises(control_program_error, match="needs a compute set"):
        Execute(t)  # type: ignore[arg-type]
    with pytest.raises(control_program_error, match="needs a tensor"):
        PrintTensor("only a title")  # type: ignore[call-overload]
    with pytest.raises(graph_connection_error, match="free of aliases"):
        WriteUndef(t.broadcast(2, 0))


def test_programs_must_belong_to_the_graph_that_is_compiled() -> None:
    graph, other = new_graph(), new_graph()
    t = other.addVariable(INT, [2])
    other.setTileMapping(t, 0)
    body = Sequence(Repeat(2, WriteUndef(t)))
    with pytest.raises(graph_object_creation_error, match="A WriteUndef program uses a tensor of another graph"):
        compileGraph(graph, [body])
    graph.addComputeSet("ours")
    with pytest.raises(control_program_error, match="Execute: compute set 'theirs' is of another graph"):
        compileGraph(graph, [Execute(other.addComputeSet("theirs"))])
    graph.addFunction(Sequence())
    with pytest.raises(control_program_error, match="Call: function 0 is of another graph"):
        compileGraph(graph, [Call(other.addFunction(Sequence()))])
    with pytest.raises(control_program_error, match="Call: function 7 is not in the graph"):
        compileGraph(graph, [Call(Function(7))])
    stream = other.addHostToDeviceFIFO("in", INT, 2)
    ours = graph.addVariable(INT, [2], VariableMappingMethod.LINEAR)
    with pytest.raises(control_program_error, match="Copy: stream 'in' is not of this graph"):
        compileGraph(graph, [Copy(stream, ours)])


def test_functions_that_call_themselves_are_refused() -> None:
    graph = new_graph()
    later = Function(1)  # a handle made by hand: addFunction takes programs as they are, so none of its own can recurse
    f = graph.addFunction(Repeat(1, Call(later)))
    g = graph.addFunction(Sequence())
    compileGraph(graph, [Call(f), Call(g)])
    graph.addFunction(Call(Function(3)))
    graph.addFunction(Sequence(Call(Function(2))))
    with pytest.raises(graph_recursion_error, match="Function 2 calls itself"):
        compileGraph(graph, [Call(Function(2))])


def test_hints_without_an_effect_say_so_once() -> None:
    program = (
        "from simulator.poplar import *\n"
        "m = IPUModel()\n"
        "m.instructionBytes = 8\n"
        "for i in range(2):\n"
        "    m.createDevice()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == "popvision: IPUModel.instructionBytes=8 has no effect in this version of the simulator.\n"


def test_variables_and_constants() -> None:
    graph = new_graph()
    empty = Tensor()
    assert graph.addVariable(FLOAT, empty, [2, 3], "m").shape() == [2, 3]
    c = graph.addConstant(HALF, [2, 2], [1, 2, 3, 1e9])
    values = graph.store.variables.constant[1]
    assert values.dtype == np.float16
    assert values.tolist() == [1, 2, 3, 65504]
    assert graph.isConstant(VariableRef(1))
    assert not graph.isConstant(VariableRef(0))
    assert graph.store.variables.name == ["m", "<const>"]
    assert graph.addConstant(BOOL, [3], True).numElements() == 3
    assert graph.getVariable(VariableRef(1)).shape() == [4]
    graph.addConstantHalf(HALF, [1], 0x3C00)
    assert graph.store.variables.constant[3].tolist() == [1.0]
    assert c.containsConstant()
    with pytest.raises(tensor_creation_error, match=r"shape \[2\]: 3 values were given for 2 elements"):
        graph.addConstant(INT, [2], [1, 2, 3])
    with pytest.raises(tensor_creation_error, match="negative size"):
        graph.addVariable(INT, [-1])
    with pytest.raises(tensor_creation_error, match="takes no metadata"):
        graph.addVariable(INT, c, [1])
    with pytest.raises(tensor_creation_error, match="is not an element type"):
        graph.addVariable("float", [1])  # type: ignore[call-overload]


def test_initial_values_follow_the_view() -> None:
    graph = new_graph()
    m = graph.addVariable(INT, [2, 2])
    graph.setInitialValue(m.transpose(), [1, 2, 3, 4])
    graph.setInitialValue(m[1], 9)
    after = np.zeros(4, np.int32)
    for offset, values in graph.store.variables.initial[0]:
        after[offset : offset + len(values)] = values
    assert after.tolist() == [1, 3, 9, 9]
    assert graph.store.variables.host_visible == [True]
    with pytest.raises(tensor_creation_error, match="holds a constant"):
        graph.setInitialValue(graph.addConstant(INT, [1], 1), 2)


def test_streams_and_host_copies() -> None:
    graph = new_graph()
    t = graph.addVariable(INT, [4], "t")
    stream = graph.addHostToDeviceFIFO("s", INT, 4, options={"splitLimit": 0, "bufferingDepth": "3"})
    assert (stream.handle(), stream.numElements(), stream.elementType()) == ("s", 4, INT)
    assert graph.store.streams.options[0] == {"splitLimit": "0", "bufferingDepth": "3"}
    graph.createHostWrite("t", t)
    graph.createHostRead("t", t, True)
    assert graph.store.streams.kind == ["fifo", "write", "read"]
    assert [h[:2] for h in graph.store.host_copies] == [("write", "t"), ("read", "t")]
    assert graph.store.variables.host_visible == [True]
    with pytest.raises(stream_connection_error, match="'s' exists already"):
        graph.addDeviceToHostFIFO("s", INT, 1)
    with pytest.raises(stream_connection_error, match="'t' exists already"):
        graph.createHostWrite("t", t)
    with pytest.raises(invalid_option, match="'depth' is not an option"):
        graph.addHostToDeviceFIFO("u", INT, 1, options={"depth": "1"})
    with pytest.raises(invalid_option, match="splitLimit needs a whole number, got 'many'"):
        graph.addDeviceToHostFIFO("u", INT, 1, {"splitLimit": "many"})
    with pytest.raises(graph_object_creation_error, match="cannot move 0 elements"):
        graph.addDeviceToHostFIFO("u", INT, 0)
    with pytest.raises(graph_object_creation_error, match="cannot be written"):
        graph.createHostWrite("c", graph.addConstant(INT, [1], 1))


def test_graphs_need_a_target_and_share_its_ipus_out_evenly() -> None:
    empty = Graph()  # a handle without a graph, as in C++
    for use in (lambda: empty.addVariable(INT, [2]), empty.getTarget, empty.getReplicationFactor, empty.addComputeSet):
        with pytest.raises(graph_object_creation_error, match="without a target holds nothing: make it with Graph"):
            use()
    with pytest.raises(graph_object_creation_error, match="made without a target holds nothing"):
        compileGraph(empty, Sequence())
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = empty.nothing
    with pytest.raises(graph_replication_error, match="factor of 2 does not divide the 1 IPUs of the target"):
        Graph(Target(TargetType.IPU), 2)
    assert Graph(IPUModel().createDevice()).getTarget().getNumTiles() == 1472


def test_everything_made_leaves_a_record_with_the_users_line() -> None:
    graph = new_graph()
    line = inspect.currentframe().f_lineno + 1
    graph.addVariable(INT, [2], "weights")
    graph.addComputeSet(DebugContext("cs"))
    operation = graph.addDebugInfo("layer1", "poplin", size=3)
    graph.addVariable(INT, [2], (operation, "partials"))
    variable, cs, op, inner = graph.store.debug_infos
    assert (variable["name"], variable["category"], variable["layer"]) == ("weights", "variable", "poplar")
    assert (variable["file"], variable["line"]) == (__file__, line)
    assert variable["arguments"] == {"shape": (2,), "type": "int"}
    assert cs["line"] == line + 1
    assert (op["name"], op["layer"], op["arguments"]) == ("layer1", "poplin", {"size": 3})
    assert (inner["name"], inner["parentId"]) == ("layer1/partials", op["id"])
    assert graph.store.variables.debug_id == [0, 3]
    assert graph.store.variables.name == ["weights", "layer1/partials"]
    assert Sequence().debug.location.file == __file__
