"""Limits of a comparison: what `--fail-on "cycles>+2%,peak>600KiB"` means.

    limit    = metric operator number [unit]     several are joined by commas
    operator = > >= < <=                         a limit is broken when what it says is true
    number   = with a sign: the difference target - source; without: the target's own figure
    unit     = %  of the source (of a share without a sign: the share itself)
               pp percentage points, for differences of shares
               B KiB MiB GiB kB MB GB for bytes, ns us ms s for times; cycles and counts have none

A figure that a report does not hold breaks its limit: a gate that cannot be checked must not pass.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from popvision.analysis.compare.metrics import BY_NAME, METRICS, Metric
from popvision.analysis.compare.report_diff import Figure

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}

_LIMIT = re.compile(r"\s*([A-Za-z_]+)\s*(>=|<=|>|<)\s*([+-]?)\s*([0-9][0-9_]*(?:\.[0-9]+)?)\s*([A-Za-z%\u00b5]*)\s*")

_BYTES = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "kB": 10**3, "MB": 10**6, "GB": 10**9}
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "\u00b5s": 1e-6, "ns": 1e-9}
_UNITS: Mapping[str, Mapping[str, float]] = {
    "bytes": _BYTES,
    "seconds": _SECONDS,
    "percent": {"pp": 0.01},
    "cycles": {"": 1},
    "integer": {"": 1},
    "decimal": {"": 1},
}


class LimitError(ValueError):
    """A limit that cannot be read: one sentence."""


@dataclass(frozen=True)
class Limit:
    """One condition that breaks the gate. `of`: "difference", "relative" or "value" (the target's own figure)."""

    text: str
    metric: Metric
    operator: str
    of: str
    bound: float

    def check(self, figure: Figure) -> Outcome:
        """Whether the figure breaks the limit."""
        measured = {"difference": figure.difference, "relative": figure.relative, "value": figure.target}[self.of]
        if measured is None:
            return Outcome(self, figure, True, "not known in the target" if self.of == "value" else "not known in both")
        return Outcome(self, figure, _OPERATORS[self.operator](measured, self.bound))


@dataclass(frozen=True)
class Outcome:
    """What became of one limit. `problem`: why it could not be checked, which counts as broken."""

    limit: Limit
    figure: Figure
    broken: bool
    problem: str = ""


def parse_limits(text: str) -> list[Limit]:
    """Raises LimitError naming the part that cannot be read."""
    parts = [part.strip() for part in text.split(",")]
    if not any(parts):
        raise LimitError('no limit was given: write for example "cycles>+2%,peak>+1%"')
    return [_parse(part) for part in parts if part]


def check_limits(limits: list[Limit], figures: list[Figure]) -> list[Outcome]:
    """Every limit against its figure, in the order given."""
    by_name = {figure.metric.name: figure for figure in figures}
    return [limit.check(by_name[limit.metric.name]) for limit in limits]


def _parse(part: str) -> Limit:
    match = _LIMIT.fullmatch(part)
    if match is None:
        raise LimitError(f"the limit {part!r} cannot be read: write metric, > or <, and a number, as in cycles>+2%")
    name, sign, digits, unit = match.group(1), match.group(3), match.group(4), match.group(5)
    metric = BY_NAME.get(name)
    if metric is None:
        names = ", ".join(each.name for each in METRICS)
        raise LimitError(f"there is no metric {name!r}; the metrics are {names}")
    number = float(digits.replace("_", "")) * (-1 if sign == "-" else 1)
    of, factor = _meaning(part, metric, bool(sign), unit)
    return Limit(part, metric, match.group(2), of, number * factor)


def _meaning(part: str, metric: Metric, signed: bool, unit: str) -> tuple[str, float]:
    """What the number is compared with, and its factor."""
    if unit == "%":
        if signed:
            return "relative", 0.01
        if metric.kind == "percent":
            return "value", 0.01
        raise LimitError(f"the limit {part!r} has no sign: write +2% for 2 % more than the source, -2% for less")
    units = _UNITS[metric.kind]
    if unit not in units or (metric.kind == "percent" and not signed):
        known = ", ".join(name for name in units if name) or "none"
        raise LimitError(f"the limit {part!r} has the unit {unit!r}; units of {metric.name} are %, {known}")
    return "difference" if signed else "value", units[unit]
