"""Random numbers through poprand. They follow TensorFlow's distributions, not its sequences of numbers: a tile has a
generator of its own, which the seed of the operator sets."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import UNSIGNED_INT, Tensor
from simulator.poplibs import poprand


def _seed(at: Building, seed: Tensor | None) -> Tensor:
    """[2] UNSIGNED_INT: the operator's own seed, or that of the program."""
    if seed is None:
        return at.seed
    given = seed if seed.elementType().size == 4 else at.cast(seed, "int32")
    return given if given.elementType() is UNSIGNED_INT else given.reinterpret(UNSIGNED_INT)


@lowers("tf.RandomUniform", kind="RandomUniform", call="poprand.uniform")
def random_uniform(
    at: Building, seed: Tensor | None, shape: Sequence[int], dtype: str, low: float, high: float
) -> Tensor:
    """Floating-point numbers from `low` to `high`; whole numbers from `low` to `high` - 1."""
    like = at.variable(dtype, shape, "like")
    last = high if dtype.startswith("float") else high - 1
    return poprand.uniform(
        at.graph, _seed(at, seed), at.next_draw(), like, like.elementType(), low, last, at.program, at.name("uniform")
    )


@lowers("tf.RandomNormal", kind="RandomNormal", call="poprand.normal, truncatedNormal")
def random_normal(at: Building, seed: Tensor | None, shape: Sequence[int], dtype: str, truncated: bool) -> Tensor:
    """Of mean 0 and deviation 1; the truncated distribution has no values beyond 2."""
    like = at.variable(dtype, shape, "like")
    draw, name = at.next_draw(), at.name("normal")
    given = at.graph, _seed(at, seed), draw, like, like.elementType()
    if truncated:
        return poprand.truncatedNormal(*given, 0.0, 1.0, 2.0, at.program, name)
    return poprand.normal(*given, 0.0, 1.0, at.program, name)
