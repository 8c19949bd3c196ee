"""poplin.PlanningCache: plans by what they plan.

An operation with a cache looks up its plan there and stores a plan that is missing. Without a cache the planner still
searches for each plan once per process, because it memoises its results."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

Planned = TypeVar("Planned")


class PlanningCache:
    """Plans by sizes, types, machine and options."""

    def __init__(self) -> None:
        self._plans: dict[Hashable, Any] = {}

    def size(self) -> int:
        """The number of plans in the cache."""
        return len(self._plans)

    def _plan(self, key: Hashable, find: Callable[[], Planned]) -> Planned:
        """The plan of `key`, planned and stored where the cache has none."""
        if key not in self._plans:
            self._plans[key] = find()
        plan: Planned = self._plans[key]
        return plan


def planned(cache: PlanningCache | None, key: Hashable, find: Callable[[], Planned]) -> Planned:
    """The plan, by way of the cache where there is one."""
    return find() if cache is None else cache._plan(key, find)
