"""Derivations as text: the figure, its terms, where each comes from."""

from __future__ import annotations

from popvision.analysis.explain.cycles import times
from popvision.analysis.explain.derivation import Derivation, Term
from popvision.analysis.explain.explain import ProgramExplanation

_SIGN = {1: "+", -1: "-", 0: " "}
#: longest text of a source on a line
_WIDTH = 110


def program_text(found: ProgramExplanation) -> str:
    """The explanation of one program."""
    head = f"Program {found.program}: {found.type} {found.name}".rstrip()
    return "\n\n".join([f"{head}\nexecuted {times(found.executions)}", *map(derivation_text, found.derivations)]) + (
        "\n\n" + "\n".join(found.notes) + "\n" if found.notes else "\n"
    )


def derivation_text(found: Derivation) -> str:
    """One figure with its terms; the last line says whether they add up to it."""
    lines = [f"{found.figure}: {'not known' if found.value is None else number(found.value) + ' ' + found.unit}"]
    width = max((len(number(term.value)) for term in found.terms), default=0)
    for term in found.terms:
        lines.append(f"  {_SIGN[term.sign]} {number(term.value):>{width}}  {term.text}")
        lines += _source(term, width)
    if found.sum is not None:
        word = "the figure" if found.complete else f"of {'?' if found.value is None else number(found.value)}"
        lines.append(f"  = {number(found.sum):>{width}}  {word}")
    return "\n".join(lines + [f"  {note}" for note in found.notes])


def _source(term: Term, width: int) -> list[str]:
    if term.provenance == "report":
        return []
    indent = " " * (width + 8)
    words, lines, line = f"{term.provenance}: {term.source}".split(), [], ""
    for word in words:
        if line and len(line) + len(word) + 1 > _WIDTH:
            lines.append(indent + line)
            line = ""
        line = f"{line} {word}".strip()
    return [*lines, indent + line]


def number(value: float) -> str:
    """Whole numbers without a point."""
    return f"{value:,.0f}" if value == round(value) else f"{value:,.3f}"
