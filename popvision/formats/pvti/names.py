"""Site id -> number of its (channel, label)."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from popvision.formats.errors import FormatError
from popvision.formats.pvti.checked_tables import checked_rows, sorted_rows

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
    sites = [(site, channel, label) for site, channel, label, _ in sorted_rows(db, "sites") if site >= 0]
    top = sites[-1][0] if sites else -1
    if top > 8 * len(sites) + _MOST_UNUSED_IDS:
        raise FormatError(f"{path} is damaged: its {len(sites)} sites are numbered up to {top}.")
    of_site = np.full(top + 1, -1, np.int64)
    channel_names = {id: as_text(name) for id, name, _ in sorted_rows(db, "channels")}
    used = {label for _, _, label in sites}
    labels = {id: as_text(text) for id, text in checked_rows(db, "strings") if id in used}
    channels: dict[str, int] = {}
    for name in channel_names.values():
        channels.setdefault(name, len(channels))
    names: dict[tuple[str, str], int] = {}
    for site, channel, label in sites:
        if channel in channel_names and label in labels:
            of_site[site] = names.setdefault((channel_names[channel], labels[label]), len(names))
    of_channel = np.array([channels[channel] for channel, _ in names], np.int32)
    return Names(of_site, of_channel, [label for _, label in names], list(channels))


def as_text(value: object) -> str:
    """A text of the file; damage may have turned it into a number or bytes."""
    return value if isinstance(value, str) else "(damaged)"
