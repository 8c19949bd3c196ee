"""Code bytes of codelets in Python, counted in their syntax: exact on tiny ones, and beside the counted code of the
same work in C++."""

from __future__ import annotations

import io
import platform

import numpy as np
import pytest
from syntax_twins import PAIRS, SOURCE, AddOne, Dot, MatrixVector, Polynomial, Triad

from simulator.codelets.compiled import counted_code, counted_costs
from simulator.codelets.compiled.counted_code import untranslated_functions
from simulator.codelets.python_code import RANGE, python_code
from simulator.codelets.syntax_code import counted_in_syntax, instructions_of
from simulator.codelets.vertex import InOut, Input, MultiVertex, Output, Vector, Vertex, vertex_type
from simulator.machine.footprint import VERTEX_CODE_GUESS
from simulator.poplar import FLOAT, HALF, INT, CodeletFileType, Graph, IPUModel

on_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="the code in C++ is translated from x86-64")


def counts(cls) -> dict[str, int]:
    return counted_in_syntax(cls, vertex_type(cls).fields)


def cpp_codes() -> dict[str, object]:
    graph = Graph(IPUModel().createDevice().getTarget())
    graph.addCodelets(io.StringIO(SOURCE), type=CodeletFileType.CppSource)
    return {cls.__name__: graph.store.vertex_types[cls.__name__].code() for cls in PAIRS}


def test_one_addition() -> None:
    # The pointer and the element are loaded.
    assert counts(AddOne) == {"entry and exit": 1, "load": 2, "store": 1, "operation": 1}
    code = python_code(AddOne, vertex_type(AddOne).fields)
    assert code.bytes == 4 * (5 + 2 + 1 + 1)
    assert code.source == (
        "guess: 9 instructions in the syntax of the codelet in Python, 4 B each (1 entry and exit, 2 load, 1 store, "
        "1 operation); compiled codelets of the same work have 0.9 to 1.65 times as many"
    )


def test_a_statement_on_arrays_is_one_loop() -> None:
    # Pointer and size of three vectors and the number q; two elements a trip.
    assert counts(Triad) == {"entry and exit": 1, "load": 7 + 2, "store": 1, "operation": 2, "loop": 1}


def test_written_loops_nest() -> None:
    assert counts(Dot) == {"entry and exit": 1, "load": 5 + 2, "store": 1, "operation": 2, "loop": 1}
    # The pointer of the row is loaded beside the two elements.
    assert counts(MatrixVector) == {"entry and exit": 1, "load": 6 + 3, "store": 1, "operation": 2, "loop": 2}
    sizes = [instructions_of(counts(cls)) for cls in (AddOne, Dot, MatrixVector)]
    assert sizes == [9, 18, 23]


def test_a_function_of_the_module_counts_once() -> None:
    assert counts(Polynomial) == {
        "entry and exit": 1, "load": 2 + 1, "store": 1, "operation": 6, "call": 1, "loop": 1,
    }  # fmt: skip

    class Twice(Polynomial):
        def compute(self):
            for i in range(len(self.x)):
                self.x[i] = self.step(self.x[i]) + self.step(1)

        def step(self, value):
            return value * value + 1

    assert counts(Twice) == {
        "entry and exit": 1, "load": 2 + 1, "store": 1, "operation": 3, "call": 2, "loop": 1,
    }  # fmt: skip


class Parts(Vertex):
    """One thing of each kind."""

    rows = Vector(Input(Vector(HALF)))
    halves = InOut(Vector(HALF, layout="one_ptr"))
    total = Output(FLOAT)
    limit = INT
    unused = Input(Vector(FLOAT))

    def compute(self):
        largest = 0.0
        for row, scale in zip(self.rows, self.halves, strict=False):
            if row.max() > largest and scale != 0:
                largest = row.max()
            elif self.limit:
                break
        while largest > 1:
            largest = np.tanh(largest) ** 2 + largest // 3
        self.halves[1:] = self.halves[:-1]
        self.total = np.sin(largest)
        assert self.limit > 0, "no code"


