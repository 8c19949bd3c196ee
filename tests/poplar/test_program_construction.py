"""Arguments that programs accept, and the exceptions for others."""

import io

import pytest

from simulator.poplar import (
    BOOL,
    FLOAT,
    INT,
    UNSIGNED_INT,
    FunctionBufferMappingType,
    Graph,
    IPUModel,
    SyncType,
    Tensor,
    compileGraph,
    control_program_error,
    graph_connection_error,
    graph_object_creation_error,
    tensor_creation_error,
)
from simulator.poplar.program import (
    Abort,
    AbortOnCondition,
    AssumeEqualAcrossReplicas,
    Block,
    Call,
    Copy,
    ErrorProgram,
    If,
    Loop,
    PrintTensor,
    PrintTensorFmt,
    Repeat,
    RepeatWhileFalse,
    RepeatWhileTrue,
    Sequence,
    Switch,
    Sync,
    WriteUndef,
    dumpProgram,
)


def new_graph():
    model = IPUModel()
    model.tilesPerIPU = 1
    return Graph(model.createDevice())


NOTHING = Sequence()
CHOOSING = {
    "If": lambda p: If(p, NOTHING, NOTHING),
    "RepeatWhileTrue": lambda p: RepeatWhileTrue(NOTHING, p, NOTHING),
    "RepeatWhileFalse": lambda p: RepeatWhileFalse(cond=NOTHING, predicate=p, body=NOTHING),
    "AbortOnCondition": lambda p: AbortOnCondition(p, "message"),
}


@pytest.mark.parametrize("name", CHOOSING)
@pytest.mark.parametrize("type_", [BOOL, INT, UNSIGNED_INT])
def test_predicates_are_scalars_of_these_types(name, type_):
    CHOOSING[name](new_graph().addVariable(type_, []))


@pytest.mark.parametrize("name", CHOOSING)
def test_other_predicates_are_refused(name):
    graph = new_graph()
    with pytest.raises(control_program_error, match=rf"{name}: the predicate has type float; .* bool, int, unsigned"):
        CHOOSING[name](graph.addVariable(FLOAT, []))
    with pytest.raises(control_program_error, match=rf"{name}: the predicate must be a scalar.* shape \[1\].*reshape"):
        CHOOSING[name](graph.addVariable(BOOL, [1]))
    with pytest.raises(control_program_error, match=f"{name}: the predicate must be a scalar tensor .*got True"):
        CHOOSING[name](True)
    with pytest.raises(tensor_creation_error):
        CHOOSING[name](Tensor())


def test_switch_has_four_forms_and_keywords():
    control, body, other = new_graph().addVariable(INT, []), Sync(SyncType.INTERNAL), Abort("other")
    assert Switch(control, [(1, body), (-2, other)]).nested()[:2] == [body, other]
    assert Switch(control, {1: body}, other, "name").nested() == [body, other]
    assert Switch(control, "name").debug.getPathName() == "name"
    assert Switch(control, other, "name").default is other
    assert Switch(control, cases=[(1, body)], defaultCaseBody=other, debugContext="name").nested() == [body, other]
    chained = Switch(control)
    assert chained.add(1, body).add(2, other) is chained
    assert [value for value, _ in chained.cases] == [1, 2]
    assert len(Switch.switchWithUnreachableDefault(control).add(3, body).nested()) == 1


def test_switches_that_cannot_work_are_refused():
    graph = new_graph()
    control = graph.addVariable(UNSIGNED_INT, [])
    with pytest.raises(control_program_error, match="controlling tensor has type bool"):
        Switch(graph.addVariable(BOOL, []))
    with pytest.raises(control_program_error, match=r"case 7 already; case values must be unique"):
        Switch(control, [(7, NOTHING), (7, NOTHING)])
    with pytest.raises(control_program_error, match="case value 2147483648 is not a signed 32-bit"):
        Switch(control).add(2**31, NOTHING)
    with pytest.raises(control_program_error, match="a case is a pair"):
        Switch(control, [NOTHING])
    with pytest.raises(control_program_error, match="is not a program"):
        Switch.switchWithBoundsChecking(control, [(1, 2)])


