"""archive.a: an `ar` archive with one ELF32 object per tile.

`ar t`, `size -A` and `readelf -s` work on it. Sections hold no bytes, only their sizes (see elf_image). Tiles with
equal contents share an image, which is encoded and decoded once; `ar` has no means to share its bytes on disk. Archives
of before, with one object per image, are read too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from popvision.arrays import IntegerArray
from popvision.formats.elf_image import (
    MOST_TILES,
    TileImage,
    decode_image,
    encode_image,
    object_of_tile,
    separate_tiles,
    tiles_text,
)
from popvision.formats.errors import FormatError
from popvision.formats.replacing import replacing

_MAGIC = b"!<arch>\n"
_HEADER_BYTES = 60


@dataclass(frozen=True)
class Member:
    """Members with the same image: the name of the first, and the image of all their tiles."""

    name: str
    image: TileImage


@dataclass(frozen=True)
class Archive:
    run_id: str
    members: list[Member]

    def tile_bytes(self, num_tiles: int) -> IntegerArray:
        """Bytes of all sections per tile; 0 on tiles without an image."""
        total = np.zeros(num_tiles, dtype=np.int64)
        for member in self.members:
            tiles = member.image.tiles
            total[tiles[tiles < num_tiles]] = member.image.total_bytes
        return total


def write_archive(path: str | Path, images: Iterable[TileImage], run_id: str) -> None:
    """Writes one member per tile, in the order of tiles, under a temporary name, then renames.

    Raises FormatError when an image cannot be stored, has no tile or one that another image has too, or the file cannot
    be written."""
    path = Path(path)
    tiles, encoded = [np.empty(0, np.int64)], []
    images = list(images)
    count = sum(len(image.tiles) for image in images)
    for image in images:
        if not len(image.tiles):
            raise FormatError(f"cannot write {path}: an image belongs to no tile.")
        tiles.append(np.asarray(image.tiles, np.int64))
        encoded.append(encode_image(replace(image, run_id=run_id, members=count)))
    tile = np.concatenate(tiles)
    of_tile = np.repeat(np.arange(len(encoded)), [len(each) for each in tiles[1:]])
    order = np.argsort(tile, kind="stable")
    twice = tile[order][:-1][np.diff(tile[order]) == 0]
    if len(twice):
        raise FormatError(f"cannot write {path}: tiles {tiles_text(twice)} have two images.")
    try:
        with replacing(path) as temporary, temporary.open("wb") as file:
            file.write(_MAGIC)
            for number, of in zip(tile[order].tolist(), of_tile[order].tolist(), strict=True):
                data = object_of_tile(encoded[of], number)
                name = f"{_name_of(number)}/"
                file.write(f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode())
                file.write(data + b"\n" * (len(data) % 2))
    except OSError as error:
        raise FormatError(f"cannot write {path}: {error.strerror or error}.") from error


def _name_of(tile: int) -> str:
    return f"tile{tile:06d}.o"


def read_archive(path: str | Path) -> Archive:
    """Reads sizes and symbols of every member; those with the same image are one. Raises FormatError."""
    path = Path(path)
    alike: dict[bytes, tuple[str, TileImage, list[IntegerArray]]] = {}
    count = objects = 0
    try:
        for name, data in _members(path.read_bytes()):
            tiles, shared = separate_tiles(data)
            objects += 1
            if len(tiles) == 1 and name != _name_of(int(tiles[0])):
                raise FormatError(f"the name of a member, {name!r}, is not that of its tile; the archive is damaged")
            count += len(tiles)
            if count > MOST_TILES:
                raise FormatError("its members name more tiles than a system can have")
            if shared not in alike:
                alike[shared] = (name, decode_image(data), [])
            alike[shared][2].append(tiles)
        said = {image.members for _, image, _ in alike.values()} - {0}
        if said and said != {objects}:
            raise FormatError(f"it holds {objects} of {max(said)} members")
    except OSError as error:
        raise FormatError(f"cannot open {path}: {error.strerror or error}.") from error
    except FormatError as error:
        raise FormatError(f"{path} cannot be read as an archive of tiles: {str(error).rstrip('.')}.") from None
    members = [Member(name, replace(image, tiles=np.concatenate(tiles))) for name, image, tiles in alike.values()]
    ids = {member.image.run_id for member in members}
    return Archive(ids.pop() if len(ids) == 1 else "", members)


def run_id_of(path: str | Path) -> str:
    """The run_id of the first member, "" in an empty archive. Raises FormatError or OSError."""
    with Path(path).open("rb") as file:
        head = file.read(len(_MAGIC) + _HEADER_BYTES)
        size = next((size for _, size in _headers(head)), 0) if len(head) > len(_MAGIC) else 0
        return decode_image(file.read(size)).run_id if size else ""


def _members(data: bytes) -> Iterator[tuple[str, bytes]]:
    at = len(_MAGIC)
    if data[:at] != _MAGIC:
        raise FormatError("it is no ar archive")
    while at < len(data):
        ((name, size),) = _headers(_MAGIC + data[at : at + _HEADER_BYTES])
        at += _HEADER_BYTES
        if at + size > len(data):
            raise FormatError("it ends within a member")
        yield name, data[at : at + size]
        at += size + size % 2


def _headers(head: bytes) -> Iterator[tuple[str, int]]:
    """Name and size from the header that follows the magic bytes."""
    header = head[len(_MAGIC) :]
    size = header[48:58].strip()
    if head[: len(_MAGIC)] != _MAGIC or len(header) != _HEADER_BYTES or header[58:] != b"`\n" or not size.isdigit():
        raise FormatError("a member has no sound header")
    yield header[:16].decode("ascii", "replace").strip().rstrip("/"), int(size)
