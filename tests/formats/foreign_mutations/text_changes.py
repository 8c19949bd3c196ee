"""Changes of a text at a place, drawn at random: what is inserted, removed or written over."""

from __future__ import annotations

import random
from collections.abc import Callable


def _insert(text: str, place: int, rng: random.Random) -> tuple[str, int, int]:
    added = rng.choice(
        ['"', "\\", "\n", "{", "}", "[", "]", ",", ":", "\x00", "nan", "-inf", "é", "9" * 25, '{"ph": ', "\ufffd"]
    )
    return text[:place] + added + text[place:], 0, len(added)


def _remove(text: str, place: int, rng: random.Random) -> tuple[str, int, int]:
    removed = min(rng.choice([1, 3, 40]), len(text) - place)
    return text[:place] + text[place + removed :], removed, 0


def _write(text: str, place: int, rng: random.Random) -> tuple[str, int, int]:
    added = "".join(chr(rng.choice([*range(1, 127), 233, 0x4E2D])) for _ in range(rng.choice([1, 2, 20])))
    removed = min(len(added), len(text) - place)
    return text[:place] + added + text[place + removed :], removed, len(added)


CHANGES: list[Callable[[str, int, random.Random], tuple[str, int, int]]] = [_insert, _remove, _write]
