"""What a report knows: single tiles by its level of instrumentation, destinations of stream copies by its meta."""

from __future__ import annotations

from pathlib import Path

import pytest

from popvision.analysis.execution.window import DESTINATIONS, destinations, window_figures
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tile_knowledge import tiles_unknown
from simulator.poplar import INT, Engine, Graph, IPUModel
from simulator.poplar.program import Copy, Sequence
from tests.analysis.execution.overlap_case import write_overlap
from tests.browser.small_traces import Steps, write_small

STEPS: Steps = [("C", (2, 4)), ("S", (2, 0)), ("X", (1, 3))]


@pytest.mark.parametrize(
    ("target", "level", "known"),
    [
        ("Ipu", "Tile", True),
        ("Ipu", "Vertex", True),
        ("Ipu", "Ipu", False),
        ("Ipu", "Device", False),
        ("Ipu", "Off", False),
        ("IpuModel", "Ipu", True),
        ("IpuModel", "Off", True),
    ],
)
def test_levels(tmp_path: Path, target: str, level: str, known: bool) -> None:
    source = ReportSource(write_small(tmp_path / "small", STEPS, target=target, level=level))
    assert (tiles_unknown(source) == "") is known
    found = window_figures(source, 0, 0, 7)
    assert found.of_tiles is known
    if known:
        assert (found.tile_cycles["compute"], found.all_cycles) == (6, 14)
        assert found.balance == 3 / 4
        assert found.utilisation == 10 / 14
    else:
        assert "debug.computeInstrumentationLevel=tile" in tiles_unknown(source)
        assert (found.tile_cycles["compute"], found.tile_cycles["exchange"], found.all_cycles) == (4, 3, 7)
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


def test_a_report_of_ours_names_its_remote_buffers(tmp_path: Path) -> None:
    device = IPUModel().createDevice()
    graph = Graph(device)
    x = graph.addVariable(INT, [3], "x")
    graph.setTileMapping(x, 0)
    copies = [Copy(graph.addHostToDeviceFIFO("near", INT, 3), x), Copy(x, graph.addRemoteBuffer("far", INT, 3))]
    options = {"autoReport.outputGraphProfile": "true", "autoReport.directory": str(tmp_path)}
    with Engine(graph, Sequence(copies), options):
        pass
    source = ReportSource(tmp_path)
    names = source.reader.programs().name
    known = {name: DESTINATIONS[to] for name, to in zip(names, destinations(source), strict=True) if name}
    assert (known["near"], known["far"]) == ("host", "remote buffer")
