"""What a report knows: single tiles by its level of instrumentation, destinations of stream copies by its meta."""

from __future__ import annotations

from pathlib import Path

import pytest

from popvision.analysis.execution import window_figures
from popvision.analysis.source import ReportSource
from popvision.analysis.tile_knowledge import tiles_unknown
from tests.analysis.overlap_case import write_overlap
from tests.browser.small_traces import Steps, write_small

STEPS: Steps = [("C", (2, 4)), ("S", (2, 0)), ("X", (1, 3))]


@pytest.mark.parametrize(
    ("target", "level", "known"),
    [
        ("Ipu", "Tile", True), ("Ipu", "Vertex", True), ("Ipu", "Ipu", False), ("Ipu", "Device", False),
        ("Ipu", "Off", False), ("IpuModel", "Ipu", True), ("IpuModel", "Off", True),
    ],
)  # fmt: skip
def test_levels(tmp_path: Path, target: str, level: str, known: bool) -> None:
    source = ReportSource(write_small(tmp_path / "small", STEPS, target=target, level=level))
    assert (tiles_unknown(source) == "") is known
    found = window_figures(source, 0, 0, 7)
    assert found.of_tiles is known
    if known:
        assert (found.tile_cycles["compute"], found.whole) == (6, 14)
        assert found.balance == 3 / 4
        assert found.utilisation == 10 / 14
    else:
        assert "debug.computeInstrumentationLevel=tile" in tiles_unknown(source)
        assert (found.tile_cycles["compute"], found.tile_cycles["exchange"], found.whole) == (4, 3, 7)
        assert (found.balance, found.active_balance, found.utilisation) == (None, None, None)


@pytest.mark.parametrize(
    ("meta", "expected"),
    [({}, "unknown"), ({"remoteBuffers": []}, "host"), ({"remoteBuffers": ["images"]}, "remote buffer")],
)
def test_destinations_of_stream_copies(tmp_path: Path, meta: dict[str, object], expected: str) -> None:
    source = ReportSource(write_overlap(tmp_path, **meta))
    streams = window_figures(source, 0, 0, 110).streams
    assert list(streams) == [expected]
    assert (streams[expected].received, streams[expected].cycles) == (64, 60)
