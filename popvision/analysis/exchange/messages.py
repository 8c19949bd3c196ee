"""Traffic from tile to tile of one exchange program: a sparse matrix in coordinate form, sorted by source tile.

A *message* is the bytes that one tile sends another in one execution of the program. Over sources, messages add up
to what each tile receives (`rx` of the program); over destinations to the bytes that a tile's messages carry, which is
what it sends (`tx`) with a multicast counted once per receiver. Tile ids are global, all replicas.

A window of the matrix costs two binary searches and the messages of its rows, because a device has millions of pairs
of tiles and a program few messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.report.columns import programs_of
from popvision.analysis.report.figure import Table
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.table_columns import columns
from popvision.analysis.report.tiles import target_of, tiles_in_order
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from popvision.formats.profile.model import Target


#: Cells of a dense matrix that `np.bincount` adds up at once.
_MOST_CELLS = 4_000_000

HOST_COPY = (
    "A stream copy moves data between host and tiles, so it has no messages from tile to tile. The floor plan and the "
    "plot by tile show what each tile receives and sends."
)
NO_MESSAGES = (
    "This report holds no messages of this program, so who sends to whom is unknown. popvision's simulator always "
    "records them (table messages); reports of other producers may not."
)


@dataclass(frozen=True)
class Messages:
    """Message i: `bytes[i]` (signed in a difference) from tile `src[i]` to tile `dst[i]`; sorted by (src, dst), each
    pair once."""

    src: Int64Array
    dst: Int64Array
    bytes: Int64Array


@dataclass(frozen=True)
class Block:
    """Cells of a window of the matrix: cell (r, c) = sum over `size` x `size` tiles. `values` has one row per r."""

    values: Int64Array
    rows: int
    columns: int


@dataclass(frozen=True)
class Partners:
    """Messages of one tile, heaviest first; `receivers[i]` tiles each get `multicast[i]` of the bytes it sends."""

    sources: Int64Array
    received: Int64Array
    destinations: Int64Array
    sent: Int64Array
    receivers: Int64Array
    multicast: Int64Array  #: empty where the report does not say (format 1.0)


def messages_of(source: ReportSource, program: int) -> Messages:
    """All messages of a program. Raises NotRecordedError with the reason when there are none, ValueError for a program
    that is not there."""
    programs = programs_of(source)
    if not 0 <= program < len(programs.type):
        raise ValueError(f"there is no program {program}: ids go from 0 to {len(programs.type) - 1}")
    if programs.type[program].startswith("StreamCopy"):
        raise NotRecordedError(HOST_COPY)
    messages = source.kept.recent(("exchange messages", program), lambda: _read(source, program))
    if not len(messages.src):
        raise NotRecordedError(NO_MESSAGES)
    return messages


def _read(source: ReportSource, program: int) -> Messages:
    stored = [columns for _, _, columns in source.reader.traffic("messages", [program])]
    parts = [columns for columns in stored if len({len(column) for column in columns}) == 1]  # foreign files lack some
    nothing = np.empty(0, np.int64)
    src, dst, size = (np.concatenate([nothing, *(np.asarray(part[k], np.int64) for part in parts)]) for k in range(3))
    tiles = target_of(source).num_tiles
    good = (src >= 0) & (src < tiles) & (dst >= 0) & (dst < tiles)
    return sum_messages(src[good], dst[good], size[good], tiles)


def sum_messages(src: Int64Array, dst: Int64Array, size: Int64Array, tiles: int) -> Messages:
    """Messages sorted by pair, several of one pair added up; pairs that add up to 0 are left out."""
    key = np.asarray(src, np.int64) * tiles + np.asarray(dst, np.int64)
    size = np.asarray(size, np.int64)
    if len(key) > 1 and not (key[1:] > key[:-1]).all():
        order = np.argsort(key, kind="stable")
        key, size = key[order], size[order]
        head = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
        key, size = key[head], np.add.reduceat(size, head)
    is_message = size != 0
    return Messages(key[is_message] // tiles, key[is_message] % tiles, size[is_message])


def ranks(target: Target, order: str) -> Int64Array:
    """Position of each tile, "software" or "hardware" order (see tiles_in_order)."""
    at = tiles_in_order(target, range(target.num_tiles), order)
    rank = np.empty(len(at), np.int64)
    rank[at] = np.arange(len(at))
    return rank


def in_order(messages: Messages, rank: Int64Array) -> Messages:
    """The same with positions in place of tiles, sorted by them."""
    return sum_messages(rank[messages.src], rank[messages.dst], messages.bytes, len(rank))


def block(messages: Messages, rows: tuple[int, int], columns: tuple[int, int], size: int) -> Block:
    """The window of positions [first, last) x [first, last) in cells of `size` x `size`; rows are sources."""
    begin, end = np.searchsorted(messages.src, rows)
    dst, src, values = messages.dst[begin:end], messages.src[begin:end], messages.bytes[begin:end]
    high, wide = -(-(rows[1] - rows[0]) // size), -(-(columns[1] - columns[0]) // size)
    inside = (dst >= columns[0]) & (dst < columns[1])
    if not inside.all():
        src, dst, values = src[inside], dst[inside], values[inside]
    cell = (src - rows[0]) // size * wide + (dst - columns[0]) // size
    sums = np.bincount(cell, weights=values, minlength=high * wide) if len(cell) else np.zeros(high * wide)
    return Block(sums.astype(np.int64), high, wide)


def largest_cell(messages: Messages, size: int) -> int:
    """The largest cell of the entire matrix in cells of `size` x `size` positions aligned to 0, by absolute value: the
    end of the colour scale, the same for every window."""
    if not len(messages.src):
        return 0
    if size == 1:
        return int(np.abs(messages.bytes).max())
    src, dst = messages.src // size, messages.dst // size
    wide = int(dst.max()) + 1
    if (int(src.max()) + 1) * wide <= _MOST_CELLS:
        return int(np.abs(np.bincount(src * wide + dst, weights=messages.bytes)).max())
    sums = sum_messages(src, dst, messages.bytes, wide).bytes
    return int(np.abs(sums).max()) if len(sums) else 0


def heaviest(messages: Messages, most: int) -> Int64Array:
    """Rows of the `most` messages with most bytes (by absolute value), heaviest first, equal ones by tile."""
    weight = np.abs(messages.bytes)
    rows = np.arange(len(weight))
    if len(weight) > most:
        least = np.partition(weight, len(weight) - most)[len(weight) - most]
        above = np.flatnonzero(weight > least)
        rows = np.sort(np.concatenate([above, np.flatnonzero(weight == least)[: most - len(above)]]))
    return np.asarray(rows[np.argsort(-weight[rows], kind="stable")], np.int64)


def partners(source: ReportSource, program: int, tile: int) -> Partners:
    """Who sends to a tile and to whom it sends. Raises NotRecordedError and ValueError as `messages_of`."""
    messages = messages_of(source, program)
    into = np.flatnonzero(messages.dst == tile)
    begin, end = np.searchsorted(messages.src, (tile, tile + 1))
    out = np.arange(begin, end)
    into, out = (rows[np.argsort(-messages.bytes[rows], kind="stable")] for rows in (into, out))
    receivers, multicast = sendings_of(source, program, tile)
    return Partners(
        messages.src[into], messages.bytes[into], messages.dst[out], messages.bytes[out], receivers, multicast
    )


def sendings_of(source: ReportSource, program: int, tile: int | None = None) -> tuple[Int64Array, Int64Array]:
    """(receivers, bytes): what a tile (None: all tiles) sends, by the number of tiles that get it. Empty where the
    report does not say (format 1.0)."""
    sums: dict[int, int] = {}
    for _, _, (src, receivers, size) in source.reader.traffic("sendings", [program]):
        rows = slice(None) if tile is None else np.asarray(src) == tile
        for count, part in zip(receivers[rows].tolist(), size[rows].tolist(), strict=True):
            sums[count] = sums.get(count, 0) + part
    counts = sorted(sums)
    return np.array(counts, np.int64), np.array([sums[count] for count in counts], np.int64)


def fan_outs(messages: Messages) -> tuple[Int64Array, Int64Array]:
    """(receivers, tiles that send to so many), ascending, of the tiles that send at all."""
    fan = np.bincount(messages.src)
    receivers, tiles = np.unique(fan[fan > 0], return_counts=True)
    return receivers.astype(np.int64), tiles.astype(np.int64)


def between_ipus(messages: Messages, target: Target) -> Int64Array:
    """Bytes from IPU (row) to IPU (column); the diagonal is traffic within an IPU."""
    ipus, per_ipu = target.num_ipus, target.tiles_per_ipu
    cell = messages.src // per_ipu * ipus + messages.dst // per_ipu
    return np.bincount(cell, weights=messages.bytes, minlength=ipus * ipus).astype(np.int64).reshape(ipus, ipus)


FAN_OUTS = columns(
    "fan_outs",
    """
    receivers | id    | Fan-out: tiles that a tile sends to
    tiles     | count | tiles with this fan-out
    share     | share | tiles / tiles that send
    """,
)
SENDINGS = columns(
    "sendings",
    """
    receivers      | id    | tiles that receive the same data
    sent_bytes     | bytes | Sent: bytes sent to this many tiles at once
    received_bytes | bytes | Received: sent x receivers
    """,
)
BETWEEN_IPUS = columns(
    "between_ipus",
    """
    from_ipu   | id    | From IPU: the IPU that sends
    to_ipu     | id    | To IPU: the IPU that receives
    size_bytes | bytes | Bytes: bytes of one execution
    """,
)


def fan_out_table(messages: Messages) -> Table:
    """FAN_OUTS, ascending, of the tiles that send at all."""
    receivers, tiles = fan_outs(messages)
    return FAN_OUTS.table(receivers=receivers, tiles=tiles, share=tiles / max(int(tiles.sum()), 1))


def sendings_table(receivers: Int64Array, size: Int64Array) -> Table:
    """SENDINGS of what `sendings_of` or `Partners` gives."""
    return SENDINGS.table(receivers=receivers, sent_bytes=size, received_bytes=receivers * size)


def between_ipus_table(messages: Messages, target: Target) -> Table:
    """BETWEEN_IPUS, a row for every two IPUs."""
    sums = between_ipus(messages, target)
    one, other = np.divmod(np.arange(sums.size), len(sums))
    return BETWEEN_IPUS.table(from_ipu=one, to_ipu=other, size_bytes=sums.reshape(-1))