@pytest.mark.parametrize(
    "make",
    [
        lambda g, t: If(t, NOTHING, 3),
        lambda g, t: RepeatWhileTrue(3, t, NOTHING),
        lambda g, t: Loop(3),
        lambda g, t: Block(3),
        lambda g, t: Repeat(-1, NOTHING),
        lambda g, t: Sync("internal"),
        lambda g, t: AssumeEqualAcrossReplicas(3),
        lambda g, t: ErrorProgram(3, t),
        lambda g, t: ErrorProgram("message", 3),
        lambda g, t: Abort(3, 4),
        lambda g, t: Call(3),
    ],
)
def test_what_is_no_program_or_tensor_is_refused(make):
    graph = new_graph()
    with pytest.raises(control_program_error):
        make(graph, graph.addVariable(BOOL, []))


def test_a_message_is_not_a_name():
    flag = new_graph().addVariable(BOOL, [])
    assert Abort("lost").message == "lost"
    assert Abort(debugContext="name").message == ""
    assert AbortOnCondition(flag, "lost", "name").debug.getPathName() == "name"
    assert (AbortOnCondition(flag).message, Sync(type=SyncType.GLOBAL).sync_type) == ("", SyncType.GLOBAL)


def test_dump_program():
    graph = new_graph()
    flag, x, y = (graph.addVariable(BOOL, [], name) for name in ("flag", "x", "y"))
    function = graph.addFunction(Copy(x, y))
    out = io.StringIO()
    dumpProgram(graph, Repeat(3, If(flag, Call(function), Abort("lost"))), out)
    assert out.getvalue().splitlines() == [
        "Sequence",
        "  Repeat 3 times",
        "    Sequence",
        "      If",
        "        Sequence 'true'",
        "          Call 'function 0'",
        "        Sequence 'false'",
        "          Abort",
        "Sequence 'function 0'",
        "  OnTileExecute 'copy1_Copy_x_to_y/OnTileCopy-0'",
    ]


def test_remote_buffers_and_their_copies():
    graph = new_graph()
    buffer = graph.addRemoteBuffer("rows", FLOAT, 4, repeats=3, optimiseMemory=True)
    assert (buffer.handle(), buffer.numElements(), buffer.getRepeats(), buffer.elementType()) == ("rows", 4, 3, FLOAT)
    assert (buffer.isRearrangeOnHost(), buffer.isOptimisedForMemory()) == (False, True)
    row, rows = graph.addVariable(FLOAT, [4]), graph.addVariable(FLOAT, [2, 4])
    Copy(buffer, row), Copy(row, buffer, "name"), Copy(buffer, rows, graph.addVariable(UNSIGNED_INT, [2]), "name")
    assert Copy(rows, buffer, offset=graph.addVariable(INT, [2])).offset.shape() == [2]
    with pytest.raises(graph_connection_error, match=r"1 rows of remote buffer 'rows' are 4 elements.* has 8"):
        Copy(buffer, rows)
    with pytest.raises(graph_connection_error, match="the offset into remote buffer 'rows' is a scalar or a vector"):
        Copy(buffer, row, graph.addVariable(FLOAT, []))
    with pytest.raises(graph_connection_error, match="holds float, the tensor int"):
        Copy(buffer, graph.addVariable(INT, [4]))
    with pytest.raises(graph_connection_error, match="holds a constant"):
        Copy(buffer, graph.addConstant(FLOAT, [4], 1.0))
    with pytest.raises(graph_object_creation_error, match="'rows' exists already"):
        graph.addRemoteBuffer("rows", FLOAT, 1)
    with pytest.raises(graph_object_creation_error, match="repeats=0 must be a whole number"):
        graph.addRemoteBuffer("more", FLOAT, 1, 0)
    other = new_graph()
    stranger = Copy(buffer, other.addVariable(FLOAT, [4]))
    with pytest.raises(control_program_error, match="remote buffer 'rows' is not of this graph"):
        compileGraph(other, stranger)


def test_calls_of_host_functions():
    graph = new_graph()
    function = graph.addHostFunction("f", [(FLOAT, 2)], [(INT, 1)])
    x, y = graph.addVariable(FLOAT, [2]), graph.addVariable(INT, [1])
    Call(function, [x], [y], "name")
    with pytest.raises(control_program_error, match="needs a list of 1 input tensors, got 0 tensors"):
        Call(function, [], [y])
    with pytest.raises(control_program_error, match="output 0 takes 1 elements of int, the tensor has 2 of float"):
        Call(function, [x], [x])
    with pytest.raises(control_program_error, match="'f': the destination holds a constant"):
        Call(function, [x], [graph.addConstant(INT, [1], 1)])
    with pytest.raises(graph_object_creation_error, match="Host function 'f' exists already"):
        graph.addHostFunction("f", [], [])
    with pytest.raises(graph_object_creation_error, match="inputs are pairs of a type and a number"):
        graph.addHostFunction("g", [FLOAT], [])
    other = new_graph()
    stranger = Call(function, [other.addVariable(FLOAT, [2])], [other.addVariable(INT, [1])])
    with pytest.raises(control_program_error, match="host function 'f' is not of this graph"):
        compileGraph(other, stranger)


