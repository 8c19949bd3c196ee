"""Dynamic slices and multi slices: vertices, kernels and NumPy; plans; loops with a counter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from popvision import pva
from simulator.machine.cycles import slices as cycles
from simulator.poplar import (
    BOOL,
    FLOAT,
    HALF,
    INT,
    UNSIGNED_INT,
    Engine,
    Graph,
    IPUModel,
    Target,
    TargetType,
    Tensor,
    concat,
    invalid_option,
)
from simulator.poplar.program import Sequence
from simulator.poplibs import popops
from simulator.poplibs.popops import SlicePlan
from simulator.poplibs.poputil import poplibs_error
from tests.poplibs.programs import both_ways, linear, run_engine, small_graph

Given = tuple[dict[str, tuple[Tensor, Any]], Tensor]
SHAPE = (6, 5, 4)


def wrapped(values: Any, offsets: list[int], dims: list[int], sizes: list[int]) -> Any:
    """NumPy's slice; offsets beyond the end count as 0, and slices that cross the end wrap to the beginning."""
    for offset, dim, size in zip(offsets, dims, sizes, strict=True):
        first = offset if offset < values.shape[dim] else 0
        values = values.take((first + np.arange(size)) % values.shape[dim], dim)
    return values


CASES = [
    ([0], [2], [4]),
    ([1], [3], [4]),
    ([0, 2], [2, 3], [1, 2]),
    ([2], [1], [99]),
    ([2, 0, 1], [1, 6, 2], [3, 0, 2]),
]


@pytest.mark.parametrize(("dims", "sizes", "offsets"), CASES, ids=str)
@pytest.mark.parametrize("made", ["linear", "sliceable", "scattered"])
@pytest.mark.parametrize("type_", [FLOAT, HALF, BOOL], ids=str)
def test_dynamic_slices(type_: Any, made: str, dims: list[int], sizes: list[int], offsets: list[int]) -> None:
    values = np.random.default_rng(1).integers(0, 2 if type_ is BOOL else 99, SHAPE).astype(type_.dtype)

    def build(graph: Graph, program: Sequence) -> Given:
        if made == "sliceable":
            t = popops.createSliceableTensor(graph, type_, SHAPE, dims, sizes)
        else:
            t = linear(graph, type_, list(SHAPE), "t")
        if made == "scattered":
            for i in range(t.numElements()):
                graph.setTileMapping(t.flatten()[i], i * 7 % 8)
        o = linear(graph, UNSIGNED_INT, [len(dims)], "o")
        return {"t": (t, values), "o": (o, offsets)}, popops.dynamicSlice(graph, t, o, dims, sizes, program, "s")

    by_vertex, by_kernel = both_ways(build)
    assert np.array_equal(by_vertex, by_kernel)
    assert np.array_equal(by_vertex, wrapped(values, offsets, dims, sizes))


@pytest.mark.parametrize(("dims", "sizes", "offsets"), CASES, ids=str)
@pytest.mark.parametrize("sliceable", [True, False])
def test_dynamic_updates(sliceable: bool, dims: list[int], sizes: list[int], offsets: list[int]) -> None:
    values = np.arange(120, dtype=np.float32).reshape(SHAPE)
    shape = [sizes[dims.index(d)] if d in dims else n for d, n in enumerate(SHAPE)]
    update = -np.arange(1, np.prod(shape) + 1, dtype=np.float32).reshape(shape)

    def build(graph: Graph, program: Sequence) -> Given:
        if sliceable:
            t = popops.createSliceableTensor(graph, FLOAT, SHAPE, dims, sizes)
            s = popops.createSliceTensor(graph, t, dims, sizes, 1).squeeze([0])
        else:
            t, s = linear(graph, FLOAT, list(SHAPE), "t"), linear(graph, FLOAT, shape, "s")
        o = linear(graph, UNSIGNED_INT, [len(dims)], "o")
        popops.dynamicUpdate(graph, t, s, o, dims, sizes, program, "u")
        return {"t": (t, values), "s": (s, update), "o": (o, offsets)}, t

    by_vertex, by_kernel = both_ways(build)
    places = wrapped(np.arange(120).reshape(SHAPE), offsets, dims, sizes)
    expected = values.copy().reshape(-1)
    expected[places.reshape(-1)] = update.reshape(-1)
    assert np.array_equal(by_vertex.reshape(-1), expected)
    assert np.array_equal(by_kernel, by_vertex)


