"""Options, versions and the machine of two reports, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from popvision.analysis.report.not_recorded import if_recorded
from popvision.analysis.report.origin import options_of, provenance_of
from popvision.analysis.report.target import target_facts

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


@dataclass(frozen=True)
class Setting:
    """`group`: "target", "engine option", "target option" or "version"; None = not said by that report."""

    group: str
    name: str
    source: str | None
    target: str | None

    @property
    def differs(self) -> bool:
        return self.source != self.target


#: What is different in any two reports, so that it says nothing.
_ALWAYS_DIFFERENT = {"Report id", "Run id", "Compiled", "Generation"}


def settings(source: ReportSource, target: ReportSource) -> list[Setting]:
    """Settings of either report, in the order of the source."""
    one, other = _facts(source), _facts(target)
    names = list(one) + [name for name in other if name not in one]
    return [Setting(*name, one.get(name), other.get(name)) for name in names]


def _facts(source: ReportSource) -> dict[tuple[str, str], str]:
    machine = if_recorded(lambda: target_facts(source))
    rows = [] if machine is None else machine.rows()
    facts = {("target", name): _text(kind, value) for name, kind, value in rows}
    facts |= {(f"{kind} option", name): value for kind, name, value in options_of(source)}
    facts |= {("version", name): value for name, value in provenance_of(source) if name not in _ALWAYS_DIFFERENT}
    return facts


def _text(kind: str, value: float | str) -> str:
    """Exact: what is compared, and what a file says."""
    if isinstance(value, str):
        return value
    return f"{value:,.10g} Hz" if kind == "hertz" else f"{int(value):,} B" if kind == "bytes" else f"{int(value):,}"
