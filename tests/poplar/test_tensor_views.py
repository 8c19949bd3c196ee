"""Tensor views against NumPy: whatever chain of views is taken, the elements are those of the same chain on arange."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.arrays import Int64Array
from simulator.base.regions import elements
from simulator.graph.tensor import whole_variable
from simulator.poplar import (
    FLOAT,
    HALF,
    INT,
    UNSIGNED_INT,
    Graph,
    Interval,
    Target,
    TargetType,
    Tensor,
    append,
    concat,
    index_error,
    tensor_creation_error,
    type_error,
)


def new_graph() -> Graph:
    return Graph(Target(TargetType.IPU_MODEL, tiles_per_ipu=4))


def numbers(t: Tensor) -> Int64Array:
    """The element numbers that the tensor's regions spell, in its shape."""
    return elements(*t.regions()).reshape(t.shape())


def dimension(draw: st.DrawFn, twin: Int64Array) -> int:
    return draw(st.integers(0, twin.ndim - 1))


def sliced(draw: st.DrawFn, t: Tensor, twin: Int64Array) -> tuple[Tensor, Int64Array]:
    axis = dimension(draw, twin)
    begin = draw(st.integers(0, twin.shape[axis]))
    end = draw(st.integers(begin, twin.shape[axis]))
    return t.slice(begin, end, axis), twin[(slice(None),) * axis + (slice(begin, end),)]


def python_sliced(draw: st.DrawFn, t: Tensor, twin: Int64Array) -> tuple[Tensor, Int64Array]:
    axis = dimension(draw, twin)
    bound = st.one_of(st.none(), st.integers(-9, 9))
    key = (slice(None),) * axis + (slice(draw(bound), draw(bound), draw(st.sampled_from([None, 1, 2, 3, -1, -2]))),)
    return t[key], twin[key]


def indexed(draw: st.DrawFn, t: Tensor, twin: Int64Array) -> tuple[Tensor, Int64Array]:
    axis = dimension(draw, twin)
    if twin.shape[axis] == 0:
        return t, twin
    i = draw(st.integers(-twin.shape[axis], twin.shape[axis] - 1))
    key = (slice(None),) * axis + (i,)
    return t[key], np.asarray(twin[key])


def permuted(draw: st.DrawFn, t: Tensor, twin: Int64Array) -> tuple[Tensor, Int64Array]:
    order = draw(st.permutations(range(twin.ndim)))
    return t.dimShuffle(order), twin.transpose(order)


def rolled(draw: st.DrawFn, t: Tensor, twin: Int64Array) -> tuple[Tensor, Int64Array]:
    a, b = dimension(draw, twin), dimension(draw, twin)
    return t.dimRoll(a, b), np.moveaxis(twin, a, b)


def moved(draw: st.DrawFn, t: Tensor, twin: Int64Array) -> tuple[Tensor, Int64Array]:
    count = draw(st.integers(0, twin.ndim))
    source = draw(st.permutations(range(twin.ndim)))[:count]
    destination = draw(st.permutations(range(twin.ndim)))[:count]
    return t.dimShufflePartial(source, destination), np.moveaxis(twin, source, destination)


def flattened(draw: st.DrawFn, t: Tensor, twin: Int64Array) -> tuple[Tensor, Int64Array]:
    begin = draw(st.integers(0, twin.ndim - 1))
    end = draw(st.integers(begin + 1, twin.ndim))
    middle = int(np.prod(twin.shape[begin:end]))
    return t.flatten(begin, end), twin.reshape((*twin.shape[:begin], middle, *twin.shape[end:]))


