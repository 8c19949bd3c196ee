"""Memory and liveness of small programs, as `Engine.getReport` gives them, against figures worked out by hand.

Four tiles; every variable lies on one tile, so that who holds what when can be counted on paper.
"""

from collections import Counter

import pytest

from simulator.codelets.vertex import Input, Output, Vector, Vertex
from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Copy, Execute, PrintTensor, Repeat, Sequence, WriteUndef
from simulator.poplibs import popops

ELEMENT = 16 * 1024
STACK = 3168
#: A call, in bytes of control code.
CALL = 8


class Total(Vertex):
    x = Input(Vector(FLOAT))
    out = Output(FLOAT)

    def compute(self):
        self.out = self.x.sum()

    @classmethod
    def estimate(cls, sizes, values, target):
        return 10, 0


class Bench:
    """A graph on four tiles, a program, and the compilation that the report of an engine describes."""

    def __init__(self, folder, **model):
        device_model = IPUModel()
        device_model.tilesPerIPU = 4
        for name, value in model.items():
            setattr(device_model, name, value)
        self.graph, self.program, self._folder = Graph(device_model.createDevice()), Sequence(), folder

    def variable(self, name, floats, tile):
        tensor = self.graph.addVariable(FLOAT, [floats], name)
        self.graph.setTileMapping(tensor, tile)
        return tensor

    def constant(self, name, values, tile):
        tensor = self.graph.addConstant(FLOAT, [len(values)], values, name)
        self.graph.setTileMapping(tensor, tile)
        return tensor

    def given(self, name, floats, tile):
        tensor = self.variable(name, floats, tile)
        self.graph.createHostWrite(name, tensor)
        return tensor

    def taken(self, name, floats, tile):
        tensor = self.variable(name, floats, tile)
        self.graph.createHostRead(name, tensor)
        return tensor

    def compiled(self):
        options = {"autoReport.outputGraphProfile": "true", "autoReport.directory": str(self._folder)}
        with Engine(self.graph, self.program, options) as engine:
            return engine.getReport().compilation


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def always(compilation):
    """Bytes by name of what is always live and no category of the compiler's own."""
    own = {"hostExchangePacketHeader", "controlId", "vertexInstanceState", "vertexFieldData", "copyDescriptor"}
    return {v.name: v.size for v in compilation.alwaysLiveVariables if v.name not in own}


def live(compilation):
    """[(part of a program's name, {variable: bytes})] of the indices at which anything is live at times."""
    found = []
    for step in compilation.livenessProgramSteps:
        memory = step.notAlwaysLiveMemory
        sizes = Counter()
        for variable in memory.variables:  # parts of a variable have its name
            sizes[variable.name] += variable.size
        assert sum(sizes.values()) == memory.bytes
        if sizes:
            found.append((step.program.name, sizes))
    return found


def test_what_lies_between_two_copies(bench):
    a, b, c = bench.given("a", 100, 0), bench.variable("b", 100, 1), bench.taken("c", 100, 2)
    bench.program.add(Copy(a, b))
    bench.program.add(Copy(b, c))
    found = bench.compiled()
    assert always(found) == {"a": 400, "c": 400}
    assert [sizes for _, sizes in live(found)] == [{"b": 400}, {"b": 400}]
    assert [tile.memory.notAlwaysLiveBytes for tile in found.tiles] == [0, 400, 0, 0]


def test_temporaries_of_a_chain_of_operations(bench):
    x = bench.given("x", 256, 0)
    y = popops.mul(bench.graph, x, x, bench.program, "y")
    z = popops.add(bench.graph, y, y, bench.program, "z")
    w = popops.mul(bench.graph, z, z, bench.program, "w")
    bench.graph.createHostRead("w", w)
    found = bench.compiled()
    assert [sorted(sizes.values()) for _, sizes in live(found)] == [[1024], [1024, 1024], [1024]]
    memory = found.tiles[0].memory
    assert memory.notAlwaysLiveBytes == 2048
    assert memory.total.excludingGaps == memory.alwaysLiveBytes + 2048


