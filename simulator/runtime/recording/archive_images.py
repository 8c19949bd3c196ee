"""Images of tiles for the archive: one section per memory category, one symbol per always-live allocation.

Section sizes are the report's: bytes that share an address count once. Tiles with equal contents share an image.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from popvision import pvti
from popvision.formats.elf_image import Section, Symbol, TileImage
from popvision.formats.profile.model import CATEGORIES, Compilation, LoweredTile
from simulator.compiler.threads import on_threads

_channel = pvti.channel("Poplar Compiler")
_CODE_CATEGORIES = {name for name in CATEGORIES if name.endswith("Code")}


def archive_images(compilation: Compilation, threads: int = 1, all_symbols: bool = False) -> Iterator[TileImage]:
    """Images in order of their first tile; that of a tile without memory has no sections. Made on at most `threads`
    threads (0 = one for each processor). `all_symbols`: allocations that share memory over time get symbols too."""
    groups: dict[tuple[bytes, ...], list[int]] = {}
    sizes = _category_bytes(compilation)
    all_tiles = list(compilation.lowered)  # sorted here, once
    for tile in all_tiles:
        key = (sizes[:, tile.tile].tobytes(), *(c.tobytes() for c in (tile.bytes, tile.category, tile.name)))
        groups.setdefault(key, []).append(tile.tile)

    def image(tiles: Sequence[int]) -> TileImage:
        with pvti.Tracepoint(_channel, "poplar::core::linkTile"):
            lowered = all_tiles[tiles[0]]
            return _image(np.array(tiles, np.int64), lowered, sizes[:, tiles[0]].tolist(), compilation, all_symbols)

    yield from on_threads(image, list(groups.values()), threads)


def _category_bytes(compilation: Compilation) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Bytes per category and tile."""
    target = compilation.target
    total = np.zeros((len(CATEGORIES), target.num_tiles), np.int64)
    for row in compilation.category_memory:
        first = row.ipu * target.tiles_per_ipu
        total[CATEGORIES.index(row.category), first : first + target.tiles_per_ipu] += row.bytes
    return total


def _image(
    tiles: np.ndarray[tuple[int], np.dtype[np.int64]],
    lowered: LoweredTile,
    sizes: list[int],
    compilation: Compilation,
    all_symbols: bool,
) -> TileImage:
    sections, symbols = [], []
    for category, size in enumerate(sizes):
        if not size:
            continue
        name = CATEGORIES[category]
        rows = np.flatnonzero(lowered.category == category)
        sections.append(Section(f".{name}", size, int(lowered.address[rows[0]]), name in _CODE_CATEGORIES))
        offset = 0
        for row in rows[lowered.eq_class[rows] < 0].tolist():
            length = int(lowered.bytes[row])
            symbols.append(Symbol(compilation.lowered_names[int(lowered.name[row])], f".{name}", offset, length))
            offset += length
        begin = int(lowered.address[rows[0]])
        for row in rows[lowered.eq_class[rows] >= 0].tolist() if all_symbols else []:
            at = min(max(int(lowered.address[row]) - begin, 0), size)
            symbols.append(
                Symbol(compilation.lowered_names[int(lowered.name[row])], f".{name}", at, int(lowered.bytes[row]))
            )
    return TileImage(tiles, sections, symbols)
