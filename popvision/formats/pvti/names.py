"""Site id -> number of its (channel, label)."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from popvision.formats.errors import FormatError
from popvision.formats.pvti.checked_tables import checked_rows, sorted_rows

Ints = NDArray[np.int64]

_MOST_UNUSED_IDS = 1 << 20


@dataclass(frozen=True)
class Names:
    """Name n is `label[n]` on `channel_name[channel[n]]`. `of_site[id]` is the name of a site, -1 for unused ids."""

    of_site: NDArray[np.int64]
    channel: NDArray[np.int32]
    label: list[str]
    channel_name: list[str]

    def __len__(self) -> int:
        return len(self.label)


def read_names(db: sqlite3.Connection, path: object, *, is_verified: bool = False) -> Names:
    """Read channels, strings and sites; equal texts are one name, whatever their ids. Of a file whose bytes are
    verified only the texts of labels are read, and nothing is compared with checksums."""
    table = _sites(db, is_verified)
    top = int(table[-1, 0]) if len(table) else -1
    if top > 8 * len(table) + _MOST_UNUSED_IDS:
        raise FormatError(f"{path} is damaged: its {len(table)} sites are numbered up to {top}.")
    of_site = np.full(top + 1, -1, np.int64)
    channel_names = {id: as_text(name) for id, name, _ in sorted_rows(db, "channels")}
    pairs, name_of_pair = _distinct(table[:, 1:])
    labels = _labels(db, {label for _, label in pairs}, is_verified)
    channels: dict[str, int] = {}
    for name in channel_names.values():
        channels.setdefault(name, len(channels))
    names: dict[tuple[str, str], int] = {}
    numbers = [
        names.setdefault((channel_names[channel], labels[label]), len(names))
        if channel in channel_names and label in labels
        else -1
        for channel, label in pairs
    ]
    of_site[table[:, 0]] = np.array(numbers, np.int64)[name_of_pair]
    of_channel = np.array([channels[channel] for channel, _ in names], np.int32)
    return Names(of_site, of_channel, [label for _, label in names], list(channels))


def _sites(db: sqlite3.Connection, is_verified: bool) -> Ints:
    """Id, channel and label of all sites, by id."""
    if is_verified:
        # Numbers as texts: half of the time that a tuple for each row takes. Ids without a gap need none.
        count, first, last = db.execute("SELECT count(*), min(id), max(id) FROM sites").fetchone()
        is_numbered = count > 0 and last - first + 1 == count
        names = ("channel", "label") if is_numbered else ("id", "channel", "label")
        texts = ", ".join(f"group_concat({name}, ' ')" for name in names)
        query = f"SELECT {texts} FROM (SELECT id, channel, label FROM sites ORDER BY id)"
        columns = [np.fromstring(text or "", np.int64, sep=" ") for text in db.execute(query).fetchone()]
        table = np.stack([np.arange(first, last + 1), *columns] if is_numbered else columns, axis=1)
    else:
        table = np.array([row[:3] for row in checked_rows(db, "sites")], np.int64).reshape(-1, 3)
    table = table[table[:, 0] >= 0]
    return np.asarray(table[np.argsort(table[:, 0], kind="stable")])


def _distinct(pairs: Ints) -> tuple[list[tuple[int, int]], Ints]:
    """The different rows in the order of their first places, and the number of each row among them."""
    label, labels = _numbered(pairs[:, 1])
    channel, _ = _numbered(pairs[:, 0])
    number, first = _numbered(channel * max(1, len(labels)) + label)
    return [(channel, label) for channel, label in pairs[first].tolist()], number


def _numbered(values: Ints) -> tuple[Ints, Ints]:
    """The number of each value among the different ones, in the order of their first places; and these places. Of
    values in a range of no more than some times their number, as those of ids are, without a sort."""
    lowest, size = int(values.min(initial=0)), len(values)
    spread = int(values.max(initial=0)) - lowest + 1
    if spread > 8 * size + 1024:
        _, first, number = np.unique(values, return_index=True, return_inverse=True)
    else:
        number = values - lowest
        place = np.full(spread, size, np.int64)
        place[number[::-1]] = np.arange(size)[::-1]
        present = np.flatnonzero(place < size)
        first = place[present]
        dense = np.empty(spread, np.int64)
        dense[present] = np.arange(len(present))
        number = dense[number]
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[number], first[order]


def _labels(db: sqlite3.Connection, ids: set[int], is_verified: bool) -> dict[int, str]:
    if not is_verified:
        return {id: as_text(text) for id, text in checked_rows(db, "strings") if id in ids}
    rows = ((id, db.execute("SELECT text FROM strings WHERE id = ?", (id,)).fetchone()) for id in ids)
    return {id: as_text(row[0]) for id, row in rows if row is not None}


def as_text(value: object) -> str:
    """A text of the file; damage may have turned it into a number or bytes."""
    return value if isinstance(value, str) else "(damaged)"
