"""What blocks of assembly cost on a tile: vectors by instruction, operations that share a slot, conversions."""

import platform

import pytest
from graphs import model

from simulator.codelets.compiled.assembly import split_blocks
from simulator.codelets.compiled.source_places import with_notes
from simulator.codelets.compiled.tile_operations import operations
from simulator.poplar import FLOAT, HALF, INT, CodeletFileType, Graph

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="blocks are counted on x86-64 only")

SOURCE = """
#include <ipu_vector_math>
#include <poplar/Vertex.hpp>
#include <poplar/VectorTypes.hpp>
using namespace poplar;

template <typename T, typename Element>
class Axpy : public Vertex {
 public:
  InOut<Vector<Element, VectorLayout::SPAN, 16>> a;
  Input<Vector<Element, VectorLayout::SPAN, 16>> b;
  bool compute() {
    T *to = reinterpret_cast<T *>(a.data());
    const T *from = reinterpret_cast<const T *>(b.data());
    for (unsigned i = 0; i < a.size() * sizeof(Element) / sizeof(T); ++i) to[i] = from[i] + to[i] * from[i];
    return true;
  }
};
template class Axpy<float, float>;
template class Axpy<float2, float>;
template class Axpy<float4, float>;
template class Axpy<half2, half>;
template class Axpy<half4, half>;
template class Axpy<half8, half>;
template class Axpy<int2, int>;

// Four scalars in a row are no vector.
class Scalars : public Vertex {
 public:
  InOut<Vector<half>> a;
  bool compute() {
    for (unsigned i = 0; i < a.size(); i += 4)
      for (unsigned j = 0; j < 4; ++j) a[i + j] = a[i + j] * a[i + j];
    return true;
  }
};
"""
#: Slots of a trip: two loads, a product, a sum, a store and the branch; for each 8 bytes of a vector but the branch.
TRIPS = {
    "Axpy<float,float>": (FLOAT, 1, 6),
    "Axpy<float2,float>": (FLOAT, 2, 6),
    "Axpy<float4,float>": (FLOAT, 4, 11),
    "Axpy<half2,half>": (HALF, 2, 6),
    "Axpy<half4,half>": (HALF, 4, 6),
    "Axpy<half8,half>": (HALF, 8, 11),
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory) -> Graph:
    path = tmp_path_factory.mktemp("vectors") / "vectors.cpp"
    path.write_text(SOURCE)
    made = Graph(model(1, "ipu2").getTarget())
    made.addCodelets(str(path), CodeletFileType.Auto, "-O3 -Wno-ignored-attributes")
    return made


def slots(graph: Graph, name: str, fields: dict) -> int:
    """Of one vertex, on made-up data."""
    return graph.guessPerfEstimate(graph.addVertex(graph.addComputeSet(), name, fields)).cycles


@pytest.mark.parametrize("name", TRIPS)
def test_vectors_cost_the_instructions_of_a_tile(graph, name: str) -> None:
    type_, elements, trip = TRIPS[name]
    few, many = (
        slots(graph, name, {field: graph.addVariable(type_, [n * elements], field) for field in "ab"})
        for n in (10, 110)
    )
    assert many - few == 100 * trip


def test_integers_of_a_vector_are_an_instruction_each(graph) -> None:
    few, many = (
        slots(graph, "Axpy<int2,int>", {field: graph.addVariable(INT, [2 * n], field) for field in "ab"})
        for n in (10, 110)
    )
    assert many - few >= 100 * (2 + 2 + 2 + 1 + 1)


def test_four_scalars_are_no_vector(graph) -> None:
    few, many = (slots(graph, "Scalars", {"a": graph.addVariable(HALF, [4 * n], "a")}) for n in (10, 110))
    assert many - few >= 100 * 4 * (1 + 1 + 3)  # load, product, and the three instructions that store a half


def of_block(assembly: str) -> dict[str, int]:
    """The operations of the first block."""
    return operations(split_blocks(f"\t.text\nf:\n{assembly}")[1][0])


