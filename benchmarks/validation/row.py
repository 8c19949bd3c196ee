"""One published figure beside ours, and the bound of the difference."""

from __future__ import annotations

from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Bound:
    """The largest difference allowed: the greater of a share of the published figure and an absolute one."""

    text: str  #: text in the table
    relative: float = 0.0
    absolute: float = 0.0
    judged: bool = True  #: False: the figure is only reported

    def allows(self, published: float, ours: float | None) -> bool:
        """Whether ours is within the bound; a missing figure never is."""
        return ours is not None and abs(ours - published) <= max(self.relative * abs(published), self.absolute) + 1e-9


EXACT = Bound("exact")
REPORTED = Bound("none", judged=False)


def percent(share: float) -> Bound:
    """This many percent of the published figure."""
    return Bound(f"{share:g} %", relative=share / 100)


def within(share: float, absolute: float, unit: str) -> Bound:
    """The greater of `share` percent and `absolute` in `unit`."""
    return Bound(f"{share:g} % or {absolute:g} {unit}", share / 100, absolute)


def points(number: float) -> Bound:
    """Percentage points."""
    return Bound(f"{number:g} points", absolute=number)


def cycles(number: float) -> Bound:
    """Cycles."""
    return Bound(f"{number:g} cycles", absolute=number)


@dataclass(frozen=True)
class Explanation:
    """The reason of a missed bound, with the evidence. It holds while our figure is in the range `between`; outside it
    the bound is missed for another reason."""

    text: str
    between: tuple[float, float]


@dataclass(frozen=True)
class Row:
    """`published` and `ours` in `unit`; `ours` is None where our program has no such figure."""

    quantity: str
    published: float
    ours: float | None
    unit: str
    source: str
    bound: Bound
    explained: Explanation | None = field(default=None, compare=False)

    @property
    def met(self) -> bool:
        return self.bound.allows(self.published, self.ours)

    @property
    def verdict(self) -> str:
        """ "met", "missed", "missed, not explained" or, without a bound, "reported"."""
        if not self.bound.judged:
            return "equal" if self.ours == self.published else "reported"
        if self.met:
            return "met"
        return "missed" if self.has_explanation else "missed, not explained"

    @property
    def has_explanation(self) -> bool:
        """Whether the miss is the explained one."""
        if self.explained is None:
            return False
        low, high = self.explained.between
        return self.ours is None or low <= self.ours <= high

    @property
    def failed(self) -> bool:
        """Whether a bound is missed without an explanation."""
        return self.verdict == "missed, not explained"


@dataclass(frozen=True)
class Group:
    """Rows of one program under a heading, with an introduction."""

    title: str
    about: str
    rows: list[Row]

    def explained(self, known: dict[str, Explanation]) -> Group:
        """The same group with explanations by quantity."""
        return replace(self, rows=[replace(row, explained=known.get(row.quantity, row.explained)) for row in self.rows])
