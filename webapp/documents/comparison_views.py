"""Document of a comparison: what changed, with the figures of both reports."""

from __future__ import annotations

from popvision.analysis.compare.what_changed import NOT_ATTRIBUTED, Part, Waterfall, nothing_changed, waterfalls
from popvision.analysis.report.source import ReportSource
from popvision.export.diff_rows import difference_text, value_text
from webapp.documents.confidential import Names
from webapp.documents.document import Block, Field, Note, Table

#: Parts of each waterfall; the last one adds up the others.
MOST_PARTS = 20

#: Kind of the names that a waterfall's parts have.
_NAME_KINDS = {"operation": "operation", "source line": "file"}


def what_changed_blocks(source: ReportSource, target: ReportSource, names: Names) -> list[Block]:
    """A table per waterfall, or the sentence that nothing changed."""
    both = waterfalls(source, target)
    if not both:
        return [Note("Neither cycles nor memory are recorded in both reports.")]
    if not any(each.parts for each in both):
        return [Note(nothing_changed(both))]
    return [_table(each.with_at_most(MOST_PARTS), names) for each in both if each.parts]


def _table(waterfall: Waterfall, names: Names) -> Table:
    kind = waterfall.kind
    rows = [
        {
            "part": _label(waterfall, part, names),
            "source": value_text(part.source, kind),
            "target": value_text(part.target, kind),
            "difference": difference_text(part.difference, kind),
        }
        for part in [*waterfall.parts, waterfall.total]
    ]
    fields = [Field("part", "Part"), Field("source", "Source"), Field("target", "Target")]
    return Table(f"What changed: {waterfall.title.lower()}", [*fields, Field("difference", "Difference")], rows)


def _label(waterfall: Waterfall, part: Part, names: Names) -> str:
    """The name, replaced in a confidential document; words of the viewer stay."""
    is_name = part in waterfall.parts and part.label != NOT_ATTRIBUTED and not part.label.endswith(" others")
    kind = _NAME_KINDS.get(waterfall.by)
    return names.show(kind, part.label) if kind and is_name else part.label
