"""poplin.PlanningCache: plans found so far.

A product or convolution that is given a cache looks for its plan there first and leaves the plan it finds. Without a
cache plans are still found once per process: the planner remembers them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

Planned = TypeVar("Planned")


class PlanningCache:
    """Plans by what was planned: sizes, types, machine and options."""

    def __init__(self) -> None:
        self._plans: dict[Hashable, Any] = {}

    def size(self) -> int:
        """How many plans it holds."""
        return len(self._plans)

    def _plan(self, key: Hashable, find: Callable[[], Planned]) -> Planned:
        """The plan kept under `key`; found and kept when there is none."""
        if key not in self._plans:
            self._plans[key] = find()
        kept: Planned = self._plans[key]
        return kept


def planned(cache: PlanningCache | None, key: Hashable, find: Callable[[], Planned]) -> Planned:
    """The plan, by way of the cache where there is one."""
    return find() if cache is None else cache._plan(key, find)