def test_every_kind_of_thing() -> None:
    found = counts(Parts)
    # State: rows 2, halves, limit, total 1. The loop's head: row, element; each `max` and the copy: its element.
    assert found["load"] == (2 + 1 + 1 + 1) + 2 + 2 + 1
    assert found["store half"] == 1
    assert found["store"] == 1
    # for, while, two reductions, one copy.
    assert found["loop"] == 1 + 1 + 2 + 1
    # Of each: max, >, !=; max; >; tanh, square, +.
    assert found["operation"] == 3 + 1 + 1 + 3
    assert found["call"] == 2  # integer division, sine
    # `and`; if with its jump over elif; elif; break.
    assert found["branch"] == 1 + 2 + 1 + 1
    assert instructions_of(found) == 5 + 10 + 1 + 3 + 8 + 5 + 2 + 3 * 5


class Numpy(MultiVertex):
    x = InOut(Vector(FLOAT))
    out = Output(Vector(FLOAT))

    def compute(self, workerId):
        part = self.x[workerId::6]
        part *= 2
        scratch = np.zeros(4)
        scratch[workerId] += sum(v * v for v in part)
        a = part.reshape(2, -1)
        self.out[:] = np.clip(a @ a, 0, 1).ravel()


def test_arrays_of_numpy() -> None:
    # State 2 + 2; *= its element; scratch read once; the generator's element; both operands of the product.
    assert counts(Numpy) == {
        "entry and exit": 1,
        "load": 4 + 1 + 1 + 1 + 2,
        "store": 1 + 1 + 1 + 1,  # *=, zeros, scratch, out
        "operation": 1 + (1 + 1 + 1) + 2 + 2,  # *=; product, sum, +=; of the matrix product; clip
        "loop": 1 + 1 + 1 + 3 + 1,  # *=, zeros, generator, matrix product, out
    }


def test_a_method_that_calls_itself_ends() -> None:
    class Again(Vertex):
        x = InOut(FLOAT)

        def compute(self):
            if self.x > 0:
                self.x -= 1
                self.compute()

    assert counts(Again)["call"] == 1


def test_without_a_source_the_flat_guess_stays() -> None:
    made: dict[str, object] = {}
    exec("def compute(self):\n    self.x += 1\n", made)
    cls = type("Made", (Vertex,), {"x": InOut(FLOAT), "compute": made["compute"]})
    code = vertex_type(cls).code()
    assert code.bytes == VERTEX_CODE_GUESS
    assert code.source.startswith("guess: a codelet in Python, no source of compute (")
    called = type("Called", (Vertex,), {"x": InOut(FLOAT), "compute": lambda self: None})
    assert vertex_type(called).code().source.startswith("guess: a codelet in Python, no source of ")


@on_x86
def test_the_same_work_in_cpp_has_about_as_much_code() -> None:
    code = cpp_codes()
    ratio = {cls.__name__: code[cls.__name__].bytes / vertex_type(cls).code().bytes for cls in PAIRS}
    least, most = RANGE
    assert {name: found for name, found in ratio.items() if not least <= found <= most} == {}


ARM = """
	.text
	.type	_Z5outerPf, %function
_Z5outerPf:
.LFB0:
	.cfi_startproc
	ldr	s1, [x0, 4]
	fmov	s0, 2.0e+0
	bl	inner		// a call
	b.le	.L3
.L3:
	ret
	.cfi_endproc
	.size	_Z5outerPf, .-_Z5outerPf
	.section	.rodata
	.word	7
"""


def test_instructions_of_a_processor_without_a_table() -> None:
    found = untranslated_functions(ARM)
    assert list(found) == ["_Z5outerPf"]
    assert found["_Z5outerPf"].operations == {"integer": 5}
    assert "inner" in found["_Z5outerPf"].uses


@on_x86
def test_untranslated_code_is_near_the_translated(tmp_path, monkeypatch) -> None:
    translated = cpp_codes()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for module in (counted_code, counted_costs):
        monkeypatch.setattr(module, "is_translated", lambda: False)
    counted_code._functions.cache_clear()
    try:
        plain = cpp_codes()
    finally:
        counted_code._functions.cache_clear()
    assert plain["Dot"].source == (
        f"guess: {plain['Dot'].bytes // 4} instructions of x86_64 in the compiled codelet, untranslated, 4 B each"
    )
    ratio = {name: plain[name].bytes / translated[name].bytes for name in plain}
    assert {name: found for name, found in ratio.items() if not 1 <= found <= 1.5} == {}
