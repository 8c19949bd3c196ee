"""Tensors: typed views of elements of variables, with Poplar's names. No operation copies anything.

A tensor is an element type and a `View`, where slicing, shapes and regions are computed; methods here check arguments
and delegate.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.errors import index_error, tensor_creation_error, tensor_metadata_error, type_error
from simulator.base.types import (
    QUARTER,
    QUARTER_METADATA,
    Interval,
    Type,
    UpsampleMethod,
    VariableInterval,
    VariableRef,
)
from simulator.base.wrong_arguments import MISTAKES, methods_refuse_wrong_arguments, refuse, refuses_wrong_arguments
from simulator.graph.strides import checked_dimension, checked_shape, partial_permutation, permutation, rolled
from simulator.graph.view import View, joined

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore

#: of a tensor with repeated elements: as many as 32 bits count
_MOST_ELEMENTS = 2**32 - 1


@methods_refuse_wrong_arguments(but=["slice"])
class Tensor:
    """A view; made by `Graph.addVariable`, `Graph.addConstant` and by views of other tensors. `Tensor()` is invalid."""

    __slots__ = ("element_type", "view")
    element_type: Type
    view: View

    def __init__(self) -> None:
        self.element_type = None  # type: ignore[assignment]  # of no graph, as `require_valid` says
        self.view = View.of_nothing()

    # ---- slices ------------------------------------------------------------------------------------------------

    @overload
    def slice(self, begin: int, end: int, dimension: int = 0) -> Tensor: ...
    @overload
    def slice(self, begin: Interval, dimension: int = 0, /) -> Tensor: ...
    @overload
    def slice(self, *, region: Interval, dimension: int = 0) -> Tensor: ...
    @overload
    def slice(self, begin: Sequence[int], end: Sequence[int]) -> Tensor: ...
    def slice(self, begin: Any = 0, end: Any = None, dimension: int = 0, *, region: Interval | None = None) -> Tensor:
        """Elements [begin, end) of one dimension, or of each dimension; `index_error` when outside the tensor."""
        view = self.view
        try:
            if region is None and type(begin) is int:  # before isinstance(begin, Sequence), which is slow for a number
                view = view.sliced(begin, end, dimension)
            elif region is not None or isinstance(begin, Interval):
                interval = region or begin
                view = view.sliced(interval.begin, interval.end, dimension if end is None else end)
            elif isinstance(begin, Sequence):
                if len(begin) != len(end) or len(begin) > len(view.shape):
                    raise index_error(
                        f"slice: {list(begin)} and {list(end)} do not fit a tensor of rank {self.rank()}."
                    )
                for axis, (b, e) in enumerate(zip(begin, end, strict=True)):
                    view = view.sliced(b, e, axis)
            else:
                view = view.sliced(begin, end, dimension)
        except MISTAKES as error:
            refuse(error, Tensor.slice, (self, begin, end, dimension), {})
            raise
        return tensor_of(self.element_type, view)

    def slices(self, intervals: Sequence[int | Interval | Sequence[Interval]], dimension: int = 0) -> list[Tensor]:
        """One tensor per interval; a list of intervals in the place of one gives their concatenation, an index the
        slice of size 1 there."""

        def part(begin: int, end: int) -> Tensor:
            return tensor_of(self.element_type, self.view.sliced(begin, end, dimension))

        return [
            part(int(item), int(item) + 1)
            if isinstance(item, int | np.integer)
            else part(item[0], item[1])
            if isinstance(item, Interval) or (len(item) == 2 and isinstance(item[0], int))
            else concat([part(i[0], i[1]) for i in item], dimension)
            for item in intervals
        ]

    def index(self, indices: Sequence[int]) -> Tensor:
        """The sub-tensor at these indices of the outermost dimensions."""
        view = self.view
        for i in indices:
            view = view.at(i, 0)
        return tensor_of(self.element_type, view)

    def __getitem__(self, key: Any) -> Tensor:
        """Indices, Python slices (steps too), an `Interval` and `...`, as NumPy takes them."""
        try:
            return tensor_of(self.element_type, self.view.indexed(key))
        except MISTAKES as error:
            if isinstance(error, index_error):
                raise
            raise index_error(
                f"{key!r:.60} is no index of a tensor; give whole numbers, slices, an Interval or '...'."
            ) from None

    def __iter__(self) -> Iterator[Tensor]:
        return (tensor_of(self.element_type, self.view.at(i, 0)) for i in range(len(self)))

    def subSample(self, stride: int, dimension: int) -> Tensor:
        """Every `stride`-th element of a dimension, from its first."""
        axis = checked_dimension(self.rank(), dimension, "subSample")
        if stride < 1:
            raise index_error(f"subSample: stride {stride} is not positive.")
        return tensor_of(self.element_type, self.view.subsampled(stride, axis))

    def reverse(self, dimension: int) -> Tensor:
        """The dimension read from its end."""
        axis = checked_dimension(self.rank(), dimension, "reverse")
        return tensor_of(self.element_type, self.view.reversed(axis))

    # ---- shapes ------------------------------------------------------------------------------------------------

    def flatten(self, dimBegin: int = 0, dimEnd: int | None = None) -> Tensor:
        """All elements as a vector, or dimensions [dimBegin, dimEnd) fused into one."""
        shape, end = self.view.shape, self.rank() if dimEnd is None else dimEnd
        if not 0 <= dimBegin <= end <= self.rank():
            raise index_error(f"flatten: [{dimBegin}, {end}) are not dimensions of a tensor of rank {self.rank()}.")
        return self.reshape((*shape[:dimBegin], prod(shape[dimBegin:end]), *shape[end:]))

    def reshape(self, shape: Sequence[int]) -> Tensor:
        """The same elements in row-major order under another shape; `index_error` when it holds another number."""
        return tensor_of(self.element_type, self.view.reshaped(checked_shape(shape, self.numElements())))

    def reshapePartial(self, beginIndex: int, endIndex: int, newDims: Sequence[int]) -> Tensor:
        """Dimensions [beginIndex, endIndex) replaced by `newDims`."""
        if not 0 <= beginIndex <= endIndex <= self.rank():
            raise index_error(f"reshapePartial: [{beginIndex}, {endIndex}) are not dimensions of rank {self.rank()}.")
        return self.reshape((*self.view.shape[:beginIndex], *newDims, *self.view.shape[endIndex:]))

    def expand(self, indices: Sequence[int]) -> Tensor:
        """Insert a dimension of size 1 before each of the named dimensions (rank() = at the end)."""
        shape, places = self.shape(), list(indices)
        for index in places:
            if not isinstance(index, int | np.integer):
                raise index_error(f"expand: {index!r:.60} is not a place in a tensor of rank {self.rank()}.")
        for index in sorted(places, reverse=True):
            if not 0 <= index <= self.rank():
                raise index_error(f"expand: there is no place {index} in a tensor of rank {self.rank()}.")
            shape.insert(index, 1)
        return self.reshape(shape)

    def squeeze(self, indices: Sequence[int]) -> Tensor:
        """Remove the named dimensions, which must have size 1."""
        indices = list(indices)
        for index in indices:
            if self.dim(index) != 1:
                raise index_error(f"squeeze: dimension {index} of shape {self.shape()} does not have size 1.")
        return self.reshape([n for axis, n in enumerate(self.view.shape) if axis not in indices])

    def dimShuffle(self, permutation_: Sequence[int]) -> Tensor:
        """Dimension i of the result is dimension `permutation_[i]` of this tensor."""
        axes = permutation(self.rank(), permutation_, "dimShuffle")
        return tensor_of(self.element_type, self.view.permuted(axes))

    def dimShufflePartial(self, source: Sequence[int], destination: Sequence[int]) -> Tensor:
        """Dimension source[i] moves to destination[i]; the others keep their order."""
        axes = partial_permutation(self.rank(), source, destination)
        return tensor_of(self.element_type, self.view.permuted(axes))

    def dimRoll(self, dimension: int, newIndex: int = 0) -> Tensor:
        """One dimension moves to `newIndex`; the others keep their order."""
        return tensor_of(self.element_type, self.view.permuted(rolled(self.rank(), dimension, newIndex)))

    def transpose(self) -> Tensor:
        """The dimensions in reverse order; of a matrix, its transpose."""
        return tensor_of(self.element_type, self.view.permuted(tuple(reversed(range(self.rank())))))

    # ---- repetition and reinterpretation -------------------------------------------------------------------------

    def broadcast(self, N: int, dimension: int) -> Tensor:
        """The tensor N times along a dimension: the copies are the same elements, so the result has aliases."""
        axis = checked_dimension(self.rank(), dimension, "broadcast")
        self._check_copies("broadcast", N)
        return tensor_of(self.element_type, self.view.repeated(N, axis, axis))

    def upsample(self, scale: int, dimension: int, method: UpsampleMethod = UpsampleMethod.REPEAT) -> Tensor:
        """Every element of a dimension `scale` times in a row (`UpsampleMethod.REPEAT`, the only method)."""
        if method is not UpsampleMethod.REPEAT:
            raise index_error(f"upsample: {method!r} is not an upsampling method; use UpsampleMethod.REPEAT.")
        axis = checked_dimension(self.rank(), dimension, "upsample")
        self._check_copies("upsample", scale)
        return tensor_of(self.element_type, self.view.repeated(scale, axis, axis + 1))

    def _check_copies(self, what: str, count: int) -> None:
        """Raise `index_error` for so many copies that 32 bits cannot count their elements."""
        if isinstance(count, int | np.integer) and int(count) * self.numElements() > _MOST_ELEMENTS:
            raise index_error(
                f"{what}: {count} times {self.numElements()} elements are more than {_MOST_ELEMENTS}; give fewer."
            )

    def reinterpret(self, type_: Type) -> Tensor:
        """The same bits as elements of another type of the same size, else `type_error`. QUARTER and its metadata can
        be read as other types; nothing can be read as one of them, as it would have no metadata."""
        if type_.size != self.elementType().size:
            raise type_error(f"A tensor of type {self.element_type} cannot be read as {type_}: the sizes differ.")
        if type_ in (QUARTER, QUARTER_METADATA) and type_ is not self.element_type:
            raise type_error(
                f"A tensor of type {self.element_type} cannot be read as {type_}; clone it with that type and copy "
                "the bytes."
            )
        return tensor_of(type_, self.view)

    # ---- questions ---------------------------------------------------------------------------------------------

    def valid(self) -> bool:
        return self.view.valid

    def elementType(self) -> Type:
        require_valid(self)
        return self.element_type

    def rank(self) -> int:
        return len(self.view.shape)

    def shape(self) -> list[int]:
        return list(self.view.shape)

    def dim(self, dimension: int) -> int:
        return self.view.shape[checked_dimension(self.rank(), dimension, "dim")]

    def numElements(self) -> int:
        return prod(self.view.shape)

    def __len__(self) -> int:
        if not self.view.shape:
            raise index_error("A scalar tensor has no length.")
        return self.view.shape[0]

    def isContiguous(self) -> bool:
        """Whether the flattened tensor is one run of consecutive elements of one variable."""
        return self.view.is_contiguous()

    def containsAliases(self) -> bool:
        """Whether some element occurs more than once."""
        return self.view.contains_aliases()

    def containsConstant(self) -> bool:
        constant = self.view.store.variables.constant
        return any(constant[v] is not None for v in self.view.variables())

    def isParallelWriteable(self) -> bool:
        """Whether vertices and copies may write the tensor: no aliases and no constants."""
        return not self.containsAliases() and not self.containsConstant()

    def intersectsWith(self, other: Tensor) -> bool:
        """Whether the two tensors share an element."""
        return self.view.intersects(other.view)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tensor):
            return NotImplemented
        if not (self.valid() and other.valid()):
            return self.valid() == other.valid()
        mine, theirs = self.view, other.view
        if mine.store is not theirs.store or mine.shape != theirs.shape or self.element_type is not other.element_type:
            return False
        return all(np.array_equal(a, b) for a, b in zip(mine.regions(), theirs.regions(), strict=True))

    def __hash__(self) -> int:
        return hash(self.view.shape)

    def __repr__(self) -> str:
        return f"Tensor({self.element_type.name}, shape={self.shape()})" if self.valid() else "Tensor()"

    # ---- elements ----------------------------------------------------------------------------------------------

    def regions(self) -> tuple[Int64Array, Int64Array]:
        """(starts, lengths) in element space, in flattened order; neighbours are merged, never across variables.

        The arrays may be shared with the tensor: do not write into them."""
        return self.view.regions()

    def strided(self) -> tuple[int, int, tuple[int, ...]] | None:
        """(variable, offset, strides) in elements when the tensor is one strided view of one variable, else None."""
        view = self.view
        if view.strides is None:
            view.regions()
        if view.strides is None:
            return None
        return view.variable, view.start - view.store.variables.base[view.variable], view.strides

    def getContiguousRegions(self) -> list[Interval]:
        """Intervals of the flattened tensor, each of which is one run of consecutive elements of one variable."""
        lengths = self.regions()[1]
        ends = np.cumsum(lengths)
        return [Interval(b, e) for b, e in zip((ends - lengths).tolist(), ends.tolist(), strict=True)]

    def getVarRegions(self) -> list[VariableInterval]:
        """The runs of elements of variables that spell the flattened tensor, in order."""
        starts, lengths = self.regions()
        owner = self.view.store.variable_of(starts)
        first = starts - self.view.store.bases()[owner]
        rows = zip(owner.tolist(), first.tolist(), lengths.tolist(), strict=True)
        return [VariableInterval(VariableRef(v), Interval(b, b + n)) for v, b, n in rows]

    # ---- metadata ----------------------------------------------------------------------------------------------

    def hasMetadata(self) -> bool:
        """Whether the tensor has a metadata tensor, as those of type QUARTER do."""
        return self.valid() and _metadata_element(self) is not None

    def getMetadata(self) -> Tensor:
        """The metadata tensor (shape []) of a QUARTER tensor; `tensor_metadata_error` for other types."""
        require_valid(self)
        element = _metadata_element(self)
        if element is None:
            raise tensor_metadata_error(f"{self!r} has no metadata; only tensors of type quarter have.")
        store = self.view.store
        variable = int(store.variable_of(np.array([element], np.int64))[0])
        return tensor_of(QUARTER_METADATA, View.of_variable(store, variable, ()).with_strides(element, (), ()))

    # ---- texts -------------------------------------------------------------------------------------------------

    def shapeToString(self) -> str:
        """The shape as Poplar spells it, for example "{2,3}"."""
        return "{" + ",".join(str(n) for n in self.view.shape) + "}"

    def getVarStr(self) -> str:
        """The names of the variables that the tensor is made of, each once, joined by commas."""
        names = self.view.store.variables.name
        return ",".join(names[v] or f"<variable {v}>" for v in self.view.variables())

    def getDebugStr(self) -> str:
        """Variables, type and shape, for messages."""
        if not self.valid():
            return "<invalid tensor>"
        return f"{self.getVarStr()}:{self.element_type.name}{self.shapeToString()}"

    def dump(self) -> None:
        """Write the tensor's description on standard error."""
        sys.stderr.write(self.getDebugStr() + "\n")

    def dumpRegions(self) -> None:
        """Write the runs of memory that spell the flattened tensor on standard error, one a line."""
        names = self.view.store.variables.name
        for run in self.getVarRegions():
            name = names[run.var.id] or f"<variable {run.var.id}>"
            sys.stderr.write(f"{name}[{run.interval.begin}:{run.interval.end})\n")