def test_a_result_that_nothing_reads_lives_while_it_is_written(bench):
    bench.program.add(Copy(bench.given("x", 64, 0), bench.variable("dead", 64, 1)))
    assert [sizes for _, sizes in live(bench.compiled())] == [{"dead": 256}]


def test_what_is_read_before_it_is_written_is_always_live(bench):
    bench.program.add(PrintTensor("x", bench.variable("x", 64, 0)))
    found = bench.compiled()
    assert always(found) == {"x": 256}
    assert live(found) == []


def test_a_loop_keeps_what_it_adds_to_and_not_what_it_writes_anew(bench):
    """acc is on tile 1, t on tile 2, so that the addition has t sent to it."""
    x, acc, t = bench.given("x", 64, 0), bench.variable("acc", 64, 1), bench.variable("t", 64, 2)
    zero, out = bench.constant("zero", [0.0] * 64, 3), bench.taken("out", 64, 3)
    body = Sequence(Copy(x, t))
    popops.addInPlace(bench.graph, acc, t, body, "add")
    bench.program.add(Sequence(Copy(zero, acc), Repeat(3, body), Copy(acc, out)))
    found = bench.compiled()
    steps = live(found)
    assert [sizes.get("acc") for _, sizes in steps] == [256] * 7
    assert [sizes.get("t", 0) for _, sizes in steps] == [0, 0, 0, 256, 256, 0, 0]
    message = [sum(size for name, size in sizes.items() if name.endswith("/message")) for _, sizes in steps]
    assert message == [0, 0, 0, 0, 256, 256, 0]
    assert always(found) == {"x": 256, "out": 256}


def test_constants_take_memory_where_a_program_reads_them(bench):
    """One value is written by the tiles that need it; several are sent from where they lie; unused ones are nowhere."""
    for name, values in (("same", [2.0] * 8), ("several", [1.0, 2.0] * 4)):
        bench.program.add(Copy(bench.constant(name, values, 0), bench.taken(f"{name} out", 8, 1)))
    bench.constant("unused", [1.0, 2.0], 2)
    assert always(bench.compiled()) == {"several": 32, "same out": 32, "several out": 32}


def test_unused_variables_take_no_memory(bench):
    bench.variable("unused", 1000, 1)
    found = bench.compiled()
    assert always(found) == {}
    assert found.tiles[1].memory.category.variable.total == 0


def test_parts_of_a_variable_live_from_their_own_writes_to_their_own_reads(bench):
    """Printing keeps copies apart; the place of y on its tile is all of it while any part lives."""
    x, y = bench.given("x", 64, 0), bench.variable("y", 128, 1)
    first, second = bench.taken("first", 64, 2), bench.taken("second", 64, 3)
    halves = [(y.slice(0, 64), first), (y.slice(64, 128), second)]
    for half, _ in halves:
        bench.program.add(Sequence(Copy(x, half), PrintTensor("x", x)))
    for half, out in halves:
        bench.program.add(Sequence(Copy(half, out), PrintTensor("x", x)))
    found = bench.compiled()
    sizes = [sizes["y"] for _, sizes in live(found)]
    copies = [i for i, (name, _) in enumerate(live(found)) if name.endswith("/ExchangePre")]
    assert [sizes[i] for i in copies] == [256, 512, 512, 256]
    assert found.tiles[1].memory.category.variable.total == 512


def test_a_variable_in_too_many_parts_stays_whole(bench):
    """Every other element is read first, the rest later: 20 runs of each, more than a tile's list of parts."""
    x, y = bench.given("x", 40, 0), bench.variable("y", 40, 1)
    first, second = bench.taken("first", 20, 2), bench.taken("second", 20, 3)
    for start, out in ((0, first), (1, second)):
        copy = Copy(y.slice(start, 40).subSample(2, 0), out)
        bench.program.add(Sequence(*([Copy(x, y)] if start == 0 else []), copy, PrintTensor("x", x)))
    sizes = [sizes["y"] for _, sizes in live(bench.compiled())]
    assert len(sizes) > 3
    assert set(sizes) == {160}


