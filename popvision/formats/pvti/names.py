"""Site id -> number of its (channel, label)."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from popvision.formats.errors import FormatError

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


def read_names(db: sqlite3.Connection, path: object) -> Names:
    """Read channels, strings and sites; equal texts are one name, whatever their ids."""
    n_sites, top = db.execute("SELECT count(*), coalesce(max(id), -1) FROM sites").fetchone()
    if top > 8 * n_sites + _MOST_UNUSED_IDS:
        raise FormatError(f"{path} is damaged: its {n_sites} sites are numbered up to {top}.")
    of_site = np.full(top + 1, -1, np.int64)
    channels: dict[str, int] = {}
    names: dict[tuple[str, str], int] = {}
    for (name,) in db.execute("SELECT name FROM channels ORDER BY id"):
        channels.setdefault(as_text(name), len(channels))
    query = (
        "SELECT sites.id, channels.name, strings.text FROM sites JOIN channels ON channels.id = sites.channel "
        "JOIN strings ON strings.id = sites.label WHERE sites.id >= 0"
    )
    for site, channel, label in db.execute(query):
        of_site[site] = names.setdefault((as_text(channel), as_text(label)), len(names))
    of_channel = np.array([channels[channel] for channel, _ in names], np.int32)
    return Names(of_site, of_channel, [label for _, label in names], list(channels))


def as_text(value: object) -> str:
    """A text of the file; damage may have turned it into a number or bytes."""
    return value if isinstance(value, str) else "(damaged)"
