"""What was lost of a file, and whether the rest was compared with checksums: the words for every format and every way
of asking.

Readers collect a sentence for each lost part, which knows its kind: screens show the sentences, answers sum them up by
kind, since a damaged file may have thousands of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypedDict

Verified = Literal["yes", "partly", "no"]


class Loss(TypedDict):
    """Lost parts of one kind: how many, and the sentence about the first one."""

    kind: str
    count: int
    first: str


class LostPart(str):
    """The sentence about a lost part. `kind` is what it is part of ("table", "array", "runs", "events", "line graph"),
    `number` how many things of the kind it speaks of."""

    __slots__ = ("kind", "number")
    kind: str
    number: int

    def __new__(cls, kind: str, sentence: str, number: int = 1) -> LostPart:
        """A sentence with its kind."""
        part = super().__new__(cls, sentence)
        part.kind, part.number = kind, number
        return part

    def within(self, place: str) -> LostPart:
        """The sentence behind the name of a file, where there are several."""
        return LostPart(self.kind, f"{place}: {self}", self.number)

    def without(self, beginning: str) -> LostPart:
        """The sentence without a beginning."""
        return LostPart(self.kind, self.removeprefix(beginning), self.number)


def summed(lost: Iterable[LostPart]) -> list[Loss]:
    """A loss for each kind, in the order of their first parts."""
    losses: dict[str, Loss] = {}
    for part in lost:
        loss = losses.setdefault(part.kind, {"kind": part.kind, "count": 0, "first": str(part)})
        loss["count"] += part.number
    return list(losses.values())


def verified(lost: Iterable[object], has_checksums: bool = True) -> Verified:
    """Whether what is shown of a file was compared with checksums: "yes" for all of the file, "partly" where something
    is lost, "no" for a file without checksums: of another tool, or of an older version."""
    if not has_checksums:
        return "no"
    return "partly" if any(True for _ in lost) else "yes"


def least_verified(states: Iterable[Verified]) -> Verified:
    """Of several files the one of which least is verified; "yes" for none."""
    return max(states, key=("yes", "partly", "no").index, default="yes")
