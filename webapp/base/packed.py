"""One binary answer: a JSON header and typed arrays that the browser reads in place (assets/shared/packed.js).

    u4   length n of the header
    n    header, UTF-8 JSON, with "arrays": [[name, type, offset, count], ...] beside the caller's own keys
    ...  arrays, little-endian, each at a multiple of 8 bytes

Types are u1, u4, i4 and f8. Times are f8, which is exact for whole cycles up to 2^53.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from flask import Response

from webapp.base.arrays import AnyArray

_TYPES = {"|u1": "u1", "<u4": "u4", "<i4": "i4", "<f8": "f8"}


def pack(header: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> bytes:
    """The answer as bytes. Raises TypeError for an array of another type or with more than one dimension."""
    named = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    for name, array in named.items():
        if array.dtype.str not in _TYPES or array.ndim != 1:
            raise TypeError(
                f"array {name} has type {array.dtype} and {array.ndim} dimensions: pack u1, u4, i4 or f8 rows"
            )
    offset = 0
    text = b""
    while True:  # the header contains the offsets, which depend on its own length
        places, at = [], offset
        for name, array in named.items():
            places.append([name, _TYPES[array.dtype.str], at, array.size])
            at += -(-array.nbytes // 8) * 8
        text = json.dumps({**header, "arrays": places}).encode()
        needed = -(-(4 + len(text)) // 8) * 8
        if needed <= offset:
            break
        offset = needed
    parts = [len(text).to_bytes(4, "little"), text, bytes(offset - 4 - len(text))]
    for array in named.values():
        parts += [array.tobytes(), bytes(-array.nbytes % 8)]
    return b"".join(parts)


def packed_response(header: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Response:
    """`pack` as an HTTP answer that the browser does not cache."""
    answer = Response(pack(header, arrays), mimetype="application/octet-stream")
    answer.headers["Cache-Control"] = "no-store"
    return answer
