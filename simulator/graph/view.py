"""Views: shaped selections of elements of a graph. No operation copies values.

A view takes the simplest of three forms. *Strided*: `start` and `strides` in element space, always within one variable;
slicing and permuting cost a few tuple operations. *Pieces*: regions that spell the flattened view (a concatenation).
*Elements*: an int64 array of element numbers with the shape of the view, made when a dimension of a concatenation is
first cut or permuted; from then on NumPy's views do the work, at 8 bytes per element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.arrays import Int64Array
from simulator.base import regions
from simulator.base.errors import index_error
from simulator.base.regions import Regions
from simulator.base.types import Interval
from simulator.graph.strides import Ints, checked_dimension, is_row_major, reshaped_strides, row_major

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore

ALL = slice(None)


class View:
    """A view of elements of one graph. What it selects never changes; computing `regions` may simplify its form."""

    __slots__ = ("_elements", "_pieces", "_repeats", "shape", "start", "store", "strides", "variable")
    store: GraphStore
    shape: Ints
    start: int  #: the first element of a strided view, -1 of other forms
    strides: Ints | None
    variable: int  #: the only variable of the view, -1 = several or none
    _pieces: Regions | None
    _elements: Int64Array | None
    _repeats: bool | None  #: whether some element occurs more than once, None = not asked so far

    # ---- making ------------------------------------------------------------------------------------------------

    @staticmethod
    def of_variable(store: GraphStore, variable: int, shape: Ints) -> View:
        """The first elements of a variable, in row-major order."""
        view = object.__new__(View)
        view.store = store
        view.variable = variable
        view.shape = shape
        view.start = store.variables.base[variable]
        view.strides = row_major(shape)
        view._pieces = view._elements = view._repeats = None
        return view

    @staticmethod
    def of_nothing() -> View:
        """The view of an invalid tensor."""
        view = object.__new__(View)
        view.store = None  # type: ignore[assignment]  # of no graph, as `valid` says
        view.shape = ()
        view.start = view.variable = -1
        view.strides = view._pieces = view._elements = view._repeats = None
        return view

    def with_strides(self, start: int, shape: Ints, strides: Ints) -> View:
        """A strided view of the same variable."""
        view = object.__new__(View)
        view.store = self.store
        view.variable = self.variable
        view.shape = shape
        view.start = start
        view.strides = strides
        view._pieces = view._elements = view._repeats = None
        return view

    def with_pieces(self, shape: Ints, pieces: Regions, variable: int) -> View:
        """A view of the same graph from regions that do not reach across variables; `variable` as the attribute."""
        view = self.with_strides(-1, shape, ())
        view.variable = variable
        view.strides = None
        view._pieces = pieces
        view._simplify(*pieces)
        return view

    def with_elements(self, elements: Int64Array, variable: int) -> View:
        """A view of the same graph from element numbers, with their shape; `variable` as the attribute."""
        view = self.with_strides(-1, elements.shape, ())
        view.variable = variable
        view.strides = None
        view._elements = elements
        return view

    def taken(self, places: Int64Array) -> View:
        """The elements at these places of the flattened view, under the shape of `places`."""
        elements = regions.elements(*self.regions())[places.reshape(-1)]
        pieces = self.store.cut_at_variables(*regions.of_elements(elements))
        return self.with_pieces(places.shape, pieces, self.variable)

    # ---- questions ---------------------------------------------------------------------------------------------

    @property
    def valid(self) -> bool:
        return self.start >= 0 or self._pieces is not None or self._elements is not None

    def regions(self) -> tuple[Int64Array, Int64Array]:
        """(starts, lengths) in element space, in flattened order; neighbours are merged, never across variables.

        The arrays may be shared with the view: do not write into them."""
        if self._pieces is None:
            if self.strides is not None:
                self._pieces = regions.of_strided(self.start, self.shape, self.strides)
            else:
                assert self._elements is not None
                pieces = regions.of_elements(self._elements)
                self._pieces = pieces if self.variable >= 0 else self.store.cut_at_variables(*pieces)
                self._simplify(*self._pieces)
        return self._pieces

    def has_regions_of(self, elements: int) -> bool:
        """Whether regions are known already and have so many elements each on average."""
        return self._pieces is not None and prod(self.shape) >= elements * len(self._pieces[0])

    def _simplify(self, starts: Int64Array, lengths: Int64Array) -> None:
        """Become strided where the regions turn out to be one run of one variable."""
        if len(starts) == 1:
            self.variable = int(self.store.variable_of(starts)[0])
            self.start = int(starts[0])
            self.strides = row_major(self.shape)

    def element_numbers(self) -> Int64Array:
        """The elements as an array of the view's shape. Do not write into it."""
        if self._elements is None:
            self._elements = regions.elements(*self.regions()).reshape(self.shape)
        return self._elements

    def variables(self) -> list[int]:
        """The variables that the view has elements of, ascending."""
        if self.variable >= 0:
            return [self.variable]
        return [int(v) for v in regions.distinct(self.store.variable_of(self.regions()[0]))]

    def is_contiguous(self) -> bool:
        """Whether the flattened view is one run of consecutive elements of one variable."""
        if self.strides is not None:
            return is_row_major(self.shape, self.strides) or 0 in self.shape
        return len(self.regions()[0]) <= 1

    def contains_aliases(self) -> bool:
        """Whether some element occurs more than once."""
        if self.strides is not None:
            if 0 in self.strides and 0 not in self.shape:
                return any(s == 0 and n > 1 for s, n in zip(self.strides, self.shape, strict=True))
            return False  # strides come from slicing and permuting a dense array, which never alias
        if self._repeats is None:
            self._repeats = regions.overlap_themselves(*self.regions())
        return self._repeats

    def intersects(self, other: View) -> bool:
        """Whether the two views share an element."""
        if self.store is not other.store or (
            self.variable != other.variable and min(self.variable, other.variable) >= 0
        ):
            return False
        return regions.intersect(self.regions(), other.regions())

    # ---- slices ------------------------------------------------------------------------------------------------

    def sliced(self, begin: int, end: int, axis: int) -> View:
        """Elements [begin, end) of one dimension; `index_error` when outside the view."""
        shape = self.shape
        if type(begin) is not int or type(end) is not int:
            begin, end = index(begin), index(end)
        if not 0 <= axis < len(shape):
            checked_dimension(len(shape), axis, "slice")
        if not 0 <= begin <= end <= shape[axis]:
            raise index_error(f"slice: [{begin}, {end}) lies outside dimension {axis} of shape {list(shape)}.")
        new_shape = (*shape[:axis], end - begin, *shape[axis + 1 :])
        strides = self.strides
        if strides is not None:
            # An empty slice at the very end stays inside the variable, so that its start is an element of it.
            return self.with_strides(self.start + begin * strides[axis] * (end > begin), new_shape, strides)
        if prod(shape[:axis]) == 1 and self._elements is None:
            inner = prod(shape[axis + 1 :])
            pieces = regions.cut(*self.regions(), begin * inner, end * inner)
            return self.with_pieces(new_shape, pieces, self.variable)
        return self._by_elements(lambda e: e[(ALL,) * axis + (slice(begin, end),)])

    def at(self, i: int, axis: int) -> View:
        """Index `i` of a dimension, which the result does not have; negative indices count from the end."""
        shape = self.shape
        if axis >= len(shape):
            raise index_error(f"Index {i} is one too many for a tensor of shape {list(shape)}.")
        if not -shape[axis] <= i < shape[axis]:
            raise index_error(f"Index {i} lies outside dimension {axis} of shape {list(shape)}.")
        if i < 0:
            i += shape[axis]
        strides = self.strides
        if strides is not None:
            return self.with_strides(
                self.start + i * strides[axis], shape[:axis] + shape[axis + 1 :], strides[:axis] + strides[axis + 1 :]
            )
        return self.sliced(i, i + 1, axis).reshaped(shape[:axis] + shape[axis + 1 :])

    def indexed(self, key: Any) -> View:
        """Indices, Python slices (steps too), an `Interval` and `...`, as NumPy takes them."""
        if isinstance(key, (int, np.integer)):
            return self.at(int(key), 0)
        keys = key if isinstance(key, tuple) and not isinstance(key, Interval) else (key,)
        rank = len(self.shape)
        if Ellipsis in keys:
            at = keys.index(Ellipsis)
            keys = keys[:at] + (ALL,) * (rank - len(keys) + 1) + keys[at + 1 :]
        if len(keys) > rank:
            raise index_error(f"{len(keys)} indices are too many for a tensor of rank {rank}.")
        out, axis = self, 0
        for k in keys:
            if isinstance(k, slice):
                out = out._stepped(k, axis)
            elif isinstance(k, Interval):
                out = out.sliced(k.begin, k.end, axis)
            else:
                out = out.at(int(k), axis)
                continue
            axis += 1
        return out

    def _stepped(self, key: slice, axis: int) -> View:
        """A Python slice of one dimension."""
        begin, end, step = key.indices(self.shape[axis])
        if step > 0:
            out = self.sliced(begin, max(begin, end), axis)
            return out if step == 1 else out.subsampled(step, axis)
        count = len(range(begin, end, step))
        last = begin + (count - 1) * step
        out = self.sliced(last, begin + 1, axis) if count else self.sliced(0, 0, axis)
        return out.reversed(axis).subsampled(-step, axis)

    def subsampled(self, stride: int, axis: int) -> View:
        """Every `stride`-th element of a dimension, from its first."""
        if self.strides is None:
            return self._by_elements(lambda e: e[(ALL,) * axis + (slice(None, None, stride),)])
        count = -(-self.shape[axis] // index(stride))
        shape = (*self.shape[:axis], count, *self.shape[axis + 1 :])
        strides = (*self.strides[:axis], self.strides[axis] * stride, *self.strides[axis + 1 :])
        return self.with_strides(self.start, shape, strides)

    def reversed(self, axis: int) -> View:
        """A dimension read from its end."""
        if self.strides is None:
            return self._by_elements(lambda e: np.flip(e, axis))
        n, stride = self.shape[axis], self.strides[axis]
        if n == 0:
            return self
        strides = (*self.strides[:axis], -stride, *self.strides[axis + 1 :])
        return self.with_strides(self.start + (n - 1) * stride, self.shape, strides)

    # ---- shapes ------------------------------------------------------------------------------------------------

    def reshaped(self, shape: Ints) -> View:
        """The same elements in row-major order under a shape that holds as many."""
        if self.strides is not None:
            strides = reshaped_strides(self.shape, self.strides, shape)
            if strides is not None:
                return self.with_strides(self.start, shape, strides)
        if self._pieces is not None or self._elements is None:
            return self.with_pieces(shape, self.regions(), self.variable)
        return self._by_elements(lambda e: e.reshape(shape))

    def permuted(self, axes: Ints) -> View:
        """Dimension i of the result is dimension `axes[i]` of this view."""
        if self.strides is None:
            return self._by_elements(lambda e: e.transpose(axes))
        shape, strides = self.shape, self.strides
        return self.with_strides(self.start, tuple([shape[a] for a in axes]), tuple([strides[a] for a in axes]))

    def repeated(self, times: int, axis: int, place: int) -> View:
        """A dimension of `times` equal copies put before dimension `place`, then fused with dimension `axis`."""
        if index(times) < 0:
            raise index_error(f"A tensor cannot be repeated {times} times.")
        shape = (*self.shape[:place], times, *self.shape[place:])
        fused = (*self.shape[:axis], self.shape[axis] * times, *self.shape[axis + 1 :])
        if self.strides is not None:
            strides = (*self.strides[:place], 0, *self.strides[place:])
            return self.with_strides(self.start, shape, strides).reshaped(fused)
        return self._by_elements(lambda e: np.broadcast_to(np.expand_dims(e, place), shape).reshape(fused))

    def _by_elements(self, select: Callable[[Int64Array], Int64Array]) -> View:
        """Apply an operation on arrays to the array of element numbers."""
        return self.with_elements(select(self.element_numbers()), self.variable)


def joined(views: Sequence[View], axis: int) -> View:
    """Views of one graph one after another along a dimension; all other dimensions must be equal."""
    head = views[0]
    variable = head.variable if all(view.variable == head.variable for view in views) else -1
    shape = (*head.shape[:axis], sum(view.shape[axis] for view in views), *head.shape[axis + 1 :])
    if prod(shape[:axis]) != 1:
        return head.with_elements(np.concatenate([view.element_numbers() for view in views], axis=axis), variable)
    starts, lengths = zip(*[view.regions() for view in views], strict=True)
    pieces = head.store.cut_at_variables(*regions.merged(np.concatenate(starts), np.concatenate(lengths)))
    return head.with_pieces(shape, pieces, variable)
