"""debug.verify finds reads of elements that nothing can have written, with the program that reads, and no others."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from simulator.codelets.vertex import InOut, Input, Vector, Vertex
from simulator.poplar import FLOAT, UNSIGNED_INT, Engine, Graph, Target, TargetType, control_program_error
from simulator.poplar.program import (
    AbortOnCondition,
    Call,
    Copy,
    Execute,
    If,
    PrintTensor,
    Repeat,
    RepeatWhileTrue,
    Sequence,
    Switch,
    WriteUndef,
)
from simulator.poplibs import popops
from tests.compiler.tiny_graphs import Scale, model

ON = {"debug.verify": "true"}


class Add(Vertex):
    """total += x"""

    x = Input(Vector(FLOAT))
    total = InOut(Vector(FLOAT))

    def compute(self):
        self.total[:] += self.x


class Tensors:
    """`a`, `b`, `c` of 4 floats, on tiles 0 to 2; `flag` on tile 0."""

    def __init__(self, target=None):
        self.graph = graph = Graph(target or model(tiles=4))
        graph.addCodelets(Scale)
        graph.addCodelets(Add)
        self.a, self.b, self.c = (graph.addVariable(FLOAT, [4], name) for name in "abc")
        self.flag = graph.addVariable(UNSIGNED_INT, [], "flag")
        for tile, t in enumerate((self.a, self.b, self.c)):
            graph.setTileMapping(t, tile)
        graph.setTileMapping(self.flag, 0)
        self.one = graph.addConstant(FLOAT, [4], 1.0, "one")
        graph.setTileMapping(self.one, 0)

    def execute(self, kind, **fields):
        compute_set = self.graph.addComputeSet("compute")
        self.graph.setTileMapping(self.graph.addVertex(compute_set, kind, fields), 3)
        return Execute(compute_set)

    def compiles(self, *programs):
        Engine(self.graph, list(programs), ON).close()
        return True

    def fails(self, says, *programs):
        Engine(self.graph, list(programs)).close()  # without the option nobody looks
        with pytest.raises(control_program_error) as caught:
            Engine(self.graph, list(programs), ON)
        assert str(caught.value) == (
            f"debug.verify: {says} before anything wrote it; write it before, or give it an initial value."
        )


@pytest.fixture
def t():
    return Tensors()


def test_the_copy_that_reads_first_is_named(t):
    t.fails("Copy from 'a' to 'b' reads 'a'", Copy(t.a, t.b))
    t.fails("Copy 'early' from 'a' to 'b' reads 'a'", Sequence(Copy(t.a, t.b, "early"), Copy(t.one, t.a)))


def test_elements_are_told_apart(t):
    t.fails("Copy from 'a' to 'b' reads elements 2 to 4 of 'a'", Sequence(Copy(t.one[:2], t.a[:2]), Copy(t.a, t.b)))
    t.fails("Copy from 'a' to 'b' reads element 3 of 'a'", Sequence(Copy(t.one[:3], t.a[:3]), Copy(t.a, t.b)))
    assert t.compiles(Sequence(Copy(t.one[:2], t.a[:2]), Copy(t.a[:2], t.b[:2])))


@pytest.mark.parametrize("source", ["constant", "initial", "host write", "stream", "remote buffer", "vertex"])
def test_what_counts_as_written(t, source):
    write = Sequence()
    if source == "constant":
        write = Copy(t.one, t.a)
    elif source == "initial":
        t.graph.setInitialValue(t.a, [1.0, 2, 3, 4])
    elif source == "host write":
        t.graph.createHostWrite("a", t.a)
    elif source == "stream":
        write = Copy(t.graph.addHostToDeviceFIFO("in", FLOAT, 4), t.a)
    elif source == "remote buffer":
        write = Copy(t.graph.addRemoteBuffer("far", FLOAT, 4), t.a)
    else:
        write = t.execute("Scale", x=t.one, y=t.a)
    assert t.compiles(Sequence(write, Copy(t.a, t.b)))


def test_a_host_read_writes_nothing(t):
    t.graph.createHostRead("a", t.a)
    t.fails("Copy from 'a' to 'b' reads 'a'", Copy(t.a, t.b))


def test_stream_and_remote_copies_name_their_end(t):
    out, far = t.graph.addDeviceToHostFIFO("out", FLOAT, 4), t.graph.addRemoteBuffer("far", FLOAT, 4, 2)
    t.fails("Copy from 'a' to 'out' reads 'a'", Copy(t.a, out))
    t.fails("Copy from 'far' to 'a' reads 'flag'", Copy(far, t.a, t.flag))


def test_the_field_of_a_compute_set_is_named(t):
    says = "compute set 'compute' (field 'x' of a vertex Scale on tile 3) reads 'a'"
    t.fails(says, t.execute("Scale", x=t.a, y=t.b))
    assert t.compiles(t.execute("Add", x=t.one, total=t.b)), "an in-out field may fill a tensor"


def test_control_values_are_reads(t):
    t.fails("If reads 'flag'", If(t.flag, Sequence(), Sequence()))
    t.fails("Switch reads 'flag'", Switch(t.flag, [(1, Copy(t.one, t.a))]))
    t.fails("RepeatWhileTrue reads 'flag'", RepeatWhileTrue(Sequence(), t.flag, Sequence()))
    t.fails("AbortOnCondition reads 'flag'", AbortOnCondition(t.flag))
    t.fails("PrintTensor reads 'a'", PrintTensor("a", t.a))


def test_a_branch_does_not_see_what_the_other_wrote(t):
    t.graph.setInitialValue(t.flag, 1)
    says = "Copy from 'a' to 'b' reads 'a'"
    t.fails(says, If(t.flag, Copy(t.one, t.a), Copy(t.a, t.b)))
    assert t.compiles(Sequence(If(t.flag, Copy(t.one, t.a), Sequence()), Copy(t.a, t.b))), "one branch may have"


def test_the_first_trip_of_a_loop_counts(t):
    t.fails("Copy from 'a' to 'b' reads 'a'", Repeat(3, Sequence(Copy(t.a, t.b), Copy(t.one, t.a))))
    assert t.compiles(Repeat(0, Copy(t.a, t.b)))


def test_write_undef_takes_values_away(t):
    taken = Sequence(Copy(t.a, t.b), WriteUndef(t.a))
    t.fails("Copy from 'a' to 'b' reads 'a'", Sequence(Copy(t.one, t.a), WriteUndef(t.a), Copy(t.a, t.b)))
    t.fails("Copy from 'a' to 'b' reads 'a'", Sequence(Copy(t.one, t.a), Repeat(2, taken)))
    assert t.compiles(Sequence(Copy(t.one, t.a), Repeat(1, taken)))
    t.graph.setInitialValue(t.flag, 1)
    loop = RepeatWhileTrue(Sequence(), t.flag, taken)
    t.fails("Copy from 'a' to 'b' reads 'a'", Sequence(Copy(t.one, t.a), loop))


def test_functions_are_followed_at_each_call(t):
    function = t.graph.addFunction(Copy(t.a, t.b))
    t.fails("Copy from 'a' to 'b' reads 'a'", Sequence(Call(function), Copy(t.one, t.a)))
    assert t.compiles(Sequence(Copy(t.one, t.a), Call(function)))


def test_other_programs_may_have_run(t):
    assert t.compiles(Copy(t.a, t.b), Copy(t.one, t.a))
    t.fails("Copy from 'b' to 'c' reads 'b'", Copy(t.one, t.a), Copy(t.b, t.c))


def test_library_operations(t):
    prog = Sequence()
    popops.mulInPlace(t.graph, t.b, t.a, prog, "times")
    with pytest.raises(control_program_error, match=r"library operation .* reads 'a' before anything wrote it"):
        t.compiles(prog)
    assert t.compiles(Sequence(Copy(t.one, t.a), prog)), "an in-out tensor is no read"


def test_a_cpu_target_is_not_verified():
    t = Tensors(Target(TargetType.CPU))
    for tensor in (t.a, t.b, t.c):
        t.graph.setTileMapping(tensor, 0)
    assert t.compiles(Copy(t.a, t.b))


Trees = st.recursive(
    st.tuples(st.sampled_from(["copy", "undef", "set"]), st.integers(0, 2), st.integers(1, 2)),
    lambda inner: st.one_of(
        st.tuples(st.just("seq"), st.lists(inner, max_size=4)),
        st.tuples(st.just("if"), inner, inner),
        st.tuples(st.just("repeat"), st.integers(0, 3), inner),
    ),
    max_leaves=12,
)


def paths(tree, place=()):
    """Every straight run of a tree, as (leaf, its place); the trips of a loop are places of their own."""
    match tree:
        case "seq", parts:
            runs = [[]]
            for number, part in enumerate(parts):
                runs = [run + more for run in runs for more in paths(part, (*place, number))]
            return runs
        case "if", one, other:
            return paths(one, (*place, "true")) + paths(other, (*place, "false"))
        case "repeat", count, body:
            return paths(("seq", [body] * count), place)
        case leaf:
            return [[(leaf, place)]]


def build(tree, t, tensors):
    match tree:
        case "seq", parts:
            return Sequence([build(part, t, tensors) for part in parts])
        case "if", one, other:
            return If(t.flag, build(one, t, tensors), build(other, t, tensors))
        case "repeat", count, body:
            return Repeat(count, build(body, t, tensors))
        case "copy", at, step:
            return Copy(tensors[at], tensors[(at + step) % 3])
        case "undef", at, _:
            return WriteUndef(tensors[at])
        case "set", at, _:
            return Copy(t.one, tensors[at])


def reads(run):
    """(place, whether the tensor was written before) of the copies in a straight run."""
    written = set()
    for (kind, at, step), place in run:
        if kind == "copy":
            yield place, at in written
            written.add((at + step) % 3)
        elif kind == "undef":
            written.discard(at)
        else:
            written.add(at)


@given(Trees)
def test_a_fault_is_a_copy_that_no_run_reaches_with_a_written_source(tree):
    """The twin walks through every straight run."""
    runs = paths(tree)
    assume(len(runs) < 1000)
    sound: dict[object, bool] = {}
    for run in runs:
        for place, good in reads(run):
            sound[place] = sound.get(place, False) or good
    t = Tensors()
    t.graph.setInitialValue(t.flag, 1)
    program = build(tree, t, (t.a, t.b, t.c))
    if all(sound.values()):
        assert t.compiles(program)
    else:
        with pytest.raises(control_program_error, match="before anything wrote it"):
            t.compiles(program)
