"""An entry of the catalogue of figures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FigureTitle:
    """`title` heads the column; `help` says what the figure is, `formula` how it comes about.

    `column` names the column in frames, exports and the rows of pages; "" = the id. "{place}" in `title` and `column`
    stands for the place of the figure; without it the place follows the name after a comma."""

    title: str
    help: str = ""
    formula: str = ""
    column: str = ""

    @property
    def hint(self) -> str:
        """Help and formula in one line."""
        return " = ".join(part for part in (self.help, self.formula) if part)
