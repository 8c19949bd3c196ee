"""Costs of compiled codelets: executed basic blocks times the instruction table, marked as guesses."""

import io
import math
import platform
from pathlib import Path

import numpy as np
import pytest
from graphs import Bench, model

from benchmarks.validation import codelets
from benchmarks.validation.explanations import EXPLAINED
from simulator.building.estimates import elements_of
from simulator.codelets.compiled import counted_costs
from simulator.codelets.compiled.assembly import instrumented
from simulator.codelets.compiled.tile_operations import operations
from simulator.codelets.count_run import ENTRY
from simulator.poplar import FLOAT, HALF, INT, UNSIGNED_INT, CodeletFileType, Graph

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="blocks are counted on x86-64 only")

LOOP = """
	.text
f:
	testl	%esi, %esi
	je	.L1
	xorl	%eax, %eax
.L4:
	movss	48(%rdi), %xmm0
	mulss	(%rsi,%rax), %xmm0
	addss	(%r8,%rax), %xmm0
	movss	%xmm0, (%rcx,%rax)
	addq	$4, %rax
	cmpq	%rdx, %rax
	jne	.L4
.L1:
	ret
	.section	.rodata
.LC0:
	.long	3
	.text
g:
	movl	-4(%rsp), %eax
	addl	$1, %eax
	movl	%eax, -4(%rsp)
	movl	-4(%rsp), %eax
	cmpl	$99, %eax
	jle	g
	movb	%al, (%rdi)
	call	expf@PLT
	mulss	.LC0(%rip), %xmm0
	idivl	%ecx
	ret
"""


def test_blocks_of_assembly() -> None:
    text, blocks = instrumented(LOOP, "k")
    assert text.count("leaq\t1(%rax), %rax") == len(blocks) == 6
    assert "popvision_counts_k:\n\t.zero\t48" in text
    assert [operations(block) for block in blocks] == [
        {"integer": 1, "branch": 1},
        {},  # zero is a register of a tile
        # q is kept in a register; stepping and comparing the counter belong to the trip
        {"load": 2, "float multiply": 1, "float add": 1, "store": 1, "trip": 1},
        {},
        {"load": 2, "store": 1, "integer": 2, "trip": 1},
        {"store half": 1, "exponential": 1, "float multiply": 1, "integer division": 1},
    ]


@pytest.fixture(scope="module")
def graph() -> Graph:
    made = Graph(model(1, "ipu1").getTarget())
    made.addCodelets(codelets.SOURCE)
    return made


def test_published_figures(graph) -> None:
    slots = codelets._per_element(lambda n: codelets._triad(graph, "float", FLOAT, n))
    assert math.isclose(slots, 6, rel_tol=1e-3)
    trip = codelets._per_element(lambda n: codelets._loop(graph, n))
    assert math.isclose(trip, 36, rel_tol=1e-3)
    rows = [row for group in codelets.groups() for row in group.explained(EXPLAINED).rows]
    assert [row.quantity for row in rows if row.verdict not in ("met", "reported")] == []
    assert all(not row.failed for row in rows)


def test_a_triad_exactly(graph) -> None:
    """5 for entry and exit, the fields and the loop's bounds once, 6 a trip; multiply and add are the operations."""
    cs = graph.addComputeSet("exact")
    arrays = {field: graph.addVariable(FLOAT, [1000], field) for field in "abc"}
    vertex = graph.addVertex(cs, "Triad<float>", {**arrays, "q": 1.0})
    estimate = graph.guessPerfEstimate(vertex)
    assert estimate.flops == 2000
    assert ENTRY + 6000 <= estimate.cycles <= ENTRY + 6000 + 16
    block = vertex.builder.block
    costs = block.type.costs(block, elements_of(block), graph.getTarget())
    assert costs.provenance == "guess"
    assert "1,000 float multiply" in costs.source
    many = [graph.addVertex(cs, "Triad<float>", {**_views(arrays, n), "q": 1.0}) for n in (10, 200, 400, 600, 900)]
    cycles = [graph.guessPerfEstimate(v).cycles for v in many]
    assert np.allclose(np.diff(cycles), 6 * np.diff([10, 200, 400, 600, 900]), atol=1)


