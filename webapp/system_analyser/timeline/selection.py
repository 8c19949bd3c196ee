"""What the address selects of a trace: an event, and the window that the tabs are about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from popvision.analysis.trace.search import EventFacts, event_facts
from webapp.base.query import whole_range
from webapp.system_analyser.timeline.query_window import MOST_TIME
from webapp.system_analyser.timeline.routes import parse_event

if TYPE_CHECKING:
    from popvision.analysis.trace.columns import HostTrace


def window_of(source: HostTrace, selection: Mapping[str, str]) -> tuple[int, int, str]:
    """(begin, end, name) of the selected window, else of the visible one, else of the trace; ns since the epoch."""
    for text, name in (
        (selection.get("tl_sel", ""), "selected window"),
        (f"{selection.get('tl_from', '')}-{selection.get('tl_to', '')}", "visible window"),
    ):
        window = whole_range(text, MOST_TIME)
        if window is not None and window[0] < window[1]:
            return source.begin + window[0], source.begin + window[1], name
    return source.begin, source.end + 1, "entire trace"


def only_selected(selection: Mapping[str, str]) -> dict[str, str]:
    """The selection without the visible window, for lists that stay while a row of theirs moves it."""
    return {"tl_sel": selection.get("tl_sel", "")}


def selected_event(source: HostTrace, selection: Mapping[str, str]) -> EventFacts | None:
    """The event that the URL names, None without one."""
    try:
        return event_facts(source, *parse_event(selection.get("tl_event", "")))
    except (ValueError, IndexError):
        return None
