"""Element-wise arithmetic, comparisons, casts and fixed values on the device beside float64 torch."""

from typing import Any

import pytest
import torch

from tests.frontends.operators.operator_twin import check_operator

A = torch.randn(3, 5)
B = torch.randn(3, 5) + 3
HALF = 2e-2


def test_sums_and_products() -> None:
    check_operator(
        lambda a, b, row, one: (a + b, a - row, 2 - b, a * one, a / b, torch.add(a, row, alpha=-0.5), -a, a * 3, a / 4),
        A,
        B,
        torch.randn(5),
        torch.randn(()),
    )


def test_broadcast_of_both_operands() -> None:
    check_operator(lambda a, b: (a * b, a - b, a / b), torch.randn(3, 1, 1), torch.randn(1, 7) + 3)


def test_halves() -> None:
    check_operator(
        lambda a, b: (a + b, a * b, a / b, a - 0.5, b.sqrt(), a.exp(), torch.where(a > 0, a, b)),
        A.half(),
        B.abs().half(),
        rtol=HALF,
    )


def test_no_elements_and_scalars() -> None:
    check_operator(lambda a, b: torch.cat((a[:0] * b + 1, a[:0].exp(), b[None])), torch.randn(2, 3), torch.randn(3))
    check_operator(lambda a, b: (a * b + 1, a / b), torch.tensor(2.0), torch.tensor(3.0))


def test_common_types() -> None:
    whole, half, small = torch.arange(-4, 5), torch.randn(9).half(), torch.arange(9, dtype=torch.uint8)
    check_operator(
        lambda whole, half, small: (
            whole + 1.5,
            whole * half,
            whole + small,
            whole / 2,
            small + 250,
            half * torch.tensor(2.0),
            whole + True,
            small / small.clamp(min=1),
            (whole > 0) + (small > 2),
            (whole > 0) * (small > 2),
            (whole > 0) + 1,
        ),
        whole,
        half,
        small,
        training=False,
        rtol=2e-3,
    )