def test_slices_of_a_sliceable_tensor_move_nothing_and_cost_the_formula() -> None:
    graph, program = small_graph(4), Sequence()
    t = popops.createSliceableTensor(graph, FLOAT, [10, 32], [0], [2])
    o = linear(graph, UNSIGNED_INT, [1])
    out = popops.dynamicSlice(graph, t, o, [0], [2], program)
    mapping = graph.getTileMapping(t)
    assert [sum(i.size() for i in tile) for tile in mapping] == [80] * 4
    assert graph.getTileMapping(out) == popops.getSliceMapping(graph, t, [0], [2])
    (block,) = graph.store.blocks
    assert block.type.name == "popops::DynamicSlice1D<float>"
    spent = block.type.costs(block, {"subT": block.edges["subT"].elements_per_vertex(4)}, None).cycles
    assert spent.tolist() == [int(cycles.dynamic_slice_1d("float", 8, 2))] * 4


def test_one_offset_for_each_tile() -> None:
    values = np.arange(40, dtype=np.float32).reshape(5, 8)

    def build(graph: Graph, program: Sequence) -> Given:
        t, o = linear(graph, FLOAT, [5, 8], "t"), linear(graph, UNSIGNED_INT, [1, 8], "o")
        out = linear(graph, FLOAT, [2, 8], "out")
        popops.dynamicSliceWithOutput(graph, out, t, o, [0], [2], program)
        return {"t": (t, values), "o": (o, [[2] * 8])}, out

    by_vertex, by_kernel = both_ways(build)
    assert np.array_equal(by_vertex, values[2:4])
    assert np.array_equal(by_kernel, values[2:4])


PLANS = [None, SlicePlan(1, 2, 1, 20, 8), SlicePlan(3, 2, 1, 20, 8), SlicePlan(2, 1, 3, 20, 8)]


@pytest.mark.parametrize("plan", PLANS, ids=str)
@pytest.mark.parametrize("type_", [FLOAT, HALF, INT], ids=str)
def test_multi_slices_of_rows(type_: Any, plan: SlicePlan | None) -> None:
    values = np.random.default_rng(2).integers(-99, 99, (20, 8)).astype(type_.dtype)
    indices = np.array([3, 0, 19, 3, 20, 7, 2**32 - 1])

    def build(graph: Graph, program: Sequence) -> Given:
        chosen = plan or SlicePlan()
        t = popops.createSliceableTensor(graph, type_, [20, 8], [0], [1], chosen, {})
        o = popops.createIndicesTensor(graph, [0], 7, chosen)
        out = popops.multiSlice(graph, t, o, [0], [1], program, chosen, {"indicesAreSorted": "false"}, "look")
        assert out.shape() == [7, 1, 8]
        return {"t": (t, values), "o": (o, indices)}, out

    by_vertex, by_kernel = both_ways(build)
    assert np.array_equal(by_vertex, by_kernel)
    expected = np.where((indices < 20)[:, None], values[np.where(indices < 20, indices, 0)], 0)
    assert np.array_equal(by_vertex[:, 0], expected.astype(type_.dtype))


