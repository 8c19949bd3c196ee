"""Rows of flat lists matched by where they stand: what was renamed."""

from __future__ import annotations

import numpy as np

from popvision.analysis.compare.identity import Vocabulary
from popvision.analysis.compare.keyed import Pairing
from popvision.arrays import Int64Array


def match_between_neighbours(pairing: Pairing, kinds: tuple[Int64Array, Int64Array], how: int) -> None:
    """Matches free rows between the same matched neighbours when as many of the same kind are left on both sides."""
    size = len(pairing.source_of)
    partners = pairing.target_of, np.where(pairing.source_of >= 0, np.arange(size), -1)
    words = Vocabulary()
    places = [_places(each, kind, words) for each, kind in zip(partners, kinds, strict=True)]
    length = 1 + max(int(place.max(initial=0)) for place in places)
    counts = [np.bincount(place[place >= 0], minlength=length) for place in places]
    unclear = counts[0] != counts[1]
    one, other = (np.where((place >= 0) & ~unclear[place], place, -1) for place in places)
    pairing.match_keys((one, other), how)


def _places(partner: Int64Array, kinds: Int64Array, words: Vocabulary) -> Int64Array:
    """A number for (matched neighbour before, the one after, kind) of each free row, -1 for matched rows."""
    before, after = _last_seen(partner), _last_seen(partner[::-1])[::-1]
    free = np.flatnonzero(partner < 0)
    found = np.full(len(partner), -1, np.int64)
    found[free] = words.numbers(
        list(zip(before[free].tolist(), after[free].tolist(), kinds[free].tolist(), strict=True))
    )
    return found


def _last_seen(values: Int64Array) -> Int64Array:
    """The nearest value at or before each row that is not -1; -1 before the first."""
    if not len(values):
        return values
    places = np.where(values >= 0, np.arange(len(values)), 0)
    return np.asarray(values[np.maximum.accumulate(places)], np.int64)
