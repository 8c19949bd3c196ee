"""Which stages a reduction has, by the number of tiles that hold terms of one output.

- One tile each: one stage where the terms lie, without exchange.
- Several: each tile first adds up its own terms, without exchange, if it has several of an output. While much is left,
  a stage over all tiles adds groups of partial results (`_between`); the last one adds the rest where the outputs lie.

On a tile with fewer than six vertices of a stage without exchange, workers share the rows of each, and a compute set
of the tile adds their results. The conditions are those of PopLibs (graphcore/poplibs, lib/popops/reduction:
Reduction, ReductionPlan, ReductionConnection). Its random start tile of each stage is a hash of sizes here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.types import Type
from simulator.building.graph import Graph
from simulator.building.mapping import grain, linear_shares
from simulator.graph.debug_context import DebugInfo
from simulator.graph.objects import ComputeSet
from simulator.graph.tensor import Tensor
from simulator.machine.cycles.reduction import accumulator_width
from simulator.machine.cycles.rounding import WORKERS, vector_width
from simulator.poplibs.pieces import aligned_runs
from simulator.poplibs.popops.reductions import terms
from simulator.poplibs.popops.reductions.stage import Stage, add_vertices
from simulator.poplibs.popops.reductions.terms import Cells, Groups
from simulator.poplibs.poputil.linear_mapping import hashed_tiles, map_shares, mapTensorLinearly
from simulator.poplibs.type_names import short_name

#: A stage over all tiles follows while more than this many partial results an output are left.
_MUCH = 32
#: partial results that a vertex of such a stage adds at least
_LEAST_PIECE = 64
#: cycles of a vertex beside its rows, for the choice whether workers share them; least cycles of a share
_OVERHEAD, _LEAST_SHARE = 30, 4
#: vectors of partial results that a tile of the last stage adds at least
_VECTORS_OF_A_TILE = 4
#: bytes that a tile writes at once
_STORE_BYTES = 4


@dataclass
class Stages:
    """The stages of one reduction. They use the compute sets of `sets` in order, and add those that are missing."""

    graph: Graph
    stage: Stage  #: of the last stage; the others neither scale nor update
    partial: Type  #: of partial results
    out_type: Type
    sets: list[ComputeSet]
    name: tuple[DebugInfo, str]
    used: int = 0  #: compute sets of this reduction

    def build(self, matrix: Tensor, out: Tensor | None, mapped: bool) -> Tensor:
        """Reduce [outputs, terms] to [outputs]. `out`: where to, one run of memory; `mapped`: its tiles are fixed."""
        outputs = matrix.dim(0)
        pieces = terms.pieces_of(self.graph, matrix)
        tiles, several = terms.spread(pieces, outputs)
        out = self._variable(self.out_type, outputs, "reduced") if out is None else out
        in_type = matrix.elementType()
        if tiles == 1:
            groups = terms.on_tiles(pieces, outputs)
            if not mapped:
                self._map_to_groups(out, groups)
            self._near(groups, in_type, out, _first_element(out) + groups.first, self.stage, "")
            return out
        if several:
            cells, in_type = self._on_tiles(terms.on_tiles(pieces, outputs), in_type), self.partial
        else:
            cells = pieces.cells()
        while self._much_is_left(cells, outputs):
            cells, in_type = self._between(cells, in_type, outputs), self.partial
        if not mapped:
            self._map_for_partials(out, in_type)
        self._last(cells, in_type, out)
        return out

    # ---- stages ----------------------------------------------------------------------------------------------

    def _on_tiles(self, groups: Groups, in_type: Type) -> Cells:
        """The terms of each tile added up there."""
        cells = self._cells(groups, "partials")
        self._near(groups, in_type, cells[0], cells[1], self._inner(), "/ReduceOnTile")
        return _joined(groups, cells[1])

    def _between(self, cells: Cells, in_type: Type, outputs: int) -> Cells:
        """Groups of partial results added up all over the tiles."""
        tiles = self.graph.getTarget().getNumTiles()
        unit = vector_width(short_name(in_type)) * (2 if self.stage.op in ("ADD", "SQUARE_ADD") else 1)
        width = max(-(-outputs // (tiles * unit)) * unit, unit)
        first = np.arange(0, outputs, width, dtype=np.int64)
        first, length, _ = terms.cut_at_borders(cells, first, np.minimum(width, outputs - first))
        groups = terms.of_cells(cells, np.zeros(len(first), np.int64), first, length)
        size, rows = groups.rows * length, groups.rows
        parts = np.maximum(size // max(int(cells.length.sum()) // tiles, 1), 1)
        parts = np.where(size // parts < _LEAST_PIECE, np.maximum(size // _LEAST_PIECE, 1), parts)
        parts = np.where(rows // parts < 2, np.maximum(rows // 2, 1), parts)
        groups, _ = groups.chunks(np.maximum(-(-rows // parts), 2))
        on = hashed_tiles(self.graph, int(cells.length.sum()), min(len(groups), tiles))
        groups = replace(groups, tile=on[np.arange(len(groups)) % len(on)])
        _, place = self._cells(groups, "partials")
        form = self._inner().form(in_type, self.partial)
        add_vertices(self.graph, self._next_set(f"/ReduceStage{self.used}"), groups, place, form, None, near=False)
        order = np.lexsort((place, groups.tile))
        return Cells(groups.tile[order], groups.first[order], groups.length[order], place[order])

    def _last(self, cells: Cells, in_type: Type, out: Tensor) -> None:
        """The rest added up where the outputs lie."""
        runs = aligned_runs(self.graph.store, out, [])
        base = _first_element(out)
        first, length, run = terms.cut_at_borders(cells, *_sorted(runs.starts - base, runs.lengths))
        tile = self.graph.state.graph_tiles(runs.tiles[np.argsort(runs.starts, kind="stable")][run])
        groups = terms.of_cells(cells, tile, first, length).shared(grain(out.elementType()))
        form = self.stage.form(in_type, out.elementType())
        add_vertices(
            self.graph,
            self._next_set("/ReduceFinalStage" if self.used else ""),
            groups,
            base + groups.first,
            form,
            self.stage.scale,
            near=False,
        )

    def _near(self, groups: Groups, in_type: Type, out: Tensor, place: Int64Array, stage: Stage, label: str) -> None:
        """Add up groups of the tiles' own terms: group g writes elements from `place[g]` on."""
        base = place - groups.first
        parted = groups.shared(grain(out.elementType()))
        of = np.repeat(np.arange(len(groups)), np.diff(np.append(_parts(groups, parted), len(parted))))
        place = base[of] + parted.first
        shares = self._workers(parted, in_type)
        form, cs = stage.form(in_type, out.elementType()), self._next_set(label)
        alone = shares == 1
        add_vertices(self.graph, cs, parted.take(alone), place[alone], form, stage.scale, near=True)
        if alone.all():
            return
        shared = parted.take(~alone)
        chunks, source = _dealt(shared, shares[~alone], accumulator_width(stage.op, short_name(in_type)))
        _, begin = self._cells(chunks, "onTile")
        first = Stage(stage.op, in_half=stage.in_half).form(in_type, self.partial)
        add_vertices(self.graph, cs, chunks, begin, first, None, near=True)
        rest = _stacked(shared, begin, source)
        last = replace(stage, op="ADD" if stage.op == "SQUARE_ADD" else stage.op).form(self.partial, out.elementType())
        add_vertices(
            self.graph, self._next_set(f"{label}/ReduceWorkers"), rest, place[~alone], last, stage.scale, near=True
        )

    # ---- choices ---------------------------------------------------------------------------------------------

    def _much_is_left(self, cells: Cells, outputs: int) -> bool:
        """Whether a stage over all tiles comes before the last one."""
        tiles = self.graph.getTarget().getTilesPerIPU()
        ends = np.bincount(cells.first, minlength=outputs + 1)
        ends -= np.bincount(cells.first + cells.length, minlength=outputs + 1)
        if int(np.cumsum(ends).max()) < 2 * sqrt(tiles) and len(np.unique(cells.tile)) > tiles * 3 // 4:
            return False
        return int(cells.length.sum()) > _MUCH * outputs

    def _workers(self, groups: Groups, in_type: Type) -> Int64Array:
        """How many workers share the rows of each group."""
        busy = np.bincount(groups.tile)[groups.tile]
        spent = -(-groups.terms * groups.length // accumulator_width(self.stage.op, short_name(in_type)))
        most = np.minimum(groups.terms // 2, (spent + _OVERHEAD) // _LEAST_SHARE)
        shares = np.clip(WORKERS // busy, 1, np.maximum(most, 1))
        better = 2 * _OVERHEAD + spent // shares < _OVERHEAD + spent
        return np.where(better, shares, 1).astype(np.int64)

    # ---- tensors and compute sets ----------------------------------------------------------------------------

    def _inner(self) -> Stage:
        """A stage before the last one; after the first, squares are not taken again."""
        op = self.stage.op
        if op == "SQUARE_ADD":
            self.stage = replace(self.stage, op="ADD")
        return Stage(op, in_half=self.stage.in_half)

    def _next_set(self, label: str) -> ComputeSet:
        if self.used == len(self.sets):
            self.sets.append(self.graph.addComputeSet((self.name[0], f"{self.name[1]}{label}")))
        self.used += 1
        return self.sets[self.used - 1]

    def _variable(self, type_: Type, elements: int, label: str) -> Tensor:
        return self.graph.addVariable(type_, [elements], (self.name[0], f"{self.name[1]}/{label}"))

    def _cells(self, groups: Groups, label: str) -> tuple[Tensor, Int64Array]:
        """A variable for a value of each output of each group on the group's tile, and each group's first element.
        Groups of a tile follow each other there."""
        variable = self._variable(self.partial, int(groups.length.sum()), label)
        order = np.lexsort((np.arange(len(groups)), groups.tile))
        end = np.cumsum(groups.length[order])
        begin = np.empty(len(groups), np.int64)
        begin[order] = end - groups.length[order]
        self.graph.setTileMappingIntervals(variable, end - groups.length[order], end, groups.tile[order])
        return variable, begin + _first_element(variable)

    def _map_for_partials(self, out: Tensor, in_type: Type) -> None:
        """Outputs linearly in whole vectors of partial results, at least four of them a tile, as PopLibs does."""
        width = vector_width(short_name(in_type))
        tiles = self.graph.getTarget().getNumTiles()
        ends = linear_shares(out.numElements(), tiles, width, _VECTORS_OF_A_TILE * width)
        map_shares(self.graph, out, ends, hashed_tiles(self.graph, out.numElements(), len(ends)))

    def _map_to_groups(self, out: Tensor, groups: Groups) -> None:
        """Outputs to the tiles of their terms. Where each tile would write less than a word, some tiles write whole
        words instead, as PopLibs does."""
        size = out.elementType().size
        if size < _STORE_BYTES and out.numElements() == len(groups) == len(np.unique(groups.tile)):
            mapTensorLinearly(self.graph, out, _STORE_BYTES // size, _STORE_BYTES // size)
            return
        ends = groups.first + groups.length
        self.graph.setTileMappingIntervals(out, groups.first, ends, groups.tile)


def _first_element(tensor: Tensor) -> int:
    return int(tensor.regions()[0][0])


def _sorted(starts: Int64Array, lengths: Int64Array) -> tuple[Int64Array, Int64Array]:
    order = np.argsort(starts, kind="stable")
    return starts[order], lengths[order]


def _parts(groups: Groups, parted: Groups) -> Int64Array:
    """The first part of each group."""
    heads = np.append(0, np.cumsum(groups.length))[:-1]
    ends = np.append(0, np.cumsum(parted.length))[:-1]
    return np.searchsorted(ends, heads, side="left").astype(np.int64)


def _dealt(groups: Groups, shares: Int64Array, unit: int) -> tuple[Groups, Int64Array]:
    """(the rows of each group, or the terms of its output, in that many shares; the group of each)."""
    single = groups.length == 1
    most = np.where(single, -(-groups.terms // (shares * unit)) * unit, np.iinfo(np.int64).max)
    runs = groups.runs_of_terms(most)
    return runs.chunks(np.maximum(-(-runs.rows // shares), 1))


def _stacked(groups: Groups, begin: Int64Array, source: Int64Array) -> Groups:
    """Groups that add up what the workers of each group left from elements `begin` on."""
    count = np.bincount(source, minlength=len(groups))
    offsets = np.append(0, np.cumsum(count)).astype(np.int64)
    single = groups.length == 1
    if single.all():
        rows = np.arange(len(groups) + 1, dtype=np.int64)
        return Groups(groups.tile, groups.first, groups.length, begin[offsets[:-1]], count.astype(np.int64), rows)
    return Groups(groups.tile, groups.first, groups.length, begin, np.repeat(groups.length, count), offsets)


def _joined(groups: Groups, place: Int64Array) -> Cells:
    """Cells of groups; those that follow each other on a tile, in outputs and in memory, are one."""
    if len(groups) < 2:
        return Cells(groups.tile, groups.first, groups.length, place)
    end = groups.first + groups.length
    head = np.append(True, (groups.tile[1:] != groups.tile[:-1]) | (groups.first[1:] != end[:-1]))
    first = np.flatnonzero(head)
    return Cells(groups.tile[first], groups.first[first], np.add.reduceat(groups.length, first), place[first])
