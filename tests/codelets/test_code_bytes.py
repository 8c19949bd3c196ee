"""Code bytes of codelets: instructions of their compiled code, four bytes each; a guess, and called one."""

from __future__ import annotations

import io
import platform

import numpy as np
import pytest
from graphs import Bench

from simulator.codelets.compiled import counted_code
from simulator.codelets.compiled.counted_code import FunctionCode, functions
from simulator.codelets.compiled.host_compiler import DamagedCacheError, cached_description
from simulator.codelets.count_run import ENTRY
from simulator.codelets.vertex import InOut, Vertex
from simulator.machine.instructions import CALLS, SLOTS, OperationCounts
from simulator.poplar import FLOAT, CodeletFileType, IPUModel

TILES = 4
PLAIN = 4 * 9  # entry and exit, pointer, element, addition, store: tests/codelets/test_syntax_code.py
on_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="instructions of x86-64 are translated")

ASSEMBLY = """
	.text
	.type	outer, @function
outer:
	movss	(%rdi), %xmm0
	addss	%xmm0, %xmm0
	call	inner
	call	elsewhere@PLT
	movw	%ax, (%rsi)
	ret
	.size	outer, .-outer
	.section	.text.unlikely
	.type	inner, @function
inner:
	movl	$7, %eax
.L2:
	movss	8(%rdi), %xmm1
	addss	(%rsi,%rdx), %xmm1
	mulss	%xmm1, %xmm0
	addq	$4, %rdx
	cmpq	%rcx, %rdx
	jne	.L2
	ret
	.section	.rodata
	.long	3
"""

SOURCE = """
#include <cmath>
#include <poplar/Vertex.hpp>
using namespace poplar;

class Small : public Vertex { public:
  InOut<float> x;
  bool compute() { *x = *x + 1.0f; return true; }
};

float polynomial(float x);
__attribute__((noinline)) float polynomial(float x) { return ((x * 3.0f + 2.0f) * x + 5.0f) * x + 7.0f; }

class Large : public Vertex { public:
  InOut<float> x;
  bool compute() { *x = polynomial(*x + 1.0f); return true; }
};

class Wave : public Vertex { public:
  InOut<float> x;
  bool compute() { *x = std::sin(*x); return true; }
};

class Shared : public MultiVertex { public:
  InOut<Vector<float>> x;
  bool compute(unsigned worker) { for (unsigned i = worker; i < x.size(); i += 6) x[i] += 1.0f; return true; }
};
"""

OTHER = """
float polynomial(float);
#include <poplar/Vertex.hpp>
class Distant : public poplar::Vertex { public:
  poplar::InOut<float> x;
  bool compute() { *x = polynomial(*x + 1.0f); return true; }
};
"""


class Plain(Vertex):
    x = InOut(FLOAT)

    def compute(self):
        self.x += 1


def bench(code: bool = True) -> Bench:
    made = IPUModel()
    made.tilesPerIPU, made.compileIPUCode = TILES, code
    return Bench(device=made.createDevice())


def code_by_tile(made: Bench) -> dict[str, list[int]]:
    """Bytes of the code of each vertex type on each tile, as the report has them."""
    with made.engine(None, {"debug.retainDebugInformation": "true"}) as engine:
        compilation = engine.getReport().compilation
        return {
            vertex.type.name: [
                sum(v.codeBytes for v in tile.memory.vertices if v.type.name == vertex.type.name)
                for tile in compilation.tiles
            ]
            for tile in compilation.tiles
            for vertex in tile.memory.vertices
        }


def test_functions_of_assembly() -> None:
    found = functions(ASSEMBLY)
    assert found["outer"] == FunctionCode(
        {"load": 1, "float add": 1, "branch": 2, "store half": 1}, uses=("elsewhere", "inner")
    )
    # The load that the loop keeps is done before it; the step and its comparison are part of the branch, which is in
    # a bundle with the product unless integers stand between.
    assert found["inner"].operations["load"] == 2
    assert found["inner"].operations["integer"] == 1
    assert found["inner"].uses == ()


def test_instructions_of_operations() -> None:
    counts = OperationCounts()
    counts.add("float add")
    counts.add("trip")
    counts.add("in a bundle")  # a bundle of two is eight bytes
    assert counts.instructions() == 2
    counts.add("store half")
    counts.add("exponential")
    counts.add("sine", 2)
    assert counts.instructions() == 2 + 3 + 1 + 2
    assert set(CALLS) < set(SLOTS)


@on_x86
def test_functions_that_are_reached_count_once() -> None:
    first = {"a": FunctionCode({"load": 1}, ("a", "b", "c", "sinf")), "b": FunctionCode({"store": 2}, ("a", "d"))}
    second = {"b": FunctionCode({"store": 90}, ()), "c": FunctionCode({"integer": 4}, ("b",)), "e": first["a"]}
    reached = counted_code._reached("a", first, [first, second])
    # c is of the other source, and its b is that source's.
    assert sorted(sum(one.operations.values()) for one in reached) == [1, 2, 4, 90]


