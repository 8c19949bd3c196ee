"""The instructions of a tile that inline assembly may use, what they do and what they cost.

Names and operands are those of public assembly (Graphcore's PopLibs and compiler, and codelets on GitHub). An operand
of an instruction is one of `OPERANDS`; `code` is C++ over functions of popvision_tile.hpp, where `@0` is operand 0 read
and `@0w` operand 0 written. An instruction, or a bundle of one for the main and one for the arithmetic file, takes one
issue slot, as every instruction does (`simulator.machine.instructions`), or those of its `operation` in that table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from simulator.machine.instructions import SLOTS

#: Letters of operands: a word (register of either file, or a number to read), n words of the arithmetic file (1, 2, 4),
#: an address that steps (`$m2+=`), a pack of three addresses that step, a number, a label, a register by its name,
#: a pack to be made, which accumulators (0, 1 or 4), and the rounding towards zero.
OPERANDS = {
    "W": "word",
    "1": "word of the arithmetic file",
    "2": "pair",
    "4": "four",
    "P": "address+=",
    "Q": "pack+=",
    "I": "number",
    "L": "label",
    "C": "name",
    "K": "pack",
    "G": "accumulators",
    "T": "3",
}


@dataclass(frozen=True)
class Instruction:
    """`operands`: letters of OPERANDS. `operation`: of the table of costs, "" = one slot. `family`: under what the
    document lists it."""

    name: str
    operands: str
    code: str
    family: str
    operation: str = ""
    flops: int = 0
    half_slots: int = 0  #: issue slots where the table of costs has floats alone

    def slots(self) -> int:
        """Issue slots."""
        return self.half_slots or int(SLOTS.get(self.operation, 1))


def _memory() -> Iterator[Instruction]:
    family = "loads and stores"
    loads = {
        "ld32": ("W", "@0w = tile::load<int>(%s);", 4),
        "ldz8": ("W", "@0w = tile::load<unsigned char>(%s);", 1),
        "lds8": ("W", "@0w = tile::load<signed char>(%s);", 1),
        "ldz16": ("W", "@0w = tile::load<unsigned short>(%s);", 2),
        "lds16": ("W", "@0w = tile::load<short>(%s);", 2),
        "ldb16": ("1", "*@0w = tile::both(tile::load<unsigned short>(%s));", 2),
        "ld64": ("2", "tile::load_words<2>(@0w, %s);", 8),
        "ld128": ("4", "tile::load_words<4>(@0w, %s);", 16),
        "st32": ("W", "tile::store<int>(%s, static_cast<int>(@0));", 4),
        "st64": ("2", "tile::store_words<2>(@0, %s);", 8),
    }
    for name, (value, code, size) in loads.items():
        yield Instruction(name, f"{value}WWW", code % f"@1 + @2 + {size} * @3", family)
        step = f" @2w = @2 + {size} * @3;"
        at = "const long long at = @1 + @2;"
        yield Instruction(f"{name}step", f"{value}WPW", f"{at}{step} " + code % "at", family)
    packed = (
        ("ld2x64pace", "22QWI", "@2w = tile::load_two(@0w, @1w, @2, @3, @4);"),
        ("ldst64pace", "22QWI", "@2w = tile::load_and_store(@0w, @1, @2, @3, @4);"),
        ("ld2xst64pace", "42QWI", "@2w = tile::load_two_and_store(@0w, @1, @2, @3, @4);"),
        ("st64pace", "2QWI", "@1w = tile::store_packed(@0, @1, @2, @3);"),
    )
    for name, operands, code in packed:
        yield Instruction(name, operands, code, "loads and stores of packed addresses")
    yield Instruction("tapack", "KWWW", "@0w = tile::packed({@1, @2, @3});", "loads and stores of packed addresses")


#: Halves and bytes of two words in one, as the compiler's tests of vectors have them.
_SHUFFLES = {
    "sort4x16lo": "(@1 & 0xffff) | tile::left(@2, 16)",
    "sort4x16hi": "tile::right(@1, 16) | (@2 & 0xffff0000)",
    "roll16": "tile::right(@1, 16) | tile::left(@2, 16)",
    "sort8x8lo": "tile::even_bytes(@1, @2)",
    "sort8x8hi": "tile::even_bytes(tile::right(@1, 8), tile::right(@2, 8))",
    "shuf8x8lo": "tile::mixed(@1, @2)",
    "shuf8x8hi": "tile::mixed(@1 >> 16, @2 >> 16)",
}


def _words() -> Iterator[Instruction]:
    family = "words"
    two = {
        "add": "tile::add(@1, @2)",
        "sub": "tile::sub(@1, @2)",
        "mul": "tile::mul(@1, @2)",
        "and": "(@1 & @2)",
        "andc": "(@1 & ~@2)",
        "or": "(@1 | @2)",
        "xor": "(@1 ^ @2)",
        "xnor": "~(@1 ^ @2)",
        "shl": "static_cast<int>(tile::left(@1, @2))",
        "shr": "static_cast<int>(tile::right(@1, @2))",
        "shrs": "tile::arithmetic_right(@1, @2)",
        "cmpeq": "(@1 == @2)",
        "cmpne": "(@1 != @2)",
        "cmpslt": "(@1 < @2)",
        "cmpult": "(static_cast<unsigned long long>(@1) < static_cast<unsigned long long>(@2))",
        "max": "(@1 > @2 ? @1 : @2)",
        "min": "(@1 < @2 ? @1 : @2)",
    }
    for name, value in two.items():
        yield Instruction(name, "WWW", f"@0w = {value};", family)
    yield Instruction("movz", "WWW", "if (@1 == 0) @0w = @2;", family)
    yield Instruction("movnz", "WWW", "if (@1 != 0) @0w = @2;", family)
    yield Instruction("setzi", "WI", "@0w = @1;", family)
    yield Instruction("clz", "WW", "@0w = tile::leading_zeros(@1);", family)
    yield Instruction("popc", "WW", "@0w = __builtin_popcount(static_cast<unsigned>(@1));", family)
    for name, value in _SHUFFLES.items():
        yield Instruction(name, "WWW", f"@0w = static_cast<int>({value});", family)
    yield Instruction("swap16", "WW", "@0w = static_cast<int>(tile::left(@1, 16) | tile::right(@1, 16));", family)
    yield Instruction("sort8", "WW", "@0w = static_cast<int>(tile::even_bytes(@1, @1 >> 8));", family)
    yield Instruction("swap8", "WW", "@0w = static_cast<int>(tile::swapped_bytes(@1));", family)
    yield Instruction("atom", "W1", "@0w = static_cast<int>((@1)[0]);", family)
    for name, (low, high) in {"sort4x32lo": (0, 0), "sort4x32hi": (1, 1), "roll32": (1, 0)}.items():
        code = f"const unsigned low = @1[{low}], high = @2[{high}]; @0w[0] = low; @0w[1] = high;"
        yield Instruction(name, "222", code, family)
    yield Instruction("zero", "2", "@0w[0] = @0w[1] = 0;", family)
    for name, operator in {"and64": "&", "andc64": "& ~", "or64": "|", "xor64": "^"}.items():
        code = (
            f"const unsigned low = @1[0] {operator} @2[0], high = @1[1] {operator} @2[1]; @0w[0] = low; @0w[1] = high;"
        )
        yield Instruction(name, "222", code, family)
    for name in ("nop", "fnop"):
        yield Instruction(name, "", "", family)


def _control() -> Iterator[Instruction]:
    family = "branches"
    conditions = {"brz": "@0 == 0", "brnz": "@0 != 0", "brpos": "@0 >= 0", "brneg": "@0 < 0"}
    for name, holds in conditions.items():
        yield Instruction(name, "WL", f"if ({holds}) goto @1;", family)
    yield Instruction("brnzdec", "WL", "{ const bool more = @0 != 0; @0w = @0 - 1; if (more) goto @1; }", family)
    yield Instruction("bri", "L", "goto @0;", family)
    yield Instruction("rpt", "WI", "", family)


def _registers() -> Iterator[Instruction]:
    family = "registers by name"
    yield Instruction("uput", "CW", "tile::write_arithmetic(@0, static_cast<unsigned>(@1));", family)
    yield Instruction("get", "WC", "@0w = @1;", family)


def _workers() -> Iterator[Instruction]:
    code = "popvision_run_all(reinterpret_cast<void (*)(void *, unsigned)>(@0), reinterpret_cast<void *>(@1));"
    yield Instruction("runall", "WWI", code, "workers of a supervisor")
    yield Instruction("sync", "I", "", "workers of a supervisor")


#: Functions of two halves: half of what published estimators have for four (published-numbers 7.1).
_HALF_SLOTS = {"exp": 2, "exp2": 2, "ln": 2, "log2": 2, "tanh": 2, "sigm": 3}


def _floats() -> Iterator[Instruction]:
    shapes = {"f32": ("float", 1), "f32v2": ("float", 2), "f16v2": ("half", 2), "f16v4": ("half", 4)}
    two = {
        "add": "x + y",
        "sub": "x - y",
        "mul": "x * y",
        "max": "__builtin_fmaxf(x, y)",
        "min": "__builtin_fminf(x, y)",
        "absadd": "__builtin_fabsf(x) + __builtin_fabsf(y)",
        "absmax": "__builtin_fmaxf(__builtin_fabsf(x), __builtin_fabsf(y))",
    }
    for prefix, (type_, n) in shapes.items():
        words = str(n if type_ == "float" else n // 2)
        for name, formula in two.items():
            code = f"tile::two<{type_}, {n}>(@0w, @1, @2, [](float x, float y) {{ return {formula}; }});"
            yield Instruction(prefix + name, words * 3, code, "arithmetic", flops=n)
        for name, sign in {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
            holds = f"[](float x, float y) {{ return x {sign} y; }}"
            code = f"tile::compare<{type_}, {n}>(@0w, @1, @2, {holds});"
            yield Instruction(f"{prefix}cmp{name}", words * 3, code, "arithmetic", flops=n)
    yield Instruction(
        "f32div",
        "111",
        "tile::two<float, 1>(@0w, @1, @2, [](float x, float y) { return x / y; });",
        "arithmetic",
        "division",
        1,
    )
    functions = {
        "sqrt": ("__builtin_sqrtf(x)", "square root"),
        "oox": ("1.0f / x", "inverse"),
        "oorx": ("1.0f / __builtin_sqrtf(x)", "inverse square root"),
        "exp": ("__builtin_expf(x)", "exponential"),
        "exp2": ("__builtin_exp2f(x)", "exponential"),
        "ln": ("__builtin_logf(x)", "logarithm"),
        "log2": ("__builtin_log2f(x)", "logarithm"),
        "tanh": ("__builtin_tanhf(x)", "hyperbolic tangent"),
        "sigm": ("1.0f / (1.0f + __builtin_expf(-x))", "hyperbolic tangent"),
    }
    for name, (formula, operation) in functions.items():
        code = f"tile::one<float, 1>(@0w, @1, [](float x) {{ return {formula}; }});"
        yield Instruction(f"f32{name}", "11", code, "functions", operation, 1)
        if name in _HALF_SLOTS:
            code = code.replace("<float, 1>", "<half, 2>")
            yield Instruction(f"f16v2{name}", "11", code, "functions", flops=2, half_slots=_HALF_SLOTS[name])
    yield from _conversions()


def _conversions() -> Iterator[Instruction]:
    kinds = {
        "f32tof16": ("1", "1", "float, 1, half"),
        "f16tof32": ("1", "1", "half, 1, float"),
        "f32v2tof16": ("1", "2", "float, 2, half"),
        "f16v2tof32": ("2", "1", "half, 2, float"),
        "f32fromi32": ("1", "1", "int, 1, float"),
        "f32fromui32": ("1", "1", "unsigned, 1, float"),
        "f32toi32": ("1", "1", "float, 1, int"),
        "f32toui32": ("1", "1", "float, 1, unsigned"),
    }
    for name, (to, of, types) in kinds.items():
        yield Instruction(name, to + of, f"tile::convert<{types}>(@0w, @1);", "conversions")
    for name, to, of, n in (("f16v2sum", "1", "1", 1), ("f16v4sum", "2", "2", 2)):
        yield Instruction(name, to + of, f"tile::sum_pairs<{n}>(@0w, @1);", "arithmetic", flops=n)
    whole = "tile::one<float, 1>(@0w, @1, [](float x) { return __builtin_truncf(x); });"
    yield Instruction("f32int", "11T", whole, "conversions", flops=1)
    for name, to, of, n in (("f16v2maxc", "1", "1", 1), ("f16v4maxc", "1", "2", 2)):
        yield Instruction(name, to + of, f"tile::larger_of_pairs<{n}>(@0w, @1);", "arithmetic", flops=n)
    limits = (
        ("f32", "float, 1", "112"),
        ("f32v2", "float, 2", "222"),
        ("f16v2", "half, 2", "111"),
        ("f16v4", "half, 4", "221"),
    )
    for prefix, types, operands in limits:
        yield Instruction(f"{prefix}clamp", operands, f"tile::clamp<{types}>(@0w, @1, @2);", "arithmetic", flops=1)
    for name, types in (("f32v2rmask", "float, 2"), ("f16v4rmask", "half, 4")):
        yield Instruction(name, "221", f"tile::masked<{types}>(@0w, @1, @2);", "random numbers")
    yield Instruction("urand32", "W", "@0w = static_cast<int>(popvision_random() >> 32);", "random numbers")


def _accumulators() -> Iterator[Instruction]:
    family = "accumulators"
    yield Instruction("f32v2mac", "22", "tile::multiply_accumulate(@0, @1);", family, flops=4)
    yield Instruction("f16v2cmac", "11", "tile::products_of_halves<2>(@0, @1);", family, flops=4)
    yield Instruction("f16v4cmac", "22", "tile::products_of_halves<4>(@0, @1);", family, flops=8)
    yield Instruction("f32v4acc", "4", "tile::accumulate<float, 4>(@0, false);", family, flops=4)
    yield Instruction("f32v4sqacc", "4", "tile::accumulate<float, 4>(@0, true);", family, flops=8)
    yield Instruction("f16v8acc", "4", "tile::accumulate<half, 8>(@0, false);", family, flops=8)
    yield Instruction("f16v8sqacc", "4", "tile::accumulate<half, 8>(@0, true);", family, flops=16)
    yield Instruction("f32v2aop", "22I", "tile::outer_product(@0, @1);", family, flops=8)
    yield Instruction("f32v2axpy", "222", "tile::scaled_sum(@0w, @1, @2);", family, flops=4)
    yield Instruction("f32v2gina", "22G", "tile::shift_accumulators<float>(@0w, @1, @2 & 1);", family)
    yield Instruction("f16v2gina", "11G", "tile::shift_accumulators<half>(@0w, @1, @2 & 1);", family)
    yield Instruction(
        "f16v4hihoslic", "121I", "tile::slim_convolution(@0w, @1, @2, @3);", "slim convolutions", flops=64
    )
    products = (
        ("f32sisoamp", "212I", "float, 1, float, 2, 8", 16),
        ("f16v4sisoamp", "222I", "half, 4, float, 2, 4", 64),
        ("f16v4hihoamp", "121I", "half, 4, half, 2, 4", 64),
        ("f16v4hihov4amp", "222I", "half, 4, half, 4, 4", 128),
    )
    for name, operands, types, flops in products:
        code = f"tile::matrix_phase<{types}>(@0w, @1, @2, @3);"
        yield Instruction(name, operands, code, "matrix products", flops=flops)


INSTRUCTIONS: dict[str, Instruction] = {
    instruction.name: instruction
    for made in (_memory, _words, _control, _registers, _workers, _floats, _accumulators)
    for instruction in made()
}


def document() -> str:
    """The rows of docs/codelets.md: each family and its instructions, with slots where they are more than one."""
    rows: dict[str, list[str]] = {}
    for instruction in INSTRUCTIONS.values():
        slots = f" ({instruction.slots()} slots)" if instruction.slots() > 1 else ""
        rows.setdefault(instruction.family, []).append(f"`{instruction.name}`{slots}")
    return "".join(f"| {family} | {', '.join(names)} |\n" for family, names in rows.items())
