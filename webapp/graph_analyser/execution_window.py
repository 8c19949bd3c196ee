"""Which cycles and which IPU the lower pane of the execution trace speaks about, from the selection in the URL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from popvision.analysis.step_details import step_facts
from popvision.analysis.timeline import run_bars
from webapp.selection import Selection

if TYPE_CHECKING:
    from popvision.analysis.source import ReportSource


@dataclass(frozen=True)
class Window:
    """Cycles [begin, end) that the lower pane speaks about, and where they come from: "visible", "selected", "step"."""

    begin: int
    end: int
    origin: str
    text: str


def selected_ipu(selection: Selection) -> int:
    """The IPU on which a step is selected: the one shown, or with all of them shown the one that `on` names, else 0."""
    on = selection.extras.get("on", "")
    return selection.ipu if selection.ipu is not None else int(on) if on.isdecimal() and len(on) < 6 else 0


def window_of(source: ReportSource, selection: Selection) -> Window:
    """The selected cycles, else the selected step's flat bar, else what is visible. Values outside are cut."""
    total = run_bars(source).total
    begin, _, end = selection.extras.get("sel", "").partition("-")
    if begin.isdecimal() and end.isdecimal() and int(begin) < int(end) <= total:
        return Window(int(begin), int(end), "selected", "the selected window")
    if selection.step is not None:
        try:
            facts = step_facts(source, selected_ipu(selection), selection.step)
        except ValueError:
            facts = None
        if facts is not None and facts.end > facts.begin:
            return Window(facts.begin, facts.end, "step", f"step {facts.step}, {facts.name}")
    first, last = min(selection.begin or 0, total), total if selection.end is None else min(selection.end, total)
    if last <= first:
        first, last = 0, total
    text = "everything recorded" if (first, last) == (0, total) else "the visible window"
    return Window(first, last, "visible", text)
