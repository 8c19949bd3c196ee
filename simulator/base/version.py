"""Which Poplar API this is, and which package gives it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from popvision import formats

#: The version of Poplar whose API this is. Our own version stands where an SDK has its build hash.
API_LEVEL = "3.4.0"


def package_version() -> str:
    """The version of the installed package."""
    try:
        return version("popvision")
    except PackageNotFoundError:
        return "0+unknown"


def versionString() -> str:
    """The version of Poplar whose API this is, and that of this package: what reports give as poplarVersion."""
    return f"{API_LEVEL} (popvision {package_version()})"


def source_folders() -> dict[str, Path]:
    """The installed sources that a compiled program depends on: the simulator, and the formats of what it saves."""
    return {
        "simulator": Path(__file__).parents[1],
        "popvision/formats": Path(formats.__file__).parent,
    }


def source_digest(folders: Mapping[str, Path]) -> str:
    """16 hexadecimal digits over relative paths and contents of all files below some folders. Where a folder lies and
    when its files were written is no part of it, nor is what Python or an editor leaves beside them."""
    digest = sha256()
    for name, folder in sorted(folders.items()):
        for relative, path in sorted(_files(folder)):
            data = path.read_bytes()
            for part in (f"{name}{relative}".encode(), data):
                digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()[:16]


def _files(folder: Path) -> list[tuple[str, Path]]:
    """Files with their paths below the folder. os.walk takes less time than Path.rglob."""
    found, begin = [], len(str(folder))
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__" and not name.startswith(".")]
        kept = [name for name in names if not name.startswith(".") and not name.endswith("~")]
        found += [(f"{where[begin:]}/{name}", Path(where, name)) for name in kept]
    return found


@cache
def packageHash() -> str:
    """A digest of the installed sources, read once per process: cached executables of other sources are compiled
    again."""
    return source_digest(source_folders())
