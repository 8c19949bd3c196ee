"""A figure and the terms that make it up."""

from __future__ import annotations

from dataclasses import dataclass, field

from popvision.formats.profile.model import PROVENANCE, CostTerm


@dataclass(frozen=True)
class Term:
    """`sign` 1 or -1 for a term of the sum, 0 for a fact. `provenance` is one of model.PROVENANCE or "report": read or
    added up from the report's own columns."""

    text: str
    value: float
    sign: int
    provenance: str
    source: str


@dataclass(frozen=True)
class Derivation:
    """`value` is the figure as the report shows it; None where it shows none."""

    figure: str
    value: float | None
    unit: str
    terms: list[Term] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def sum(self) -> float | None:
        """What the terms add up to; None without any."""
        signed = [term.sign * term.value for term in self.terms if term.sign]
        return sum(signed) if signed else None

    @property
    def complete(self) -> bool:
        """Whether the terms add up to the figure."""
        return self.value is not None and self.sum is not None and abs(self.sum - self.value) < 0.5


def from_report(text: str, value: float, sign: int = 0, source: str = "column of the report") -> Term:
    """A term that is read from the report's columns."""
    return Term(text, float(value), sign, "report", source)


def stored(term: CostTerm) -> Term:
    """A term as the report stores it."""
    head, colon, rest = term.source.partition(": ")
    known = bool(colon) and head in PROVENANCE
    sign = {"+ ": 1, "- ": -1}.get(term.term[:2], 0)
    text = term.term[2:] if sign else term.term
    return Term(text, term.value, sign, head if known else "unknown", rest if known else term.source)
