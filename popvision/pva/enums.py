"""Enums as libpva's bindings have them: `int(member)` gives the value."""

from __future__ import annotations

from enum import Enum
from typing import Any


class BoundEnum(Enum):
    """Members have `.name` and `.value`, are hashable, and convert to integers without being integers."""

    def __int__(self) -> int:
        return int(self.value)

    def __index__(self) -> int:
        return int(self.value)

    def __repr__(self) -> str:
        return f"<{type(self).__qualname__}.{self.name}: {self.value}>"


def member(enum: Any, name: object) -> Any:
    """The member of that name; `Unknown` for any other name."""
    return enum.__members__.get(str(name), enum.Unknown)
