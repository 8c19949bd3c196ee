"""Tensors: typed, shaped views of elements of variables. No operation copies anything.

A tensor is kept in the simplest of three forms. *Strided*: `_start`, `_strides` in element space, always within one
variable; slicing and permuting are a few tuple operations. *Pieces*: `_pieces` = regions that spell the flattened
tensor (a concatenation). *Elements*: `_elements`, an int64 array of element numbers with the tensor's shape, made the
first time that a dimension of a concatenation is cut or permuted; from then on NumPy's views do the work.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Self

import numpy as np

from simulator.arrays import Int64Array
from simulator.base import regions
from simulator.base.errors import index_error, tensor_creation_error
from simulator.base.regions import Regions
from simulator.base.types import Interval, Type, VariableInterval, VariableRef
from simulator.graph.view import Ints, checked_dimension, is_row_major, row_major

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore


class TensorCore:
    """What a tensor is, how views of it are made, and the questions that change nothing."""

    __slots__ = ("_elements", "_pieces", "_shape", "_start", "_store", "_strides", "_type", "_variable")
    _store: GraphStore
    _type: Type
    _shape: Ints
    _start: int
    _strides: Ints | None
    _variable: int  #: the only variable of the tensor, -1 = several or none
    _pieces: Regions | None
    _elements: Int64Array | None

    def __init__(self) -> None:
        self._store = self._type = None  # type: ignore[assignment]  # of no graph, as `_require` says
        self._shape = ()
        self._strides = None
        self._variable = -1
        self._start = -1
        self._pieces = None
        self._elements = None

    # ---- making views ------------------------------------------------------------------------------------------

    @classmethod
    def _of_variable(cls, store: GraphStore, variable: int, type_: Type, shape: Ints) -> Self:
        t = object.__new__(cls)
        t._store = store
        t._type = type_
        t._variable = variable
        t._shape = shape
        t._start = store.variables.base[variable]
        t._strides = row_major(shape)
        t._pieces = t._elements = None
        return t

    def _strided(self, start: int, shape: Ints, strides: Ints) -> Self:
        t = object.__new__(self.__class__)
        t._store = self._store
        t._type = self._type
        t._variable = self._variable
        t._shape = shape
        t._start = start
        t._strides = strides
        t._pieces = t._elements = None
        return t

    def _spelled(self, shape: Ints, pieces: Regions | None, elements: Int64Array | None, variable: int) -> Self:
        """A tensor of pieces or elements; strided again where it is one run of one variable."""
        t = self._strided(-1, shape, ())
        t._variable = variable
        t._strides = None
        t._pieces = pieces
        t._elements = elements
        if pieces is not None:
            t._simplify(*pieces)
        return t

    def _by_elements(self, view: Callable[[Int64Array], Int64Array]) -> Self:
        """Apply an operation on arrays to the array of element numbers."""
        out = view(self._element_numbers())
        return self._spelled(out.shape, None, out, self._variable)

    def _element_numbers(self) -> Int64Array:
        if self._elements is None:
            self._elements = regions.elements(*self.regions()).reshape(self._shape)
        return self._elements

    def _require(self) -> Ints:
        """The shape; `tensor_creation_error` when the tensor is empty in the sense of `valid()`."""
        if not self.valid():
            raise tensor_creation_error("The tensor refers to nothing; make it with Graph.addVariable first.")
        return self._shape

    # ---- what the compiler asks --------------------------------------------------------------------------------

    def regions(self) -> tuple[Int64Array, Int64Array]:
        """(starts, lengths) in element space, in flattened order; neighbours are merged, never across variables.

        The arrays may be shared with the tensor: do not write into them."""
        if self._pieces is None:
            if self._strides is not None:
                self._pieces = regions.of_strided(self._start, self._shape, self._strides)
            else:
                assert self._elements is not None
                self._pieces = self._store.cut_at_variables(*regions.of_elements(self._elements))
                self._simplify(*self._pieces)
        return self._pieces

    def _simplify(self, starts: Int64Array, lengths: Int64Array) -> None:
        """Become strided where the regions turn out to be one run of one variable."""
        if len(starts) == 1:
            self._variable = int(self._store.variable_of(starts)[0])
            self._start = int(starts[0])
            self._strides = row_major(self._shape)

    def strided(self) -> tuple[int, int, tuple[int, ...]] | None:
        """(variable, offset, strides) in elements when the tensor is one strided view of one variable, else None."""
        if self._strides is None:
            self.regions()
        if self._strides is None:
            return None
        return self._variable, self._start - self._store.variables.base[self._variable], self._strides

    # ---- questions ---------------------------------------------------------------------------------------------

    def valid(self) -> bool:
        return self._start >= 0 or self._pieces is not None or self._elements is not None

    def elementType(self) -> Type:
        self._require()
        return self._type

    def rank(self) -> int:
        return len(self._shape)

    def shape(self) -> list[int]:
        return list(self._shape)

    def dim(self, dimension: int) -> int:
        return self._shape[checked_dimension(len(self._shape), dimension, "dim")]

    def numElements(self) -> int:
        return prod(self._shape)

    def __len__(self) -> int:
        if not self._shape:
            raise index_error("A scalar tensor has no length.")
        return self._shape[0]

    def isContiguous(self) -> bool:
        """Whether the flattened tensor is one run of consecutive elements of one variable."""
        if self._strides is not None:
            return is_row_major(self._shape, self._strides) or self.numElements() == 0
        return len(self.regions()[0]) <= 1

    def containsAliases(self) -> bool:
        """Whether some element occurs more than once."""
        if self._strides is not None:
            if 0 in self._strides and self.numElements():
                return any(s == 0 and n > 1 for s, n in zip(self._strides, self._shape, strict=True))
            return False  # strides come from slicing and permuting a dense array, which never alias
        return regions.overlap_themselves(*self.regions())

    def containsConstant(self) -> bool:
        constant = self._store.variables.constant
        return any(constant[v] is not None for v in self._variables())

    def isParallelWriteable(self) -> bool:
        """Whether vertices and copies may write the tensor: no aliases and no constants."""
        return not self.containsAliases() and not self.containsConstant()

    def _variables(self) -> list[int]:
        if self._variable >= 0:
            return [self._variable]
        return [int(v) for v in regions.distinct(self._store.variable_of(self.regions()[0]))]

    def getContiguousRegions(self) -> list[Interval]:
        """Intervals of the flattened tensor, each of which is one run of consecutive elements of one variable."""
        ends = np.cumsum(self.regions()[1])
        begins = ends - self.regions()[1]
        return [Interval(b, e) for b, e in zip(begins.tolist(), ends.tolist(), strict=True)]

    def getVarRegions(self) -> list[VariableInterval]:
        """The runs of elements of variables that spell the flattened tensor, in order."""
        starts, lengths = self.regions()
        owner = self._store.variable_of(starts)
        first = starts - self._store.bases()[owner]
        rows = zip(owner.tolist(), first.tolist(), lengths.tolist(), strict=True)
        return [VariableInterval(VariableRef(v), Interval(b, b + n)) for v, b, n in rows]

    def intersectsWith(self, other: TensorCore) -> bool:
        """Whether the two tensors share an element."""
        if self._store is not other._store or (
            self._variable != other._variable and min(self._variable, other._variable) >= 0
        ):
            return False
        return regions.intersect(self.regions(), other.regions())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorCore):
            return NotImplemented
        if not (self.valid() and other.valid()):
            return self.valid() == other.valid()
        if self._store is not other._store or self._shape != other._shape or self._type is not other._type:
            return False
        return all(np.array_equal(a, b) for a, b in zip(self.regions(), other.regions(), strict=True))

    def __hash__(self) -> int:
        return hash(self._shape)

    def __repr__(self) -> str:
        return f"Tensor({self._type.name}, shape={list(self._shape)})" if self.valid() else "Tensor()"