def test_elements_that_were_sent_are_dead_when_the_vertex_runs(bench):
    """Half of p is read where it lies on tile 0, half by a vertex on tile 1."""
    bench.graph.addCodelets(Total)
    x, p = bench.given("x", 64, 2), bench.variable("p", 64, 0)
    sums = [bench.taken(f"sum{i}", 1, i) for i in range(2)]
    cs = bench.graph.addComputeSet("sums")
    for i, out in enumerate(sums):
        vertex = bench.graph.addVertex(cs, "Total", {"x": p.slice(32 * i, 32 * i + 32), "out": out[0]})
        bench.graph.setTileMapping(vertex, i)
    bench.program.add(Sequence(Copy(x, p), Execute(cs)))
    steps = [(name.split("/")[-1], sizes) for name, sizes in live(bench.compiled())]
    assert [name for name, _ in steps] == ["ExchangePre", "ExchangePre", "sums"]
    assert [sorted(sizes.values()) for _, sizes in steps] == [[256], [128, 256], [128, 128]]


@pytest.mark.parametrize("marked", [False, True])
def test_write_undef_frees_what_is_never_wholly_written(bench, marked):
    """Half of t is written in each trip, all of it is read: without the mark t must survive from run to run."""
    x, t, out = bench.given("x", 32, 0), bench.variable("t", 64, 1), bench.taken("out", 64, 2)
    mark = Sequence(WriteUndef(t)) if marked else Sequence()
    bench.program.add(Repeat(2, Sequence(mark, Copy(x, t.slice(0, 32)), Copy(t, out))))
    found = bench.compiled()
    assert always(found).get("t", 0) == (0 if marked else 256)
    assert [sizes for _, sizes in live(found)] == ([{"t": 128}, {"t": 256}] if marked else [])


def test_code_and_stack_are_there_when_the_model_compiles_for_the_ipu(tmp_path):
    plain, compiled = (Bench(tmp_path / name, compileIPUCode=name == "code") for name in ("plain", "code"))
    figures = []
    for bench in (plain, compiled):
        bench.program.add(Copy(bench.given("a", 100, 0), bench.taken("b", 100, 1)))
        memory = bench.compiled().tiles[3].memory
        figures.append((memory.category.stack.total, memory.category.controlCode.total, memory.total))
    assert figures[0][:2] == (0, 0)
    assert figures[1][0] == STACK
    assert figures[1][1] > 0
    # Stacks begin at the first memory element without code, so all that is below is a gap.
    assert figures[1][2].includingGaps >= ELEMENT + STACK
    assert figures[1][2].excludingGaps < ELEMENT


def control_bytes(folder, steps: int, times: int, alike: bool = True) -> int:
    """Control code of a tile that a Sequence of `steps` copies, added so many times, adds to an empty program."""
    bench = Bench(folder, compileIPUCode=True)
    a, b = bench.variable("a", 4, 0), bench.variable("b", 4, 1)
    one, other = (Sequence([Copy(*((a, b) if i % 2 == 0 else (b, a))) for i in range(steps)]) for _ in range(2))
    for number in range(times):
        bench.program.add(one if alike or number % 2 == 0 else other)
    return bench.compiled().tiles[0].memory.category.controlCode.total


def test_a_sequence_that_is_added_again_is_called(tmp_path):
    empty, once = control_bytes(tmp_path, 4, 0), control_bytes(tmp_path, 4, 1)
    assert once - empty > 2 * CALL
    twice = control_bytes(tmp_path, 4, 2)
    assert twice == once + 2 * CALL
    assert control_bytes(tmp_path, 4, 10) == twice + 8 * CALL


def test_short_sequences_and_others_that_do_the_same_keep_their_code(tmp_path):
    """A call of a copy would take as much as the copy; which of two Sequences are alike is not searched."""
    empty, once = control_bytes(tmp_path, 1, 0), control_bytes(tmp_path, 1, 1)
    assert control_bytes(tmp_path, 1, 2) <= empty + 2 * (once - empty)
    lone = control_bytes(tmp_path, 4, 1) - empty
    assert control_bytes(tmp_path, 4, 2, alike=False) > empty + lone + 2 * CALL
