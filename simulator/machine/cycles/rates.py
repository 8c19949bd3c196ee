"""Inner loop rates of element-wise operators, as PopLibs' estimators tabulate them (published-numbers 7.1; types and
in-place forms that the summary leaves out from PopLibs' public tables).

A rate is (cycles, elements, form): form "loop" = `cycles` for each loop of `elements` elements; form "plus" = cycles
for each `elements` elements *plus* the overhead that the calling wrapper adds per trip.
Type names: float, half, int, uint, bool, short, ushort, longlong, ulonglong.
"""

from __future__ import annotations

from typing import Literal, NamedTuple


class Rate(NamedTuple):
    cycles: int
    elements: int
    form: Literal["loop", "plus"] = "loop"


Rates = dict[str, Rate]


def _vector(cycles: int) -> Rates:
    """One pass per natural vector, with the wrapper's overhead."""
    return {"float": Rate(cycles, 2, "plus"), "half": Rate(cycles, 4, "plus")}


def _each(cycles: int, *types: str) -> Rates:
    """One element per pass, with the wrapper's overhead."""
    return {name: Rate(cycles, 1, "plus") for name in types}


def _words(cycles: int) -> Rates:
    """One pass per 64 bits of whole numbers, with the wrapper's overhead."""
    return {name: Rate(cycles, 2, "plus") for name in ("int", "uint")}


def _pair(float_rate: tuple[int, int], half_rate: tuple[int, int]) -> Rates:
    return {"float": Rate(*float_rate), "half": Rate(*half_rate)}


def _ints(cycles: int, elements: int) -> Rates:
    return {"int": Rate(cycles, elements), "uint": Rate(cycles, elements)}


def _longs(signed: int, unsigned: int | None = None, elements: int = 1) -> Rates:
    return {
        "longlong": Rate(signed, elements),
        "ulonglong": Rate(signed if unsigned is None else unsigned, elements),
    }


def _shorts(cycles: int, elements: int) -> Rates:
    return {"short": Rate(cycles, elements), "ushort": Rate(cycles, elements)}


_ARITHMETIC = _vector(1) | _ints(7, 1) | _longs(11)
_EXTREME = _pair((3, 2), (4, 4)) | _ints(7, 1) | _longs(15, 13)
_BITS = _ints(7, 1) | _longs(9) | _shorts(3, 4)
_EQUAL = _ints(22, 4) | _longs(48, elements=4) | _shorts(22, 4)
_ORDER = _pair((14, 4), (9, 4)) | _ints(22, 4) | _longs(56, elements=4)
_ORDER_EQUAL = _pair((14, 4), (9, 4)) | _ints(26, 4) | _longs(62, elements=4)
_LOGICAL = {"bool": Rate(5, 4)}
_BOOL_ORDER = {"bool": Rate(28, 4)}

#: non-in-place binary operators
BINARY: dict[str, Rates] = {
    "ADD": _ARITHMETIC,
    "SUBTRACT": _ARITHMETIC,
    "MULTIPLY": _ARITHMETIC | _longs(30),
    "DIVIDE": _pair((10, 2), (21, 4)) | {"int": Rate(277, 1), "uint": Rate(265, 1)} | _longs(130, 115),
    "MAXIMUM": _EXTREME,
    "MINIMUM": _EXTREME,
    "POWER": _pair((312, 1), (325, 1)) | {"int": Rate(32, 1)},
    "REMAINDER": _pair((133, 2), (300, 4)) | _ints(292, 1) | _longs(166, 149),
    "ATAN2": _pair((272, 2), (578, 4)),
    "BITWISE_AND": _BITS,
    "BITWISE_OR": _BITS,
    "BITWISE_XOR": _BITS | _shorts(5, 2),
    "BITWISE_XNOR": _BITS | _shorts(6, 2),
    "SHIFT_LEFT": _ints(7, 1) | _longs(18),
    "SHIFT_RIGHT": _ints(7, 1) | _longs(6),
    "SHIFT_RIGHT_SIGN_EXTEND": {"int": Rate(7, 1), "longlong": Rate(19, 1)},
    "EQUAL": _pair((14, 4), (9, 4)) | _EQUAL | {"bool": Rate(6, 4)},
    "NOT_EQUAL": _pair((20, 4), (11, 4)) | _EQUAL | {"bool": Rate(5, 4)},
    "GREATER_THAN": _ORDER | {"bool": Rate(31, 4)},
    "LESS_THAN": _ORDER | _BOOL_ORDER,
    "GREATER_THAN_EQUAL": _ORDER_EQUAL | _BOOL_ORDER,
    "LESS_THAN_EQUAL": _ORDER_EQUAL | _BOOL_ORDER,
    "LOGICAL_AND": _LOGICAL,
    "LOGICAL_OR": _LOGICAL,
}

_ROUNDING = _vector(2)