def test_what_a_write_undef_cannot_declare_dead():
    graph = new_graph()
    with pytest.raises(graph_connection_error, match="WriteUndef: the destination holds a constant"):
        WriteUndef(graph.addConstant(INT, [1], 1))


def test_tensors_of_another_graph_are_refused_wherever_they_stand():
    graph, other = new_graph(), new_graph()
    flag = other.addVariable(BOOL, [])
    for program in (
        If(flag, NOTHING, NOTHING),
        Repeat(2, RepeatWhileTrue(NOTHING, flag, NOTHING)),
        ErrorProgram("", flag),
    ):
        with pytest.raises(graph_object_creation_error, match="uses a tensor of another graph"):
            compileGraph(graph, program)


def test_copies_by_the_names_of_their_ends():
    graph = new_graph()
    a, b, row = (graph.addVariable(INT, [4]) for _ in range(3))
    inward, outward = graph.addHostToDeviceFIFO("in", INT, 4), graph.addDeviceToHostFIFO("out", INT, 4)
    remote, offset = graph.addRemoteBuffer("remote", INT, 4, 2), graph.addVariable(UNSIGNED_INT, [])
    function = graph.addFunction(NOTHING)
    buffer = graph.addFunctionBuffer(function, FunctionBufferMappingType.LOCAL)
    for copy, kind, ends, context in (
        (Copy(src=a, dst=b, dontOutline=True, debugContext="x"), "tensor", (a, b), "x"),
        (Copy(stream=inward, dst=a, optimiseMemory=True), "host_to_device", (inward, a), ""),
        (Copy(src=a, stream=outward), "device_to_host", (a, outward), ""),
        (Copy(buffer=remote, dst=row), "from_remote", (remote, row), ""),
        (Copy(src=row, buffer=remote, offset=offset), "to_remote", (row, remote), ""),
        (Copy(src=row, buffer=remote), "to_remote", (row, remote), ""),
        (Copy(row, remote, offset, "y"), "to_remote", (row, remote), "y"),
        (Copy(src=buffer, dst=function), "function", (buffer, function), ""),
        (Copy(a, b, "z"), "tensor", (a, b), "z"),
        (Copy(a, b, False, "w"), "tensor", (a, b), "w"),
    ):
        assert (copy.kind, (copy.source, copy.destination), copy.debug.getPathName()) == (kind, ends, context)
    assert Copy(src=a, dst=b, dontOutline=True).dont_outline
    assert Copy(stream=inward, dst=a, optimiseMemory=True).optimise_memory
    assert Copy(src=row, buffer=remote, offset=offset).offset is offset
    for wrong, message in (
        (lambda: Copy(a), "has a source and a destination"),
        (lambda: Copy(src=a, to=b), "has no argument 'to'"),
        (lambda: Copy(a, b, stream=inward), "has no argument 'stream'"),
        (lambda: Copy(a, b, True, "x", "y"), "'y' is one argument too many"),
    ):
        with pytest.raises(graph_connection_error, match=message):
            wrong()


def test_prints_by_the_names_of_their_arguments():
    t, fmt = new_graph().addVariable(INT, [4]), PrintTensorFmt(digits=2)
    for made, title, form, context in (
        (PrintTensor(title="a", t=t, fmt=fmt, debugContext="x"), "a", fmt, "x"),
        (PrintTensor("b", t, fmt, "y"), "b", fmt, "y"),
        (PrintTensor(t=t), "", PrintTensorFmt(), ""),
        (PrintTensor(t, "z"), "", PrintTensorFmt(), "z"),
        (PrintTensor(t, fmt), "", fmt, ""),
    ):
        assert (made.title, made.tensor, made.format, made.debug.getPathName()) == (title, t, form, context)
    with pytest.raises(control_program_error, match="'x' is one argument too many"):
        PrintTensor("a", t, fmt, "y", "x")
