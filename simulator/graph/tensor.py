"""Tensors: typed, shaped views of elements of variables. No operation copies anything (see `tensor_core`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from simulator.base import regions
from simulator.base.errors import index_error, type_error
from simulator.base.types import QUARTER, QUARTER_METADATA, Interval, Type, UpsampleMethod
from simulator.graph.tensor_description import DescribedTensor
from simulator.graph.tensor_joins import concatenated
from simulator.graph.view import (
    Ints,
    checked_dimension,
    checked_shape,
    partial_permutation,
    permutation,
    reshaped_strides,
    rolled,
)

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore

PythonSlice = slice


class Tensor(DescribedTensor):
    """A view; made by `Graph.addVariable`, `Graph.addConstant` and by views of other tensors. `Tensor()` is invalid."""

    __slots__ = ()

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
        if region is not None or isinstance(begin, Interval):
            interval = region or begin
            return self._slice(interval.begin, interval.end, dimension if end is None else end)
        if isinstance(begin, Sequence):
            if len(begin) != len(end) or len(begin) > len(self._shape):
                raise index_error(f"slice: {list(begin)} and {list(end)} do not fit a tensor of rank {self.rank()}.")
            out = self
            for axis, (b, e) in enumerate(zip(begin, end, strict=True)):
                out = out._slice(b, e, axis)
            return out
        return self._slice(begin, end, dimension)

    def _slice(self, begin: int, end: int, axis: int) -> Tensor:
        shape = self._shape
        if not 0 <= axis < len(shape):
            checked_dimension(len(shape), axis, "slice")
        if not 0 <= begin <= end <= shape[axis]:
            raise index_error(f"slice: [{begin}, {end}) lies outside dimension {axis} of shape {list(shape)}.")
        new_shape = (*shape[:axis], end - begin, *shape[axis + 1 :])
        strides = self._strides
        if strides is not None:
            # An empty slice at the very end stays inside the variable, so that its start is an element of it.
            return self._strided(self._start + begin * strides[axis] * (end > begin), new_shape, strides)
        if prod(shape[:axis]) == 1 and self._elements is None:
            inner = prod(shape[axis + 1 :])
            pieces = regions.cut(*self.regions(), begin * inner, end * inner)
            return self._spelled(new_shape, pieces, None, self._variable)
        return self._by_elements(lambda e: e[(PythonSlice(None),) * axis + (PythonSlice(begin, end),)])

    def slices(self, intervals: Sequence[int | Interval | Sequence[Interval]], dimension: int = 0) -> list[Tensor]:
        """One tensor per interval; a list of intervals in the place of one gives their concatenation, an index the
        slice of size 1 there."""
        return [
            self._slice(int(item), int(item) + 1, dimension)
            if isinstance(item, int | np.integer)
            else self._slice(item[0], item[1], dimension)
            if isinstance(item, Interval) or (len(item) == 2 and isinstance(item[0], int))
            else concat([self._slice(i[0], i[1], dimension) for i in item], dimension)
            for item in intervals
        ]

    def index(self, indices: Sequence[int]) -> Tensor:
        """The sub-tensor at these indices of the outermost dimensions."""
        out = self
        for i in indices:
            out = out._at(i, 0)
        return out

    def _at(self, i: int, axis: int) -> Tensor:
        shape = self._shape
        if axis >= len(shape):
            raise index_error(f"Index {i} is one too many for a tensor of shape {list(shape)}.")
        if not -shape[axis] <= i < shape[axis]:
            raise index_error(f"Index {i} lies outside dimension {axis} of shape {list(shape)}.")
        if i < 0:
            i += shape[axis]
        strides = self._strides
        if strides is not None:
            return self._strided(
                self._start + i * strides[axis], shape[:axis] + shape[axis + 1 :], strides[:axis] + strides[axis + 1 :]
            )
        one = self._slice(i, i + 1, axis)
        return one.reshape(shape[:axis] + shape[axis + 1 :])

    def __getitem__(self, key: Any) -> Tensor:
        """Indices, Python slices (steps too), an `Interval` and `...`, as NumPy takes them."""
        if isinstance(key, (int, np.integer)):
            return self._at(int(key), 0)
        keys = key if isinstance(key, tuple) and not isinstance(key, Interval) else (key,)
        if Ellipsis in keys:
            at = keys.index(Ellipsis)
            keys = keys[:at] + (PythonSlice(None),) * (len(self._shape) - len(keys) + 1) + keys[at + 1 :]
        if len(keys) > len(self._shape):
            raise index_error(f"{len(keys)} indices are too many for a tensor of rank {len(self._shape)}.")
        out, axis = self, 0
        for k in keys:
            if isinstance(k, PythonSlice):
                out = out._python_slice(k, axis)
            elif isinstance(k, Interval):
                out = out._slice(k.begin, k.end, axis)
            else:
                out = out._at(int(k), axis)
                continue
            axis += 1
        return out

    def _python_slice(self, key: PythonSlice, axis: int) -> Tensor:
        begin, end, step = key.indices(self._shape[axis])
        if step > 0:
            out = self._slice(begin, max(begin, end), axis)
            return out if step == 1 else out.subSample(step, axis)
        count = len(range(begin, end, step))
        last = begin + (count - 1) * step
        out = self._slice(last, begin + 1, axis) if count else self._slice(0, 0, axis)
        return out.reverse(axis).subSample(-step, axis)

    def __iter__(self) -> Iterator[Tensor]:
        return (self._at(i, 0) for i in range(len(self)))

    def subSample(self, stride: int, dimension: int) -> Tensor:
        """Every `stride`-th element of a dimension, from its first."""
        axis = checked_dimension(self.rank(), dimension, "subSample")
        if stride < 1:
            raise index_error(f"subSample: stride {stride} is not positive.")
        if self._strides is None:
            return self._by_elements(lambda e: e[(PythonSlice(None),) * axis + (PythonSlice(None, None, stride),)])
        count = -(-self._shape[axis] // stride)
        shape = (*self._shape[:axis], count, *self._shape[axis + 1 :])
        strides = (*self._strides[:axis], self._strides[axis] * stride, *self._strides[axis + 1 :])
        return self._strided(self._start, shape, strides)

    def reverse(self, dimension: int) -> Tensor:
        """The dimension read from its end."""
        axis = checked_dimension(self.rank(), dimension, "reverse")
        if self._strides is None:
            return self._by_elements(lambda e: np.flip(e, axis))
        n, stride = self._shape[axis], self._strides[axis]
        if n == 0:
            return self
        strides = (*self._strides[:axis], -stride, *self._strides[axis + 1 :])
        return self._strided(self._start + (n - 1) * stride, self._shape, strides)

    # ---- shapes ------------------------------------------------------------------------------------------------

    def flatten(self, dimBegin: int = 0, dimEnd: int | None = None) -> Tensor:
        """All elements as a vector, or dimensions [dimBegin, dimEnd) fused into one."""
        end = self.rank() if dimEnd is None else dimEnd
        if not 0 <= dimBegin <= end <= self.rank():
            raise index_error(f"flatten: [{dimBegin}, {end}) are not dimensions of a tensor of rank {self.rank()}.")
        return self.reshape((*self._shape[:dimBegin], prod(self._shape[dimBegin:end]), *self._shape[end:]))

    def reshape(self, shape: Sequence[int]) -> Tensor:
        """The same elements in row-major order under another shape; `index_error` when it holds another number."""
        new_shape = checked_shape(shape, self.numElements())
        if self._strides is not None:
            strides = reshaped_strides(self._shape, self._strides, new_shape)
            if strides is not None:
                return self._strided(self._start, new_shape, strides)
        if self._pieces is not None or self._elements is None:
            return self._spelled(new_shape, self.regions(), None, self._variable)
        return self._by_elements(lambda e: e.reshape(new_shape))

    def reshapePartial(self, beginIndex: int, endIndex: int, newDims: Sequence[int]) -> Tensor:
        """Dimensions [beginIndex, endIndex) replaced by `newDims`."""
        if not 0 <= beginIndex <= endIndex <= self.rank():
            raise index_error(f"reshapePartial: [{beginIndex}, {endIndex}) are not dimensions of rank {self.rank()}.")
        return self.reshape((*self._shape[:beginIndex], *newDims, *self._shape[endIndex:]))

    def expand(self, indices: Sequence[int]) -> Tensor:
        """Insert a dimension of size 1 before each of the named dimensions (rank() = at the end)."""
        shape = list(self._shape)
        for index in sorted(indices, reverse=True):
            if not 0 <= index <= self.rank():
                raise index_error(f"expand: there is no place {index} in a tensor of rank {self.rank()}.")
            shape.insert(index, 1)
        return self.reshape(shape)

    def squeeze(self, indices: Sequence[int]) -> Tensor:
        """Remove the named dimensions, which must have size 1."""
        for index in indices:
            if self.dim(index) != 1:
                raise index_error(f"squeeze: dimension {index} of shape {list(self._shape)} does not have size 1.")
        return self.reshape([n for axis, n in enumerate(self._shape) if axis not in indices])

    def dimShuffle(self, permutation_: Sequence[int]) -> Tensor:
        """Dimension i of the result is dimension `permutation_[i]` of this tensor."""
        return self._permuted(permutation(self.rank(), permutation_, "dimShuffle"))

    def dimShufflePartial(self, source: Sequence[int], destination: Sequence[int]) -> Tensor:
        """Dimension source[i] moves to destination[i]; the others keep their order."""
        return self._permuted(partial_permutation(self.rank(), source, destination))

    def dimRoll(self, dimension: int, newIndex: int = 0) -> Tensor:
        """One dimension moves to `newIndex`; the others keep their order."""
        return self._permuted(rolled(self.rank(), dimension, newIndex))

    def transpose(self) -> Tensor:
        """The dimensions in reverse order; of a matrix, its transpose."""
        return self._permuted(tuple(reversed(range(self.rank()))))

    def _permuted(self, axes: Ints) -> Tensor:
        if self._strides is None:
            return self._by_elements(lambda e: e.transpose(axes))
        shape, strides = self._shape, self._strides
        return self._strided(self._start, tuple([shape[a] for a in axes]), tuple([strides[a] for a in axes]))

    # ---- repetition and reinterpretation -------------------------------------------------------------------------

    def broadcast(self, N: int, dimension: int) -> Tensor:
        """The tensor N times along a dimension: the copies are the same elements, so the result has aliases."""
        axis = checked_dimension(self.rank(), dimension, "broadcast")
        return self._repeated(N, axis, axis)

    def upsample(self, scale: int, dimension: int, method: UpsampleMethod = UpsampleMethod.REPEAT) -> Tensor:
        """Every element of a dimension `scale` times in a row (`UpsampleMethod.REPEAT`, the only method)."""
        if method is not UpsampleMethod.REPEAT:
            raise index_error(f"upsample: {method!r} is not an upsampling method; use UpsampleMethod.REPEAT.")
        axis = checked_dimension(self.rank(), dimension, "upsample")
        return self._repeated(scale, axis, axis + 1)

    def _repeated(self, times: int, axis: int, place: int) -> Tensor:
        """A dimension of `times` equal copies put before dimension `place`, then fused with dimension `axis`."""
        if times < 0:
            raise index_error(f"A tensor cannot be repeated {times} times.")
        shape = (*self._shape[:place], times, *self._shape[place:])
        fused = (*self._shape[:axis], self._shape[axis] * times, *self._shape[axis + 1 :])
        if self._strides is not None:
            strides = (*self._strides[:place], 0, *self._strides[place:])
            return self._strided(self._start, shape, strides).reshape(fused)
        return self._by_elements(lambda e: np.broadcast_to(np.expand_dims(e, place), shape).reshape(fused))

    def reinterpret(self, type_: Type) -> Tensor:
        """The same bits as elements of another type of the same size, else `type_error`. QUARTER and its metadata can
        be read as other types; nothing can be read as one of them, as it would have no metadata."""
        if type_.size != self.elementType().size:
            raise type_error(f"A tensor of type {self._type} cannot be read as {type_}: the sizes differ.")
        if type_ in (QUARTER, QUARTER_METADATA) and type_ is not self._type:
            raise type_error(
                f"A tensor of type {self._type} cannot be read as {type_}; clone it with that type and copy the bytes."
            )
        t = self._strided(self._start, self._shape, ())
        t._strides, t._pieces, t._elements = self._strides, self._pieces, self._elements
        t._type = type_
        return t


@overload
def concat(tensors: Sequence[Tensor], dimension: int = 0) -> Tensor: ...
@overload
def concat(first: Tensor, second: Tensor, dimension: int = 0) -> Tensor: ...
def concat(  # type: ignore[misc]  # names are those of the overloads
    first: Any = None, second: Any = None, dimension: int = 0, *, tensors: Any = None
) -> Tensor:
    """Tensors one after another along a dimension; all other dimensions and the types must be equal."""
    pair = isinstance(first, Tensor)
    parts: list[Tensor] = [first, second] if pair else list(first if tensors is None else tensors)
    joined: Tensor = concatenated(parts, dimension if pair or second is None else second)
    return joined


def append(first: Tensor, second: Tensor, dimension: int = 0) -> Tensor:
    """`second`, one rank lower than `first`, as one more element of a dimension of `first`."""
    return concatenated([first, second.expand([dimension])], dimension)


def tensor_of(store: GraphStore, pieces: Sequence[tuple[int, int]], scalar: bool) -> Tensor:
    """The elements of (start, length) regions as a vector, or as a scalar."""
    starts, lengths = np.array(pieces, np.int64).reshape(-1, 2).T
    variable = int(store.variable_of(starts[:1])[0]) if len(starts) else 0
    whole = Tensor._of_variable(store, variable, store.variables.type[variable], ())
    shape = () if scalar else (int(lengths.sum()),)
    return whole._spelled(shape, store.cut_at_variables(starts, lengths), None, variable)
