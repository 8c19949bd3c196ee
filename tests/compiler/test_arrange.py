"""Transfers of compute sets and copies, against twins that look at every element."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.codelets.vertex import Input, Output, Vector, Vertex, vertex_type
from simulator.compiler.ir.element_map import element_map
from simulator.compiler.lowering.arrange import arrange_compute_set
from simulator.compiler.lowering.arrange_copies import arrange_copy
from simulator.graph.vertices import FieldEdges, VertexBlock
from simulator.poplar import FLOAT

TILES, ELEMENTS, BORDER = 3, 24, 14  # variable 0: elements 0-13 of 4 bytes; variable 1: 14-23 of 2 bytes
NUMELS = np.array([BORDER, ELEMENTS - BORDER])
SIZE = np.where(np.arange(ELEMENTS) < BORDER, 4, 2)
VARIABLE = np.where(np.arange(ELEMENTS) < BORDER, 0, 1)


class Move(Vertex):
    x = Input(Vector(FLOAT))
    y = Output(Vector(FLOAT))

    def compute(self):
        self.y[:] = self.x


TYPE = vertex_type(Move)
mappings = st.lists(st.integers(0, TILES - 1), min_size=ELEMENTS, max_size=ELEMENTS)
regions = st.lists(st.tuples(st.integers(0, ELEMENTS - 1), st.integers(1, 5)), max_size=4).map(
    lambda rows: [(s, min(n, (BORDER if s < BORDER else ELEMENTS) - s)) for s, n in rows]
)
vertices = st.lists(st.tuples(st.integers(0, TILES - 1), regions), min_size=1, max_size=4)


def map_of(tiles):
    """Neighbouring elements of a variable on one tile form one interval."""
    ends = [i + 1 for i in range(ELEMENTS) if i + 1 in (BORDER, ELEMENTS) or tiles[i] != tiles[i + 1]]
    on = np.array([tiles[e - 1] for e in ends])
    return element_map(np.array([0, BORDER]), NUMELS, np.array([4, 2]), np.array(ends), on)


def edges(rows):
    """FieldEdges of one list of regions per vertex."""
    flat = [r for regions_ in rows for r in regions_]
    offsets = np.concatenate([[0], np.cumsum([len(r) for r in rows])]).astype(np.int64)
    return FieldEdges(np.array([s for s, _ in flat], np.int64), np.array([n for _, n in flat], np.int64), offsets)


def elements(regions_):
    return [e for s, n in regions_ for e in range(s, s + n)]


def pieces(regions_, tiles, tile):
    """Number of runs of one region on one tile within one variable; what follows each other in the memory of a variable
    on the vertex's own tile is one run."""
    place = [sum(tiles[b] == tiles[e] and VARIABLE[b] == VARIABLE[e] for b in range(e)) for e in range(ELEMENTS)]
    count, before = 0, None
    for s, n in regions_:
        for e in range(s, s + n):
            inside = e > s and tiles[e] == tiles[e - 1]
            follows = (
                before is not None
                and tiles[e] == tiles[before] == tile
                and VARIABLE[e] == VARIABLE[before]
                and place[e] == place[before] + 1
            )
            count += not (inside or follows)
            before = e
    return count


def refuse(variable, element):
    return AssertionError(f"{variable} {element}")


def slow_inputs(vertices_, tiles):
    """(received, message, moved, buffer) bytes per tile. Message buffers hold an element once, gather buffers as often
    as it is gathered."""
    received, message = np.zeros(TILES, int), [set() for _ in range(TILES)]
    moved, buffer = np.zeros(TILES, int), np.zeros(TILES, int)
    for tile, regions_ in vertices_:
        used = elements(regions_)
        local = [e for e in used if tiles[e] == tile]
        remote = [e for e in used if tiles[e] != tile]
        if pieces(regions_, tiles, tile) > 1 and local:
            moved[tile] += SIZE[local].sum()
            buffer[tile] += SIZE[used].sum()
            received[tile] += SIZE[remote].sum()
        else:
            message[tile] |= set(remote)
            if used and not local and len(used) >= 2 * len(set(used)):  # received once, spread on the tile
                moved[tile] += SIZE[used].sum()
                buffer[tile] += SIZE[used].sum()
    once = [SIZE[sorted(m)].sum() for m in message]
    return [int(r + o) for r, o in zip(received, once, strict=True)], once, moved, buffer


def slow_places(vertices_, tiles):
    """Elements of a vertex's own tile: (used where they lie, copied to or from gather buffers)."""
    in_place, copied = set(), set()
    for tile, regions_ in vertices_:
        local = {e for e in elements(regions_) if tiles[e] == tile}
        (copied if pieces(regions_, tiles, tile) > 1 else in_place).update(local)
    return in_place, copied


