"""The committed sample reports, and programs in them by name: their ids change with the compiler."""

from __future__ import annotations

from pathlib import Path

from popvision.analysis.report.source import ReportSource

SAMPLES = Path(__file__).parents[1] / "sample_reports"


def program_ending(source: ReportSource, name: str) -> int:
    """The first program whose name ends so, e.g. "layer1/fwd/Conv_1/Convolve/ExchangePre"."""
    return next(i for i, each in enumerate(source.reader.programs().name) if str(each).endswith(name))
