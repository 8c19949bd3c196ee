"""Cycle counters of hardware: a program reads them before and after what it measures."""

from __future__ import annotations

#: Cycles of a counter pair, exact: two successive counter reads (published-numbers).
PAIR_CYCLES = 45
SOURCE = "exact: two successive counter reads (published-numbers)"
TERM = "+ reading the cycle counters"