@on_x86
def test_a_larger_codelet_has_more_code_on_each_tile_that_holds_it() -> None:
    made = bench()
    made.graph.addCodelets(io.StringIO(SOURCE), type=CodeletFileType.CppSource)
    made.graph.addCodelets(Plain)
    for tile in range(TILES):
        for twice in range(2):
            made.vertex("Small", {"x": made.tensor(f"s{tile}{twice}", FLOAT, 1, tile)}, tile)
    made.vertex("Large", {"x": made.tensor("l", FLOAT, 1, 1)}, 1)
    made.vertex("Plain", {"x": made.tensor("p", FLOAT, 1, 2)}, 2)
    made.vertex("Shared", {"x": made.tensor("m", FLOAT, np.ones(7), 3)}, 3)
    found = code_by_tile(made)
    small, large, shared = found["Small"][0], found["Large"][1], found["Shared"][3]
    assert found["Small"] == [small] * TILES
    assert found["Large"] == [0, large, 0, 0]
    assert found["Plain"] == [0, 0, PLAIN, 0]
    assert not small % 4
    # Entry; the pointer, the element, the addition, the store and the result.
    assert 4 * (ENTRY + 4) <= small <= 4 * (ENTRY + 8)
    # Three products and three sums more, and the call.
    assert large >= small + 4 * 7
    assert small < shared < 256
    with made.engine(None, {"debug.retainDebugInformation": "true"}) as engine:
        memory = engine.executable.compiled.compilation.category_memory
        (row,) = (row for row in memory if row.category == "vertexCode")
        assert row.bytes.tolist() == [small, small + large, small + PLAIN, small + shared]


@on_x86
def test_functions_of_another_source_belong_to_the_code() -> None:
    made = bench()
    for text in (SOURCE, OTHER):
        made.graph.addCodelets(io.StringIO(text), type=CodeletFileType.CppSource)
    made.vertex("Large", {"x": made.tensor("l", FLOAT, 1, 0)}, 0)
    made.vertex("Distant", {"x": made.tensor("d", FLOAT, 1, 1)}, 1)
    found = code_by_tile(made)
    # The same function; what it may change of registers is not known across sources, and is saved.
    assert found["Large"][0] <= found["Distant"][1] <= found["Large"][0] + 4 * 6


@on_x86
def test_the_figure_is_called_a_guess() -> None:
    made = bench()
    made.graph.addCodelets(io.StringIO(SOURCE), type=CodeletFileType.CppSource)
    made.graph.addCodelets(Plain)
    made.vertex("Wave", {"x": made.tensor("w", FLOAT, 1, 0)}, 0)
    made.vertex("Plain", {"x": made.tensor("p", FLOAT, 1, 1)}, 1)
    with made.engine(None, {"debug.retainDebugInformation": "true"}) as engine:
        terms = [term for term in engine.executable.compiled.compilation.cost_terms if "vertexCode" in term.object]
    sources = {name: [t.source for t in terms if name in t.term] for name in ("Wave", "Plain")}
    assert "in what the compiler here makes of the codelet" in sources["Wave"][0]
    assert sources["Wave"][0].endswith("without the functions of sine")
    assert sources["Plain"][0].startswith("guess: 9 instructions in the syntax of the codelet in Python")
    assert sources["Wave"][0].startswith("guess: ")


def test_a_damaged_description_is_made_again_once(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    written = ["{", '{"a": 1}', "[]", "[]"]
    made = []

    def make(path) -> None:
        made.append(path.name)
        path.write_text(written.pop(0))

    assert cached_description("one.json", make, lambda found: found["a"]) == 1
    assert made == ["one.json"] * 2
    with pytest.raises(DamagedCacheError, match=r"gives back a damaged 'two\.json', though .*XDG_CACHE_HOME"):
        cached_description("two.json", make, lambda found: found["a"])
    assert made == ["one.json"] * 2 + ["two.json"] * 2
    assert not list(tmp_path.rglob("two.json"))


@on_x86
def test_code_that_the_cache_always_damages_is_unknown(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    described = []

    def damaged(unit, path) -> None:
        described.append(unit.key)
        path.write_text('{"popvision')

    monkeypatch.setattr(counted_code, "_describe", damaged)
    counted_code._functions.cache_clear()
    made = bench()
    made.graph.addCodelets(io.StringIO(SOURCE), type=CodeletFileType.CppSource)
    made.vertex("Small", {"x": made.tensor("s", FLOAT, 1, 0)}, 0)
    with made.engine(None, {"debug.retainDebugInformation": "true"}) as engine:
        terms = [term for term in engine.executable.compiled.compilation.cost_terms if "vertexCode" in term.object]
    assert [t.source.partition(" (")[0] for t in terms if "Small" in t.term] == [
        "guess: a codelet whose counted code comes back damaged from the cache of compiled codelets"
    ]
    assert len(set(described)) == 1


def test_a_model_without_code_has_none() -> None:
    made = bench(code=False)
    made.graph.addCodelets(io.StringIO(SOURCE), type=CodeletFileType.CppSource)
    made.vertex("Small", {"x": made.tensor("s", FLOAT, 1, 0)}, 0)
    with made.engine(None, {"debug.retainDebugInformation": "true"}) as engine:
        rows = engine.executable.compiled.compilation.category_memory
        assert "vertexCode" not in {row.category for row in rows if row.bytes.any()}
