"""Counter-based random bits: a function of four words of state and a place, without history.

The state and the place are mixed by the finaliser of SplitMix64 (Steele, Lea, Flood 2014), so any element can be drawn
alone, on any tile and in any order.
"""

from __future__ import annotations

import numpy as np

from simulator.arrays import AnyArray, Float64Array, UInt64Array

#: words of the state of one generator: seed low, seed high, modifier and draws so far, tile
WORDS = 4
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
#: increment of the third word for each draw
DRAWN = np.uint32(0x9E3779B9)


def mixed(x: UInt64Array) -> UInt64Array:
    """Each bit of a number mixed into all bits of its result."""
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def random_bits(words: AnyArray, places: AnyArray) -> UInt64Array:
    """64 bits for each place; `words` are one state, [4], or one for each place, [n, 4]."""
    state = np.asarray(words).astype(np.uint64)
    low, high = state[..., 0] | state[..., 1] << np.uint64(32), state[..., 2] | state[..., 3] << np.uint64(32)
    key = mixed(mixed(low) ^ high)
    with np.errstate(over="ignore"):
        return mixed(key + _GOLDEN * (places.astype(np.uint64) + np.uint64(1)))


def redrawn(bits: UInt64Array, attempt: int) -> UInt64Array:
    """Other bits for the same places, for draws that are repeated."""
    with np.errstate(over="ignore"):
        return mixed(bits + _GOLDEN * np.uint64(attempt))


def halves(bits: UInt64Array) -> tuple[Float64Array, Float64Array]:
    """Two independent uniform numbers in [0, 1) of 32 bits each."""
    scale = np.float64(2.0**-32)
    first, second = bits >> np.uint64(32), bits & np.uint64(0xFFFFFFFF)
    return first.astype(np.float64) * scale, second.astype(np.float64) * scale


def modifier_word(modifier: int) -> int:
    """The third word of a generator with a seed modifier that has not drawn yet."""
    return int(mixed(np.asarray(modifier % 2**32 ^ 0x55555555, np.uint64))) & 0xFFFFFFFF