def test_neighbours_of_two_units_share_a_slot() -> None:
    """As `axpy_twice` in coissue.ll of the published compiler's tests: six instructions in four slots."""
    apart = """
	movss	(%rdi), %xmm1
	mulss	%xmm0, %xmm1
	movss	4(%rdi), %xmm2
	movss	%xmm1, (%rsi)
	mulss	%xmm0, %xmm2
	movss	%xmm2, 4(%rsi)
	ret
"""
    assert of_block(apart) == {"load": 2, "float multiply": 2, "in a bundle": 2, "store": 2}
    dependent = "\tmovss\t(%rdi), %xmm1\n\tmulss\t%xmm0, %xmm1\n\tmovss\t%xmm1, (%rsi)\n\tret\n"
    assert of_block(dependent) == {"load": 1, "float multiply": 1, "store": 1}
    moved = "\tmulss\t%xmm0, %xmm1\n\tmovaps\t%xmm1, %xmm3\n\tmovss\t%xmm3, (%rsi)\n\tret\n"
    assert of_block(moved) == {"float multiply": 1, "store": 1}
    called = "\taddss\t%xmm0, %xmm1\n\tcall\telsewhere\n\tret\n"
    assert of_block(called) == {"float add": 1, "branch": 1}


def test_a_load_that_an_addition_takes_stands_before_it() -> None:
    folded = "\tmulss\t%xmm2, %xmm0\n\taddss\t(%rdi), %xmm0\n\tret\n"
    assert of_block(folded) == {"float multiply": 1, "load": 1, "float add": 1}
    by_itself = "\tmulss\t%xmm2, %xmm0\n\tmovss\t(%rdi), %xmm1\n\taddss\t%xmm1, %xmm0\n\tret\n"
    assert of_block(by_itself) == {"float multiply": 1, "load": 1, "float add": 1}


def test_two_floats_that_follow_each_other_are_a_load_of_a_pair() -> None:
    pair = "\tvmovss\t8(%rax), %xmm0\n\tvinsertps\t$0x10, 12(%rax), %xmm0, %xmm0\n\tret\n"
    assert of_block(pair) == {"load": 1}
    assert of_block(pair.replace("12(", "16(")) == {"load": 2}
    assert of_block(pair.replace("12(%rax", "12(%rbx")) == {"load": 2}


def test_numbers_pass_between_the_files_as_the_published_compiler_has_it() -> None:
    assert of_block("\tcvtsi2ssl\t%eax, %xmm0\n\tret\n") == {"store": 1, "load": 1, "convert": 1}
    assert of_block("\tcvtsi2ssl\t(%rdi), %xmm0\n\tret\n") == {"load": 1, "convert": 1}
    assert of_block("\tcvttss2sil\t%xmm0, %eax\n\tret\n") == {"rounding": 1, "convert": 1, "integer": 1}


def test_a_counter_that_is_a_number_is_stepped_by_an_instruction() -> None:
    loop = """
.L2:
	cvtsi2ssl	%eax, %xmm0
	addl	$1, %eax
	addss	%xmm0, %xmm1
	cmpl	%eax, %edx
	jne	.L2
"""
    [block] = split_blocks(f"\t.text\nf:\n{loop}")[1]
    # the sum is issued with the step, and nothing is left for the branch
    assert operations(block) == {
        "store": 1,
        "load": 1,
        "convert": 1,
        "integer": 1,
        "float add": 1,
        "in a bundle": 1,
        "trip": 1,
    }


def test_neighbours_of_an_element_cost_no_address() -> None:
    loop = """
.L2:
	leal	1(%rdx), %esi
	movss	(%rcx,%rsi,4), %xmm1
	movq	%rsi, 8(%rsp)
	movq	8(%rsp), %r12
	movss	%xmm1, (%rbx,%r12,4)
	addl	$4, %edx
	cmpl	%edx, %eax
	jne	.L2
"""
    [block] = split_blocks(f"\t.text\nf:\n{loop}")[1]
    assert operations(block) == {"load": 1, "store": 1, "trip": 1}
    multiplied = loop.replace("\tmovss\t(%rcx", "\timull\t%esi, %edi\n\tmovss\t(%rcx")
    [used] = split_blocks(f"\t.text\nf:\n{multiplied}")[1]
    assert operations(used)["integer"] >= 1


DUMP = """
;; Function twice (_Z5twiceDv4_DF16_, funcdef_no=1, decl_uid=2, cgraph_uid=3, symbol_order=4)

half4 twice (half4 v)
{
  _Float16 _1;
  vector(4) _Float16 _4;

  <bb 2> [local count: 1]:
  [dir/t.cpp:3:39 discrim 2] _4 = {_1, _1, _1, _1};
  [dir/t.cpp:4:7] _1 = _1 + _1;
"""
NOTED = """	.file	"t.cpp"
	.text
.Ltext0:
	.type	_Z5twiceDv4_DF16_, @function
_Z5twiceDv4_DF16_:
.LFB0:
	.file 1 "dir/t.cpp"
	.loc 1 3 39 is_stmt 1
	vaddss	%xmm0, %xmm0, %xmm0
.LBB2:
	.loc 1 4 7
	vmulss	%xmm0, %xmm0, %xmm0
	vmaxss	%xmm0, %xmm0, %xmm0
.L3:
	ret
	.section	.debug_line,"",@progbits
	.long	3
	.section	.note.GNU-stack,"",@progbits
"""