@pytest.mark.parametrize("plan", PLANS, ids=str)
@pytest.mark.parametrize("op", ["none", "add", "max"])
@pytest.mark.parametrize("type_", [FLOAT, HALF], ids=str)
def test_multi_updates_of_rows(type_: Any, op: str, plan: SlicePlan | None) -> None:
    rng = np.random.default_rng(3)
    values, update = (
        rng.integers(-9, 9, (20, 8)).astype(type_.dtype),
        rng.integers(-9, 9, (6, 1, 8)).astype(type_.dtype),
    )
    indices = np.array([3, 0, 19, 3, 25, 3])

    def build(graph: Graph, program: Sequence) -> Given:
        chosen = plan or SlicePlan()
        t = popops.createSliceableTensor(graph, type_, [20, 8], [0], [1], chosen, {})
        s = popops.createSliceTensor(graph, type_, [20, 8], [0], [1], 6, chosen, {})
        o, scale = linear(graph, UNSIGNED_INT, [6, 1], "o"), linear(graph, FLOAT, [], "scale")
        given = {"t": (t, values), "s": (s, update), "o": (o, indices), "scale": (scale, [0.5])}
        if op == "add":
            popops.multiUpdateAdd(graph, t, s, o, scale, [0], [1], program, chosen, {})
        else:
            (popops.multiUpdate if op == "none" else popops.multiUpdateMax)(graph, t, s, o, [0], [1], program, chosen)
        return given, t

    by_vertex, by_kernel = both_ways(build)
    assert np.array_equal(by_vertex, by_kernel)
    expected = values.astype(np.float64)
    for i, row in zip(indices.tolist(), update[:, 0].astype(np.float64), strict=True):
        if i < 20:
            expected[i] = {"none": row, "add": expected[i] + 0.5 * row, "max": np.maximum(expected[i], row)}[op]
    assert np.array_equal(by_vertex, expected.astype(type_.dtype))


def planned_update(plan: SlicePlan, type_: Any) -> tuple[Graph, Tensor, Tensor]:
    graph, program = small_graph(8), Sequence()
    t = popops.createSliceableTensor(graph, type_, [20, 8], [0], [1], plan, {})
    s = popops.createSliceTensor(graph, type_, [20, 8], [0], [1], 12, plan, {})
    o, scale = linear(graph, UNSIGNED_INT, [12, 1], "o"), linear(graph, FLOAT, [], "scale")
    popops.multiUpdateAdd(graph, t, s, o, scale, [0], [1], program, plan, {})
    return graph, t, s


def blocks_of(graph: Graph, name: str) -> list[Any]:
    return [block for block in graph.store.blocks if name in graph.store.compute_set_names[block.compute_set]]


def test_groups_of_lookups_add_to_matrices_of_their_own() -> None:
    """Two groups on two row blocks and two column blocks each: eight tiles update; halves are added as floats."""
    for type_ in (FLOAT, HALF):
        graph, _, _ = planned_update(SlicePlan(2, 2, 2, 20, 8), type_)
        blocks = blocks_of(graph, "multiUpdateAdd")
        assert {b.type.name for b in blocks} == {"popops::ScaledMultiUpdateOp<float,float,false,Operation::ADD>"}
        assert sorted(tile for b in blocks for tile in b.tiles.tolist()) == list(range(8))
        assert [b.edges["offsets"].elements_per_vertex(2).tolist() for b in blocks] == [[6, 6]] * 4
        assert len(blocks_of(graph, "castSlices")) == (type_ is HALF)


def test_one_group_updates_the_matrix_itself() -> None:
    graph, _, _ = planned_update(SlicePlan(2, 2, 1, 20, 8), FLOAT)
    assert sum(len(b.tiles) for b in blocks_of(graph, "multiUpdateAdd")) == 4
    assert blocks_of(graph, "educe") == []


def test_blocks_and_slices_are_spread_over_the_tiles_that_use_them() -> None:
    graph, t, s = planned_update(SlicePlan(2, 2, 2, 20, 8), FLOAT)
    assert [sum(i.size() for i in tile) for tile in graph.getTileMapping(t)] == [20] * 8
    assert [sum(i.size() for i in tile) for tile in graph.getTileMapping(s)] == [12] * 8


