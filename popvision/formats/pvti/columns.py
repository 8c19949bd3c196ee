"""Columns of a trace in memory, and their encoding as blobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from popvision.formats.errors import FormatError

Ints = NDArray[np.int64]
Unsigned = NDArray[np.unsignedinteger[Any]]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Slices:
    """Events of one lane in time order; they never overlap. Times in ns since the epoch.

    `parent[i]` is the position, in the lane one depth above, of the event that encloses event i (0 in lane 0).
    """

    start: Ints
    duration: Unsigned
    site: Unsigned
    parent: Unsigned

    def __len__(self) -> int:
        return len(self.start)

    @property
    def end(self) -> Ints:
        """Exclusive end of each event."""
        return self.start + self.duration.astype(np.int64)


@dataclass(frozen=True)
class Instants:
    """Events without duration of one thread in time order.

    `depth[i]` events were open around event i; `parent[i]` is the innermost one's position in lane `depth[i] - 1`.
    """

    time: Ints
    site: Unsigned
    depth: Unsigned
    parent: Unsigned

    def __len__(self) -> int:
        return len(self.time)


def pack(numbers: NDArray[Any]) -> bytes:
    """Unsigned numbers as little-endian bytes of the narrowest width that holds the largest."""
    top = int(numbers.max()) if len(numbers) else 0
    width = next(width for width in (1, 2, 4, 8) if top < 1 << 8 * width)
    return numbers.astype(f"<u{width}").tobytes()


def unpack(blob: bytes, n: int, what: str) -> Unsigned:
    """The inverse of `pack`; FormatError when the length is not n times 1, 2, 4 or 8 bytes."""
    width = len(blob) // n if n > 0 else 0
    if width not in (1, 2, 4, 8) or len(blob) != n * width:
        raise FormatError(f"{what} is damaged: {len(blob)} bytes cannot be {n} numbers.")
    return np.frombuffer(blob, f"<u{width}")


def unpack_fixed(blob: bytes, n: int, dtype: str, what: str) -> NDArray[Any]:
    """n numbers of a given type; FormatError when the length is another one."""
    if len(blob) != n * np.dtype(dtype).itemsize or n < 0:
        raise FormatError(f"{what} is damaged: {len(blob)} bytes cannot be {n} numbers.")
    return np.frombuffer(blob, dtype)


def joined(parts: list[NDArray[Any]], dtype: str) -> NDArray[Any]:
    """Parts one after the other, as wide as the widest; an empty column of `dtype` when there are none."""
    if not parts:
        return np.zeros(0, dtype)
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
