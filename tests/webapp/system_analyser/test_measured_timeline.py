"""The timeline of profiles: sampled figures are called so, calls are not counted, weights are no microseconds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.called import popvision
from webapp.base.library import Library
from webapp.base.view import ViewContext
from webapp.system_analyser.timeline.page import facts, layout
from webapp.system_analyser.timeline.tabs import TAB_SET, tab_content

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
NOTE = "Sampled: times are estimates from 3 samples, and calls are not counted."


@pytest.fixture(scope="module", params=["microseconds", "none"])
def profile(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("profiles") / f"{request.param}.speedscope.json"
    document = {
        "$schema": SCHEMA,
        "shared": {"frames": [{"name": "main"}, {"name": "inner"}]},
        "profiles": [
            {
                "type": "sampled",
                "name": "p",
                "unit": request.param,
                "samples": [[0], [0, 1], [0]],
                "weights": [1000, 2000, 4000],
            }
        ],
    }
    path.write_text(json.dumps(document))
    return path


def shown(component: Any) -> str:
    return json.dumps(component.to_plotly_json(), ensure_ascii=False, default=lambda value: value.to_plotly_json())


def test_tabs_count_no_calls_and_name_the_unit(profile: Path) -> None:
    library = Library([profile.parent])
    key = next(entry.key for entry in library.entries() if entry.path == profile)
    trace = library.trace(key)
    unit = "weight" if profile.name.startswith("none") else "µs"
    page = facts(key, trace, library)
    assert (page["isSampled"], page["unit"]) == (True, unit.replace("µs", ""))
    content = {tab: shown(tab_content(ViewContext(key, trace, library=library), tab)) for tab in TAB_SET.titles}
    for tab in ("calls", "statistics"):
        assert f"Total {unit}" in content[tab]
        assert '"Count"' not in content[tab]
        assert "Mean" not in content[tab]
    assert ("7,000 weight" if unit == "weight" else "7 ms") in content["summary"]
    assert ("1970" in content["summary"]) == (unit != "weight")
    assert "are no calls" in content["occurrences"]
    assert NOTE in shown(layout(ViewContext(key, trace, library=library)))


def test_commands_say_so(profile: Path) -> None:
    unit = "weight" if profile.name.startswith("none") else "us"
    done = popvision("trace", "stats", profile)
    assert NOTE in done.stdout
    assert f"total {unit}" in done.stdout
    assert done.stdout.splitlines()[-4].split()[0] == "main"
    assert " count " not in done.stdout
    answer = json.loads(popvision("trace", "stats", profile, "--json").stdout)
    assert answer["samples"] == 3
    assert answer["notes"][0] == NOTE
    assert [set(row) & {"count", "mean_us"} for row in answer["rows"]] == [set(), set()]
    refused = popvision("trace", "stats", profile, "--by", "count")
    assert "there is no column 'count' to sort by" in refused.stderr
    both = popvision("trace", "diff", profile, profile, "--by", "count")
    assert "a trace is sampled, and has no count to sort by" in both.stderr
    difference = popvision("trace", "diff", profile, profile).stdout
    assert f"total {unit}" in difference
    assert (" us" in difference) == (unit == "us")
    head = popvision("trace", "diff", profile, profile, "--csv").stdout.splitlines()[0]
    assert NOTE in head
    assert ("host clock" in head) == (unit == "us")


def test_what_is_no_time_has_no_clock(profile: Path, tmp_path: Path) -> None:
    """The badge of the page and a document name the unit; 1970 and host time stand beside times alone."""
    is_weight = profile.name.startswith("none")
    library = Library([profile.parent])
    key = next(entry.key for entry in library.entries() if entry.path == profile)
    assert library.trace(key).clock == ("weight, no time" if is_weight else "host time")
    assert popvision("html", profile, "-o", tmp_path / "t.html", "--theme", "light").returncode == 0
    document = (tmp_path / "t.html").read_text()
    for words in ("1970", "ost time", "First event"):
        assert (words in document) != is_weight
    assert ("weight, no time" in document) == is_weight
    head = popvision("trace", "stats", profile).stdout.splitlines()[0]
    assert head.endswith("; no clock, weight" if is_weight else "; host clock")
