"""IDX files, the format of MNIST (http://yann.lecun.com/exdb/mnist/): a magic number, big-endian sizes, bytes."""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np

_UNSIGNED_BYTE = 8


def find_idx(folder: Path, name: str) -> Path | None:
    """The file `name`, or its packed form, in a folder; None where there is none."""
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def read_idx(path: Path, dimensions: int) -> Any:
    """The bytes of an IDX file as an array. Raises RuntimeError, which names the file, for anything but a whole file
    of bytes in so many dimensions."""
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise RuntimeError(f"{path} cannot be read: {error}.") from None
    head = 4 + 4 * dimensions
    if len(content) < head or content[:4] != bytes([0, 0, _UNSIGNED_BYTE, dimensions]):
        raise RuntimeError(f"{path} is no IDX file of bytes in {dimensions} dimension(s).")
    shape = tuple(int(size) for size in np.frombuffer(content, ">i4", dimensions, 4))
    if len(content) != head + math.prod(shape):
        raise RuntimeError(
            f"{path} says that it holds {math.prod(shape)} bytes of shape {shape}, and holds {len(content) - head}."
        )
    return np.frombuffer(content, np.uint8, offset=head).reshape(shape)
