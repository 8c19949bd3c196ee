"""What one field of the vertices of a growing block is connected to."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from simulator.graph.vertices import FieldEdges, FieldSpec


class EdgeColumn:
    """The regions of one field: which vertex, which elements, and whether a region opens a new inner vector."""

    __slots__ = ("lengths", "opens", "rows", "spec", "starts")

    def __init__(self, spec: FieldSpec) -> None:
        self.spec = spec
        self.rows = array("q")
        self.starts = array("q")
        self.lengths = array("q")
        self.opens = array("b")

    def add(self, row: int, starts: Sequence[int], lengths: Sequence[int]) -> None:
        """One vector; an empty one is kept as a region of length 0 until `edges`."""
        if not len(starts):
            starts = lengths = [0]
        self.rows.extend([row] * len(starts))
        self.starts.extend(starts)
        self.lengths.extend(lengths)
        self.opens.append(1)
        self.opens.extend([0] * (len(starts) - 1))

    def edges(self, n: int) -> FieldEdges:
        rows = np.array(self.rows, np.int64)
        starts = np.array(self.starts, np.int64)
        lengths = np.array(self.lengths, np.int64)
        nested = self.spec.kind == "vectors"
        opens = np.array(self.opens, np.int64) if nested or len(rows) != n else np.ones(len(rows), np.int64)
        if (rows[1:] < rows[:-1]).any():
            order = np.argsort(rows, kind="stable")
            rows, starts, lengths, opens = rows[order], starts[order], lengths[order], opens[order]
        if not nested and len(rows) == n and lengths.all() and (rows == np.arange(n)).all():
            return FieldEdges(starts, lengths)
        full = lengths > 0
        if not nested:
            counts = np.bincount(rows[full], minlength=n)
            return FieldEdges(starts[full], lengths[full], _offsets(counts))
        inner = np.cumsum(opens) - 1
        per_vertex = np.bincount(rows[opens > 0], minlength=n)
        per_inner = np.bincount(inner[full], minlength=int(opens.sum()))
        return FieldEdges(starts[full], lengths[full], _offsets(per_vertex), _offsets(per_inner))

    def holds(self, row: int) -> bool:
        """Whether a vertex is connected."""
        return row in self.rows

    def vectors_of(self, row: int) -> list[list[tuple[int, int]]]:
        """The (start, length) regions of one vertex: one list, or one per inner vector of a vector of vectors."""
        if row not in self.rows:
            return []
        out: list[list[tuple[int, int]]] = []
        for i in np.flatnonzero(np.array(self.rows, np.int64) == row).tolist():
            if not out or (self.opens[i] and self.spec.kind == "vectors"):
                out.append([])
            if self.lengths[i]:
                out[-1].append((self.starts[i], self.lengths[i]))
        return out

    def vectors(self, n: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        """How many vectors are connected to each vertex; more than one is right for vectors of vectors only."""
        return np.bincount(np.array(self.rows, np.int64)[np.array(self.opens, np.int64) > 0], minlength=n)


def _offsets(counts: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