# ---- making tensors --------------------------------------------------------------------------------------------------


def tensor_of(type_: Type, view: View) -> Tensor:
    """The tensor of a view, with elements of this type."""
    tensor = object.__new__(Tensor)
    tensor.element_type = type_
    tensor.view = view
    return tensor


def whole_variable(store: GraphStore, variable: int) -> Tensor:
    """All elements of a variable as a vector."""
    columns = store.variables
    return tensor_of(columns.type[variable], View.of_variable(store, variable, (columns.numel[variable],)))


def tensor_of_regions(store: GraphStore, pieces: Sequence[tuple[int, int]], scalar: bool) -> Tensor:
    """The elements of (start, length) regions as a vector, or as a scalar."""
    starts, lengths = np.array(pieces, np.int64).reshape(-1, 2).T
    variable = int(store.variable_of(starts[:1])[0]) if len(starts) else 0
    shape = () if scalar else (int(lengths.sum()),)
    view = View.of_variable(store, variable, ()).with_pieces(shape, store.cut_at_variables(starts, lengths), variable)
    return tensor_of(store.variables.type[variable], view)


def taken(tensor: Tensor, places: Int64Array) -> Tensor:
    """The elements at these places of the flattened tensor, under the shape of `places`."""
    return tensor_of(tensor.element_type, tensor.view.taken(places))


