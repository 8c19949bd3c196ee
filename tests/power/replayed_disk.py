"""A disk that loses its power: what may be in a folder afterwards, for a log of what was done there.

A file has contents that are on the disk, and writes that wait; `fsync` of the file moves them. The names of a folder
likewise: `fsync` of the folder alone makes them last, in the order in which they were made, as journaling file systems
do. Folders themselves are there. What waited is lost, kept, or kept in part: each sector of 512 bytes for itself, the
size of a file too, names up to one of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.power.recorded_writes import Kind, Operation

SECTOR = 512

#: Path -> contents.
Files = dict[str, bytes]

#: Offset and data, or a length and None.
_Change = tuple[int, bytes | None]

#: What happens to names at once, in one folder: a name and its file, None where it is removed.
_Naming = list[tuple[str, "_File | None"]]


@dataclass(eq=False)
class _File:
    synced: bytes = b""
    waiting: list[_Change] = field(default_factory=list)

    def contents(self, changes: list[_Change]) -> bytes:
        data = bytearray(self.synced)
        for place, written in changes:
            if written is None:
                data[place:] = b"" if place <= len(data) else bytes(place - len(data))
            else:
                data[len(data) :] = bytes(max(0, place - len(data)))
                data[place : place + len(written)] = written
        return bytes(data)


class Disk:
    """Files as the program sees them, and as they are on the disk."""

    def __init__(self) -> None:
        self._names: dict[str, _File] = {}
        self._synced_names: dict[str, _File] = {}
        self._waiting_names: list[_Naming] = []

    def do(self, operation: Operation) -> None:
        """Applies an operation. What is said changes nothing."""
        path, file = operation.path, self._names.get(operation.path)
        match operation.kind:
            case Kind.CREATE:
                self._name([(path, _File())])
            case Kind.RENAME:
                assert file is not None, path
                self._name([(operation.other, file), (path, None)])
            case Kind.UNLINK:
                self._name([(path, None)])
            case Kind.SYNC:
                self._sync(path)
            case Kind.WRITE | Kind.TRUNCATE if file is not None:  # None: its name was removed
                file.waiting.append((operation.place, operation.data if operation.kind is Kind.WRITE else None))

    def _name(self, naming: _Naming) -> None:
        self._names = _named(self._names, [naming])
        self._waiting_names.append(naming)

    def _sync(self, path: str) -> None:
        if path in self._names:
            file = self._names[path]
            file.synced, file.waiting = file.contents(file.waiting), []
            return
        of_folder = [naming for naming in self._waiting_names if _folder(naming) == path]
        self._waiting_names = [naming for naming in self._waiting_names if _folder(naming) != path]
        self._synced_names = _named(self._synced_names, of_folder)

    def kept(self) -> Files:
        """Nothing is lost: as after a kill."""
        return {path: file.contents(file.waiting) for path, file in self._names.items()}

    def lost(self) -> Files:
        """All that waited is lost."""
        return {path: file.synced for path, file in self._synced_names.items()}

    def renamed(self) -> Files:
        """Names are kept, and contents lost."""
        return {path: file.synced for path, file in self._names.items()}

    def torn(self, draw: random.Random) -> Files:
        """A part of what waited is kept."""
        names = _named(self._synced_names, self._waiting_names[: draw.randint(0, len(self._waiting_names))])
        share = draw.choice((0.1, 0.5, 0.9))
        return {path: file.contents([*_sectors(file.waiting, draw, share)]) for path, file in names.items()}


def _folder(naming: _Naming) -> str:
    return naming[0][0].rpartition("/")[0]


def _named(names: dict[str, _File], namings: list[_Naming]) -> dict[str, _File]:
    changed = dict(names)
    for path, file in (change for naming in namings for change in naming):
        if file is None:
            changed.pop(path, None)
        else:
            changed[path] = file
    return changed


def _sectors(changes: list[_Change], draw: random.Random, share: float) -> Iterator[_Change]:
    for place, data in changes:
        if data is None:
            if draw.random() < share:
                yield place, None
            continue
        begin = 0
        while begin < len(data):
            end = min(len(data), begin + SECTOR - (place + begin) % SECTOR)
            if draw.random() < share:
                yield place + begin, data[begin:end]
            begin = end


@dataclass(frozen=True)
class Loss:
    """A folder after the power was lost, what the program had said before, and the words for both."""

    words: str
    files: Files
    said: bytes


def losses(operations: list[Operation], seeds: int, only: Callable[[int], bool] = lambda _: True) -> Iterator[Loss]:
    """Power losses just before each fsync that `only` takes by its number, and at the end: all that waits is lost, or
    kept, contents alone are lost, and `seeds` times a part."""
    disk, said, number = Disk(), b"", 0
    for operation in [*operations, None]:
        if operation is None or operation.kind is Kind.SYNC:
            if only(number):
                where = f"fsync {number} ({operation.path if operation else 'the end'})"
                for name, files in _outcomes(disk, number, seeds):
                    yield Loss(f"{where}, {name}", files, said)
            number += 1
        if operation is None:
            return
        disk.do(operation)
        if operation.kind is Kind.SAY:
            said += operation.data


def _outcomes(disk: Disk, number: int, seeds: int) -> Iterator[tuple[str, Files]]:
    yield "all lost", disk.lost()
    yield "all kept", disk.kept()
    yield "names kept", disk.renamed()
    for seed in range(seeds):
        yield f"torn {seed}", disk.torn(random.Random(f"{number} {seed}"))
