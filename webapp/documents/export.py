"""Export a view of a report with a selection, or the timeline of a host trace, as one HTML file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from urllib.parse import urlencode

from popvision.analysis.report.not_recorded import NotRecordedError, if_recorded
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.target import describe_target
from popvision.analysis.trace.columns import HostTrace
from webapp.base.selection import SHARED_KEYS, Selection
from webapp.base.view import ViewContext
from webapp.base.views import find_view
from webapp.documents import memory_views, operation_views, overview_views, program_views, source_views
from webapp.documents.comparison_views import compared_blocks
from webapp.documents.confidential import Names
from webapp.documents.document import Block, Document, Note
from webapp.documents.page import write_page
from webapp.documents.trace_views import difference_document, timeline_blocks, trace_provenance
from webapp.system_analyser.timeline.device_rows import drawn_devices

#: The blocks of the document of each view.
DOCUMENTS: dict[str, Callable[[ViewContext, Names], list[Block]]] = {
    "overview": overview_views.overview_blocks,
    "summary": memory_views.summary_blocks,
    "memory": memory_views.memory_blocks,
    "liveness": memory_views.liveness_blocks,
    "program_tree": program_views.tree_blocks,
    "source": source_views.source_blocks,
    "operations": operation_views.operation_blocks,
    "execution": program_views.execution_blocks,
    "exchange": program_views.exchange_blocks,
}

THEMES = ("both", "light", "dark")

#: A loss in a confidential document: its sentence may name lines and heat maps.
_HIDDEN_LOSS = "A part of the trace cannot be read."


class ExportError(ValueError):
    """The view cannot be exported; the message is one sentence."""


def export_document(
    source: ReportSource,
    view_id: str,
    params: Mapping[str, str],
    *,
    target: ReportSource | None = None,
    confidential: bool = False,
    theme: str = "both",
) -> bytes:
    """The view as one self-contained UTF-8 HTML file. `confidential` replaces names from the report by pseudonyms and
    omits paths, option values and the address. With a target the document begins with what changed, and shows both.

    Raises ExportError for a view without a document or an unknown theme, FormatError for an unreadable report."""
    view = find_view("report", view_id)
    if view is None or view_id not in DOCUMENTS:
        raise ExportError(f"view {view_id[:40]!r} cannot be exported: use one of {', '.join(DOCUMENTS)}")
    if theme not in THEMES:
        raise ExportError(f"unknown theme {theme[:40]!r}: use one of {', '.join(THEMES)}")
    context = ViewContext("", source, dict(params), "light" if theme == "both" else theme)
    names = Names(source, confidential)
    try:
        lacking = _without_path(view.missing(context), source)
        blocks = [Note(lacking)] if lacking else _blocks(view_id, context, target, names)
    except NotRecordedError as problem:
        blocks = [Note(_without_path(str(problem), source))]
    for each in (source, target):
        blocks = blocks if each is None else [_pathless(block, each) for block in blocks]
    provenance = _provenance(source, view_id, params, confidential)
    title = "a report" if confidential else source.label
    if target is not None:
        other = "another report" if confidential else target.label
        title = f"{title} (before) against {other} (after)"
        machine = if_recorded(target.reader.target)
        provenance.insert(2, ("Compared with", "unknown" if machine is None else describe_target(machine)))
    elif params.get("vs"):
        blocks.insert(
            0, Note("The page compares two reports; the other one cannot be read, so this file shows the source.")
        )
    lost = [_without_path(each, source) for each in source.lost]
    lost += [] if target is None else [f"The target: {_without_path(each, target)}" for each in target.lost]
    document = Document(view.title, title, provenance, blocks, lost)
    return write_page(document, names, theme).encode("utf-8", "replace")


def export_trace(
    source: HostTrace,
    params: Mapping[str, str],
    *,
    confidential: bool = False,
    theme: str = "both",
    reports: Iterable[tuple[int, ReportSource]] = (),
    target: HostTrace | None = None,
) -> bytes:
    """The timeline of a host trace, of the window in `params`, as one self-contained UTF-8 HTML file. `reports`:
    (number of the file in the trace, report of the same execution) whose devices are drawn under it. With a target the
    difference of the two by call path instead. Raises ExportError for an unknown theme, and FormatError for traces that
    have no difference."""
    if theme not in THEMES:
        raise ExportError(f"unknown theme {theme[:40]!r}: use one of {', '.join(THEMES)}")
    names = Names(source, confidential)
    if target is not None:
        return _difference(source, target, names, theme)
    devices = [] if params.get("tl_device") == "0" else drawn_devices(source, reports)
    blocks = timeline_blocks(source, params, names, devices)
    if params.get("vs"):
        blocks.insert(0, Note("The page compares two traces; this file shows the source alone."))
    window = {key: value for key, value in params.items() if key in ("tl_from", "tl_to", "tl_hide", "tl_device")}
    address = f"timeline?{urlencode(window)}" if window else "timeline"
    lost = [_HIDDEN_LOSS if confidential else _without_paths(each, source) for each in source.lost]
    provenance = trace_provenance(source, address, confidential)
    title, damage = "a trace" if confidential else source.label, f"This trace {source.loss_state}. {source.shown_part}"
    document = Document("Timeline", title, provenance, blocks, lost, damage)
    return write_page(document, names, theme).encode("utf-8", "replace")


def _difference(source: HostTrace, target: HostTrace, names: Names, theme: str) -> bytes:
    confidential = names.confidential
    traces = (source, target)
    lost = [_HIDDEN_LOSS if confidential else _without_paths(part, trace) for trace in traces for part in trace.lost]
    provenance = trace_provenance(source, "timeline", confidential)
    if not confidential:
        provenance.insert(0, ("Compared with", target.label))
    title = "two traces" if confidential else f"{source.label} (before) against {target.label} (after)"
    damaged = source if source.lost else target
    damage = f"A trace {damaged.loss_state}. {damaged.shown_part}"
    document = Document("Difference", title, provenance, difference_document(source, target, names), lost, damage)
    return write_page(document, names, theme).encode("utf-8", "replace")


def _without_paths(sentence: str, source: HostTrace) -> str:
    for file in source.files:
        sentence = sentence.replace(str(file.path), "the trace")
    return sentence


def file_name(source: ReportSource | HostTrace, view_id: str, confidential: bool) -> str:
    """A file name of letters, digits and dashes."""
    label = "" if confidential else re.sub(r"[^A-Za-z0-9]+", "-", source.label).strip("-")[:60]
    return f"{'-'.join(filter(None, (label, view_id.replace('_', '-'))))}.html"


def _without_path(text: str, source: ReportSource) -> str:
    return text.replace(str(source.reader.path), "profile.pop")


def _blocks(view_id: str, context: ViewContext, target: ReportSource | None, names: Names) -> list[Block]:
    if target is None:
        return DOCUMENTS[view_id](context, names)
    return compared_blocks(view_id, context, target, names, DOCUMENTS[view_id])


def _pathless(block: Block, source: ReportSource) -> Block:
    """A block whose sentence does not say where the report lies."""
    return Note(_without_path(block.text, source)) if isinstance(block, Note) else block


def _provenance(
    source: ReportSource, view_id: str, params: Mapping[str, str], confidential: bool
) -> list[tuple[str, str]]:
    meta, target = source.reader.meta, if_recorded(source.reader.target)
    rows = [
        ("Origin", "simulated" if meta.get("simulated", False) else "not marked as simulated"),
        ("Target", "unknown" if target is None else describe_target(target)),
        ("Model", str(meta.get("modelVersion", "unknown"))),
        ("Poplar API", str(meta.get("poplarVersion", "unknown"))),
        ("Report id", source.report_id or "unknown"),
        ("Exported", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")),
    ]
    shown = {key: value for key, value in params.items() if key in SHARED_KEYS} if confidential else dict(params)
    selection = Selection.parse(shown).format()
    return [*rows, ("Address", f"{view_id}?{selection}" if selection else view_id)]