def test_divisions() -> None:
    floats, divisors = torch.tensor([5.5, -5.5, 1.0, 7.0, -0.5, 6.0]), torch.tensor([2.0, 2.0, 0.125, -3.0, -0.25, 3.0])
    for mode in ("floor", "trunc"):
        check_operator(lambda a, b, m=mode: torch.div(a, b, rounding_mode=m), floats, divisors, training=False)
    whole, other = torch.tensor([7, -7, 7, -7, 0, 6]), torch.tensor([2, 2, -2, -2, 3, 3])
    check_operator(
        lambda a, b: (a // b, torch.div(a, b, rounding_mode="trunc"), a % b, torch.fmod(a, b), a // 4, a % -4),
        whole,
        other,
        training=False,
    )
    check_operator(lambda a, b: (a % b, torch.fmod(a, b), a % 0.75), floats, torch.tensor([2.0, 2, 0.75, -3, -1, 4]))


def test_powers() -> None:
    check_operator(
        lambda a: (a**2, a**3, a**0.5, a**-1, a**1.7, a**0, a**1, 2**a, a.square(), a.rsqrt()), A.abs() + 0.5
    )
    check_operator(lambda a, b: a**b, A.abs() + 0.5, B)
    check_operator(lambda a: (a**2, a**3), torch.arange(-4, 5), training=False)


_FUNCTIONS: list[tuple[str, Any]] = [
    (
        "all",
        [
            "exp",
            "expm1",
            "exp2",
            "sin",
            "cos",
            "atan",
            "tanh",
            "erf",
            "abs",
            "sinh",
            "cosh",
            "asinh",
            "sign",
            "sgn",
            "neg",
        ],
    ),
    ("positive", ["log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "tan"]),
    ("small", ["asin", "acos", "atanh"]),
    ("steps", ["floor", "ceil", "round", "trunc", "frac"]),
]


@pytest.mark.parametrize(("domain", "names"), _FUNCTIONS)
def test_functions(domain: str, names: list[str]) -> None:
    x = {"all": 2 * A, "positive": A.abs() + 0.25, "small": A.clamp(-0.9, 0.9), "steps": 3 * A + 0.01}[domain]
    check_operator(lambda x: [getattr(x, name)() for name in names], x)


def test_precision_of_hyperbolic_functions() -> None:
    small = torch.tensor([1e-6, -3e-4, 0.0, 20.0, -60.0])
    check_operator(
        lambda x: (x.sinh() / x.sinh().abs().clamp(min=1), x.asinh() * 1e6), small, training=False, rtol=1e-5
    )
    check_operator(lambda x: x.acosh(), torch.tensor([1.0, 1.0001, 1.5, 1e6, 3e30]), training=False, rtol=1e-5)
    check_operator(lambda x: x.atanh(), torch.tensor([-0.99999, 1e-6, 0.999]), training=False, rtol=1e-5)


def test_signs() -> None:
    x, nan = torch.tensor([1.5, -2.0, -0.0, 0.0, -float("inf")]), torch.tensor([float("nan"), 1.0, -1.0, 2.0, 0.0])
    check_operator(
        lambda x, n: (x.signbit(), n.copysign(x), torch.fmax(x, n), torch.fmin(n, x)), x, nan, training=False
    )
    check_operator(lambda x: (x.signbit(), x.round(decimals=1)), x.half(), training=False)
    check_operator(lambda a, b: (torch.copysign(a, b), torch.fmax(a, b), torch.hypot(a, b)), A, B)


def test_functions_of_integers() -> None:
    check_operator(
        lambda x: (x.exp(), x.sqrt(), x.abs(), -x, x.floor(), x.isnan(), x.sign()), torch.arange(1, 9), training=False
    )


def test_rounding_of_ties() -> None:
    ties = torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, 8388609.0, -3.0, 0.0])
    check_operator(torch.round, ties, training=False, rtol=1e-9)


def test_extremes_of_two() -> None:
    check_operator(
        lambda a, b: (a.clamp(-0.5, 0.5), a.clamp(min=0.1), a.clamp(max=b), torch.maximum(a, b), torch.minimum(a, b)),
        A,
        B / 4,
    )
    check_operator(lambda a: (a.clamp(2, 5), a.clamp(min=1.5), a.clamp_max(3)), torch.arange(9), training=False)


def test_fused() -> None:
    check_operator(
        lambda a, b, c: (
            torch.lerp(a, b, 0.3),
            torch.lerp(a, b, c),
            torch.addcmul(a, b, c, value=0.5),
            torch.addcdiv(a, c, b, value=-2.0),
            torch.atan2(a, b),
        ),
        A,
        B,
        torch.randn(5),
    )


def test_comparisons_and_logic() -> None:
    check_operator(
        lambda a, b, n: (
            a < b, a <= 0, a > b, a >= n, a == a, a != b, n == 2, n > 1.5,
            (a < 0) & (b < 3), (a < 0) | (b < 3), (a < 0) ^ (b < 3), ~(a < 0), n & 3, n | 4, n ^ 5, ~n, n << 3,
            -n >> n, torch.bitwise_left_shift(1, n), n >> 1,
            torch.logical_and(a, n), torch.logical_or(a, n), torch.logical_xor(a, n), torch.logical_not(n),
        ),
        A,
        B,
        torch.arange(5),
        training=False,
    )  # fmt: skip


def test_questions() -> None:
    x = torch.tensor([1.0, float("nan"), float("inf"), -float("inf")])
    check_operator(lambda x: (x.isnan(), x.isinf(), x.isfinite(), x.nan_to_num(0.5, 7.0, -7.0)), x, training=False)


def test_choices() -> None:
    flags = torch.tensor([True, False, True, True, False])
    check_operator(
        lambda a, b, f: (
            torch.where(f, a, b),
            torch.where(f, a, 0.0),
            torch.where(a > 0, 1.0, b),
            a.masked_fill(f, -3.5),
        ),
        A,
        B,
        flags,
    )
    check_operator(lambda f, x: (torch.where(f, 1, 0), x.masked_fill(f, -float("inf"))), flags, A, training=False)


def test_casts() -> None:
    check_operator(lambda a: (a.half().float() * 2, a.to(torch.float16).float(), a.double() + 1), A, rtol=1e-3)
    check_operator(
        lambda a, n: (a.int(), a.bool(), n.float(), n.half(), (a > 0).float(), n.type_as(a), a.long(), (3 * a).short()),
        A,
        torch.arange(-3, 4),
        training=False,
    )


def test_fixed_values() -> None:
    check_operator(
        lambda a: (
            torch.zeros(2, 3) + a.sum(),
            torch.ones_like(a) * a,
            torch.full((3,), 2.5) + a[:, 0],
            a.new_zeros(5) + a,
            torch.arange(5) * a,
            torch.eye(3)[:, :1] * a,
            torch.full_like(a, 3.0) - a,
        ),
        A,
    )
    check_operator(
        lambda a: (
            torch.arange(2, 9, 3) + a,
            torch.arange(0.5, 2, 0.25),
            torch.arange(-7.9, -4.0, dtype=torch.int64),
            torch.full((2,), -2.9, dtype=torch.int32),  # the fraction is cut
            torch.linspace(0, 1, 4),
            torch.eye(2, 3),
        ),
        torch.tensor(1),
        training=False,
    )


def test_numbers_beyond_32_bits_are_refused() -> None:
    from simulator.base.errors import poplar_error

    with pytest.raises(poplar_error, match="does not fit the 32-bit integers"):
        check_operator(lambda n: n + 2**40, torch.arange(3), training=False)