@pytest.mark.parametrize(("one_point", "type_"), [(False, "IPU"), (True, "IPU"), (False, "IPU_MODEL")])
def test_an_update_costs_what_its_busiest_worker_takes(one_point: bool, type_: str) -> None:
    """Each of six workers has two of the ten rows of a block, a tenth of all: of six lookups one is its own. On the IPU
    Model, as in PopLibs' estimator, one worker applies all."""
    graph, _, _ = planned_update(SlicePlan(2, 2, 2, 20, 8, False, one_point), FLOAT)
    (block, *_) = blocks_of(graph, "multiUpdateAdd")
    elements = {name: block.edges[name].elements_per_vertex(2) for name in ("offsets", "subT")}
    own = 1 if (one_point, type_) == (False, "IPU") else 6
    expected = int(cycles.multi_update_add("float", 4, own, 6 - own))
    target = Target(TargetType(type_))
    assert block.type.costs(block, elements, target).cycles.tolist() == [expected] * 2


def test_other_slices_are_taken_in_a_loop() -> None:
    values = np.arange(60, dtype=np.float32).reshape(5, 4, 3)
    offsets = np.array([[1, 0], [0, 2], [3, 1]])

    def take(graph: Graph, program: Sequence) -> Given:
        t, o = linear(graph, FLOAT, [5, 4, 3], "t"), linear(graph, UNSIGNED_INT, [3, 2], "o")
        return {"t": (t, values), "o": (o, offsets)}, popops.multiSlice(graph, t, o, [0, 1], [2, 2], program)

    expected = np.stack([values[a : a + 2, b : b + 2] for a, b in offsets])
    assert np.array_equal(run_engine(take), expected)

    def put(graph: Graph, program: Sequence) -> Given:
        t, o = linear(graph, FLOAT, [5, 4, 3], "t"), linear(graph, UNSIGNED_INT, [3, 2], "o")
        s = linear(graph, FLOAT, [3, 2, 2, 3], "s")
        popops.multiUpdate(graph, t, s, o, [0, 1], [2, 2], program)
        return {"t": (t, values), "o": (o, offsets), "s": (s, -expected)}, t

    updated = values.copy()
    for (a, b), part in zip(offsets, -expected, strict=True):
        updated[a : a + 2, b : b + 2] = part
    assert np.array_equal(run_engine(put), updated)


def test_loops_count() -> None:
    def build(graph: Graph, program: Sequence, how: str) -> Given:
        total, limit = linear(graph, INT, [2], "total"), linear(graph, INT, [], "limit")
        popops.zero(graph, total, program)
        if how == "for":
            count = linear(graph, INT, [], "count")
            body = Sequence()
            popops.addInPlace(graph, total[0], count, body)
            popops.addInPlace(graph, total[1], 1, body)
            program.add(popops.countedForLoop(graph, count, 3, limit, 2, body))
        else:

            def step(i: Tensor) -> Sequence:
                inner = Sequence()
                popops.addInPlace(graph, total[0], popops.cast(graph, i, INT, inner)[0], inner)
                popops.addInPlace(graph, total[1], 1, inner)
                return inner

            program.add(popops.countedLoop(graph, 3, 10, 2, step))
            program.add(popops.countedLoop(graph, 2, step))
        return {"limit": (limit, [11])}, total

    assert run_engine(lambda g, p: build(g, p, "for")).tolist() == [3 + 5 + 7 + 9, 4]
    assert run_engine(lambda g, p: build(g, p, "counted")).tolist() == [3 + 5 + 7 + 9 + 0 + 1, 6]


