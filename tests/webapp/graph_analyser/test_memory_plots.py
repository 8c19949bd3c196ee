"""Axes, colours, decimation and the reading of the URL behind the memory and liveness pages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from popvision.analysis.memory.usage import CATEGORY_LABELS
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import Where
from tests.analysis.memory.memory_case import make_case, write_case
from webapp.graph_analyser.liveness.state import liveness_state, where_text
from webapp.graph_analyser.memory.state import memory_state
from webapp.graph_analyser.plots.bytes_axis import both_units, byte_ticks
from webapp.graph_analyser.plots.category_colours import mix, part_colour
from webapp.graph_analyser.plots.stepped_plot import Series, SteppedPlot

UNITS = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "TiB": 1024**4}


@pytest.mark.parametrize("top", [0, 1, 5, 100, 1000, 5000, 638_976, 1_499_463, 59_894_241, 3 * 2**30, 5 * 2**41])
def test_labels_of_ticks_are_exact_and_cover_the_range(top: int) -> None:
    values, labels = byte_ticks(top)
    assert 2 <= len(values) <= 8
    assert values[-1] >= top
    steps = set(np.diff(values).tolist())
    assert len(steps) == 1
    assert steps.pop().bit_count() == 1  # a power of two
    for value, label in zip(values[1:], labels[1:], strict=True):
        number, unit = label.split()
        assert float(number.replace(",", "")) * UNITS[unit] == value


def test_ticks_of_a_window_of_addresses() -> None:
    values, labels = byte_ticks(404_000, 4, 400_000)
    assert (values[0] <= 400_000, values[-1] >= 404_000) == (True, True)
    assert labels[1] == "391 KiB"


def test_bytes_are_exact_and_rounded() -> None:
    assert both_units(59_894_241) == "59,894,241 B (57.1 MiB)"
    assert both_units(512) == "512 B"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_category_has_its_own_colour(theme: str) -> None:
    colours = [part_colour(key, theme) for key in CATEGORY_LABELS]
    assert len(set(colours)) == len(CATEGORY_LABELS)


def test_mix_is_a_share() -> None:
    assert mix("#ff0000", "#0000ff", 0.25) == "#4000bf"


def _plot(count: int, window: tuple[int, int] | None = None) -> SteppedPlot:
    values = np.arange(count, dtype=np.int64) % 97
    return SteppedPlot([Series("a", values, "#102030")], lambda p: [str(x) for x in p.tolist()], "", "x", window=window)


def test_a_short_curve_is_drawn_whole() -> None:
    drawn, decimated = _plot(50).draw("light")
    assert not decimated
    assert drawn["data"][1]["y"][1:-1] == [x % 97 for x in range(50)]
    assert drawn["layout"]["xaxis"]["range"] == [-0.5, 49.5]


def test_a_long_curve_is_decimated_and_exact_again_in_a_window() -> None:
    drawn, decimated = _plot(40_000).draw("light")
    assert decimated
    assert len(drawn["data"][1]["x"]) < 2500
    drawn, decimated = _plot(40_000, (20_000, 21_000)).draw("light")
    assert not decimated
    inside = {x: y for x, y in zip(drawn["data"][1]["x"], drawn["data"][1]["y"], strict=True) if 20_000 <= x <= 21_000}
    assert inside == {x: x % 97 for x in range(20_000, 21_001)}


def test_a_window_beyond_the_curve_is_brought_back() -> None:
    assert _plot(50, (40, 900)).shown == (40, 49)
    assert _plot(50, (900, 950)).shown == (49, 49)


@pytest.fixture
def source(tmp_path: Path) -> ReportSource:
    return write_case(tmp_path, make_case(5, ipus=2, tiles_per_ipu=3))


def test_memory_state_leaves_out_what_the_report_does_not_have(source: ReportSource) -> None:
    state = memory_state(source, {"tiles": "1,4,99", "mem_replica": "7", "mem_graph": "pie", "mem_tab": "nothing"})
    assert (state.tiles, state.replica, state.graph, state.tab) == ((1, 4), 0, "total", "details")
    assert state.problems == ("This report has tiles 0 to 5; other numbers are ignored.",)
    assert memory_state(source, {"mem_ipus": "1", "ipu": "1", "tiles": "2"}).ipus == (1,)


def test_liveness_state(source: ReportSource) -> None:
    state = liveness_state(source, {"liveness": "3", "live_also": "5,3,88", "live_source": "tile", "tiles": "4"}, 9)
    assert (state.indices, state.where) == ((3, 5), Where("tile", 4))
    assert state.problems == ("This report has liveness indices 0 to 8; other numbers are ignored.",)
    wrong = liveness_state(source, {"live_source": "ipu:9"}, 9)
    assert wrong.where == Where("all", 0)
    assert wrong.problems == ("This report has IPUs 0 to 1: IPU 9 does not exist.",)
    assert liveness_state(source, {"live_source": "moon"}, 9).problems[0].startswith("The source 'moon' is unknown")


def test_places_have_names() -> None:
    assert where_text(Where("all", 1), 2) == "all tiles of replica 1"
    assert where_text(Where("all", 0), 1) == "all tiles"
    assert where_text(Where("tile", 1471), 1) == "tile 1,471"
