"""debug.verify after layout: the constraints of variables against the addresses that they got."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.errors import memory_elem_constraints_error, poplar_error
from simulator.compiler.memory.inventory import CATEGORY_NUMBER, Allocations
from simulator.compiler.memory.layout import ELEMENT, WIDE_ALIGNMENT, LayoutConstraints
from simulator.compiler.memory.liveness import LiveClasses

_DATA = [CATEGORY_NUMBER["variable"], CATEGORY_NUMBER["constant"]]


def verify_constraints(
    a: Allocations,
    address: Int64Array,
    live: LiveClasses,
    constraints: LayoutConstraints,
    border: int,
    names: Sequence[str],
) -> None:
    """Raise poplar_error for a variable whose address breaks a constraint: given addresses, multiples of 16 for wide
    accesses, interleaved memory (from `border` on). Raise memory_elem_constraints_error for two variables that a vertex
    accesses in one cycle and that share a memory element while both are live, as tiles without room leave them."""

    def described(row: int) -> str:
        return f"'{names[a.name[row]]}' on tile {a.tile[row]} begins at byte {address[row]}"

    data = np.isin(a.category, _DATA)
    given = constraints.addresses(a)
    faults = (
        (data & (given >= 0) & (address != given), "which is not the address that it was given"),
        (data & constraints.wide[a.variable] & (address % WIDE_ALIGNMENT != 0), f"not a multiple of {WIDE_ALIGNMENT}"),
        (a.interleaved & (given < 0) & (address < border), f"below interleaved memory, which begins at {border}"),
    )
    for broken, what in faults:
        if broken.any():
            row = int(np.flatnonzero(broken)[0])
            raise poplar_error(
                f"debug.verify: {described(row)}, {what}; this is a fault of the compiler, not of the program."
            )
    _verify_apart(a, address, live, constraints, np.flatnonzero(data & (address < border)), names)


def _verify_apart(
    a: Allocations,
    address: Int64Array,
    live: LiveClasses,
    constraints: LayoutConstraints,
    rows: Int64Array,
    names: Sequence[str],
) -> None:
    begin, end = live.hulls()
    always = a.live_class < 0
    at = np.maximum(a.live_class, 0)
    first = np.where(always, -1, begin[at] if len(begin) else -1)
    last = np.where(always, np.iinfo(np.int64).max, end[at] if len(end) else 0)
    by_variable: dict[int, list[int]] = {}
    apart = {
        (one, other)
        for ones, others in constraints.apart
        for one, other in zip(ones.tolist(), others.tolist(), strict=True)
        if one != other
    }
    concerned = {variable for pair in apart for variable in pair}
    for row in rows[np.isin(a.variable[rows], list(concerned))].tolist():
        by_variable.setdefault(int(a.variable[row]), []).append(row)
    for one, other in sorted(apart):
        on_tile = {int(a.tile[row]): row for row in by_variable.get(other, ())}
        for row in by_variable.get(one, ()):
            partner = on_tile.get(int(a.tile[row]))
            if partner is None or not (first[row] < last[partner] and first[partner] < last[row]):
                continue
            if _elements(a, address, row) & _elements(a, address, partner):
                raise memory_elem_constraints_error(
                    f"debug.verify: '{names[a.name[row]]}' (byte {address[row]}) and '{names[a.name[partner]]}' (byte "
                    f"{address[partner]}) share a memory element of tile {a.tile[row]}, but a vertex accesses both in "
                    "one cycle; the tile has no room to separate them, so map less to it."
                )


def _elements(a: Allocations, address: Int64Array, row: int) -> set[int]:
    """The memory elements that an allocation touches."""
    return set(range(int(address[row]) // ELEMENT, int(address[row] + a.bytes[row] - 1) // ELEMENT + 1))
