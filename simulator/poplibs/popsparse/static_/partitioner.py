"""Partitioner: the values of a sparse matrix in the order of the device, and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulator.arrays import AnyArray
from simulator.base.target import Target
from simulator.base.types import Type
from simulator.poplibs.popsparse.static_.matmul_params import (
    MatMulParams,
    Options,
    Pattern,
    PlanningCache,
    parsed_options,
)
from simulator.poplibs.popsparse.static_.products import device_order, planned_pattern
from simulator.poplibs.popsparse.storage import (
    Blocks,
    COOMatrix,
    CSCMatrix,
    CSRMatrix,
    Matrix,
    as_coo,
    as_csc,
    as_csr,
    transposed_blocks,
)
from simulator.poplibs.poputil.exceptions import poplibs_error


@dataclass
class SparsityDataImpl:
    """Values of all blocks in the order of the device, those of a block row by row."""

    nzValues: AnyArray


class Partitioner:
    """Puts the values of a matrix into the order of the sparse tensor that was made for its pattern with the same
    parameters, type, target and options. One partitioner is for one pattern: the first matrix fixes it."""

    def __init__(
        self,
        params: MatMulParams,
        dataType: Type,
        target: Target,
        options: Options = None,
        cache: PlanningCache | None = None,
        name: str = "",
    ) -> None:
        self._params, self._type, self._target = params, dataType, target
        self._options, self._cache, self._name = parsed_options(options), cache, name
        self._pattern: Pattern | None = None

    def createSparsityDataImpl(self, matrix: Matrix) -> SparsityDataImpl:
        """The values of a matrix in any format. Raises `poplibs_error` for a matrix that does not fit, or has blocks in
        other places than the one before."""
        given = as_csr((matrix.numRows, matrix.numColumns), matrix.blocks(), matrix.blockDimensions)
        pattern = planned_pattern(
            self._target, self._type, self._params, given, self._options, self._cache, self._params.transposed
        )
        if self._pattern is not None and not _same_places(self._pattern.blocks, pattern.blocks):
            raise poplibs_error(
                f"Partitioner {self._name!r}: the blocks are in other places than those of the matrix before."
            )
        self._pattern = pattern
        return SparsityDataImpl(pattern.blocks.values[device_order(pattern).block].reshape(-1))

    def sparsityDataImplToCOOMatrix(self, data: SparsityDataImpl | npt.ArrayLike) -> COOMatrix:
        """The matrix whose values these are, by row, then column. Raises `poplibs_error` before a matrix was given, and
        for another number of values."""
        return as_coo(*self._matrix(data))

    def sparsityDataImplToCSRMatrix(self, data: SparsityDataImpl | npt.ArrayLike) -> CSRMatrix:
        """As `sparsityDataImplToCOOMatrix`."""
        return as_csr(*self._matrix(data))

    def sparsityDataImplToCSCMatrix(self, data: SparsityDataImpl | npt.ArrayLike) -> CSCMatrix:
        """As `sparsityDataImplToCOOMatrix`, by column, then row."""
        return as_csc(*self._matrix(data))

    def _matrix(self, data: SparsityDataImpl | npt.ArrayLike) -> tuple[tuple[int, int], Blocks, tuple[int, int]]:
        pattern, params = self._pattern, self._params
        if pattern is None:
            raise poplibs_error(f"Partitioner {self._name!r} knows no pattern yet; call createSparsityDataImpl first.")
        values = np.asarray(data.nzValues if isinstance(data, SparsityDataImpl) else data)
        size = pattern.block, pattern.block
        if values.size != len(pattern.blocks.rows) * pattern.block**2:
            raise poplibs_error(f"Partitioner {self._name!r}: {values.size} values are not those of its pattern.")
        order = device_order(pattern).block
        ordered = np.empty((len(order), *size), values.dtype)
        ordered[order] = values.reshape(-1, *size)
        blocks = pattern.blocks._replace(values=ordered)
        if params.transposed:
            return (params.k, params.m), transposed_blocks(blocks), size
        return (params.m, params.k), blocks, size


def _same_places(one: Blocks, other: Blocks) -> bool:
    return np.array_equal(one.rows, other.rows) and np.array_equal(one.columns, other.columns)
