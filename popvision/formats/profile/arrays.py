"""Encodes one array of profile.pop: narrowest unsigned type that holds it, optional zstd, a checksum.

A row of `arrays` is (id, dtype, n, codec, crc32, data). The values lie little-endian, one after the other, in
`data` (codec 0) or in one zstd frame (codec 1). crc32 covers the ASCII text "id,dtype,n,codec;" and then the
decoded bytes, so that a damaged row never passes for another one.
"""

from __future__ import annotations

import zlib

import numpy as np
import zstandard

from popvision.arrays import AnyArray
from popvision.formats.errors import FormatError

#: (id, dtype, n, codec, crc32, data)
ArrayRow = tuple[int, str, int, int, int, bytes]

RAW, ZSTD = 0, 1

#: Sizes in bytes of the types an array may have. i8 holds what has negative values.
DTYPES = {"u1": 1, "u2": 2, "u4": 4, "u8": 8, "i8": 8}

#: No array decodes to more than this many bytes.
MAX_BYTES = 1 << 30

_LIMITS = ((0xFF, "u1"), (0xFFFF, "u2"), (0xFFFFFFFF, "u4"))

#: Smaller arrays are stored raw: a zstd frame would not pay.
_MIN_COMPRESSED = 256


def narrowest(low: int, high: int) -> str:
    """Name of the narrowest stored type for values between `low` and `high`."""
    if low < 0:
        return "i8"
    return next((name for limit, name in _LIMITS if high <= limit), "u8")


def stored_bytes(values: AnyArray, dtype: str | None = None) -> tuple[str, bytes]:
    """(dtype name, little-endian bytes) of a one-dimensional integer or boolean array.

    Raises TypeError for other element types, OverflowError above 1 GiB or when values need both a sign and 64 bits."""
    if values.dtype.kind not in "biu":
        raise TypeError(f"arrays hold integers, not {values.dtype}")
    if dtype is None:
        dtype = narrowest(int(values.min()), int(values.max())) if values.size else "u1"
    if values.size * DTYPES[dtype] > MAX_BYTES:
        raise OverflowError(f"an array of {values.size} elements of type {dtype} is above the limit of 1 GiB")
    return dtype, values.astype("<" + dtype, copy=False).tobytes()


def array_crc(identity: int, dtype: str, n: int, codec: int, decoded: bytes | memoryview) -> int:
    """crc32 of one row of `arrays`."""
    return zlib.crc32(decoded, zlib.crc32(f"{identity},{dtype},{n},{codec};".encode()))


def compress(raw: bytes, compressor: zstandard.ZstdCompressor) -> tuple[int, bytes]:
    """(codec, bytes to store): a zstd frame when it saves at least an eighth, else the bytes as they are."""
    if len(raw) < _MIN_COMPRESSED:
        return RAW, raw
    packed = compressor.compress(raw)
    return (ZSTD, packed) if len(packed) < len(raw) - len(raw) // 8 else (RAW, raw)


def encode(identity: int, values: AnyArray, compressor: zstandard.ZstdCompressor) -> ArrayRow:
    """The row of `arrays` for `values`; raises what `stored_bytes` raises."""
    dtype, raw = stored_bytes(values)
    codec, data = compress(raw, compressor)
    return identity, dtype, len(values), codec, array_crc(identity, dtype, len(values), codec, raw), data


def decode(row: ArrayRow, decompressor: zstandard.ZstdDecompressor) -> AnyArray:
    """The values in their stored type, read-only, or FormatError; the size is checked before anything is allocated."""
    identity, dtype, n, codec, crc, data = row
    expected = _expected_bytes(identity, dtype, n, data)
    raw: bytes | memoryview = data
    if codec == ZSTD:
        try:
            if zstandard.frame_content_size(data) != expected:
                raise FormatError(f"array {identity} is damaged: its frame does not hold {n} elements of type {dtype}.")
            raw = decompressor.decompress(data, max_output_size=expected)
        except zstandard.ZstdError as error:
            raise FormatError(f"array {identity} is damaged: {error}.") from None
    elif codec != RAW:
        raise FormatError(f"array {identity} has the unknown codec {codec}; it is damaged or from a newer version.")
    if len(raw) != expected or array_crc(identity, dtype, n, codec, raw) != crc:
        raise FormatError(f"array {identity} is damaged: its checksum or length does not match.")
    return np.frombuffer(raw, dtype="<" + dtype)


def _expected_bytes(identity: int, dtype: str, n: int, data: bytes) -> int:
    if not isinstance(data, bytes) or not isinstance(n, int) or dtype not in DTYPES:
        raise FormatError(f"array {identity} is damaged: type {dtype!r}, length {n!r}.")
    expected = n * DTYPES[dtype]
    if not 0 <= expected <= MAX_BYTES:
        raise FormatError(f"array {identity} claims {n} elements, above the limit of 1 GiB; the file is damaged.")
    return expected


def widened(values: AnyArray) -> AnyArray:
    """The same values as int64, so that sums do not wrap; u8 values beyond int64 stay u8."""
    if values.dtype.itemsize == 8:
        if values.dtype.kind == "u" and values.size and int(values.max()) > np.iinfo(np.int64).max:
            return values
        return values.astype(np.int64, copy=False)
    return values.astype(np.int64)
