"""Document of the overview: time, memory, findings with their places, waits and the largest users of memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from popvision.analysis.insights.finding import TITLES, Finding
from popvision.analysis.insights.largest_users import memory_use
from popvision.analysis.insights.late import costs_of_waiting, waits_table
from popvision.analysis.insights.rules import insights
from popvision.analysis.insights.unusual import unusual
from popvision.analysis.memory.capacity import memory_excess
from popvision.analysis.report.not_recorded import if_recorded
from popvision.analysis.report.tile_knowledge import tiles_unknown
from popvision.analysis.summary.headline import headline
from webapp.base.formats import bytes_text, cycles_text, in_units, percent_text, seconds_text
from webapp.base.view import ViewContext
from webapp.documents.bars import share_bar
from webapp.documents.confidential import Names
from webapp.documents.document import Block, Drawing, Facts, Field, Note, Table
from webapp.documents.memory_views import figure_table

_MOST_WAITS = 50
_FINDINGS = [
    Field("rule", "Finding"),
    Field("sentence", "What stands out", "value"),
    Field("saves", "At most"),
    Field("share", "Share", "percent"),
    Field("formula", "Formula"),
    Field("change", "Try"),
]
_PLACES = [
    Field("rule", "Finding"),
    Field("place", "Place"),
    Field("program", "Program", "program"),
    Field("variable", "Variable", "variable"),
    Field("value", "Value"),
    Field("file", "File", "file"),
    Field("line", "Line", "integer"),
]
_WAITS = ("tile", "name", "syncs", "mean_cycles", "run_share", "longest_cycles")
_USERS = [
    Field("where", "Where"),
    Field("kind", "Kind"),
    Field("program", "Program", "program"),
    Field("variable", "Variable", "variable"),
    Field("type", "Vertex type", "vertex type"),
    Field("bytes", "Bytes", "bytes"),
]
#: The column that names the largest user of a kind; code is that of programs.
_COLUMN_OF = {
    "vertex state": "type",
    "vertex code": "type",
    "always-live variable": "variable",
    "variable at the peak": "variable",
}


def overview_blocks(context: ViewContext, names: Names) -> list[Block]:
    """The page as tables; findings that the address dismisses are left out and counted."""
    source = context.source
    found = insights(source)
    dismissed = set(context.params.get("dismissed", "").split(","))
    listed = [each for each in found.findings if each.key not in dismissed]
    blocks = [*_head(context), *_findings(listed)]
    if len(listed) < len(found.findings):
        blocks.append(Note(f"Findings that are dismissed: {len(found.findings) - len(listed):,}."))
    line = unusual(source, found)
    if line and not names.confidential:
        blocks.append(Note(f"Unusual: {line}"))
    reasons: dict[str, list[str]] = {}
    for each in found.not_looked_at:
        reasons.setdefault(each.reason, []).append(TITLES[each.rule])
    blocks += [Note(f"Not looked at ({'; '.join(rules)}): {reason}") for reason, rules in reasons.items()]
    return [*blocks, *_waits(context, found.ipu), *_users(context)]


def _head(context: ViewContext) -> list[Block]:
    figures, excess = headline(context.source), memory_excess(context.source)
    rows = []
    if figures.total_cycles is not None:
        time = f"{figures.total_cycles:,} cycles"
        rows.append(("Total device cycles", cycles_text(figures.total_cycles), time))
        rows.append(("Device time", seconds_text(figures.device_seconds), "total cycles / clock"))
    if excess is not None:
        over = f"{excess.tiles_over:,} of {excess.tiles:,} tiles are over their memory"
        rows.append(("Memory", f"does not fit: {over}, tile {excess.tile:,} by {bytes_text(excess.excess)}", ""))
    elif figures.fullest is not None:
        tile, size = figures.fullest
        room = "" if figures.tile_capacity is None else f" of {bytes_text(figures.tile_capacity)}"
        rows.append(("Memory", f"fits: the fullest tile, {tile:,}, uses {bytes_text(size)}{room}", f"{size:,} B"))
    blocks: list[Block] = [Facts(rows)]
    if figures.apart:
        blocks.append(Note(figures.apart))
    if figures.shares is not None:
        legend = ", ".join(f"{phase} {percent_text(share)}" for phase, share in figures.shares.items())
        blocks += [Drawing("Where the time goes", share_bar(figures.shares)), Note(f"Share of tile cycles: {legend}.")]
    return blocks


def _findings(findings: list[Finding]) -> list[Block]:
    if not findings:
        return [Note("Nothing stands out.")]
    rows: list[dict[str, Any]] = []
    places: list[dict[str, Any]] = []
    for each in findings:
        title = TITLES[each.rule]
        saves = _amount(each.saves, each.unit) if each.saves else "no bound"
        share = each.share if each.saves else None
        row: dict[str, Any] = {"rule": title, "sentence": in_units(each.sentence), "saves": saves, "share": share}
        rows.append(row | {"formula": each.formula, "change": each.change})
        for place in each.evidence:
            column = place.kind if place.kind in ("program", "variable") else "place"
            row = {"rule": title, "place": "", "program": "", "variable": "", column: place.name}
            row |= {"value": _amount(place.value, place.unit), "file": place.file, "line": place.line or None}
            places.append(row)
    note = Note("Bounds are what each cause would cost if it vanished and nothing else changed; they overlap.")
    return [Table("What stands out", _FINDINGS, rows), note, Table("Places", _PLACES, places)]


def _waits(context: ViewContext, ipu: int) -> list[Block]:
    source = context.source
    if ipu < 0 or tiles_unknown(source):
        return []
    costs = if_recorded(lambda: costs_of_waiting(source, ipu))
    if costs is None or not len(costs.tile):
        return []
    table = waits_table(source, costs, _MOST_WAITS)
    shown = figure_table("Who makes the tiles wait", table, _WAITS, {"name": "program"})
    return [replace(shown, total=len(costs.tile))]


def _users(context: ViewContext) -> list[Block]:
    use = if_recorded(lambda: memory_use(context.source))
    if use is None:
        return []
    rows = [
        {"where": each.where, "kind": each.kind, "program": "", "variable": "", "type": "", "bytes": each.bytes}
        | {_COLUMN_OF.get(each.kind, "program"): each.name}
        for each in use.users
    ]
    return [Table("What fills the memory", _USERS, rows)]


def _amount(value: int, unit: str) -> str:
    return f"{cycles_text(value)} cycles" if unit == "cycles" else bytes_text(value)
