"""The blob in `HEATMAP_DATA.bin_quantities`: one histogram as unsigned LEB128 numbers.

Quantities follow each other in the order underflow, bins from the lowest edge up, overflow. A zero is followed by
the number of further zeros after it, so that a column with few occupied bins takes a few bytes.
"""

from __future__ import annotations

from collections.abc import Iterable

MAX_QUANTITY = 2**32 - 1


def encode_bins(quantities: Iterable[int]) -> bytes:
    """The blob of one histogram; quantities are 0 to 2^32 - 1, else ValueError."""
    blob = bytearray()
    zeros = 0
    for quantity in quantities:
        if not 0 <= quantity <= MAX_QUANTITY:
            raise ValueError(f"bin quantity {quantity} is outside 0 to {MAX_QUANTITY}.")
        if quantity == 0:
            zeros += 1
            continue
        _append_zeros(blob, zeros)
        zeros = 0
        _append(blob, quantity)
    _append_zeros(blob, zeros)
    return bytes(blob)


def decode_bins(blob: bytes, limit: int = 1 << 20) -> list[int]:
    """The quantities of a blob; ValueError when it is damaged or holds more than `limit` bins."""
    quantities: list[int] = []
    position = 0
    while position < len(blob):
        quantity, position = _number(blob, position)
        run = 1
        if quantity == 0:
            more, position = _number(blob, position)
            run += more
        if len(quantities) + run > limit:
            raise ValueError(f"bin quantities hold more than {limit} bins.")
        quantities.extend([quantity] * run)
    return quantities


def _append_zeros(blob: bytearray, zeros: int) -> None:
    if zeros:
        blob.append(0)
        _append(blob, zeros - 1)


def _append(blob: bytearray, number: int) -> None:
    while number > 0x7F:
        blob.append(number & 0x7F | 0x80)
        number >>= 7
    blob.append(number)


def _number(blob: bytes, position: int) -> tuple[int, int]:
    number = shift = 0
    while position < len(blob) and shift < 35:
        byte = blob[position]
        position += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            if number > MAX_QUANTITY:
                break
            return number, position
    raise ValueError("bin quantities are damaged: a number does not end or is larger than 2^32 - 1.")
