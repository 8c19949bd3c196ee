"""The profile summary as text, in the layout that Poplar's `printProfileSummary` publishes.

Numbers are right-aligned with thousands separators; kB and MB mean 1,024 and 1,048,576 bytes there, as in the
published text.
"""

from __future__ import annotations

from popvision.analysis.report.provenance import provenance_line
from popvision.analysis.report.source import ReportSource
from popvision.analysis.summary.execution_summary import execution_summary
from popvision.analysis.summary.graph_summary import graph_summary
from popvision.analysis.summary.options import SummaryOptions

__all__ = ["SummaryOptions", "profile_summary"]


def profile_summary(source: ReportSource, options: SummaryOptions | None = None) -> str:
    """Graph and execution summary; the first line says that the figures are simulated, and by what."""
    options = options or SummaryOptions()
    parts = [provenance_line(source), graph_summary(source, options), execution_summary(source, options)]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)