def test_plans_minimise_what_is_asked() -> None:
    graph = small_graph(64)
    small, fast = (
        popops.embedding.plan(graph, FLOAT, 1000, 16, [3200], {"planMinimisationTarget": target})
        for target in ("memory", "cycles")
    )
    assert fast == popops.embedding.plan(graph, FLOAT, 1000, 16, [3200])
    assert small.slicedDimSplit * small.unslicedDimSplit * small.lookupSplit <= 64
    assert small != fast
    assert (small.entries, small.elements) == (1000, 16)
    assert small.slicedDimSplit * small.unslicedDimSplit > fast.slicedDimSplit * fast.unslicedDimSplit or (
        fast.lookupSplit > small.lookupSplit
    )
    one = popops.embedding.plan(graph, FLOAT, 1000, 16, [32], {"indicesDistribution": "onePoint"})
    assert one.is_plan
    none = popops.embedding.plan(graph, HALF, 10, 4, [3], {"usedForUpdate": False, "availableMemoryProportion": 0.5})
    assert none <= SlicePlan(64, 64, 64)
    assert str(SlicePlan()) == "SlicePlan(none)"


@pytest.mark.parametrize("goal", ["cycles", "memory"])
def test_a_plan_keeps_its_block_on_a_tile(goal: str) -> None:
    """40 MB of halves, of which 50 blocks of columns alone are 800 kB each; columns are cut in words of two halves."""
    target = Target.createIPUTarget(1, 1216, "ipu1")
    plan = popops.embedding.plan(Graph(target), HALF, 100_000, 200, [11_520], {"planMinimisationTarget": goal})
    assert plan == SlicePlan(12, 100, 1, 100_000, 200)
    assert -(-plan.entries // 12) * 2 * 2 <= target.getBytesPerTile()


def test_indices_of_a_plan_lie_on_many_tiles() -> None:
    graph = small_graph(16)
    indices = popops.createIndicesTensor(graph, [0], 100, SlicePlan(2, 2, 1, 20, 8))
    assert [sum(i.size() for i in tile) for tile in graph.getTileMapping(indices)] == [33, 33, 34] + [0] * 13


def test_tensors_made_from_a_slice_lie_as_it_does() -> None:
    graph = small_graph(4)
    s = linear(graph, FLOAT, [1, 12])
    t = popops.createSliceableTensorFromSlice(graph, s, [0], [5])
    assert t.shape() == [5, 12]
    assert all(graph.getTileMapping(t[i]) == graph.getTileMapping(s[0]) for i in range(5))


def test_wrong_slices_are_named() -> None:
    graph, program = small_graph(), Sequence()
    t, o = linear(graph, FLOAT, [4, 6]), linear(graph, UNSIGNED_INT, [1])
    offsets, s = linear(graph, UNSIGNED_INT, [3, 1]), linear(graph, FLOAT, [3, 1, 6])
    plan = SlicePlan(1, 1, 1, 9, 9)
    wrong: list[tuple[str, Callable[[], Any]]] = [
        ("from shape", lambda: popops.dynamicSlice(graph, t, o, [0], [5], program)),
        ("each dimension once", lambda: popops.dynamicSlice(graph, t, o, [0, 0], [1, 1], program)),
        ("offsets of shape", lambda: popops.dynamicSlice(graph, t, o, [0, 1], [1, 1], program)),
        ("the update holds", lambda: popops.dynamicUpdate(graph, t, t, o, [0], [1], program)),
        ("the output holds", lambda: popops.dynamicSliceWithOutput(graph, t, t, o, [0], [1], program)),
        ("the offsets are", lambda: popops.multiSlice(graph, t, o, [0], [1], program)),
        ("the slices hold", lambda: popops.multiUpdate(graph, t, t, offsets, [0], [1], program)),
        ("the plan is for|The plan is for", lambda: popops.multiSlice(graph, t, offsets, [0], [1], program, plan)),
        ("the plan is for", lambda: popops.createSliceableTensor(graph, FLOAT, [4, 6], [0], [1], plan, {})),
        ("the scale holds", lambda: popops.multiUpdateAdd(graph, t, s, offsets, o, [0], [1], program)),
        ("of rank 2", lambda: popops.multiUpdateMax(graph, t, s, offsets, [0], [2], program)),
        (
            "both false",
            lambda: popops.embedding.plan(graph, FLOAT, 4, 4, [1], {"usedForSlice": "false", "usedForUpdate": "false"}),
        ),
        (
            "no plan keeps",
            lambda: popops.embedding.plan(graph, FLOAT, 4, 4, [1], {"availableMemoryProportion": "1e-9"}),
        ),
        ("greater than zero", lambda: popops.countedLoop(graph, 0, 4, 0, lambda i: Sequence())),
        ("less than end", lambda: popops.countedLoop(graph, 4, 4, 1, lambda i: Sequence())),
        ("both must be", lambda: popops.countedForLoop(graph, 0, t[0][0], 1, Sequence())),
        ("do not fit", lambda: popops.createSliceableTensorFromSlice(graph, t, [0], [])),
    ]
    for text, call in wrong:
        with pytest.raises(poplibs_error, match=text):
            call()
    with pytest.raises(invalid_option, match="no option fast"):
        popops.embedding.plan(graph, FLOAT, 4, 4, [1], {"fast": "true"})
    assert popops.dynamicSlice(graph, t, o[:0], [], [], program).shape() == [4, 6]


def test_tiles_with_several_runs_have_a_pointer_for_each_slice_and_rearrange_nothing() -> None:
    """A tile with two runs of 4 and 2 elements in each of 5 slices: a worker that has both reads 10 vectors."""
    graph, program = small_graph(2), Sequence()
    parts = [graph.addVariable(FLOAT, [5, n], f"part{n}") for n in (4, 2)]
    t, o = concat(parts, 1), linear(graph, UNSIGNED_INT, [1])
    for part in parts:
        graph.setTileMapping(part, 1)
    popops.dynamicSlice(graph, t, o, [0], [2], program)
    (block,) = graph.store.blocks
    assert block.type.name == "popops::DynamicSlice2D<float>"
    base, sub = block.edges["baseT"], block.edges["subT"]
    assert block.values["numRegions"].tolist() == [1, 1, 1]  # six elements, dealt in vectors of two
    assert sorted(base.lengths.tolist()) == [2] * 15
    assert base.offsets is not None
    assert base.offsets.tolist() == [0, 5, 10, 15]
    assert base.row_offsets is None  # each vector is one region: nothing is rearranged
    spent = block.type.costs(block, {"subT": sub.elements_per_vertex(3)}, None).cycles
    assert spent.tolist() == [cycles.DYNAMIC_2D_BASE + int(cycles.dynamic_slice_2d_region("float", 2, 2))] * 3


@pytest.mark.parametrize("update", [False, True])
def test_slices_of_a_reversed_tensor_move_only_themselves(update: bool, tmp_path: Path) -> None:
    """The slices of a reversed view are not one run of memory; cycles do not grow with their number."""

    def spent(slices: int) -> int:
        model = IPUModel()
        model.tilesPerIPU = 4
        device = model.createDevice()
        graph, program = Graph(device), Sequence()
        t = popops.createSliceableTensor(graph, FLOAT, [slices, 64], [0], [1]).reverse(0)
        o = graph.addConstant(UNSIGNED_INT, [1], 1)
        graph.setTileMapping(o, 0)
        if update:
            popops.dynamicUpdate(graph, t, linear(graph, FLOAT, [1, 64]), o, [0], [1], program)
        else:
            popops.dynamicSlice(graph, t, o, [0], [1], program)
        folder = str(tmp_path / str(slices))
        with Engine(graph, program, {"autoReport.all": "true", "autoReport.directory": folder}) as engine:
            engine.load(device)
            engine.run(0)
        return sum(ipu.cycles for step in pva.openReport(folder).execution.steps for ipu in step.ipus)

    assert spent(4) == spent(400)
