"""Values that live only at the addresses that the report claims: programs that must agree, and faults that must not."""

import io
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.formats.profile.model import CATEGORIES
from simulator.base.errors import invalid_option, poplar_error
from simulator.base.options.run import RunSettings
from simulator.codelets.vertex import InOut, Input, Output, Vector, VectorList, Vertex
from simulator.poplar import FLOAT, HALF, INT, Device, Engine, Graph, IPUModel, compileGraph
from simulator.poplar.program import Call, Copy, CrossReplicaCopy, Execute, PrintTensor, Repeat, Sequence, WriteUndef
from simulator.poplibs import popops
from simulator.poplibs.poplin import matMul
from simulator.runtime.engine_core import EngineCore
from simulator.runtime.values.numeric_plan import NumericPlan
from tests.example_profiles import costly
from tests.runtime.both_engines import ACCURATE, Workbench, graph_of, results, scattered

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.parametrize(
    ("tutorial", "tiles"), [("tut1_variables", "4"), ("tut2_operations", "7"), ("tut3_vertices", "16")]
)
def test_tutorials_print_the_same(tutorial, tiles, tmp_path):
    printed = []
    for accurate in ("0", "1"):
        environment = os.environ | {"POPVISION_TILES": tiles, "POPVISION_ADDRESS_ACCURATE": accurate}
        done = subprocess.run(
            [sys.executable, str(EXAMPLES / f"{tutorial}.py")],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        printed.append((done.stdout, done.stderr))
    assert "Program complete" in printed[0][0]
    assert printed[0] == printed[1]


class Blend(Vertex):
    """Scalars, vectors and lists of vectors; two outputs, one of them read as well."""

    scale = Input(FLOAT)
    xs = Input(VectorList(FLOAT))
    total = Output(FLOAT)
    state = InOut(Vector(FLOAT))

    def compute(self) -> None:
        for x in self.xs:
            self.state[:] = self.state + self.scale * np.resize(x, len(self.state))
        self.total = float(np.sum(self.state))


def blend(bench, a, b, state, total, name):
    """A compute set whose operands are whole, split and remote at once."""
    cs = bench.graph.addComputeSet(name)
    for i in range(state.dim(0)):
        vertex = bench.graph.addVertex(cs, "Blend")
        bench.graph.setTileMapping(vertex, (3 * i + 1) % bench.graph.getTarget().getNumTiles())
        bench.graph.connect(vertex["scale"], a[i, 0])
        bench.graph.connect(vertex["xs"], [a[i], b[i], b[:, i % b.dim(1)]])
        bench.graph.connect(vertex["state"], state[i])
        bench.graph.connect(vertex["total"], total[i])
    return Execute(cs)


@pytest.mark.parametrize("tiles", [4, 7, 16])
def test_loops_functions_streams_and_vertices_of_ones_own(tiles):
    """A loop within a function called twice, operands that are gathered, results that are scattered."""

    def run(options):
        bench = Workbench(tiles)
        graph = bench.graph
        graph.addCodelets(Blend)
        a, b = bench.give(FLOAT, [5, 6], "a"), bench.give(FLOAT, [5, 6], "b", run=4)
        state, total = bench.give(FLOAT, [5, 7], "state", run=2), scattered(graph, FLOAT, [5], "total", 1, 1)
        incoming = graph.addHostToDeviceFIFO("incoming", FLOAT, 30)
        outgoing = graph.addDeviceToHostFIFO("outgoing", FLOAT, 35)
        body = Sequence(Copy(incoming, b), blend(bench, a, b, state, total, "blend"))
        grown = popops.mul(graph, state, total.reshape([5, 1]), body, "grown")
        body.add(Copy(grown, outgoing))
        popops.mulInPlace(graph, state, 0.5, body, "shrink")
        function = graph.addFunction(Repeat(3, body))
        rounds = Sequence(Call(function), Copy(a.flatten().slice(0, 15), b.flatten().slice(15, 30)), Call(function))
        rounds.add(PrintTensor("state", state))
        bench.take(state, "state after")
        bench.take(total, "total")
        rng = np.random.default_rng(3)
        fed, drained, printed = rng.normal(size=(6, 30)).astype(np.float32), [], io.StringIO()

        def connect(engine):
            engine.connectStream("incoming", fed)
            engine.connectStreamToCallback("outgoing", lambda values: drained.append(values.copy()))
            engine.setPrintTensorStream(printed)

        found = results(bench.device, graph, rounds, bench.inputs, bench.outputs, options, connect)
        return found, np.array(drained), printed.getvalue()

    (ordinary, sent, text), (accurate, drained, said) = run({}), run(ACCURATE)
    assert all(np.array_equal(ordinary[name], accurate[name]) for name in ordinary)
    assert sent.shape == (12, 35)
    assert np.array_equal(sent, drained)
    assert text == said


def test_replicas_and_copies_between_ipus_and_replicas():
    def run(options):
        device, graph = graph_of(4, ipus=2, replicas=2)
        mine, other, sum_ = (graph.addVariable(FLOAT, [6, 5], name) for name in ("mine", "other", "sum"))
        for tensor, tile in ((mine, 1), (other, 6)):
            graph.setTileMapping(tensor, tile)
        graph.setTileMapping(sum_.slice(0, 3), 2)
        graph.setTileMapping(sum_.slice(3, 6), 7)
        program = Sequence(CrossReplicaCopy(mine, other, {0: 1, 1: 0}), Copy(mine.transpose().reshape([6, 5]), sum_))
        popops.addInPlace(graph, sum_, other, program, "sum")
        matMulled = matMul(graph, sum_, other.transpose(), program, FLOAT, "product")
        graph.createHostWrite("mine", mine)
        graph.createHostRead("sum", sum_)
        graph.createHostRead("product", matMulled)
        values = np.arange(60, dtype=np.float32) / 8
        outputs = {"sum": np.dtype(np.float32), "product": np.dtype(np.float32)}
        return results(device, graph, program, {"mine": values}, outputs, options)

    ordinary, accurate = run({}), run(ACCURATE)
    assert ordinary["sum"].any()
    assert np.array_equal(ordinary["sum"], accurate["sum"])
    np.testing.assert_allclose(accurate["product"], ordinary["product"], rtol=1e-6)


@pytest.mark.parametrize(("source", "destination"), [((3, 4), (7, 4)), ((0, 4), (0, 1)), ((0, 4, 5), (4, 4, 6))])
def test_a_copy_to_another_ipu_leaves_nothing_behind_on_its_tiles(source, destination):
    """What stays on a tile is copied there, also if there is no exchange within its IPU with which it could ride."""

    def run(options):
        device, graph = graph_of(4, ipus=2)
        a, b = (graph.addVariable(INT, [2 * len(source)], name) for name in "ab")
        for i, tiles in enumerate(zip(source, destination, strict=True)):
            for tensor, tile in zip((a, b), tiles, strict=True):
                graph.setTileMapping(tensor[2 * i : 2 * i + 2], tile)
        graph.createHostWrite("a", a)
        graph.createHostRead("b", b)
        values = np.arange(2 * len(source), dtype=np.int32) + 1
        return values, results(device, graph, Copy(a, b), {"a": values}, {"b": np.dtype(np.int32)}, options)["b"]

    for options in ({}, ACCURATE):
        values, found = run(options)
        assert np.array_equal(found, values)


def test_programs_meet_what_others_left_behind():
    """Three programs in turn: what one leaves in a variable is there for the next, whatever shared its memory."""
    device, graph = graph_of(7)
    a, b, c = (scattered(graph, INT, [40], name, seed) for seed, name in enumerate("abc"))
    first, second, third = Sequence(Copy(a, b)), Sequence(), Sequence()
    doubled = popops.add(graph, b, b, second, "double")
    second.add(Copy(popops.mul(graph, doubled, a, second, "mul"), c))
    third.add(Copy(popops.add(graph, c, b, third, "add"), a))
    for name, tensor in (("a", a), ("c", c)):
        graph.createHostRead(name, tensor)
    graph.createHostWrite("start", a)
    outputs = {"a": np.dtype(np.int32), "c": np.dtype(np.int32)}
    given_ = {"start": np.arange(40, dtype=np.int32) % 5}
    ordinary, accurate = (
        results(device, graph, [first, second, third], given_, outputs, options) for options in ({}, ACCURATE)
    )
    assert ordinary["a"].any()
    assert all(np.array_equal(ordinary[name], accurate[name]) for name in outputs)


# Planted faults


def chain(tiles=7):
    """x -> y -> z -> product, temporaries that take each other's place, and remote operands."""
    bench = Workbench(tiles)
    graph, prog = bench.graph, bench.program
    x, w = bench.give(FLOAT, [8, 12], "x"), bench.give(FLOAT, [12, 10], "w")
    y = popops.mul(graph, x, x, prog, "square")
    z = popops.add(graph, y, x, prog, "sum")
    moved = scattered(graph, FLOAT, [8, 12], "moved", 4)
    prog.add(Copy(z, moved))
    bench.take(matMul(graph, moved, w, prog, FLOAT, "product"), "product")
    return bench


def outcome(compiled, bench):
    """The product of a compiled chain by the addresses of its report."""
    plan = NumericPlan(compiled.source.store, compiled.source.programs)
    core = EngineCore(compiled, plan, RunSettings(recording=False, runs_kept=0))
    core.load()
    for handle, values in bench.inputs.items():
        core.write(handle, values)
    core.run(0, "")
    found = np.zeros(sum(t.numElements() for _, name, t in bench.graph.store.host_copies if name == "product"), "f4")
    core.read("product", found)
    return found


@pytest.fixture(scope="module")
def planted():
    """(compiled chain, bench, right product)"""
    bench = chain()
    compiled = compileGraph(bench.graph, [bench.program], ACCURATE).compiled
    right = bench.run(False)["product"]
    np.testing.assert_allclose(outcome(compiled, bench), right, rtol=1e-6)
    return compiled, bench, right


def agrees(planted_, compilation):
    compiled, bench, right = planted_
    try:
        found = outcome(replace(compiled, compilation=compilation), bench)
    except poplar_error:
        return False
    return np.allclose(found, right, rtol=1e-5, equal_nan=False)


def test_a_wrong_address_is_found(planted):
    """A live variable that the report puts onto its neighbour, one byte or one tile away from its own place."""
    report = planted[0].compilation
    names = report.lowered_names
    for shift in (-8, 8):
        missed = []
        for wanted in ("x", "w", "moved", "square/Op/Multiply/Out"):
            tiles = list(report.lowered)
            for i, tile in enumerate(tiles):
                row = np.array([names[n] == wanted for n in tile.name])
                if row.any() and tile.bytes[row].sum() >= 8:
                    tiles[i] = replace(tile, address=tile.address + np.where(row, shift, 0))
            if agrees(planted, replace(report, lowered=tiles)):
                missed.append(wanted)
        assert len(missed) < 4  # something that is alive lies on one side of it
    swapped = list(report.lowered)
    swapped[2] = replace(swapped[2], address=np.roll(swapped[2].address, 1))
    assert not agrees(planted, replace(report, lowered=swapped))


def test_a_wrong_tile_is_found(planted):
    """The share of one tile listed on the next: sizes or addresses no longer fit the mapping."""
    report = planted[0].compilation
    tiles = list(report.lowered)
    tiles[1], tiles[2] = replace(tiles[1], tile=2), replace(tiles[2], tile=1)
    assert not agrees(planted, replace(report, lowered=tiles))


def test_every_dropped_message_is_found(planted):
    report = planted[0].compilation
    assert len(report.messages) >= 4
    for number, message in enumerate(report.messages):
        if message.program == report.messages[0].program:
            continue  # the broadcast of the program number carries no variable
        messages = list(report.messages)
        messages[number] = replace(message, src=message.src[1:], dst=message.dst[1:], bytes=message.bytes[1:])
        assert not agrees(planted, replace(report, messages=messages)), number


def test_a_transfer_that_moves_nothing_is_found(planted):
    """The compiler forgets the rows of an exchange whose messages it reports."""
    compiled, bench, _ = planted
    kept = compiled.arrangements
    for number, plan in kept.plans.computes.items():
        rows = plan.arranged.before
        if not len(rows) or plan.before.internal is None:
            continue
        none = np.zeros(len(rows), np.int64)
        broken = replace(plan, arranged=replace(plan.arranged, before=replace(rows, length=none)))
        plans = _with(kept.plans, computes={**kept.plans.computes, number: broken})
        with pytest.raises(poplar_error):
            outcome(replace(compiled, arrangements=replace(kept, plans=plans)), bench)


def _with(object_, **attributes):
    import copy

    other = copy.copy(object_)
    vars(other).update(attributes)
    return other


def test_every_liveness_range_that_ends_one_too_early_is_found(planted):
    """Of each class of variables, parts of them and buffers in turn. A range of one index holds what is written and
    never read (padding), which nothing can miss."""
    report = planted[0].compilation
    live = report.eq_classes
    read = _ranges_that_are_read(report)
    assert len(read) >= 12
    for row in read.tolist():
        ends = live.ends.copy()
        ends[row] -= 1
        assert not agrees(planted, replace(report, eq_classes=replace(live, ends=ends))), row


def test_every_liveness_range_that_begins_one_too_late_is_found(planted):
    report = planted[0].compilation
    live = report.eq_classes
    for row in _ranges_that_are_read(report).tolist():
        starts = live.starts.copy()
        starts[row] += 1
        assert not agrees(planted, replace(report, eq_classes=replace(live, starts=starts))), row


def _ranges_that_are_read(report):
    """Ranges of more than one index, of classes that some bytes have: a class of a whole variable may belong to none of
    its parts. Without those of messages: readTensor and writeTensor access values at their places."""
    live, message = report.eq_classes, CATEGORIES.index("hostMessage")
    parts = [tile.eq_class[(tile.eq_class >= 0) & (tile.category != message)] for tile in report.lowered]
    of_range = np.repeat(np.arange(len(live.offsets) - 1), np.diff(live.offsets))
    return np.flatnonzero(np.isin(of_range, np.concatenate(parts)) & (live.ends - live.starts > 1))


@pytest.fixture(scope="module", params=[(5, 1), (3, 2)], ids=["one IPU", "two IPUs"])
def rearranged(request):
    """(compiled compute set with operands gathered and results scattered, bench, what becomes of its states)"""
    tiles, ipus = request.param
    bench = Workbench(tiles, seed=4)
    bench.device, bench.graph = graph_of(tiles, ipus)
    bench.graph.addCodelets(Blend)
    a, b = bench.give(FLOAT, [5, 6], "a"), bench.give(FLOAT, [5, 6], "b", run=4)
    given_ = bench.give(FLOAT, [5, 7], "given", run=2)
    state, total = scattered(bench.graph, FLOAT, [5, 7], "state", 3, 2), scattered(bench.graph, FLOAT, [5], "t", 1, 1)
    doubled = popops.add(bench.graph, a, a, bench.program, "doubled")
    bench.program.add(Sequence(Copy(given_, state), blend(bench, doubled, b, state, total, "blend")))
    bench.take(popops.add(bench.graph, state, total.reshape([5, 1]), bench.program, "sum"), "product")
    compiled = compileGraph(bench.graph, [bench.program], ACCURATE).compiled
    return compiled, bench, bench.run(False)["product"]


@pytest.mark.parametrize("side", ["starts", "ends"])
def test_every_range_of_gathered_and_scattered_operands_is_needed(rearranged, side):
    """One index less at either end shows, of variables, gather buffers, packets and outputs on their way."""
    report = rearranged[0].compilation
    live = report.eq_classes
    categories = {CATEGORIES[c] for tile in report.lowered for c in tile.category[tile.eq_class >= 0].tolist()}
    assert categories >= {"variable", "message", "rearrangement", "outputEdge"}
    assert agrees(rearranged, report)
    for row in _ranges_that_are_read(report).tolist():
        column = getattr(live, side).copy()
        column[row] += 1 if side == "starts" else -1
        assert not agrees(rearranged, replace(report, eq_classes=replace(live, **{side: column}))), row


def test_parts_of_a_variable_that_do_not_lie_in_one_run_are_refused(planted):
    """Of the first variable of the product that has several parts on a tile, the last lies elsewhere."""
    report = planted[0].compilation
    tiles, name = list(report.lowered), None
    for i, tile in enumerate(tiles):
        own = [n for n in set(tile.name.tolist()) if report.lowered_names[n].startswith("product/Conv_1/")]
        parts = [np.flatnonzero(tile.name == n) for n in own if (tile.name == n).sum() > 1]
        if parts:
            name = report.lowered_names[tile.name[parts[0][0]]]
            address = tile.address.copy()
            address[parts[0][-1]] += 1 << 15
            tiles[i] = replace(tile, address=address)
            break
    with pytest.raises(poplar_error, match=f"'{name}' two places on tile"):
        outcome(replace(planted[0], compilation=replace(report, lowered=tiles)), planted[1])


def test_overlapping_variables_that_are_live_together_are_found(planted):
    """All temporaries of a tile at the address of the first."""
    report = planted[0].compilation
    tiles = []
    for tile in report.lowered:
        first = tile.address[tile.eq_class >= 0].min(initial=1 << 40)
        tiles.append(replace(tile, address=np.where(tile.eq_class >= 0, first, tile.address)))
    assert not agrees(planted, replace(report, lowered=tiles))


def test_a_write_onto_code_or_vertex_state_is_found(planted):
    report = planted[0].compilation
    tiles = []
    for tile in report.lowered:
        own = np.array([report.lowered_names[n] not in planted[1].graph.store.variables.name for n in tile.name])
        fixed = own & (tile.eq_class < 0) & (tile.bytes >= 16)
        x = np.array([report.lowered_names[n] == "moved" for n in tile.name])
        to = tile.address[np.argmax(fixed)] + tile.address - tile.address[x].min(initial=1 << 40)  # all its parts
        tiles.append(replace(tile, address=np.where(x & fixed.any(), to, tile.address)))
    with pytest.raises(poplar_error, match="A program wrote into"):
        outcome(replace(planted[0], compilation=replace(report, lowered=tiles)), planted[1])


# Refusals


def test_large_targets_and_cpus_are_refused(monkeypatch):
    graph = Graph(IPUModel().createDevice())
    with pytest.raises(invalid_option, match="takes at most 64 tiles, the target has 1472; set tilesPerIPU"):
        Engine(graph, Sequence(), ACCURATE)
    monkeypatch.setenv("POPVISION_ADDRESS_ACCURATE", "1")
    with pytest.raises(invalid_option, match="at most 64 tiles"):
        Engine(graph, Sequence())
    Engine(graph, Sequence(), {"popvision.addressAccurate": "false"}).close()
    with pytest.raises(invalid_option, match="a CPU has no tiles with addresses"):
        Engine(Graph(Device.createCPUDevice()), Sequence())


# Random graphs

KINDS = ["copy", "slice", "add", "mul", "scale", "product", "undef", "repeat", "call"]
steps = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, 999)),
    min_size=1,
    max_size=9,
)