def split(draw: st.DrawFn, t: Tensor, twin: Int64Array) -> tuple[Tensor, Int64Array]:
    axis = dimension(draw, twin)
    n = twin.shape[axis]
    inner = draw(st.sampled_from([d for d in range(1, n + 1) if n % d == 0] or [1]))
    parts = [n // inner, inner]
    return t.reshapePartial(axis, axis + 1, parts), twin.reshape((*twin.shape[:axis], *parts, *twin.shape[axis + 1 :]))


def reversed_(draw: st.DrawFn, t: Tensor, twin: Int64Array) -> tuple[Tensor, Int64Array]:
    axis = dimension(draw, twin)
    return t.reverse(axis), np.flip(twin, axis)


def sampled(draw: st.DrawFn, t: Tensor, twin: Int64Array) -> tuple[Tensor, Int64Array]:
    axis, step = dimension(draw, twin), draw(st.integers(1, 4))
    return t.subSample(step, axis), twin[(slice(None),) * axis + (slice(None, None, step),)]


def repeated(draw: st.DrawFn, t: Tensor, twin: Int64Array) -> tuple[Tensor, Int64Array]:
    axis, times = dimension(draw, twin), draw(st.integers(0, 3))
    if draw(st.booleans()):
        return t.upsample(times, axis), np.repeat(twin, times, axis)
    return t.broadcast(times, axis), np.concatenate([twin] * times, axis) if times else np.repeat(twin, 0, axis)


def joined(draw: st.DrawFn, t: Tensor, twin: Int64Array) -> tuple[Tensor, Int64Array]:
    axis = dimension(draw, twin)
    at = draw(st.integers(0, twin.shape[axis]))
    first = (slice(None),) * axis
    # The two halves swapped: two regions of one variable or more, in another order.
    tensors = [t.slice(at, twin.shape[axis], axis), t.slice(0, at, axis)]
    return concat(tensors, axis), np.concatenate([twin[(*first, slice(at, None))], twin[(*first, slice(0, at))]], axis)


Step = Callable[[st.DrawFn, Tensor, Int64Array], tuple[Tensor, Int64Array]]
STEPS: list[Step] = [
    sliced,
    python_sliced,
    indexed,
    permuted,
    rolled,
    moved,
    flattened,
    split,
    reversed_,
    sampled,
    repeated,
    joined,
]


@st.composite
def chains(draw: st.DrawFn) -> tuple[Tensor, Int64Array]:
    graph = new_graph()
    graph.addVariable(FLOAT, [draw(st.integers(0, 3))], "before")
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    count = draw(st.integers(1, 2))
    tensors = [graph.addVariable(FLOAT, shape, f"v{i}") for i in range(count)]
    t = concat(tensors, 0)
    base = tensors[0].regions()[0][0]
    twin = base + np.arange(t.numElements(), dtype=np.int64).reshape(t.shape())
    for _ in range(draw(st.integers(0, 5))):
        if twin.ndim == 0 or twin.size > 2000:
            break
        t, twin = draw(st.sampled_from(STEPS))(draw, t, twin)
    return t, twin


@given(chains())
def test_a_chain_of_views_names_the_elements_that_numpy_names(case: tuple[Tensor, Int64Array]) -> None:
    t, twin = case
    assert t.shape() == list(twin.shape)
    assert t.numElements() == twin.size
    assert np.array_equal(numbers(t), twin)
    assert t.containsAliases() == (len(np.unique(twin)) != twin.size)
    assert t.flatten() == t.reshape([twin.size])


@given(chains())
def test_regions_are_maximal_and_stay_inside_variables(case: tuple[Tensor, Int64Array]) -> None:
    t, twin = case
    starts, lengths = t.regions()
    assert (lengths > 0).all()
    assert lengths.sum() == twin.size
    bases = t.view.store.bases()
    owner = np.searchsorted(bases, starts, side="right")
    assert np.array_equal(owner, np.searchsorted(bases, starts + lengths - 1, side="right"))
    goes_on = starts[1:] == (starts + lengths)[:-1]
    assert not (goes_on & (owner[1:] == owner[:-1])).any()
    assert t.isContiguous() == (len(starts) <= 1)
    assert sum(i.size() for i in t.getContiguousRegions()) == twin.size
    by_variable = [bases[r.var.id] + np.arange(*r.interval) for r in t.getVarRegions()]
    assert np.array_equal(np.concatenate([*by_variable, np.empty(0, np.int64)]), twin.reshape(-1))


@given(chains())
def test_strided_says_the_same_as_regions(case: tuple[Tensor, Int64Array]) -> None:
    t, twin = case
    found = t.strided()
    if found is None:
        assert len(t.regions()[0]) != 1
        return
    variable, offset, strides = found
    start = t.view.store.variables.base[variable] + offset
    grid = np.indices(twin.shape).reshape(twin.ndim, twin.size)
    assert np.array_equal(start + (np.array(strides).reshape(-1, 1) * grid).sum(axis=0), twin.reshape(-1))


@given(chains(), st.data())
def test_intersects_with_a_part_of_the_variable(case: tuple[Tensor, Int64Array], data: st.DataObject) -> None:
    t, twin = case
    variable = len(t.view.store.variables.base) - 1
    last = whole_variable(t.view.store, variable)
    begin = data.draw(st.integers(0, last.numElements()))
    end = data.draw(st.integers(begin, last.numElements()))
    part = last.slice(begin, end)
    assert t.intersectsWith(part) == bool(set(numbers(part).tolist()) & set(twin.reshape(-1).tolist()))


def test_neighbouring_variables_are_not_one_region() -> None:
    graph = new_graph()
    a, b = graph.addVariable(INT, [3]), graph.addVariable(INT, [2])
    both = concat(a, b)
    assert [list(column) for column in both.regions()] == [[0, 3], [3, 2]]
    assert both.getContiguousRegions() == [Interval(0, 3), Interval(3, 5)]
    assert not both.isContiguous()
    assert both[3:].strided() == (1, 0, (1,))


def test_append_and_slices_and_index() -> None:
    graph = new_graph()
    m = graph.addVariable(INT, [3, 2])
    row = graph.addVariable(INT, [2])
    assert append(m, row).shape() == [4, 2]
    assert np.array_equal(numbers(append(m, row)), [[0, 1], [2, 3], [4, 5], [6, 7]])
    assert [s.shape() for s in m.slices([Interval(0, 1), Interval(1, 3)])] == [[1, 2], [2, 2]]
    assert np.array_equal(numbers(m.slices([[Interval(2, 3), Interval(0, 1)]])[0]), [[4, 5], [0, 1]])
    assert numbers(m.index([2, 1])) == 5
    assert np.array_equal(numbers(m.slice([1, 0], [3, 1])), [[2], [4]])
    assert np.array_equal(numbers(m.slice(Interval(1, 2), 1)), [[1], [3], [5]])
    assert [int(numbers(t)[0]) for t in m] == [0, 2, 4]


def test_expand_and_squeeze() -> None:
    t = new_graph().addVariable(INT, [3, 2])
    assert t.expand([0, 2]).shape() == [1, 3, 2, 1]
    assert t.expand([1, 1]).shape() == [3, 1, 1, 2]
    assert t.expand([0, 2]).squeeze([0, 3]) == t
    with pytest.raises(index_error, match="does not have size 1"):
        t.squeeze([0])


def test_reinterpret_keeps_elements_and_needs_equal_sizes() -> None:
    t = new_graph().addVariable(FLOAT, [4]).slice(1, 3)
    other = t.reinterpret(UNSIGNED_INT)
    assert other.elementType() is UNSIGNED_INT
    assert np.array_equal(numbers(other), numbers(t))
    with pytest.raises(type_error, match="float cannot be read as half"):
        t.reinterpret(HALF)


def test_constants_and_aliases_are_not_writeable() -> None:
    graph = new_graph()
    v, c = graph.addVariable(FLOAT, [2]), graph.addConstant(FLOAT, [2], 1.0)
    assert v.isParallelWriteable()
    assert not concat(v, c).isParallelWriteable()
    assert concat(v, c).containsConstant()
    assert not concat(v, c).slice(0, 2).containsConstant()
    assert not v.broadcast(2, 0).isParallelWriteable()
    assert v.broadcast(1, 0).isParallelWriteable()
    assert not concat(v, v).isParallelWriteable()


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda t: t.slice(1, 5), r"\[1, 5\) lies outside dimension 0 of shape \[3, 2\]"),
        (lambda t: t.slice(0, 1, 2), "dimension 2 does not exist in a tensor of rank 2"),
        (lambda t: t[3], "Index 3 lies outside dimension 0"),
        (lambda t: t[0, 0, 0], "3 indices are too many"),
        (lambda t: t.reshape([4]), r"shape \[4\] does not hold the tensor's 6 elements"),
        (lambda t: t.dimShuffle([0, 0]), "not a permutation"),
        (lambda t: t.dimShufflePartial([0, 0], [0, 1]), "do not pair dimensions"),
        (lambda t: t.subSample(0, 0), "stride 0 is not positive"),
        (lambda t: t.flatten(2, 1), "are not dimensions"),
        (lambda t: t.broadcast(-1, 0), "-1 times"),
        (lambda t: t.dim(2), "dimension 2 does not exist"),
        (lambda t: len(t[0][0]), "scalar tensor has no length"),
    ],
)
def test_views_outside_the_tensor_are_refused(action: Callable[[Tensor], object], message: str) -> None:
    with pytest.raises(index_error, match=message):
        action(new_graph().addVariable(INT, [3, 2]))


def test_concat_refuses_what_does_not_fit() -> None:
    graph = new_graph()
    a = graph.addVariable(INT, [3, 2])
    with pytest.raises(tensor_creation_error, match="nothing to concatenate"):
        concat([])
    with pytest.raises(tensor_creation_error, match="differ outside dimension 0"):
        concat(a, graph.addVariable(INT, [3, 1]))
    with pytest.raises(tensor_creation_error, match="same type"):
        concat(a, graph.addVariable(FLOAT, [3, 2]))
    with pytest.raises(tensor_creation_error, match="same graph"):
        concat(a, new_graph().addVariable(INT, [3, 2]))
    with pytest.raises(tensor_creation_error, match="refers to nothing"):
        concat(Tensor(), a)


def test_an_empty_handle_is_not_valid() -> None:
    assert not Tensor().valid()
    assert new_graph().addVariable(INT, []).valid()
    with pytest.raises(tensor_creation_error, match="refers to nothing"):
        Tensor().elementType()
