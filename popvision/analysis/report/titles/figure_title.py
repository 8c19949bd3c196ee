"""An entry of the catalogue of figures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FigureTitle:
    """`title` heads the column; `help` says what the figure is, `formula` how it comes about.

    `field` names the column in the viewer's exports, `column` in frames of `popvision.open`; "" = the id. "{place}" in
    `title` and `field` stands for the place of the figure; without it the place follows the field after a comma."""

    title: str
    help: str = ""
    formula: str = ""
    field: str = ""
    column: str = ""

    @property
    def hint(self) -> str:
        """Help and formula in one line."""
        return " = ".join(part for part in (self.help, self.formula) if part)


def exported_by_title(title: str, help: str = "", formula: str = "") -> FigureTitle:
    """A figure that exports name by its title."""
    return FigureTitle(title, help, formula, title)
