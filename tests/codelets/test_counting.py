"""Codelets without an estimate: their operations are counted, by the instruction table."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.formats.profile.reader import ProfileReader
from simulator.base import text_output
from simulator.codelets import counting
from simulator.codelets.vertex import (
    InOut,
    Input,
    MultiVertex,
    Output,
    SupervisorVertex,
    Vector,
    VectorList,
    Vertex,
    vertex_type,
)
from simulator.graph.vertices import FieldEdges, VertexBlock
from simulator.machine.instructions import SLOTS, OperationCounts
from simulator.poplar import FLOAT, HALF, INT, Engine, Graph
from simulator.poplar.program import Execute
from tests.compiler.tiny_graphs import model

#: entering and leaving, 2 loads per edge field, 1 per value
ENTRY, EDGE, VALUE = 5, 2, 1


class Triad(Vertex):
    a = Input(Vector(FLOAT))
    b = Input(Vector(FLOAT))
    out = Output(Vector(FLOAT))
    scale = FLOAT

    def compute(self) -> None:
        for i in range(len(self.a)):
            self.out[i] = self.a[i] + self.scale * self.b[i]


class FusedTriad(Triad):
    def compute(self) -> None:
        self.out[:] = self.a + self.scale * self.b


def block_of(cls: type[Vertex], sizes: dict[str, list[int]], **values: Any) -> VertexBlock:
    n = len(next(iter(sizes.values())))
    edges = {name: FieldEdges(np.zeros(n, np.int64), np.array(size, np.int64)) for name, size in sizes.items()}
    return VertexBlock(0, vertex_type(cls), 0, np.zeros(n, np.uint32), edges, values)


def costs_of(cls: type[Vertex], sizes: dict[str, list[int]], **values: Any) -> Any:
    block = block_of(cls, sizes, **values)
    elements = {name: edges.elements_per_vertex(len(block)) for name, edges in block.edges.items()}
    return block.type.costs(block, elements, model(2))


@pytest.mark.parametrize("cls", [Triad, FusedTriad])
def test_a_triad_takes_the_published_slots_per_element(cls: type[Vertex]) -> None:
    """2 loads, multiply, add, store and a loop trip: 6 issue slots (published 6.3), in a loop or as arrays."""
    n = [10, 20, 1000]
    costs = costs_of(cls, {"a": n, "b": n, "out": n}, scale=3.0)
    start = ENTRY + 3 * EDGE + VALUE
    assert costs.cycles.tolist() == [math.ceil(start + 6 * k - 1e-9) for k in n]
    assert costs.flops.tolist() == [2 * k for k in n]
    assert costs.provenance == "guess"
    assert "2,000 load" in costs.source or "2,007 load" in costs.source


def test_the_published_volatile_loop_is_within_5_percent() -> None:
    """100 trips of a volatile counter took 3,650 tile cycles more for each 100 (published-numbers 5.3)."""
    trip = OperationCounts()
    trip.add_block({"load": 2, "store": 1, "integer": 2, "trip": 1}, 100)
    assert 6 * trip.slots() == pytest.approx(3650, rel=0.05)


def test_counts_of_basic_blocks_and_of_single_operations_are_one_thing() -> None:
    single, blocks = OperationCounts(), OperationCounts()
    for _ in range(7):
        for operation in ("load", "load", "float add", "store"):
            single.add(operation)
    blocks.add_block({"load": 2, "float add": 1, "store": 1}, 7)
    assert single.counts == blocks.counts
    assert single.slots() == 28
    assert single.flops() == 7
    assert blocks.text() == "14 load, 7 store, 7 float add"
    with pytest.raises(KeyError, match="'leap' is not in the instruction table"):
        single.add("leap")


class HalfScale(Vertex):
    x = InOut(Vector(HALF))

    def compute(self) -> None:
        self.x *= 2


class Softmax(Vertex):
    x = Input(Vector(FLOAT))
    y = Output(Vector(FLOAT))

    def compute(self) -> None:
        powers = np.exp(self.x - self.x.max())
        self.y[:] = powers / powers.sum()


def test_halves_pay_for_their_stores() -> None:
    slots = ENTRY + EDGE + 50 * (1 + 1 + 3 + 1)
    assert costs_of(HalfScale, {"x": [50]}).cycles.tolist() == [slots]


def test_functions_and_reductions() -> None:
    n = 24
    maximum = n * (1 + 1 + 1)  # load, compare, trip
    powers = n * (1 + 1 + 3)  # load, subtract, exponential
    total = n * 1  # addition; the branch is in one bundle with it
    quotient = n * (5 + 1 + 1)  # division, store, trip
    slots = ENTRY + 2 * EDGE + maximum + powers + total + quotient
    assert costs_of(Softmax, {"x": [n], "y": [n]}).cycles.tolist() == [math.ceil(slots - 1e-9)]


class Shared(MultiVertex):
    x = InOut(Vector(FLOAT))

    def compute(self, workerId: int) -> None:
        for i in range(workerId, len(self.x), 6):
            self.x[i] = self.x[i] + 1


class OneByOne(SupervisorVertex):
    x = InOut(Vector(FLOAT))

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = self.x[i] + 1


def test_multi_vertices_take_their_longest_worker_and_supervisors_a_turn_of_all() -> None:
    each = 1 + 1 + 1 + 1
    longest = math.ceil(ENTRY + EDGE + 3 * each - 1e-9)  # 13 elements: three for worker 0
    multi = costs_of(Shared, {"x": [13]})
    assert multi.cycles.tolist() == [6 * longest]
    assert multi.flops.tolist() == [13]
    assert costs_of(OneByOne, {"x": [13]}).cycles.tolist() == [6 * math.ceil(ENTRY + EDGE + 13 * each - 1e-9)]


class Rows(Vertex):
    rows = Input(VectorList(FLOAT))
    sums = Output(Vector(FLOAT))
    total = Output(FLOAT)

    def compute(self) -> None:
        for i, row in enumerate(self.rows):
            self.sums[i] = row.sum()
        self.total = self.sums.sum()


def test_lists_of_vectors_and_assigned_outputs() -> None:
    edges = FieldEdges(np.zeros(2, np.int64), np.array([5, 9], np.int64), np.array([0, 2], np.int64))
    scalar = FieldEdges(np.zeros(1, np.int64), np.array([1], np.int64))
    sums = FieldEdges(np.zeros(1, np.int64), np.array([2], np.int64))
    block = VertexBlock(0, vertex_type(Rows), 0, np.zeros(1, np.uint32), {"rows": edges, "sums": sums, "total": scalar})
    elements = {name: column.elements_per_vertex(1) for name, column in block.edges.items()}
    reduce = 14 * (1 + 1) + 2 * (1 + 1)  # the rows, a store and a trip each
    last = 2 * (1 + 1) + 1
    slots = ENTRY + 3 * EDGE + reduce + last
    assert block.type.costs(block, elements, model(2)).cycles.tolist() == [math.ceil(slots - 1e-9)]


class Sorts(Vertex):
    x = InOut(Vector(FLOAT))

    def compute(self) -> None:
        self.x.sort()


class Endless(Vertex):
    x = InOut(Vector(FLOAT))

    def compute(self) -> None:
        while self.x[0] > 0:
            self.x[0] = self.x[0] * 1


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting gives up after a tenth of the steps, so that what it does then takes a tenth of the time."""
    monkeypatch.setattr(counting, "MAXIMUM_EVENTS", counting.MAXIMUM_EVENTS // 10)


@pytest.mark.usefixtures("impatient")
def test_a_vertex_too_large_to_be_followed_is_drawn_on_from_smaller_ones() -> None:
    n = [100, 10_000]
    cycles = costs_of(Triad, {"a": n, "b": n, "out": n}, scale=3.0).cycles
    assert cycles.tolist() == pytest.approx([12 + 6 * k for k in n], rel=1e-3)


def test_what_a_codelet_prints_while_it_is_counted_is_not_seen(capsys: pytest.CaptureFixture[str]) -> None:
    class Talks(Vertex):
        x = InOut(Vector(FLOAT))

        def compute(self) -> None:
            print("here")
            self.x[0] = 1

    assert costs_of(Talks, {"x": [4]}).cycles.tolist() == [ENTRY + EDGE + 1]
    assert capsys.readouterr().out == ""


TOO_LONG = "it takes too many steps even on few elements"


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(("cls", "reason"), [(Sorts, "it sorts"), (Endless, TOO_LONG)])
def test_what_cannot_be_counted_is_said_and_guessed(
    cls: type[Vertex], reason: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_output, "_printed", set())
    costs = costs_of(cls, {"x": [10, 30]})
    assert costs.cycles.tolist() == [20 + 2 * 10, 20 + 2 * 30]
    assert (costs.provenance, costs.flops) == ("guess", None)
    costs_of(cls, {"x": [11]})
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"the cycles of codelet {cls.__name__} cannot be counted: {reason}" in said
    assert "give it an `estimate`" in said


class Gather(Vertex):
    table = Input(Vector(FLOAT))
    index = Input(Vector(INT))
    out = Output(Vector(FLOAT))

    def compute(self) -> None:
        self.out[:] = self.table[self.index]


def test_made_up_indices_that_do_not_fit_are_tried_as_zeros() -> None:
    costs = costs_of(Gather, {"table": [1], "index": [4], "out": [4]})
    assert costs.cycles.tolist() == [math.ceil(ENTRY + 3 * EDGE + 4 * (2 + 1 + 1) - 1e-9)]


@given(st.lists(st.integers(1, 400), min_size=1, max_size=60))
def test_more_elements_never_take_less_and_runs_are_alike(sizes: list[int]) -> None:
    ordered = sorted(sizes)
    fields = {"a": ordered, "b": ordered, "out": ordered}
    cycles = costs_of(FusedTriad, fields, scale=2.0).cycles
    assert (np.diff(cycles) >= 0).all()
    assert (np.diff(cycles)[np.diff(ordered) > 0] > 0).all()
    assert (costs_of(FusedTriad, fields, scale=2.0).cycles == cycles).all()
    exact = np.ceil(12 + 6 * np.array(ordered) - 1e-9)
    assert np.abs(cycles - exact).max() <= 1


def test_the_report_calls_it_a_guess(tmp_path: Path) -> None:
    graph = Graph(model(2))
    graph.addCodelets(Triad)
    cs = graph.addComputeSet("triad")
    a, b, out = (graph.addVariable(FLOAT, [24], name) for name in ("a", "b", "out"))
    for tensor in (a, b, out):
        graph.setTileMapping(tensor, 0)
    vertex = graph.addVertex(cs, "Triad", {"a": a, "b": b, "out": out, "scale": 2.0})
    graph.setTileMapping(vertex, 0)
    options = {"autoReport.outputGraphProfile": "true", "profiler.includeFlopEstimates": "true"}
    Engine(graph, Execute(cs), options | {"autoReport.directory": str(tmp_path)}).close()
    reader = ProfileReader(tmp_path / "profile.pop")
    [vertices] = reader.compute_set_vertices(0)
    assert (vertices.provenance, vertices.flops) == ("guess", 48)
    assert reader.compute_sets().flops.tolist() == [48]
    [term] = [t for t in reader.cost_terms("computeSet:0") if t.term.startswith("+ ")]
    assert term.value == 6 * math.ceil(ENTRY + 3 * EDGE + VALUE + 24 * 6 - 1e-9)
    assert term.source.startswith("guess: counted in a run of the codelet")
    assert set(SLOTS) >= {"load", "store", "trip"}