@given(mappings, vertices)
def test_inputs_equal_the_twin(tiles, vertices_):
    x = edges([r for _, r in vertices_])
    none = FieldEdges(*(np.empty(0, np.int64),) * 2, np.zeros(len(vertices_) + 1, np.int64))
    block = VertexBlock(0, TYPE, 0, np.array([t for t, _ in vertices_], np.uint32), {"x": x, "y": none})
    found = arrange_compute_set([block], map_of(tiles), TILES, refuse)
    received, message, moved, buffer = slow_inputs(vertices_, tiles)
    rx = np.bincount(found.before.dst, weights=found.before.bytes, minlength=TILES)
    assert rx.tolist() == received
    assert found.message.tolist() == message
    assert np.array_equal(found.gather.moved, moved)
    assert np.array_equal(found.gather.buffer, buffer)
    for src, dst, start, length in zip(
        found.before.src, found.before.dst, found.before.start, found.before.length, strict=True
    ):
        assert {tiles[e] for e in range(start, start + length)} == {src}
        assert src != dst
    in_place, copied = slow_places(vertices_, tiles)
    assert set(elements(zip(*found.accesses.reads, strict=True))) == in_place
    assert set(elements(zip(*found.gathered, strict=True))) == copied
    assert found.accesses.writes[0].tolist() == []


@given(mappings, st.data())
def test_outputs_equal_the_twin(tiles, data):
    """Two vertices write disjoint sets of regions."""
    borders = sorted(data.draw(st.sets(st.integers(0, ELEMENTS), min_size=2, max_size=8)) | {BORDER})
    runs = [(a, b - a) for a, b in itertools.pairwise(borders)]
    owner = [data.draw(st.integers(0, 2)) for _ in runs]
    vertices_ = [(tile, [r for r, o in zip(runs, owner, strict=True) if o == tile]) for tile in range(2)]
    none = FieldEdges(*(np.empty(0, np.int64),) * 2, np.zeros(3, np.int64))
    y = edges([r for _, r in vertices_])
    block = VertexBlock(0, TYPE, 0, np.array([0, 1], np.uint32), {"x": none, "y": y})
    found = arrange_compute_set([block], map_of(tiles), TILES, refuse)
    received, sent_direct, moved, buffer = [np.zeros(TILES, int) for _ in range(4)]
    for tile, regions_ in vertices_:
        used = elements(regions_)
        local = [e for e in used if tiles[e] == tile]
        scattered = pieces(regions_, tiles, tile) > 1 and bool(local)
        for e in used:
            if tiles[e] != tile:
                received[tiles[e]] += SIZE[e]
                sent_direct[tile] += 0 if scattered else SIZE[e]
        if scattered:
            moved[tile] += SIZE[local].sum()
            buffer[tile] += SIZE[used].sum()
    rx = np.bincount(found.after.dst, weights=found.after.bytes, minlength=TILES)
    assert np.array_equal(rx, received)
    assert np.array_equal(found.output, sent_direct)
    assert np.array_equal(found.scatter.moved, moved)
    assert np.array_equal(found.scatter.buffer, buffer)
    in_place, copied = slow_places(vertices_, tiles)
    assert set(elements(zip(*found.accesses.writes, strict=True))) == in_place
    assert set(elements(zip(*found.scattered, strict=True))) == copied


@given(
    mappings,
    st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4)), min_size=1, max_size=4),
    st.sampled_from([(0, 0, 0), (0, 0, 1), (0, 1, 1), (0, 1, 2)]),
    st.data(),
)
def test_copies_equal_the_twin(tiles, source, ipus, data):
    """Copy runs of elements 0-9 (maybe the same several times) to elements from 10 on."""
    source = [(s, min(n, 10 - s)) for s, n in source]
    total = min(sum(n for _, n in source), 4)
    taken, left = [], total
    for s, n in source:
        if left:
            taken.append((s, min(n, left)))
            left -= min(n, left)
    split = data.draw(st.integers(0, total))
    destination = [(10 + split, total - split), (10, split)]
    to = [np.array(column, np.int64) for column in zip(*destination, strict=True)]
    start = [np.array(column, np.int64) for column in zip(*taken, strict=True)]
    found = arrange_copy((start[0], start[1]), (to[0], to[1]), map_of(tiles), np.array(ipus), refuse)
    received, moved = np.zeros(TILES, int), np.zeros(TILES, int)
    for a, b in zip(elements(taken), elements(destination), strict=True):
        (moved if tiles[a] == tiles[b] else received)[tiles[b]] += SIZE[a]
    at_once = set(elements(zip(found.sent.to, found.transfer.length, strict=True)))
    later = set(elements(zip(*found.accesses.writes, strict=True)))
    assert at_once | later == set(elements(destination))
    assert not at_once & later
    t = found.transfer
    own = t.src == t.dst  # a tile's only run of its own may ride with the exchange
    rx, riding = (np.bincount(t.dst[rows], weights=t.bytes[rows], minlength=TILES) for rows in (~own, own))
    assert np.array_equal(rx, received)
    assert np.array_equal(found.local.moved + riding, moved)
    assert not (found.local.moved * riding).any()
    ipu = np.array(ipus)
    inside = ~own & (ipu[t.src] == ipu[t.dst])
    assert np.isin(ipu[t.dst[own]], ipu[t.dst[inside]]).all()  # there is such an exchange only within an IPU
    if own.any():
        received_inside, sent_inside = (np.bincount(tile[inside], t.bytes[inside], TILES) for tile in (t.dst, t.src))
        assert (received_inside + riding)[riding > 0].max() <= max(received_inside.max(), sent_inside.max())


def test_an_element_without_a_tile_is_refused():
    emap = element_map(np.array([0]), np.array([4]), np.array([4]), np.array([2, 4]), np.array([0, -1]))
    with pytest.raises(AssertionError, match="0 2"):
        arrange_copy((np.array([0]), np.array([1])), (np.array([1]), np.array([2])), emap, np.array([0]), refuse)
