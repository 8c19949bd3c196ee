"""Search for the cheapest way to divide a product over tiles: `objective` costs all candidates in arrays.

Among plans whose temporary memory fits, the fewest cycles win; then the fewest tiles, then swapped operands (which
products favour), then the method tried first. Serial passes save memory, never cycles: they are tried, with the two
methods of the best rate, only where the cheapest plan without them does not fit. Where nothing fits, the plan with the
least memory wins. A method whose peak rate cannot beat the best plan so far is skipped.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from simulator.arrays import Int64Array
from simulator.poplibs.poplin.planning.canonical_params import CanonicalConvParams, Dtype, matmul_params
from simulator.poplibs.poplin.planning.machine import Machine
from simulator.poplibs.poplin.planning.methods import METHODS, Method, candidates, groups_of, peak_macs
from simulator.poplibs.poplin.planning.objective import (
    cost_columns,
    least_cycles,
    share_of,
    temporary_bytes,
)
from simulator.poplibs.poplin.planning.plan import Plan, cheapest_first, plan_of_candidate
from simulator.poplibs.poplin.planning.splits import Splits, enumerate_splits, share_counts
from simulator.poplibs.poplin.planning.transform_costs import Transforms

#: largest number of serial passes to try
MAX_PASSES = 64

#: number of methods, best rate first, to try with serial passes
_SERIAL_METHODS = 2


class Constraints(NamedTuple):
    """The caller's planConstraints; None leaves a choice free."""

    method: str | None = None
    swapped: bool | None = None
    group_split: int | None = None
    field_split: int | None = None
    in_split: int | None = None
    out_split: int | None = None
    in_passes: int | None = None
    out_passes: int | None = None

    def allow(self, splits: Splits) -> Splits:
        """The candidates that meet the constraints."""
        wanted = (
            (self.group_split, splits.groups),
            (self.in_split, splits.inp),
            (self.out_split, splits.out),
            (self.field_split, splits.tiles // (splits.groups * splits.inp * splits.out)),
        )
        keep = np.ones(len(splits.groups), np.bool_)
        for value, column in wanted:
            if value is not None:
                keep &= column == value
        return splits if keep.all() else splits.take(keep)


FREE = Constraints()


class Order(NamedTuple):
    """The order of plans, best first: plans that do not fit come last, ordered by memory."""

    misfit: int
    first: int
    tiles: int
    second: int


class _Trial(NamedTuple):
    """One method with the operands swapped or not."""

    params: CanonicalConvParams
    swapped: bool
    method: Method


class Search:
    """Search for the best plan of one product on one machine."""

    def __init__(
        self,
        params: CanonicalConvParams,
        machine: Machine,
        partials: Dtype,
        constraints: Constraints,
        transforms: Transforms | None = None,
    ) -> None:
        self.params, self.machine, self.partials, self.constraints = params, machine, partials, constraints
        #: rearrangements needed whether the operands are swapped or not
        self.transforms = transforms or Transforms(False)
        self.best: Plan | None = None
        self._order: Order | None = None

    def run(self) -> Plan | None:
        """Try each method with the operands swapped and not."""
        for swapped in (True, False):
            if self.constraints.swapped not in (None, swapped):
                continue
            placed = self.params.swapped() if swapped else self.params
            methods = candidates(placed, self.machine, self.partials)
            wanted = [m for m in methods if self.constraints.method in (None, m.name)]
            wanted.sort(key=lambda m: (-_effective(placed, m), METHODS.index(m.name)))
            for rank, method in enumerate(wanted):
                if placed.macs / (peak_macs(method, placed.dtype) * self.machine.tiles) <= self._bound():
                    self._try(_Trial(placed, swapped, method), serial=rank < _SERIAL_METHODS)
        return self.best

    def _bound(self) -> float:
        """Upper bound of the cycles of a better plan."""
        return self.best.total if self.best is not None and self.best.fits else float("inf")

    def _try(self, trial: _Trial, serial: bool) -> None:
        """Try all splits of one method; with serial passes only where its cheapest split does not fit."""
        for pair in self._passes(trial):
            cheapest_fits = self._split(trial, pair)
            if pair == (1, 1) and (cheapest_fits or not serial):
                break

    def _split(self, trial: _Trial, passes: tuple[int, int]) -> bool:
        """Cost the splits of one number of passes. Returns whether the cheapest fits, or none can win."""
        params, swapped, method = trial
        grains = (
            groups_of(params.groups, method.conv_group),
            params.output_field,
            groups_of(params.in_channels, method.in_group),
            groups_of(params.out_channels, method.out_group),
        )
        splits = self.constraints.allow(enumerate_splits(*grains, self.machine.tiles, passes))
        least = params.macs / peak_macs(method, params.dtype)
        splits = splits.take(splits.tiles >= min(least / self._bound(), self.machine.tiles + 1))
        if not len(splits.groups):
            return True
        share = share_of(params, method, splits)
        memory = temporary_bytes(params, method, splits, share, self.machine, self.transforms._replace(swapped=swapped))
        fits = memory <= self.machine.memory_limit
        worth = least_cycles(params, method, splits, share) <= self._bound()
        if passes != (1, 1):
            worth &= fits
        if not worth.any():
            if self._bound() < float("inf"):
                return True
            worth = memory == memory.min()
        return self._offer(trial, splits.take(worth), memory[worth])

    def _passes(self, trial: _Trial) -> list[tuple[int, int]]:
        """(input, output) passes, fewest first, of one kind at a time. Passes over input channels have equal sizes of
        whole groups."""
        params, _, method = trial
        out = share_counts(groups_of(params.out_channels, method.out_group), MAX_PASSES).tolist()
        inp = [s for s in range(2, MAX_PASSES + 1) if params.in_channels % (s * method.in_group) == 0]
        pairs = sorted([(1, o) for o in out] + [(i, 1) for i in inp], key=lambda p: p[0] * p[1])
        wanted = (self.constraints.in_passes, self.constraints.out_passes)
        return [p for p in pairs if all(w in (None, v) for w, v in zip(wanted, p, strict=True))]

    def _offer(self, trial: _Trial, splits: Splits, memory: Int64Array) -> bool:
        """Cost these candidates and keep the best where it beats the best so far. Returns whether the cheapest of them
        fits."""
        params, swapped, method = trial
        share = share_of(params, method, splits)
        columns = cost_columns(params, method, splits, share, self.machine, self.transforms._replace(swapped=swapped))
        fits = memory <= self.machine.memory_limit
        order, row = cheapest_first(columns, splits.tiles, memory, fits)
        total = columns.total
        first, second = (total, memory) if fits.any() else (memory, total)
        rank = Order(int(not fits[row]), int(first[row]), int(splits.tiles[row]), int(second[row]))
        if self._order is None or rank < self._order:
            self._order = rank
            self.best = plan_of_candidate(*trial, splits, columns, memory, row, bool(fits[row]))
        return bool(fits[order[0]])


@lru_cache(maxsize=1024)
def plan_matmul(
    dtype: Dtype,
    m: int,
    k: int,
    n: int,
    machine: Machine,
    groups: int = 1,
    out_dtype: Dtype | None = None,
    partials: Dtype = "float",
    constraints: Constraints = FREE,
) -> Plan:
    """The cheapest plan of [groups, m, k] x [groups, k, n] with elements of `dtype` ("float" or "half") and partial
    sums of `partials`.

    Raises ValueError for an empty operand, another element type, or constraints that no plan meets."""
    if dtype not in ("float", "half"):
        raise ValueError(f"matMul of {dtype}: only FLOAT and HALF have convolution units; cast the operands")
    if min(m, k, n, groups) < 1:
        raise ValueError(f"matMul of [{m}, {k}] x [{k}, {n}]: every dimension must be at least 1")
    params = matmul_params(dtype, out_dtype or dtype, groups, m, k, n)
    best = Search(params, machine, partials, constraints).run()
    if best is None:
        raise ValueError(f"no plan of [{m}, {k}] x [{k}, {n}] meets the plan constraints {constraints}")
    return best


def _effective(params: CanonicalConvParams, method: Method) -> float:
    """The method's peak rate, padding not counted as work."""
    padded = _round(params.in_channels, method.in_group) * _round(params.out_channels, method.out_group)
    side = params.groups / _round(params.groups, method.conv_group)
    return peak_macs(method, params.dtype) * side * params.in_channels * params.out_channels / padded


def _round(count: int, group: int) -> int:
    return groups_of(count, group) * group