def require_valid(tensor: Tensor) -> None:
    """Raises `tensor_creation_error` for `Tensor()`."""
    if not tensor.view.valid:
        raise tensor_creation_error("The tensor refers to nothing; make it with Graph.addVariable first.")


@overload
def concat(tensors: Sequence[Tensor], dimension: int = 0) -> Tensor: ...
@overload
def concat(first: Tensor, second: Tensor, dimension: int = 0) -> Tensor: ...
@refuses_wrong_arguments  # type: ignore[misc]  # names are those of the overloads
def concat(first: Any = None, second: Any = None, dimension: int = 0, *, tensors: Any = None) -> Tensor:
    """Tensors one after another along a dimension; all other dimensions and the types must be equal."""
    pair = isinstance(first, Tensor)
    parts: list[Tensor] = [first, second] if pair else list(first if tensors is None else tensors)
    return _concatenated(parts, dimension if pair or second is None else second)


@refuses_wrong_arguments
def append(first: Tensor, second: Tensor, dimension: int = 0) -> Tensor:
    """`second`, one rank lower than `first`, as one more element of a dimension of `first`."""
    return _concatenated([first, second.expand([dimension])], dimension)


def _concatenated(tensors: list[Tensor], dimension: int) -> Tensor:
    if not tensors:
        raise tensor_creation_error("concat: there is nothing to concatenate; give at least one tensor.")
    for t in tensors:
        if not isinstance(t, Tensor):
            raise tensor_creation_error(f"concat: {t!r} is not a tensor.")
    head, first = tensors[0], tensors[0].view
    require_valid(head)
    axis = checked_dimension(head.rank(), dimension, "concat")
    for t in tensors:
        require_valid(t)
        shape = t.view.shape
        if t.element_type is not head.element_type or t.view.store is not first.store:
            raise tensor_creation_error(f"concat: {t!r} and {head!r} must have the same type and be of the same graph.")
        if shape[:axis] + shape[axis + 1 :] != first.shape[:axis] + first.shape[axis + 1 :]:
            raise tensor_creation_error(
                f"concat: shapes {t.shape()} and {head.shape()} differ outside dimension {axis}."
            )
    if len(tensors) == 1:
        return head
    if head.hasMetadata() and any(t.getMetadata() != head.getMetadata() for t in tensors):
        raise tensor_metadata_error(
            f"concat: the {len(tensors)} quarter tensors have different metadata tensors; give them the same one."
        )
    return tensor_of(head.element_type, joined([t.view for t in tensors], axis))


def _metadata_element(tensor: Tensor) -> int | None:
    """The element that holds the metadata of a QUARTER tensor; None for other types."""
    if not tensor.element_type.requiresMetadata():
        return None
    view = tensor.view
    variables = view.variables() or [view.variable]
    return view.store.variables.metadata.get(variables[0])
