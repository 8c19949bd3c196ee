"""What a program changes in a folder, in the order in which it does: every created, written, cut, renamed, removed and
synced file, and what the program says in between.

The program runs as a child under a library of a page of C++ that stands before the functions of the C library
(write_log.cpp), so that what SQLite writes is there, too. The memory that SQLite shares with its readers (`-shm`) is
mapped, not written; nothing in it outlives a machine.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from tests.kept_progress import ROOT

SOURCE = Path(__file__).with_name("write_log.cpp")

_HEAD = struct.Struct("<5q")  # kind, place, bytes of both paths and of the data, which follow


class Kind(IntEnum):
    """What was done."""

    CREATE = 1
    WRITE = 2
    TRUNCATE = 3
    SYNC = 4
    RENAME = 5
    UNLINK = 6
    SAY = 7


@dataclass(frozen=True)
class Operation:
    """One of them. `place` is the offset of a write, or the length after a cut; `other` the new name."""

    kind: Kind
    path: str
    place: int
    other: str
    data: bytes


def compiled(folder: Path) -> Path:
    """The library, in a folder."""
    library = folder / "write_log.so"
    command = ["g++", "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl", "-lpthread"]
    subprocess.run(command, check=True)
    return library


def record(library: Path, program: str, folder: Path, **environment: str) -> list[Operation]:
    """Runs a Python program, with the folder as its argument, and gives what it did there."""
    folder.mkdir()
    log = folder.with_name(f"{folder.name}.log")
    power = {"LD_PRELOAD": str(library), "POWER_FOLDER": str(folder), "POWER_LOG": str(log)}
    command = [sys.executable, "-c", program, str(folder)]
    subprocess.run(command, cwd=ROOT, env={**os.environ, **environment, **power}, check=True, stdout=subprocess.DEVNULL)
    return operations(log.read_bytes())


def operations(log: bytes) -> list[Operation]:
    """What a log holds."""
    logged, offset = [], 0
    while offset < len(log):
        kind, place, *lengths = _HEAD.unpack_from(log, offset)
        offset += _HEAD.size
        parts = []
        for length in lengths:
            parts.append(log[offset : offset + length])
            offset += length
        logged.append(Operation(Kind(kind), parts[0].decode(), place, parts[1].decode(), parts[2]))
    return logged
