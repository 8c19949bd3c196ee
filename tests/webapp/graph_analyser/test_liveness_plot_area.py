"""The liveness page on reports that lack a part: every graph and tab answers, with the option that records the part."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.source import ReportSource
from popvision.formats.profile import ProfileWriter
from tests.analysis.memory.memory_case import columns, make_case
from tests.reports import write_tiny
from webapp.base.view import ViewContext
from webapp.graph_analyser.liveness.page import layout
from webapp.graph_analyser.liveness.plot_area import plot_parts
from webapp.graph_analyser.liveness.state import GRAPHS, TABS, liveness_state
from webapp.graph_analyser.liveness.tabs import parts, tab_content

LACKING: Mapping[str, dict[str, Any]] = {
    "nothing": {},
    "lowered variables": {"lowered": []},
    "variables": {"variables": None, "lowered": []},
    "classes": {"eq_classes": None, "lowered": [], "variables": None},
    "estimates": {"program_on_ipu": [], "compute_set_vertices": []},
    "tile memory": {"tile_memory": None, "category_memory": []},
}


def _text(component: Any) -> str:
    if component is None or isinstance(component, str | int | float):
        return str(component or "")
    if isinstance(component, list | tuple):
        return " ".join(_text(each) for each in component)
    return _text(getattr(component, "children", ""))


def _written(folder: Path, lacking: dict[str, Any]) -> ReportSource:
    folder.mkdir()
    with ProfileWriter(folder / "profile.pop") as writer:
        writer.write_compilation(dataclasses.replace(columns(make_case(3, ipus=2)), **lacking))
    return ReportSource(folder)


def _tab(context: ViewContext, tab: str) -> str:
    """What a tab shows, or why it shows nothing."""
    try:
        return _text(tab_content(context, tab))
    except (NotRecordedError, ValueError) as problem:
        return str(problem)


@pytest.mark.parametrize("name", LACKING)
@pytest.mark.parametrize("compared", [False, True])
def test_every_graph_and_tab_answers(tmp_path: Path, name: str, compared: bool) -> None:
    source = _written(tmp_path / "source", LACKING[name])
    target = _written(tmp_path / "target", {}) if compared else None
    for place in ({}, {"live_source": "tile"}, {"live_source": "ipu:1"}, {"live_source": "tile", "tiles": "2"}):
        layout(ViewContext("key", source, place, "light", target))
        for graph in GRAPHS:
            params = {"live_graph": graph, "liveness": "3", "tiles": "2", "variable": "0", **place}
            drawn = plot_parts(source, "key", liveness_state(source, params), "light", target)
            if not drawn[1]["count"]:
                assert (
                    "outputLoweredVars" in _text(drawn[-1])
                    or "outputExecutionProfile" in _text(drawn[-1])
                    or ("outputGraphProfile" in _text(drawn[-1]))
                )
        for tab in TABS:
            params = {"live_tab": tab, "liveness": "3", "variable": "0", "vs": "other", **place}
            _tab(ViewContext("key", source, params, "light", target), tab)
            parts(source, "key", liveness_state(source, params))


def test_a_target_without_the_place_is_said(tmp_path: Path) -> None:
    source = _written(tmp_path / "source", {})
    target = ReportSource(write_tiny(tmp_path / "tiny").parent)
    params = {"live_source": "ipu:1", "liveness": "3", "live_tab": "always", "vs": "other"}
    state = liveness_state(source, params)
    drawn = plot_parts(source, "key", state, "light", target)
    assert "Target: IPU 1 does not exist" in _text(drawn[-1])
    assert "Target: IPU 1 does not exist" in _tab(ViewContext("key", source, params, "light", target), "always")