def test_notes_say_which_vector_an_instruction_is_of() -> None:
    lines = with_notes(NOTED, DUMP, "").splitlines()
    assert lines == [
        '\t.file\t"t.cpp"',
        "\t.text",
        "\t.type\t_Z5twiceDv4_DF16_, @function",
        "_Z5twiceDv4_DF16_:",
        "\tvaddss\t%xmm0, %xmm0, %xmm0\t# popvision vector 4 2 f 0",
        "\tvmulss\t%xmm0, %xmm0, %xmm0",
        "\tvmaxss\t%xmm0, %xmm0, %xmm0",
        ".L3:",
        "\tret",
        '\t.section\t.note.GNU-stack,"",@progbits',
    ]


CALLS = """
#include <ipu_vector_math>
#include <poplar/Vertex.hpp>
using namespace poplar;

template <typename T, typename Element, unsigned operation>
class Called : public Vertex {
 public:
  InOut<Vector<Element, VectorLayout::SPAN, 8>> a;
  Input<Vector<Element, VectorLayout::SPAN, 8>> b;
  bool compute() {
    T *to = reinterpret_cast<T *>(a.data());
    const T *from = reinterpret_cast<const T *>(b.data());
    for (unsigned i = 0; i < a.size() * sizeof(Element) / sizeof(T); ++i) {
      if constexpr (operation == 0) to[i] = __builtin_ipu_max(to[i], from[i]);
      if constexpr (operation == 1) to[i] = __builtin_ipu_cmplt(to[i], from[i]);
      if constexpr (operation == 2) to[i] = ipu::fmin(to[i], from[i]);
      if constexpr (operation == 3) to[i] = ipu::tanh(from[i]);
      if constexpr (operation == 4) to[i] = __builtin_ipu_clamp(from[i], float2{0, 1});
    }
    return true;
  }
};
template class Called<float, float, 0>;
template class Called<float2, float, 0>;
template class Called<half4, half, 0>;
template class Called<float2, float, 1>;
template class Called<half2, half, 1>;
template class Called<float4, float, 2>;
template class Called<half4, half, 2>;
template class Called<half2, half, 3>;
template class Called<half4, half, 3>;
template class Called<float2, float, 3>;
template class Called<float2, float, 4>;
"""
#: Slots of the instructions of a call, as docs/codelets.md has them.
SLOTS_OF_CALLS = {
    "Called<float,float,0>": 1,
    "Called<float2,float,0>": 1,
    "Called<half4,half,0>": 1,
    "Called<float2,float,1>": 1,
    "Called<half2,half,1>": 1,
    "Called<float4,float,2>": 2,
    "Called<half4,half,2>": 1,
    "Called<half2,half,3>": 2,
    "Called<half4,half,3>": 4,
    "Called<float2,float,3>": 12,
    "Called<float2,float,4>": 1,
}


@pytest.fixture(scope="module")
def calls(tmp_path_factory) -> Graph:
    path = tmp_path_factory.mktemp("calls") / "calls.cpp"
    path.write_text(CALLS)
    made = Graph(model(1, "ipu2").getTarget())
    made.addCodelets(str(path), CodeletFileType.Auto, "-O3 -Wno-ignored-attributes")
    return made


@pytest.mark.parametrize("name", SLOTS_OF_CALLS)
def test_functions_of_our_headers_cost_their_instructions(calls, name: str) -> None:
    """Beside them loads, a store and the branch; a call may keep what it needs over it."""
    type_, elements = (HALF, int(name[11])) if "half" in name else (FLOAT, int(name[12]) if name[12] != "," else 1)
    few, many = (
        slots(calls, name, {field: calls.addVariable(type_, [n * elements], field) for field in "ab"})
        for n in (10, 110)
    )
    accesses = (2 if int(name[-2]) > 2 else 3) * (2 if "float4" in name else 1)
    beside = (many - few) / 100 - SLOTS_OF_CALLS[name] - accesses - 1
    assert 0 <= beside <= (8 if int(name[-2]) == 3 else 0)
