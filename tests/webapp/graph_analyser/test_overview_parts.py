"""The overview comes filled where its analysis is there; else its parts say that they are looked for, and a callback
gives the same contents."""

from __future__ import annotations

import json
import threading
from typing import Any

from popvision.analysis.report.source import ReportSource
from tests.samples import SAMPLES
from webapp.base.library import Library
from webapp.graph_analyser.overview.page import VIEW
from webapp.shell.app import create_app

_LOADING = json.dumps("Loading …")[1:-1]
_PARTS = {
    "causes": ["overview-causes.children", "overview-unusual.children", "overview-findings.children"],
    "waits": ["overview-waits.children"],
    "use": ["overview-use.children"],
}


class Viewer:
    """Asks for the page and its parts as Dash does."""

    def __init__(self) -> None:
        self.library = Library([SAMPLES / "matmul_chain"])
        self.key = next(entry.key for entry in self.library.entries() if not entry.is_sample)
        self.client = create_app(self.library).server.test_client()

    @property
    def source(self) -> ReportSource:
        return self.library.report(self.key)

    def page(self, search: str = "") -> str:
        names = ["nav.children", "masthead.children", "page.children"]
        visit = {"pathname": f"/r/{self.key}/overview", "search": search}
        inputs = [{"id": "visit", "property": "data", "value": visit}]
        return json.dumps(self._ask(names, inputs, [_stored("theme", "light")])["page"])

    def part(self, name: str) -> str:
        inputs = [_stored(f"overview-{name}-now", {}), _stored("theme", "light")]
        address = {"id": "url", "property": "pathname", "value": f"/r/{self.key}/overview"}
        return json.dumps(self._ask(_PARTS[name], inputs, [_stored("selection", {}), address]))

    def _ask(self, names: list[str], inputs: list[Any], state: list[Any]) -> dict[str, Any]:
        outputs = [dict(zip(("id", "property"), name.split("."), strict=True)) for name in names]
        body = {"output": f"..{'...'.join(names)}..", "outputs": outputs, "inputs": inputs, "state": state}
        answer = self.client.post("/_dash-update-component", json=body | {"changedPropIds": []})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = json.loads(answer.text)["response"]
        return found


def _stored(name: str, value: Any) -> dict[str, Any]:
    return {"id": name, "property": "data", "value": value}


def test_a_page_whose_analysis_is_there_comes_filled() -> None:
    viewer = Viewer()
    empty = viewer.page()
    assert empty.count(_LOADING) == 4
    VIEW.ahead(viewer.source)
    filled = viewer.page()
    assert _LOADING not in filled
    assert "overview-waits-table" in filled
    assert "Fullest tiles" in filled


def test_callbacks_give_what_a_filled_page_shows() -> None:
    early, late = Viewer(), Viewer()
    VIEW.ahead(late.source)
    for name in _PARTS:
        assert early.part(name) == late.part(name)


def test_dismissed_findings_of_the_address_are_folded_in_a_filled_page() -> None:
    viewer = Viewer()
    VIEW.ahead(viewer.source)
    shown = viewer.page()
    keys = [json.loads(f'"{text}"') for text in _dismissed(shown)]
    assert keys
    folded = viewer.page(f"?dismissed={keys[0]}")
    assert "1 dismissed." in folded
    assert "1 dismissed." not in shown


def test_a_page_does_not_wait_for_an_analysis_that_takes_long() -> None:
    viewer = Viewer()
    begun, go = threading.Event(), threading.Event()
    source = viewer.source

    def slow() -> bool:
        begun.set()
        assert go.wait(60)
        return True

    thread = threading.Thread(
        target=source.kept.recent, args=(("overview read ahead", source.generation), slow), daemon=True
    )
    thread.start()
    assert begun.wait(60)
    try:
        assert _LOADING in viewer.page()
    finally:
        go.set()
        thread.join(60)


def _dismissed(page: str) -> list[str]:
    """The keys of the dismiss buttons of a page, in order."""
    return [part.partition('"')[0] for part in page.split('"data-dismiss": "')[1:]]