def test_a_sum_of_products_has_its_branch_in_a_bundle(graph) -> None:
    """Two loads, a multiplication and an addition a trip: a worker issues the addition with the branch."""
    graph.addCodelets(codelets.TUTORIAL6)
    cs, out = graph.addComputeSet("products"), graph.addVariable(FLOAT, [], "out")
    arrays = {field: graph.addVariable(FLOAT, [1000], field) for field in "ab"}
    vertices = [graph.addVertex(cs, "DotProductVertex", {**_views(arrays, n), "out": out}) for n in (100, 1000)]
    few, many = (graph.guessPerfEstimate(vertex).cycles for vertex in vertices)
    assert many - few == 4 * 900


def test_a_broken_cache_is_counted_again(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def cycles() -> int:
        counted_costs._counted_program.cache_clear()
        graph = Graph(model(1, "ipu1").getTarget())
        graph.addCodelets(codelets.SOURCE)
        arrays = {field: graph.addVariable(FLOAT, [1000], field) for field in "abc"}
        return graph.guessPerfEstimate(
            graph.addVertex(graph.addComputeSet(), "Triad<float>", {**arrays, "q": 1.0})
        ).cycles

    first = cycles()
    broken = list(tmp_path.rglob("*counted*.json"))
    assert broken
    for path in broken:
        path.write_text("{")
    assert cycles() == first


def _views(arrays, n):
    return {name: array[:n] for name, array in arrays.items()}


def test_code_without_optimisation_is_counted_as_it_is() -> None:
    made = Graph(model(1, "ipu1").getTarget())
    made.addCodelets(codelets.SOURCE, CodeletFileType.Auto, "-O0")
    assert codelets._loop(made, 100) > 6 * 100 * 6  # the compiler leaves more than six instructions a trip


def test_multi_vertices_take_their_busiest_worker_and_supervisors_a_turn_of_all() -> None:
    bench = Bench()
    bench.graph.addCodelets(Path(__file__).parent / "sums.cpp")
    multi = bench.vertex(
        "MultiSquare",
        {
            "x": bench.tensor("x", HALF, np.ones(13)),
            "y": bench.tensor("y", HALF, np.ones(13)),
            "who": bench.tensor("who", UNSIGNED_INT, np.zeros(6)),
        },
    )
    estimate = bench.graph.guessPerfEstimate(multi)
    assert estimate.cycles % 6 == 0
    assert estimate.flops == 26  # a root and a product each, of all workers
    one = bench.vertex("Supervised", {"count": bench.tensor("count", INT, 0)})
    assert bench.graph.guessPerfEstimate(one).cycles % 6 == 0


def test_what_cannot_run_on_made_up_data_is_guessed_and_said(capsys) -> None:
    bench = Bench()
    bench.graph.addCodelets(
        io.StringIO(
            "#include <poplar/Vertex.hpp>\n#include <cstdlib>\nclass Picky : public poplar::Vertex { public:\n"
            "poplar::InOut<poplar::Vector<int>> x; bool compute() { if (x[0] < 7) abort(); return true; } };"
        )
    )
    vertex = bench.vertex("Picky", {"x": bench.tensor("x", INT, np.full(10, 9))})
    assert bench.graph.guessPerfEstimate(vertex).cycles == 20 + 2 * 10
    said = capsys.readouterr().err
    assert (
        "the cycles of codelet Picky cannot be counted: it fails on made-up data (Vertex of type Picky crashed" in said
    )
    assert "register a performance estimator" in said
    assert bench.run(["x"])[0].tolist() == [9] * 10


def test_code_sizes_are_shown_as_not_known() -> None:
    bench = Bench()
    bench.graph.addCodelets(Path(__file__).parent / "sums.cpp")
    bench.vertex("SumVertex", {"in": bench.tensor("in", FLOAT, [1, 2]), "out": bench.tensor("out", FLOAT, 0)})
    with bench.engine(None, {"debug.retainDebugInformation": "true"}) as engine:
        types = engine.executable.compiled.compilation.vertex_types
        at = types.name.index("SumVertex")
        assert types.state_bytes[at] == 12  # a span of 8 bytes and a pointer
        assert "vertexCode" not in {
            row.category for row in engine.executable.compiled.compilation.category_memory if row.bytes.any()
        }