#: non-in-place unary operators
UNARY: dict[str, Rates] = {
    "ABSOLUTE": _each(1, "float", "half", "int") | _each(10, "longlong"),
    "NEGATE": _pair((2, 2), (2, 4)) | _each(2, "int") | _each(5, "longlong"),
    "SQUARE": _pair((2, 2), (2, 4)) | _words(1),
    "SQRT": _pair((10, 2), (23, 4)) | _each(110, "int"),
    "RSQRT": _pair((8, 2), (19, 4)),
    "EXPONENT": _pair((6, 2), (4, 4)),
    "EXPONENT_MINUS_ONE": _each(4, "float") | {"half": Rate(5, 4, "plus")},
    "LOGARITHM": _pair((12, 2), (4, 4)),
    "LOGARITHM_ONE_PLUS": _vector(18),
    "TANH": _pair((12, 2), (4, 4)),
    "SIGMOID": _pair((12, 2), (6, 4)),
    "RELU": _pair((3, 2), (3, 4)),
    "INVERSE": _pair((6, 2), (15, 4)),
    "SIN": _each(2300, "float") | {"half": Rate(25, 1)},
    "COS": _each(2300, "float") | {"half": Rate(25, 1)},
    "TAN": _pair((5100, 1), (5700, 1)),
    "ASIN": _each(102, "float", "half"),
    "ERF": _pair((41, 1), (13, 1)),
    "GELU_ERF": _pair((22, 1), (16, 1)),
    "CBRT": {"float": Rate(27, 2, "plus"), "half": Rate(17, 4, "plus")},
    "CEIL": _ROUNDING,
    "FLOOR": _ROUNDING,
    "NEARBY_INT": _ROUNDING,
    "ROUND": _ROUNDING,
    "TRUNC": _pair((3, 2), (11, 4)),
    "SIGNUM": _vector(5) | _each(5, "int"),
    "IS_FINITE": _vector(5),
    "IS_NAN": _vector(3),
    "IS_INF": {"float": Rate(3, 2, "plus"), "half": Rate(5, 4, "plus")},
    "BITWISE_NOT": _words(1) | _each(3, "longlong", "ulonglong") | _shorts(2, 4),
    "POPCOUNT": _each(1, "int", "uint"),
    "COUNT_LEADING_ZEROS": _each(1, "int", "uint"),
    "LOGICAL_NOT": _each(17, "bool"),
}

#: unary operators whose in-place loop is shorter or longer than the other
UNARY_IN_PLACE: dict[str, Rates] = {
    "ABSOLUTE": _vector(1) | _each(1, "int") | _each(10, "longlong"),
    "NEGATE": _pair((3, 2), (3, 4)) | _each(2, "int") | _each(5, "longlong"),
    "LOGARITHM": _pair((14, 2), (6, 4)),
    "TANH": _pair((10, 2), (2, 4)),
    "SIGMOID": _pair((10, 2), (4, 4)),
    "RELU": _pair((2, 2), (2, 4)),
}

_SCALAR_ARITHMETIC = _vector(1) | _ints(6, 1) | _longs(9)
_SCALAR_EXTREME = _pair((3, 2), (3, 4)) | _ints(6, 1) | _longs(14, 11)
_SCALAR_BITS = _ints(6, 1) | _longs(7) | _shorts(2, 4)
_SCALAR_EQUAL = _ints(16, 4) | _longs(32, elements=4) | _shorts(16, 4)
_SCALAR_ORDER = _pair((12, 4), (8, 4)) | _ints(16, 4) | _longs(38, elements=4)
_SCALAR_ORDER_EQUAL = _pair((12, 4), (8, 4)) | _ints(20, 4) | _longs(50, elements=4)

#: operators of a tensor with one scalar; what is not here takes the binary rate
BROADCAST_SCALAR: dict[str, Rates] = {
    "ADD": _SCALAR_ARITHMETIC,
    "SUBTRACT": _SCALAR_ARITHMETIC,
    "MULTIPLY": _SCALAR_ARITHMETIC | _longs(26),
    "DIVIDE": _pair((6, 2), (8, 2)) | {"int": Rate(277, 1), "uint": Rate(260, 1)} | _longs(103, 148),
    "MAXIMUM": _SCALAR_EXTREME,
    "MINIMUM": _SCALAR_EXTREME,
    "REMAINDER": _pair((93, 2), (225, 4)) | {"int": Rate(280, 1), "uint": Rate(267, 1)} | _longs(137, 178),
    "BITWISE_AND": _SCALAR_BITS,
    "BITWISE_OR": _SCALAR_BITS,
    "BITWISE_XOR": _SCALAR_BITS | _shorts(4, 2),
    "BITWISE_XNOR": _SCALAR_BITS | _shorts(4, 2),
    "SHIFT_LEFT": _ints(6, 1) | _longs(16),
    "SHIFT_RIGHT": _ints(6, 1) | _longs(5),
    "EQUAL": _pair((12, 4), (8, 4)) | _SCALAR_EQUAL | {"bool": Rate(14, 4)},
    "NOT_EQUAL": _pair((18, 4), (10, 4)) | _SCALAR_EQUAL | {"bool": Rate(4, 4)},
    "GREATER_THAN": _SCALAR_ORDER,
    "LESS_THAN": _SCALAR_ORDER,
    "GREATER_THAN_EQUAL": _SCALAR_ORDER_EQUAL,
    "LESS_THAN_EQUAL": _SCALAR_ORDER_EQUAL,
    "LOGICAL_AND": {"bool": Rate(4, 4)},
    "LOGICAL_OR": {"bool": Rate(4, 4)},
    "VARIANCE_TO_INV_STD_DEV": _pair((12, 2), (24, 4)),
    "INV_STD_DEV_TO_VARIANCE": _pair((11, 2), (10, 2)),
}


def rate_of(table: dict[str, Rates], op: str, dtype: str) -> Rate:
    """The rate of `op` on `dtype`.

    Raises KeyError naming both when PopLibs' estimators have no such pair, which is how PopLibs itself refuses it."""
    rates = table.get(op, {})
    if dtype not in rates:
        raise KeyError(f"no cycle rate for {op} on {dtype}: PopLibs has no such vertex; cast the operands first")
    return rates[dtype]
