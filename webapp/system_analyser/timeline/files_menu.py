"""The menu "Files" of the toolbar: files of the timeline, how their clocks align, files to add or to compare with.

Its entries are links to other addresses of the page: the files are part of the address (webapp/base/joint_key.py).
"""

from __future__ import annotations

import os

from dash import html
from dash.development.base_component import Component

from popvision.analysis.trace.alignment import pause_text
from popvision.analysis.trace.joint import JointTrace
from webapp.base.joint_key import MOST_FILES, alignment_of, joint_key, trace_keys
from webapp.base.library import Entry, Library
from webapp.base.view import ViewContext
from webapp.components.attributes import attributes
from webapp.components.icon import icon
from webapp.components.toolbar import popover

#: Traces that the menu offers, those nearest to the first file.
MOST_OFFERED = 100

ALIGNMENTS = {"": "Absolute time", "first": "First events"}


def files_menu(context: ViewContext) -> Component:
    """The menu; without a library, as in an exported page, an empty place."""
    library = context.library
    if library is None:
        return html.Span()
    keys = list(trace_keys(context.key))
    parts: list[Component] = [_heading("In this timeline"), *_files(library, context, keys)]
    if len(keys) > 1:
        parts += [_heading("Clocks aligned by"), *_alignments(context, keys)]
    if isinstance(context.trace, JointTrace):
        parts += [html.P(note, className="tl-files-note") for note in context.trace.alignment.notes]
    others = _others(library, context.key, keys)
    parts.append(_heading("Add a file, or compare with it"))
    parts += [_offer(library, entry, context.key, keys) for entry in others[:MOST_OFFERED]]
    if len(others) > MOST_OFFERED:
        parts.append(_note(f"{len(others) - MOST_OFFERED:,} traces farther from this file are not listed."))
    if not others:
        parts.append(_note("The open folders hold no other trace; name more: popvision view A.pvti B.pvti"))
    title = "Files" if len(keys) == 1 else f"{len(keys)} files"
    return popover([icon("folder"), html.Span(title)], parts, label="Files of this timeline", class_name="tl-files")


def align_link(context: ViewContext, event: str) -> Component | None:
    """The link that aligns the files of the timeline at an event; None for a single file."""
    keys = trace_keys(context.key)
    if len(keys) == 1:
        return None
    return _link("Align the files at this event", f"{_address(joint_key(keys, event))}?tl_event={event}")


def apart_note(context: ViewContext) -> Component | None:
    """A sentence with a link, below the toolbar, where the files lie so far apart that their events cannot be seen;
    None elsewhere, and without a library, as in an exported page."""
    trace = context.trace
    if context.library is None or not isinstance(trace, JointTrace) or not trace.alignment.pause:
        return None
    link = _link("Align their starts", _address(joint_key(trace_keys(context.key), "first")))
    sentence = f"{pause_text(trace.alignment.pause)}. "
    return html.Div([sentence, link], className="tl-apart", role="note")


def _files(library: Library, context: ViewContext, keys: list[str]) -> list[Component]:
    rows: list[Component] = []
    for number, key in enumerate(keys):
        others = keys[:number] + keys[number + 1 :]
        kept = alignment_of(context.key) if alignment_of(context.key) in ALIGNMENTS else ""
        label = context.trace.files[number].label
        name = html.Span(label, className="tl-files-name", title=str(library.entry(key).path))
        remove = _link("Remove", _address(joint_key(others, kept)), f"Remove {label}") if others else None
        rows.append(html.Div([name, remove], className="tl-files-row"))
    return rows


def _alignments(context: ViewContext, keys: list[str]) -> list[Component]:
    current = alignment_of(context.key)
    rows = [
        html.Strong(text) if value == current else _link(text, _address(joint_key(keys, value)))
        for value, text in ALIGNMENTS.items()
    ]
    if current not in ALIGNMENTS:
        rows.append(html.Strong("A chosen event"))
    else:
        rows.append(_note("Or by an event: select it, then the link in its Summary."))
    return rows


def _others(library: Library, key: str, keys: list[str]) -> list[Entry]:
    """Traces that are not in the timeline, those with the longest common path first."""
    first = library.entry(key).path
    others = [each for each in library.entries() if each.kind == "trace" and each.key not in keys]
    return sorted(others, key=lambda each: (each.is_sample, -len(os.path.commonpath([first, each.path])), each.path))


def _offer(library: Library, entry: Entry, key: str, keys: list[str]) -> Component:
    links: list[Component] = []
    label = library.card(entry).label
    if len(keys) < MOST_FILES:
        added = joint_key([*keys, entry.key], alignment_of(key))
        links.append(_link("Add", _address(added), f"Add {label} to this timeline"))
    compare = f"{_address(key)}?vs={entry.key}&tl_tab=difference"
    links.append(_link("Compare", compare, f"Compare with {label} by call path"))
    name = html.Span(
        [label, html.Span(f" in {entry.path.parent.name}", className="dim")],
        className="tl-files-name",
        title=str(entry.path),
    )
    return html.Div([name, *links], className="tl-files-row")


def both_link(context: ViewContext, target: str) -> Component | None:
    """A link to the timeline that draws the files of the page and those of `target`, from their first events; None
    where it would hold none more or too many."""
    keys = list(dict.fromkeys([*trace_keys(context.key), *trace_keys(target)]))
    if not len(trace_keys(context.key)) < len(keys) <= MOST_FILES:
        return None
    return _link("Both in one timeline", _address(joint_key(keys, "first")))


def _address(key: str) -> str:
    return f"/t/{key}/timeline"


def _link(text: str, href: str, title: str = "") -> Component:
    more = attributes(data_nav="to") | (attributes(aria_label=title) if title else {})
    return html.A(text, href=href, title=title or text, **more)


def _heading(text: str) -> Component:
    return html.Strong(text, className="tl-files-heading")


def _note(text: str) -> Component:
    return html.Span(text, className="tl-files-note")