@costly()
@given(st.sampled_from([4, 7, 16]), st.sampled_from([FLOAT, HALF]), st.integers(0, 10_000), steps)
def test_random_graphs(tiles, type_, seed, steps_):
    bench = Workbench(tiles, seed)
    graph = bench.graph
    tensors = [bench.give(type_, [4, 3], f"v{i}", run=1 + i) for i in range(3)]
    tensors += [scattered(graph, type_, [4, 3], f"t{i}", seed + i, 2) for i in range(2)]
    outer, prog = bench.program, bench.program
    for t in tensors[3:]:
        outer.add(Copy(tensors[0], t))
    for number, (kind, choice) in enumerate(steps_):
        a, b = tensors[choice % len(tensors)], tensors[choice // 7 % len(tensors)]
        name = f"{kind}{number}"
        if kind == "copy" and a is not b:
            prog.add(Copy(a, b))
        elif kind == "slice" and a is not b:
            first = choice % 9
            prog.add(Copy(a.transpose()[choice % 3], b.flatten().slice(first, first + 4)))
        elif kind in ("add", "mul"):
            tensors.append(getattr(popops, kind)(graph, a, b, prog, name))
        elif kind == "scale":
            popops.mulInPlace(graph, a, 0.5, prog, name)
        elif kind == "product":
            square = matMul(graph, a, b.transpose(), prog, type_, name)
            tensors.append(matMul(graph, square, b, prog, type_, f"{name}/back"))
            popops.mulInPlace(graph, tensors[-1], 0.125, prog, f"{name}/small")
        elif kind == "undef":
            prog.add(WriteUndef(a))
            prog.add(Copy(tensors[1], a) if a is not tensors[1] else Copy(tensors[2], a))
        elif kind == "repeat":
            body = Sequence()
            popops.addInPlace(graph, a, popops.mul(graph, b, 0.25, body, name), body, name)
            prog.add(Repeat(2, body))
        elif kind == "call":
            body = Sequence()
            popops.mulInPlace(graph, a, popops.sub(graph, b, a, body, name), body, name)
            function = graph.addFunction(body)
            prog.add(Sequence(Call(function), Call(function)))
    for i, tensor in enumerate(tensors):
        bench.take(tensor, f"r{i}")
    bench.check(exact=False, runs=2)
