"""Sizes and options of a product, the sparse operand on the device, and the cache of plans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

from simulator.base.errors import invalid_option
from simulator.graph.tensor import Tensor
from simulator.poplibs.poplin.planning.cache import PlanningCache as PlansByKey
from simulator.poplibs.popsparse.storage import Blocks
from simulator.poplibs.poputil.exceptions import poplibs_error

Options = Mapping[str, Any] | None


@dataclass(frozen=True, order=True)
class MatMulParams:
    """Sizes of a product: [groups][m][k] * [groups][k][n] with the sparse operand on the left, or, `transposed`,
    [groups][n][k] * [groups][k][m] with the sparse operand on the right."""

    groups: int = 1
    m: int = 0
    k: int = 0
    n: int = 0
    transposed: bool = False

    @staticmethod
    def createForSparseDense(groups: int, m: int, k: int, n: int) -> MatMulParams:
        """sparse [m][k] * dense [k][n]"""
        return MatMulParams(groups, m, k, n, False)

    @staticmethod
    def createForDenseSparse(groups: int, n: int, k: int, m: int) -> MatMulParams:
        """dense [n][k] * sparse [k][m]"""
        return MatMulParams(groups, m, k, n, True)

    def getNumGroups(self) -> int:
        return self.groups

    def getM(self) -> int:
        return self.m

    def getK(self) -> int:
        return self.k

    def getN(self) -> int:
        return self.n

    def isTransposed(self) -> bool:
        return self.transposed

    def __post_init__(self) -> None:
        if self.groups != 1:
            raise poplibs_error(f"A static sparse product has one group, not {self.groups}; make one for each group.")
        if min(self.m, self.k, self.n) < 1:
            raise poplibs_error(f"A sparse product of sizes m={self.m}, k={self.k}, n={self.n} is empty.")


@dataclass(frozen=True)
class MatMulOptions:
    """`availableMemoryProportion`: part of a tile's memory that a product may take. `numBands`, `nSplit`: parts of the
    sparse operand's columns and of the dense one's, 0 = as the planner finds them."""

    availableMemoryProportion: float = 0.6
    numBands: int = 0
    nSplit: int = 0


def parsed_options(options: Options) -> MatMulOptions:
    """Raises `invalid_option` for an unknown option, or a value that is none of its."""
    values: dict[str, Any] = {}
    for name, value in (options or {}).items():
        if name not in ("availableMemoryProportion", "numBands", "nSplit"):
            raise invalid_option(
                f"A static sparse product has no option '{name}'; it has availableMemoryProportion, numBands, nSplit."
            )
        kind = float if name == "availableMemoryProportion" else int
        try:
            values[name] = kind(value)
        except (TypeError, ValueError, OverflowError):
            raise invalid_option(f"{name}={value!r} is no number.") from None
        if not 0 <= values[name] < inf:
            raise invalid_option(f"{name}={value!r} is not a finite number of at least 0.")
        if isinstance(value, float) and values[name] != value:
            raise invalid_option(f"{name}={value!r} is not a whole number.")
    return MatMulOptions(**values)


class PlanningCache(PlansByKey):
    """Plans of products by sizes, pattern, type and options."""


@dataclass(frozen=True)
class Pattern:
    """The meta data of a sparse operand: where its blocks are, as the left operand, and how its product is planned."""

    params: MatMulParams
    options: MatMulOptions
    block: int  #: rows and columns of a block
    blocks: Blocks = field(compare=False)
    plan: Any = field(compare=False)


class SparseTensor:
    """A sparse operand on the device: the values of its blocks, and where they are, which is part of the program."""

    def __init__(self, nzValues: Tensor | None = None, opMetaData: Any = None) -> None:
        self._values, self._pattern = nzValues, opMetaData

    def getNzValuesTensor(self) -> Tensor:
        """The values of the blocks, in the order of Partitioner.createSparsityDataImpl."""
        if self._values is None:
            raise poplibs_error("The sparse tensor is empty; make it with createSparseDenseMatMulLHS or its like.")
        return self._values

    def getOpMetaData(self) -> Any:
        """Where the blocks are; for a second sparse tensor with other values in the same places."""
        return self._pattern
