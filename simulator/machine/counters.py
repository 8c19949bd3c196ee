"""Cycle counters of hardware: a program reads them before and after what it measures."""

from __future__ import annotations

#: Cycles of a counter pair, exact: two successive counter reads (published-numbers).
PAIR_CYCLES = 45
SOURCE = "exact: two successive counter reads (published-numbers)"
TERM = "+ reading the cycle counters"

#: Tile cycles of the supervisor vertices that store a tile's counter, and its difference to an earlier one: PopLibs'
#: public estimators of popsys (TimeItStart, TimeItEnd). Both read the counter with their second instruction, so that
#: where they read it drops out of a difference.
STAMP_CYCLES, DIFFERENCE_CYCLES = 39, 75
