"""A plan: the vertex kind, the split, and the cycles of each cost term."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.poplibs.poplin.planning.canonical_params import CanonicalConvParams
from simulator.poplibs.poplin.planning.methods import Method, groups_of
from simulator.poplibs.poplin.planning.objective import ONCE_TERMS, PASS_TERMS, Columns
from simulator.poplibs.poplin.planning.splits import Splits


@dataclass(frozen=True)
class Plan:
    """One way to divide a convolution. Cycles are the planner's estimates, not those of the compiled program."""

    params: CanonicalConvParams  #: operands as multiplied: exchanged when `swapped`
    swapped: bool
    method: Method
    group_split: int
    field_splits: tuple[int, ...]
    in_split: int
    out_split: int
    in_passes: int  #: serial splits
    out_passes: int
    terms: tuple[tuple[str, int], ...]  #: (name, cycles): of one pass, then those outside the loop
    total: int
    temporary_bytes: int  #: of the fullest tile
    fits: bool  #: temporary bytes within the allowed share of tile memory

    @property
    def field_split(self) -> int:
        """Shares of the positions, all dimensions together."""
        return prod(self.field_splits)

    @property
    def tiles(self) -> int:
        return self.group_split * self.field_split * self.in_split * self.out_split

    @property
    def passes(self) -> int:
        return self.in_passes * self.out_passes

    @property
    def field(self) -> int:
        return self.params.positions

    @property
    def in_groups(self) -> int:
        """Groups of input channels of one pass."""
        return groups_of(groups_of(self.params.in_channels, self.in_passes), self.method.in_group)

    @property
    def out_groups(self) -> int:
        """Groups of output channels of one pass."""
        return groups_of(groups_of(self.params.out_channels, self.method.out_group), self.out_passes)

    @property
    def conv_groups(self) -> int:
        """Blocks of convolution groups; a vertex works on the groups of a block side by side."""
        return groups_of(self.params.groups, self.method.conv_group)

    def term(self, name: str) -> int:
        """Cycles of one term. Raises KeyError for an unknown name."""
        return dict(self.terms)[name]

    def cost_terms(self) -> list[tuple[str, float, str]]:
        """(term, value, source) of each term that is not 0, the total and the split, for the report."""
        source = "exact: PopLibs' planning objective (poplar-model 10; published-numbers 7.4, 7.5, 7.7)"
        costs = [(f"{term.replace('_', ' ')}", float(value), source) for term, value in self.terms if value]
        splits = (
            ("groups", self.group_split),
            ("field", self.field_split),
            ("input channels", self.in_split),
            ("output channels", self.out_split),
            ("channels, one after another", self.passes),
        )
        shares = [(f"shares of {name}", float(count), "the cheapest split") for name, count in splits if count > 1]
        limit = "bytes per tile, compared with availableMemoryProportion"
        total = ("total", float(self.total), source)
        return [*shares, *costs, total, ("temporary memory", float(self.temporary_bytes), limit)]

    def describe(self) -> str:
        """The chosen split and its cost terms, one per line."""
        parts = "".join(f"{s} x " for s in (self.field_split, self.in_split))
        groups = f"{self.group_split} x " if self.params.groups > 1 else ""
        names = "group x field x in x out" if groups else "field x in x out"
        lines = [
            f"split {names} = {groups}{parts}{self.out_split} on {self.tiles} tiles"
            + (", operands swapped" if self.swapped else ""),
            self.method.label,
            f"temporary memory {self.temporary_bytes:,} B per tile"
            + ("" if self.fits else " (more than the allowed proportion: nothing cheaper fits)"),
        ]
        if self.passes > 1:
            over = "input" if self.in_passes > 1 else "output"
            lines.append(f"{self.passes} passes over {over} channels, one after another")
        costs = dict(self.terms)
        shown = [(t, " per pass" if self.passes > 1 else "") for t in PASS_TERMS] + [(t, "") for t in ONCE_TERMS]
        lines += [f"{term.replace('_', ' ')}: {costs[term]:,} cycles{unit}" for term, unit in shown if costs[term]]
        return "\n".join([*lines, f"total: {self.total:,} cycles"])


def cheapest_first(columns: Columns, tiles: Int64Array, memory: Int64Array, fits: BoolArray) -> tuple[Int64Array, int]:
    """(candidates by cycles, tiles and memory, or by memory first where none fits; the best candidate)."""
    keys = (memory, tiles, columns.total) if fits.any() else (columns.total, tiles, memory)
    order = np.lexsort(keys)
    return order, int(order[fits[order]][0]) if fits.any() else int(order[0])


def plan_of_candidate(
    params: CanonicalConvParams,
    swapped: bool,
    method: Method,
    splits: Splits,
    columns: Columns,
    memory: Int64Array,
    row: int,
    fits: bool,
) -> Plan:
    """One candidate as a plan."""
    return Plan(
        params,
        swapped,
        method,
        int(splits.groups[row]),
        tuple(int(f[row]) for f in splits.field),
        int(splits.inp[row]),
        int(splits.out[row]),
        int(splits.in_serial[row]),
        int(splits.out_serial[row]),
        tuple((term, int(columns.terms[term][row])) for term in (*PASS_TERMS, *ONCE_TERMS)),
        int(columns.total[row]),
        int(memory[row]),
        fits,
    )
