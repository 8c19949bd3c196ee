"""Sparse matrices on the host: coordinates (COO), compressed rows (CSR), compressed columns (CSC), each of blocks.

Indices count elements, not blocks: the row and column index of a block are those of its first element, and the starts
of compressed rows count values. A matrix of single elements has blocks of 1 x 1. Conversions sort by row, then column
(CSC: by column, then row), and keep the values of a block in row-major order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from simulator.arrays import AnyArray, Int64Array
from simulator.poplibs.poputil.exceptions import poplibs_error


class Blocks(NamedTuple):
    """Blocks of a matrix in some order: their row and column counted in blocks, and their values [n, rows, columns]."""

    rows: Int64Array
    columns: Int64Array
    values: AnyArray


@dataclass(frozen=True, eq=False, init=False)
class Matrix:
    """What the formats have in common. `nzValues` are those of all blocks, one block after another."""

    numRows: int
    numColumns: int
    nzValues: AnyArray
    columnIndices: Int64Array
    rowIndices: Int64Array
    blockDimensions: tuple[int, int]

    def __init__(
        self,
        numRows: int,
        numColumns: int,
        nzValues: npt.ArrayLike = (),
        columnIndices: npt.ArrayLike = (),
        rowIndices: npt.ArrayLike = (),
        blockDimensions: Sequence[int] = (1, 1),
    ) -> None:
        set_ = object.__setattr__
        values = np.asarray(nzValues)
        if values.dtype.kind not in "iubf":
            raise poplibs_error(f"Values of a sparse matrix are numbers, not {values.dtype}.")
        if len(blockDimensions) != 2:
            raise poplibs_error(f"blockDimensions {tuple(blockDimensions)} are not two sizes: give (rows, columns).")
        set_(self, "numRows", int(numRows))
        set_(self, "numColumns", int(numColumns))
        set_(self, "nzValues", values.astype(np.float64) if values.dtype.kind in "iub" else values)
        set_(self, "columnIndices", _whole_numbers(columnIndices, "columnIndices"))
        set_(self, "rowIndices", _whole_numbers(rowIndices, "rowIndices"))
        set_(self, "blockDimensions", (int(blockDimensions[0]), int(blockDimensions[1])))
        self._check()

    def getNumRowsInBlock(self) -> int:
        return self.blockDimensions[0]

    def getNumColumnsInBlock(self) -> int:
        return self.blockDimensions[1]

    def getBlockSize(self) -> int:
        """Elements of a block."""
        return self.blockDimensions[0] * self.blockDimensions[1]

    def getBlockDimensions(self) -> tuple[int, int]:
        return self.blockDimensions

    def blocks(self) -> Blocks:
        """The blocks in the order of the format."""
        raise NotImplementedError

    def _check(self) -> None:
        height, width = self.blockDimensions
        if {self.nzValues.ndim, self.columnIndices.ndim, self.rowIndices.ndim} != {1}:
            raise poplibs_error("Values and indices of a sparse matrix are lists of numbers, not of lists.")
        if (
            min(height, width) < 1
            or min(self.numRows, self.numColumns) < 0
            or self.numRows % height
            or self.numColumns % width
        ):
            raise poplibs_error(
                f"A matrix of {self.numRows} x {self.numColumns} cannot be made of blocks of {height} x {width}."
            )
        if len(self.nzValues) % self.getBlockSize():
            raise poplibs_error(
                f"{len(self.nzValues)} values are not whole blocks of {height} x {width}; give all of each block."
            )
        rows, columns, _ = self.blocks()
        for indices, size, what in (
            (rows, self.numRows // height, "row"),
            (columns, self.numColumns // width, "column"),
        ):
            if len(indices) and not (indices.min() >= 0 and indices.max() < size):
                raise poplibs_error(f"A {what} index is beyond the {size} {what}s of blocks of the matrix.")
        if len(np.unique(rows * max(self.numColumns // width, 1) + columns)) < len(rows):
            raise poplibs_error("Two blocks of a sparse matrix have the same place.")

    def _values(self) -> AnyArray:
        return self.nzValues.reshape(-1, *self.blockDimensions)

    def _in_blocks(self, indices: Int64Array, axis: int, what: str) -> Int64Array:
        """Indices of elements as indices of blocks."""
        size = self.blockDimensions[axis]
        if (indices % size).any():
            raise poplibs_error(f"A {what} index is not a multiple of the block's {size} {what}s.")
        return indices // size

    def _expanded(self, starts: Int64Array, others: Int64Array, lines: int, what: str) -> Int64Array:
        """The line of each block of a compressed format."""
        counts = np.diff(starts) // self.getBlockSize()
        whole = len(starts) == lines + 1 and not (np.diff(starts) % self.getBlockSize()).any() and (counts >= 0).all()
        if not whole or starts[0] != 0 or starts[-1] != len(self.nzValues) or counts.sum() != len(others):
            raise poplibs_error(
                f"The starts of {lines} {what}s are {lines + 1} ascending numbers of values, from 0 to all "
                f"{len(self.nzValues)}, with an index for each block."
            )
        return np.repeat(np.arange(lines), counts)


def _whole_numbers(indices: npt.ArrayLike, name: str) -> Int64Array:
    """Indices as integers. Raises `poplibs_error` for others: an index of 0.5 has no element."""
    array = np.asarray(indices)
    if array.size and array.dtype.kind not in "iu":
        raise poplibs_error(f"The {name} of a sparse matrix are integers, not {array.dtype}.")
    return array.astype(np.int64)


class COOMatrix(Matrix):
    """The row and the column of each block, given as (numRows, numColumns, nzValues, columnIndices, rowIndices,
    blockDimensions).

    Raises `poplibs_error` for indices that do not fit, here and in the other formats."""

    def blocks(self) -> Blocks:
        if not len(self.rowIndices) == len(self.columnIndices) == len(self.nzValues) // self.getBlockSize():
            raise poplibs_error("A COO matrix needs a row and a column index for each block of values.")
        rows = self._in_blocks(self.rowIndices, 0, "row")
        return Blocks(rows, self._in_blocks(self.columnIndices, 1, "column"), self._values())


class CSRMatrix(Matrix):
    """The blocks of each row, given as (numRows, numColumns, nzValues, columnIndices, rowIndices, blockDimensions);
    `rowIndices` are the starts of the rows of blocks in `nzValues`, and behind them the number of values."""

    def blocks(self) -> Blocks:
        rows = self._expanded(self.rowIndices, self.columnIndices, self.numRows // self.blockDimensions[0], "row")
        return Blocks(rows, self._in_blocks(self.columnIndices, 1, "column"), self._values())


class CSCMatrix(Matrix):
    """The blocks of each column, given as (numRows, numColumns, nzValues, columnIndices, rowIndices,
    blockDimensions), where `columnIndices` are the starts of the columns of blocks in `nzValues`, and behind them the
    number of values."""

    def blocks(self) -> Blocks:
        columns = self._expanded(
            self.columnIndices, self.rowIndices, self.numColumns // self.blockDimensions[1], "column"
        )
        return Blocks(self._in_blocks(self.rowIndices, 0, "row"), columns, self._values())


def transposed_blocks(blocks: Blocks) -> Blocks:
    return Blocks(blocks.columns, blocks.rows, blocks.values.transpose(0, 2, 1))


def as_coo(shape: tuple[int, int], blocks: Blocks, size: tuple[int, int]) -> COOMatrix:
    """The blocks by row, then column."""
    ordered = _sorted(blocks, blocks.rows, blocks.columns)
    return COOMatrix(*shape, ordered.values.reshape(-1), ordered.columns * size[1], ordered.rows * size[0], size)


def as_csr(shape: tuple[int, int], blocks: Blocks, size: tuple[int, int]) -> CSRMatrix:
    ordered = _sorted(blocks, blocks.rows, blocks.columns)
    starts = _starts(ordered.rows, shape[0] // size[0], size)
    return CSRMatrix(*shape, ordered.values.reshape(-1), ordered.columns * size[1], starts, size)


def as_csc(shape: tuple[int, int], blocks: Blocks, size: tuple[int, int]) -> CSCMatrix:
    ordered = _sorted(blocks, blocks.columns, blocks.rows)
    starts = _starts(ordered.columns, shape[1] // size[1], size)
    return CSCMatrix(*shape, ordered.values.reshape(-1), starts, ordered.rows * size[0], size)


def _sorted(blocks: Blocks, first: Any, then: Any) -> Blocks:
    order = np.lexsort((then, first))
    return Blocks(*(column[order] for column in blocks))


def _starts(lines: Int64Array, count: int, size: tuple[int, int]) -> Int64Array:
    return np.concatenate([[0], np.cumsum(np.bincount(lines, minlength=count))]).astype(np.int64) * size[0] * size[1]
