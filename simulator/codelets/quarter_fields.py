"""QUARTER fields of codelets: numbers inside `compute`, encoded bytes outside.

Every edge of type QUARTER has a hidden scalar edge to the metadata tensor of what it is connected to, so that
exchanges, liveness and costs know that the vertex reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np

from simulator.arrays import Float32Array, UInt8Array
from simulator.base.quarter import QuarterMetadata, decoded, encoded
from simulator.base.types import QUARTER
from simulator.graph.vertices import FieldSpec, metadata_field


def numbers(values: Any, metadata: Any) -> Float32Array:
    """Encoded bytes as float32; of a batch, `metadata` has one byte for each row."""
    rows = np.asarray(metadata).reshape(-1)
    if len(set(rows.tolist())) == 1:
        return decoded(values, QuarterMetadata(int(rows[0]))).astype(np.float32)
    pairs = zip(np.asarray(values), rows.tolist(), strict=True)
    return np.stack([decoded(row, QuarterMetadata(byte)) for row, byte in pairs]).astype(np.float32)


def stored(values: Any, metadata: Any) -> UInt8Array:
    """Numbers as encoded bytes: the inverse of `numbers`."""
    rows = np.asarray(metadata).reshape(-1)
    if len(set(rows.tolist())) == 1:
        return encoded(values, QuarterMetadata(int(rows[0])))
    pairs = zip(np.asarray(values), rows.tolist(), strict=True)
    return np.stack([encoded(row, QuarterMetadata(byte)) for row, byte in pairs])


def with_numbers(run: Callable[[Any], Any], fields: Iterable[FieldSpec]) -> Callable[[Any], Any]:
    """A runner for fields with encoded bytes, from one whose QUARTER fields are numbers."""
    known = tuple(fields)
    coded = [f for f in known if f.type is QUARTER and f.kind != "value"]
    if not coded:
        return run

    def run_coded(given: Any) -> Any:
        inside = SimpleNamespace(**{f.name: getattr(given, f.name) for f in known})
        for f in coded:
            metadata, value = getattr(given, metadata_field(f.name)), getattr(given, f.name)
            nested = isinstance(value, list)
            setattr(inside, f.name, [numbers(v, metadata) for v in value] if nested else numbers(value, metadata))
        result = run(inside)
        for f in known:
            if f in coded and f.direction != "in":
                _write(given, f.name, getattr(inside, f.name), getattr(given, metadata_field(f.name)))
            elif f.direction in ("out", "inout") and not isinstance(getattr(given, f.name), np.ndarray | list):
                setattr(given, f.name, getattr(inside, f.name))
        return result

    return run_coded


def _write(given: Any, name: str, result: Any, metadata: Any) -> None:
    target = getattr(given, name)
    if isinstance(target, list):
        for part, values in zip(target, result, strict=True):
            part[...] = stored(values, metadata)
    elif isinstance(target, np.ndarray):
        target[...] = stored(result, metadata)
    else:
        setattr(given, name, stored(result, metadata)[()])
