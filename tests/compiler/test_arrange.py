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
ONE_IPU = np.zeros(TILES, np.int64)
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


def words(size):
    return -(-int(size) // 4)


def offset_of(e, tiles):
    """The byte offset of an element in its variable's memory on its tile."""
    return sum(int(SIZE[b]) for b in range(e) if tiles[b] == tiles[e] and VARIABLE[b] == VARIABLE[e])


def pieces_of(regions_, tiles):
    """The pieces of an operand: lists of elements, each within a region and an interval of the mapping."""
    found = []
    for s, n in regions_:
        for e in range(s, s + n):
            if e == s or tiles[e] != tiles[e - 1]:
                found.append([])
            found[-1].append(e)
    return found


def laid_out(wanted, tiles):
    """(byte offset of every element in the message buffer of a tile, bytes of the buffer)."""
    place, end = {}, 0
    for e in sorted(wanted):
        if e - 1 in wanted and tiles[e - 1] == tiles[e] and VARIABLE[e - 1] == VARIABLE[e]:
            place[e] = place[e - 1] + int(SIZE[e])
        else:
            place[e] = 4 * words(end) + offset_of(e, tiles) % 4
        end = place[e] + int(SIZE[e])
    return place, 4 * words(end)


def consecutive(used, place):
    return all(place[b] == place[a] + SIZE[a] for a, b in itertools.pairwise(used))


def costs_less_spread(parts):
    """A gather copy of 12 cycles a piece and 8 bytes a cycle, beside fragments of three instructions and 12 bytes of
    code each, a byte of which weighs 1.25 cycles."""
    used = [e for part in parts for e in part]
    size, distinct = SIZE[used].sum(), len(set(used)) / len(used)
    return max(size / 4, 3 * len(parts)) + 15 * len(parts) > size / 4 * distinct + 12 * len(parts) + size / 8


def slow_inputs(vertices_, tiles):
    """(received, message, moved, buffer) bytes per tile, and the elements gathered on their tile."""
    received, message, moved, buffer = (np.zeros(TILES, int) for _ in range(4))
    copied = set()
    for tile in range(TILES):
        operands = [pieces_of(r, tiles) for at, r in vertices_ if at == tile and r]
        away = [[e for part in parts for e in part] for parts in operands]
        remote = [all(tiles[e] != tile for e in used) for used in away]
        place, _ = laid_out({e for used, far in zip(away, remote, strict=True) if far for e in used}, tiles)
        waiting, gathers = set(), {}
        for parts, used, far, (_, r) in zip(
            operands, away, remote, [v for v in vertices_ if v[0] == tile and v[1]], strict=True
        ):
            if far and consecutive(used, place):
                waiting |= set(used)
            elif far:
                gathers[str(parts)] = parts, costs_less_spread(parts)
            elif pieces(r, tiles, tile) > 1:
                gathers[str(parts)] = parts, False
        for parts, as_a_whole in gathers.values():
            size, at = sum(SIZE[e] for part in parts for e in part), 0
            buffer[tile] += size if size < 4 else 4 * words(size)
            for part in parts:
                length, local = int(SIZE[part].sum()), tiles[part[0]] == tile
                straight = at % 4 == 0 and offset_of(part[0], tiles) % 4 == 0
                straight &= length % 4 == 0 or at + length == size
                if local:
                    copied |= set(part)
                elif straight and not as_a_whole:
                    received[tile] += length
                else:
                    waiting |= set(part)
                if local or not straight or as_a_whole:
                    moved[tile] += length
                at += length
        received[tile] += SIZE[sorted(waiting)].sum()
        message[tile] = laid_out(waiting, tiles)[1]
    return received, message, moved, buffer, copied


def runs_in_memory(source, tiles):
    """Elements that come from consecutive bytes of one tile to consecutive bytes of another. `source`: element ->
    (tile, byte offset there)."""
    runs = []
    for e in sorted(source, key=lambda e: (tiles[e], VARIABLE[e], e)):
        before = runs[-1][-1] if runs else None
        follows = (
            before is not None
            and (tiles[before], VARIABLE[before], source[before][0]) == (tiles[e], VARIABLE[e], source[e][0])
            and offset_of(e, tiles) == offset_of(before, tiles) + SIZE[before]
            and source[e][1] == source[before][1] + SIZE[before]
        )
        if follows:
            runs[-1].append(e)
        else:
            runs.append([e])
    return runs


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
    found, *_ = arrange_compute_set([block], map_of(tiles), ONE_IPU, refuse)
    received, message, moved, buffer, copied = slow_inputs(vertices_, tiles)
    rx = np.bincount(found.before.dst, weights=found.before.bytes, minlength=TILES)
    assert np.array_equal(rx, received)
    assert np.array_equal(found.message, message)
    assert np.array_equal(found.gather.moved, moved)
    assert np.array_equal(found.gather.buffer, buffer)
    for src, dst, start, length in zip(
        found.before.src, found.before.dst, found.before.start, found.before.length, strict=True
    ):
        assert {tiles[e] for e in range(start, start + length)} == {src}
        assert src != dst
    in_place, _ = slow_places(vertices_, tiles)
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
    found, *_ = arrange_compute_set([block], map_of(tiles), ONE_IPU, refuse)
    received, sent_direct, moved, buffer = [np.zeros(TILES, int) for _ in range(4)]
    source, landed = {}, set()
    for tile, regions_ in vertices_:
        used = elements(regions_)
        local = [e for e in used if tiles[e] == tile]
        scattered = pieces(regions_, tiles, tile) > 1 and bool(local)
        place = 0
        for e in used:
            if tiles[e] != tile:
                received[tiles[e]] += SIZE[e]
                source[e] = (tile, place)
            if scattered or tiles[e] != tile:
                place += SIZE[e]
        (buffer if scattered else sent_direct)[tile] += place if place < 4 else 4 * words(place)
        if scattered:
            moved[tile] += SIZE[local].sum()
    for run in runs_in_memory(source, tiles):
        first, last = run[0], run[-1]
        room = sum(int(SIZE[e]) for e in range(ELEMENTS) if (tiles[e], VARIABLE[e]) == (tiles[last], VARIABLE[last]))
        whole = SIZE[run].sum() % 4 == 0 or offset_of(last, tiles) + SIZE[last] == room
        if source[first][1] % 4 or offset_of(first, tiles) % 4 or not whole:
            landed |= set(run)
            moved[tiles[first]] += SIZE[run].sum()
    columns = found.after.start[found.landing.rows], found.after.length[found.landing.rows]
    assert set(elements(zip(*columns, strict=True))) == landed
    rx = np.bincount(found.after.dst, weights=found.after.bytes, minlength=TILES)
    assert np.array_equal(rx, received)
    assert np.array_equal(found.output, sent_direct)
    assert np.array_equal(found.scatter.moved, moved)
    assert np.array_equal(found.scatter.buffer, buffer)
    in_place, copied = slow_places(vertices_, tiles)
    assert set(elements(zip(*found.accesses.writes, strict=True))) == in_place
    assert set(elements(zip(*found.scattered, strict=True))) == copied | landed


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


HALVES = 12  # elements 0-11 of variable 0 are copied to elements 12-23 of variable 1


@given(
    st.lists(st.integers(0, TILES - 1), min_size=2 * HALVES, max_size=2 * HALVES),
    st.integers(0, HALVES - 1),
    st.integers(1, HALVES),
    st.integers(0, HALVES - 1),
    st.integers(1, 3),
)
def test_halves_that_do_not_fill_words_land(tiles, first, count, to, stride):
    """A strided slice goes to a run: what begins and ends at words goes straight, the rest is unpacked on its tile."""
    taken = list(range(first, HALVES, stride))[: min(count, HALVES - to)]
    ends = [e + 1 for e in range(2 * HALVES) if e + 1 in (HALVES, 2 * HALVES) or tiles[e] != tiles[e + 1]]
    on = np.array([tiles[e - 1] for e in ends])
    emap = element_map(np.array([0, HALVES]), np.array([HALVES] * 2), np.array([2, 2]), np.array(ends), on)
    source = np.array(taken), np.ones(len(taken), np.int64)
    found = arrange_copy(source, (np.array([HALVES + to]), np.array([len(taken)])), emap, ONE_IPU, refuse)

    def offset(e):
        return 2 * sum(tiles[b] == tiles[e] for b in range(HALVES if e >= HALVES else 0, e))

    moves = {HALVES + to + i: e for i, e in enumerate(taken)}
    far = {d: s for d, s in moves.items() if tiles[d] != tiles[s]}
    runs = []
    for d in sorted(far, key=lambda d: (tiles[d], d)):
        s, before = far[d], runs[-1][-1] if runs else None
        follows = before is not None and (tiles[before], tiles[far[before]]) == (tiles[d], tiles[s])
        if follows and offset(d) == offset(before) + 2 and offset(s) == offset(far[before]) + 2:
            runs[-1].append(d)
        else:
            runs.append([d])
    landed, room = set(), np.zeros(TILES, int)
    for run in runs:
        ends_there = offset(run[-1]) + 2 == 2 * sum(tiles[e] == tiles[run[-1]] for e in range(HALVES, 2 * HALVES))
        if offset(far[run[0]]) % 4 or offset(run[0]) % 4 or (len(run) % 2 and not ends_there):
            landed |= set(run)
            room[tiles[run[0]]] += 4 * words(offset(far[run[0]]) % 4 + 2 * len(run))
    rows = found.landing.rows
    assert set(elements(zip(found.sent.to[rows], found.transfer.length[rows], strict=True))) == landed
    assert found.landing.buffer.tolist() == room.tolist()
    assert found.landing.moved.tolist() == [2 * sum(tiles[e] == t for e in landed) for t in range(TILES)]
    assert (found.landing.place % 4 == [offset(e) % 4 for e in found.transfer.start[rows].tolist()]).all()
    own = found.transfer.src == found.transfer.dst
    assert not (own & rows).any()
    passing = np.bincount(found.transfer.dst[~own], found.arrivals.words[~own], TILES)
    for tile in range(TILES):
        mine = [run for run in runs if tiles[run[0]] == tile]
        assert passing[tile] == sum(words(offset(far[run[0]]) % 4 + 2 * len(run)) for run in mine)


def test_a_column_of_single_words_lands_where_its_fragments_cost_more():
    """A hundred single words, 400 bytes apart at the receiver: fragments take 2 x 99 cycles more than their words and
    1,188 bytes of code, which weigh 1,485; the copy takes 360 + 12 x 100 + 50. Ten go straight."""
    for rows, lands in ((100, True), (10, False)):
        numel = 100 * rows
        ends = np.array([numel, 2 * numel])
        emap = element_map(np.array([0, numel]), np.array([numel] * 2), np.array([4, 4]), ends, np.array([0, 1]))
        to = numel + 100 * np.arange(rows)
        one = np.ones(rows, np.int64)
        found = arrange_copy((np.arange(rows), one), (to, one), emap, np.zeros(2, np.int64), refuse)
        assert found.landing.rows.all() == lands
        assert found.arrivals.begins.sum() == (1 if lands else rows)
        assert found.landing.moved.tolist() == [0, 4 * rows * lands]
