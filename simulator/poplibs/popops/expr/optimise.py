"""Simpler expressions with the same values (`enableExpressionOptimizations`).

Powers with the exponents 0.5, -0.5, 1, 2, 3, 4, -1 and -2 become roots, products and inverses; casts of a tensor to its
own type disappear.
"""

from __future__ import annotations

from simulator.poplibs.popops.expr.coding import Code

_FLOATING = ("float", "half")


def optimised(code: Code) -> Code:
    """The expression with its parts simplified."""
    if code[0] == "cast":
        inner = optimised(code[1])
        return inner if inner[-1] == code[-1] and inner[0] == "in" else ("cast", inner, code[-1])
    if code[0] != "op":
        return code
    arguments = tuple(optimised(a) for a in code[2])
    if code[1] == "POWER" and arguments[1][0] == "const" and code[-1] in _FLOATING:
        power = _power(arguments[0], float(arguments[1][1]), code[-1])
        if power is not None:
            return power
    return ("op", code[1], arguments, code[-1])


def _power(base: Code, exponent: float, type_: str) -> Code | None:
    def op(name: str, *arguments: Code) -> Code:
        return ("op", name, arguments, type_)

    square = op("SQUARE", base)
    simpler: dict[float, Code] = {
        0.5: op("SQRT", base),
        -0.5: op("RSQRT", base),
        1.0: base,
        2.0: square,
        3.0: op("MULTIPLY", square, base),
        4.0: op("SQUARE", square),
        -1.0: op("INVERSE", base),
        -2.0: op("INVERSE", square),
    }
    return simpler.get(exponent)
