"""Identity of an operation from report to report: a hash chain over its debug contexts, unlike its id.

The identity of a debug context is its layer, its name, its source file's name and the identities of the contexts above
it. The line stands apart: a line inserted at the top of a file shifts every one below, so lines decide only between
operations that are otherwise the same (keyed.py). Counters that lowering puts in front of names (`cs12_`, `copy3_`) are
positions, not names, and left out.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from popvision.arrays import Int64Array, IntegerArray

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from popvision.formats.debug_info import DebugContexts


#: Contexts one above the other that are followed; a longer chain is a damaged file.
MOST_LEVELS = 200

_COUNTER = re.compile(r"(?<![^/])(cs|copy)\d+(?=_)")


def stable_name(name: str) -> str:
    """A name without lowering's counters: "cs12_layer/ExchangePre" -> "cs_layer/ExchangePre"."""
    return _COUNTER.sub(r"\1", name) if "_" in name else name


class Vocabulary:
    """Numbers for things said by either report: equal things, equal numbers."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def number(self, thing: Hashable) -> int:
        return self._numbers.setdefault(thing, len(self._numbers))

    def numbers(self, things: Sequence[Hashable]) -> Int64Array:
        number = self._numbers
        return np.array([number.setdefault(thing, len(number)) for thing in things], np.int64)


class Identities:
    """Identities of one report's debug contexts, as numbers of a vocabulary shared with the other report."""

    def __init__(self, source: ReportSource, words: Vocabulary) -> None:
        self._contexts: DebugContexts = source.debug
        self._words = words
        self._known: dict[int, tuple[int, int, bool]] = {}

    def columns(self, debug_ids: IntegerArray) -> tuple[Int64Array, Int64Array]:
        """(identity, identity with lines) of each debug id; -1 where nothing in the chain has a name."""
        rows = [self._identify(id) if id >= 0 else _UNKNOWN for id in np.asarray(debug_ids, np.int64).tolist()]
        identity = np.array([row[0] if row[2] else -1 for row in rows], np.int64)
        return identity, np.array([row[1] for row in rows], np.int64)

    def _identify(self, id: int, level: int = 0) -> tuple[int, int, bool]:
        known = self._known.get(id)
        if known is not None:
            return known
        record = self._contexts.record(id)
        if not record or level > MOST_LEVELS:
            return _UNKNOWN
        self._known[id] = _UNKNOWN  # a context above itself ends there
        parents = record.get("parents")
        above = [self._identify(parent, level + 1) for parent in parents or () if isinstance(parent, int)]
        name, line = str(record.get("name", "")), record.get("line", 0)
        file = str(record.get("file", "")).replace("\\", "/").rpartition("/")[2]
        own = (str(record.get("layer", "")), stable_name(name), file)
        identity = (
            self._words.number(("identity", own, tuple(one[0] for one in above))),
            self._words.number(("lines", own, line if isinstance(line, int) else 0, tuple(one[1] for one in above))),
            bool(name) or any(one[2] for one in above),
        )
        self._known[id] = identity
        return identity


_UNKNOWN = (-1, -1, False)
