"""Inline assembly of hardware: issue slots, matrix products with the weights of a tile, refusals, the document."""

import io
import platform
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphs import Bench

from simulator.codelets.compiled.instruction_table import INSTRUCTIONS, document
from simulator.poplar import FLOAT, HALF, UNSIGNED_INT, CodeletFileType, graph_program_compilation_error
from simulator.poplar.program import Execute, Sequence

DOCUMENT = Path(__file__).parents[2] / "docs" / "codelets.md"

#: A statement between two reads of the cycle counter.
TIMED = """
#include <poplar/Vertex.hpp>
#include <ipu_builtins.h>
using namespace poplar;
class Feature : public Vertex {
 public:
  Output<Vector<unsigned>> out;
  bool compute() {
    unsigned count = out.size();
    const unsigned before = __builtin_ipu_get_scount_l();
    asm volatile(R"(ASSEMBLY)" : [count] "+r"(count) : : "memory");
    out[0] = __builtin_ipu_get_scount_l() - before - 6;
    out[1] = count;
    return true;
  }
};
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="blocks are counted on x86-64 only")
@pytest.mark.parametrize(
    ("assembly", "slots", "count"),
    [
        ("add %[count], %[count], 5", 1, 15),
        ("add %[count], %[count], 5\nsub %[count], %[count], 1", 2, 14),
        ("{ add %[count], %[count], 5 \n f32add $a0, $a1, $a2 }", 1, 15),
        ("f32div $a0, $a1, $a2", 5, 10),
        ("{ nop ; f32sqrt $a0, $a1 }", 5, 10),
        ("setzi $m0, 7\n1: brnzdec $m0, 1b", 1 + 8, 10),
        ("rpt %[count], 0\n{ add $m0, $m0, 1 ; fnop }", 1 + 10, 10),
        ("rpt 3, 1\n{ add $m0, $m0, 1 ; fnop }\n{ add %[count], %[count], $m0 ; fnop }", 1 + 6, 16),
        ("rpt $mzero, 0\n{ add $m0, $m0, 1 ; fnop }", 1, 10),
        ("bri 9f\nadd %[count], %[count], 5\n9:", 1, 10),
        ("add %[count], %[count], (3 << 2) | 2* 1 -1", 1, 23),
        (
            ".macro both r r2\nadd %[count], %[count], \\r\nadd %[count], %[count], \\r2\n.endm\nboth 5, 3",
            2,
            18,
        ),
        (".macro tens r\nadd %[count], %[count], \\r\\()0\n.endm\ntens 5", 1, 60),
        ("setzi $m0, 0x12340007\nsort4x16lo %[count], $m0, %[count]", 2, 0xA0007),
        (
            "setzi $m0, 0x40302\nshuf8x8lo $m1, $m0, %[count]\nshuf8x8hi $m2, $m0, $m1\nadd %[count], $m1, $m2",
            4,
            0x30D06,
        ),
        ("setzi $m0, 0x40302\nsort8x8lo $m1, $m0, %[count]\nadd %[count], $m1, 0", 3, 0xA0402),
        ("setzi $m0, 0x40302\nsort8x8hi $m1, $m0, %[count]\nadd %[count], $m1, 0", 3, 0x3),
        ("setzi $m0, 0x40302\nsort8 $m1, $m0\nswap8 %[count], $m1", 3, 0x3000204),
        ("setzi $m0, 0x40302\nroll16 %[count], $m0, %[count]", 2, 0xA0004),
        ("and $m0, %[count], 6\nshl $m0, $m0, 4\nxor %[count], $m0, 1", 3, 33),
        ("setzi $m0, 0x80000000\nshrs $m1, $m0, 31\nadd %[count], $m1, 0", 3, 2**32 - 1),
    ],
    ids=[
        "an instruction",
        "two",
        "a bundle",
        "division",
        "a root in a bundle",
        "a loop",
        "repeat",
        "repeat two",
        "repeat nothing",
        "a branch",
        "an expression",
        "parameters of a macro that begin alike",
        "a parameter that ends within a word",
        "halves",
        "bytes",
        "even bytes",
        "odd bytes",
        "bytes of a word",
        "the middle of two words",
        "bits",
        "sign",
    ],
)
def test_a_bundle_is_an_issue_slot(device: Any, assembly: str, slots: int, count: int) -> None:
    bench = Bench(2, device)
    bench.graph.addCodelets(io.StringIO(TIMED.replace("ASSEMBLY", assembly)), "--ipu-path=only")
    vertex = bench.vertex("Feature", {"out": bench.tensor("y", UNSIGNED_INT, np.zeros(10))})
    bench.graph.setPerfEstimate(vertex, 100)
    [out] = bench.run(["y"])
    assert (out[0] / 6, out[1]) == (slots, count)


#: A slim convolution: eight rows of weights, and four halves of input for each step.
SLIM = """
#include <poplar/Vertex.hpp>
#include <ipu_builtins.h>
using namespace poplar;
class Weights : public SupervisorVertex {
 public:
  Input<Vector<half, VectorLayout::SPAN, 16>> weights;
  bool compute() __attribute__((target("supervisor"))) {
    __builtin_ipu_put((unsigned)&weights[0], 80);
    for (unsigned m = 0; m < 8; ++m) __builtin_ipu_ld64putcs(4 * m + SET);
    return true;
  }
};
class Slim : public Vertex {
 public:
  Input<Vector<half, VectorLayout::SPAN, 16>> x;
  Input<Vector<half, VectorLayout::SPAN, 16>> partials;
  Output<Vector<half, VectorLayout::SPAN, 16>> y;
  bool compute() {
    for (unsigned i = 0; i < y.size() / 2; ++i) {
      const half4 input = *reinterpret_cast<const half4 *>(&x[4 * i]);
      const half2 partial = *reinterpret_cast<const half2 *>(&partials[2 * i]);
      half2 result;
      asm volatile("f16v4hihoslic %[out], %[in], %[sum], %[flags]"
                   : [out] "=r"(result) : [in] "r"(input), [sum] "r"(partial), [flags] "i"(FLAGS));
      *reinterpret_cast<half2 *>(&y[2 * i]) = result;
    }
    return true;
  }
};
"""


@pytest.mark.parametrize(
    ("flags", "blocks"), [("TSLIC_F16V4_1x4_W0", 4), ("TSLIC_F16V4_1x4_W1", 4), ("TSLIC_F16V4_1x3_W0", 3)]
)
def test_slim_convolutions_pass_sums_through_the_accumulators(device: Any, flags: str, blocks: int) -> None:
    """As the published table of f16v4hihoslic: a sum begins with its partial, meets the weights of the last accumulator
    first, and comes out behind the first one."""
    rng = np.random.default_rng(5)
    steps = 10
    weights, x, partials = (rng.integers(-3, 4, shape) for shape in ((8, 4), (steps, 4), (steps, 2)))
    bench = Bench(2, device)
    source = SLIM.replace("FLAGS", flags).replace("SET", flags[-1])
    bench.graph.addCodelets(io.StringIO(source), "--ipu-path=only")
    loading = bench.vertex("Weights", {"weights": bench.tensor("w", HALF, weights.ravel())})
    fields = {
        "x": bench.tensor("x", HALF, x.ravel()),
        "partials": bench.tensor("partials", HALF, partials.ravel()),
        "y": bench.tensor("y", HALF, np.zeros(2 * steps)),
    }
    first, bench.cs = bench.cs, bench.graph.addComputeSet("slim")
    slim = bench.vertex("Slim", fields)
    for vertex in (loading, slim):
        bench.graph.setPerfEstimate(vertex, 100)
    with bench.engine(Sequence([Execute(first), Execute(bench.cs)])) as engine:
        engine.run(0)
        y = bench.read(engine, "y").reshape(steps, 2)
    assert (y[0] == 0).all()
    for step in range(blocks, steps):
        for channel in range(2):
            begin = step - blocks
            sum_ = partials[begin, channel]
            for k in range(blocks):
                sum_ += weights[2 * (blocks - 1 - k) + channel] @ x[begin + k]
            assert y[step, channel] == sum_


#: Weights of 8 or 16 rows, and rounds of phases over groups of inputs; each round gives the results of the one before.
MATRIX = """
#include <poplar/Vertex.hpp>
#include <ipu_builtins.h>
using namespace poplar;
class Weights : public SupervisorVertex {
 public:
  Input<Vector<TYPE, VectorLayout::SPAN, 16>> weights;
  bool compute() __attribute__((target("supervisor"))) {
    const unsigned begin = (unsigned)&weights[0];
    __builtin_ipu_put(begin, 80);
    LOADS
    return true;
  }
};
class Product : public Vertex {
 public:
  Input<Vector<TYPE, VectorLayout::SPAN, 8>> in;
  Input<Vector<PARTIAL, VectorLayout::SPAN, 8>> partials;
  Output<Vector<PARTIAL, VectorLayout::SPAN, 8>> out;
  bool compute() {
    asm volatile("setzi $a0, 8 \\n uput $FP_CLR, $a0" ::: "$a0");
    const TYPE *x = &in[0];
    const PARTIAL *p = &partials[0];
    PARTIAL *y = &out[0];
    // Partials of the first round; inputs, with partials of the second; the second; results of the second.
    ROUNDS
    return true;
  }
};
"""


def rounds(instruction: str, phases: int, every: int, wide: int, given: str) -> str:
    """Two products: in round r come partials of product r, inputs of r - 1 and results of r - 2."""
    text = []
    for turn in range(4):
        for phase in range(phases):
            gives = phase % every == 0
            lines = []
            lines += [f"{given}step $a0{':1' if given == 'ld64' else ''}, $mzero, %[x]+=, 1"] if 0 < turn < 3 else []
            load = {"2": "ld64step $a2:3", "1": "ld32step $a2"}[str(wide)]
            lines += [f"{load}, $mzero, %[p]+=, 1"] if turn < 2 and gives else []
            source = "$a0" if given == "ld32" else "$a0:1"
            x = source if 0 < turn < 3 else ("$azero" if given == "ld32" else "$azeros")
            partial = (
                {"2": "$a2:3", "1": "$a2"}[str(wide)] if turn < 2 and gives else ("$azeros" if wide == 2 else "$azero")
            )
            to = {"2": "$a4:5", "1": "$a4"}[str(wide)] if turn > 1 and gives else ("$azeros" if wide == 2 else "$azero")
            # Partials of the first round wait without a round of their own: phase 1 begins none.
            number = phase if turn or every == 2 else 1
            lines += [f"{instruction} {to}, {x}, {partial}, {number}"]
            store = {"2": "st64step $a4:5", "1": "st32step $a4"}[str(wide)]
            lines += [f"{store}, $mzero, %[y]+=, 1"] if turn > 1 and gives else []
            text.append("\\n".join(lines))
    body = "\\n".join(text)
    return f'asm volatile("{body}" : [x] "+r"(x), [p] "+r"(p), [y] "+r"(y) : : "memory", "$a0:1", "$a2:3", "$a4:5");'


@pytest.mark.parametrize(
    ("instruction", "rows", "columns", "type_", "partial", "wide"),
    [
        ("f32sisoamp", 8, 8, FLOAT, FLOAT, 2),
        ("f16v4sisoamp", 8, 16, HALF, FLOAT, 2),
        ("f16v4hihoamp", 8, 16, HALF, HALF, 1),
        ("f16v4hihov4amp", 16, 16, HALF, HALF, 2),
    ],
    ids=["float", "half in", "half", "sixteen rows"],
)
def test_matrix_products_are_those_of_numpy(
    device: Any, instruction: str, rows: int, columns: int, type_: Any, partial: Any, wide: int
) -> None:
    names = {FLOAT: "float", HALF: "half"}
    phases, every, given = (8, 2, "ld32") if instruction == "f32sisoamp" else (4, 1, "ld64")
    pairs = range(4)
    loads = "".join(f"__builtin_ipu_ld64putcs({4 * row + pair});" for row in range(rows) for pair in pairs)
    text = MATRIX.replace("LOADS", loads).replace("ROUNDS", rounds(instruction, phases, every, wide, given))
    text = text.replace("TYPE", names[type_]).replace("PARTIAL", names[partial])
    # The first two results of a phase are of rows 0 to 7, the others of rows 8 to 15.
    order = [2 * phase + k % 2 + 8 * (k // 2) for phase in range(4) for k in range(rows // 4)]
    random = np.random.default_rng(7)
    weights, x = random.integers(-3, 4, (rows, columns)), random.integers(-3, 4, (2, columns))
    added = random.integers(-9, 10, (2, rows))
    bench = Bench(2, device)
    bench.graph.addCodelets(io.StringIO(text), "--ipu-path=only")
    first, second = bench.graph.addComputeSet("weights"), bench.cs
    loaded = bench.graph.addVertex(first, "Weights", {"weights": bench.tensor("w", type_, weights.ravel())})
    fields = {"in": bench.tensor("x", type_, x.ravel()), "partials": bench.tensor("p", partial, added.ravel())}
    product = bench.vertex("Product", {**fields, "out": bench.tensor("y", partial, np.zeros(2 * rows))})
    for vertex in (loaded, product):
        bench.graph.setTileMapping(vertex, 0)
        bench.graph.setPerfEstimate(vertex, 100)
    with bench.engine(Sequence([Execute(first), Execute(second)])) as engine:
        engine.run(0)
        made = bench.read(engine, "y").reshape(2, rows)
    np.testing.assert_array_equal(made, (x @ weights.T)[:, order] + added)


def test_assembly_in_c_and_on_models_is_refused(device: Any) -> None:
    text = TIMED.replace("ASSEMBLY", "add %[count], %[count], 5")
    with pytest.raises(graph_program_compilation_error, match=r"'add .* is for the IPU's own processor"):
        Bench(2).graph.addCodelets(io.StringIO(text), "", io.StringIO())
    text = 'int more(int x) { asm volatile("add %0, %0, 5" : "+r"(x)); return x; }'
    with pytest.raises(graph_program_compilation_error, match=r"'add .* is for the IPU's own processor"):
        Bench(2, device).graph.addCodelets(io.StringIO(text), "", io.StringIO(), CodeletFileType.CSource)


def test_a_division_by_nothing_is_refused(device: Any) -> None:
    text = TIMED.replace("ASSEMBLY", "rpt 3, 1 / 0\n{ nop ; fnop }")
    with pytest.raises(graph_program_compilation_error, match="rpt 3, 1 / 0"):
        Bench(2, device).graph.addCodelets(io.StringIO(text), "--ipu-path=only")


def test_the_document_lists_the_table() -> None:
    assert document() in DOCUMENT.read_text()
    assert len(INSTRUCTIONS) > 100
