"""The tabs of a page as its browser asks for them: the shown one is filled, and only when what it shows has changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from webapp.base.library import Library
from webapp.base.view import open_context
from webapp.graph_analyser.exchange.page import TAB_SET
from webapp.shell.app import create_app

SAMPLE = Path(__file__).parents[3] / "sample_reports" / "matmul_chain"


class Tabs:
    """Asks for the tabs of the exchange page as Dash does."""

    def __init__(self) -> None:
        self.library = Library([SAMPLE])
        self.key = next(entry.key for entry in self.library.entries() if not entry.is_sample)
        self.client = create_app(self.library).server.test_client()

    def fill(self, selection: dict[str, str], shown: dict[str, str], path: str = "") -> dict[str, Any]:
        """The properties that change, by component."""
        names = [f"xch-tab-{value}.children" for value in TAB_SET.titles]
        names += ["xch-tab-shown.data", "xch-tab-parts.data"]
        outputs = [{"id": name.partition(".")[0], "property": name.partition(".")[2]} for name in names]
        values = {"theme": "light", "selection": selection, "xch-tab-shown": shown}
        values["xch-tab-now"] = {key: selection[key] for key in (*TAB_SET.keys, TAB_SET.param) if key in selection}
        body = {
            "output": f"..{'...'.join(names)}..",
            "outputs": outputs,
            "inputs": [{"id": name, "property": "data", "value": values[name]} for name in ("xch-tab-now", "theme")],
            "state": [
                {"id": "selection", "property": "data", "value": selection},
                {"id": "url", "property": "pathname", "value": path or f"/r/{self.key}/exchange"},
                {"id": "xch-tab-shown", "property": "data", "value": shown},
            ],
            "changedPropIds": ["xch-tab-now.data"],
        }
        answer = self.client.post("/_dash-update-component", json=body)
        if answer.status_code == 204:
            return {}
        assert answer.status_code == 200
        found: dict[str, Any] = json.loads(answer.text)["response"]
        return {name: next(iter(properties.values())) for name, properties in found.items()}


@pytest.fixture(scope="module")
def tabs() -> Tabs:
    return Tabs()


def test_only_the_shown_tab_is_filled(tabs: Tabs) -> None:
    assert set(tabs.fill({}, {})) == {"xch-tab-programs", "xch-tab-shown"}
    assert set(tabs.fill({"xch_tab": "fan"}, {})) == {"xch-tab-fan", "xch-tab-shown"}
    assert set(tabs.fill({"xch_tab": "no such tab"}, {})) == {"xch-tab-programs", "xch-tab-shown"}


def test_a_tab_is_left_alone_until_what_it_shows_changes(tabs: Tabs) -> None:
    first = tabs.fill({"xch_tab": "tile", "tiles": "3"}, {})
    shown = first["xch-tab-shown"]
    assert set(shown) == {"tile"}
    assert tabs.fill({"xch_tab": "tile", "tiles": "3", "xch_view": "plan"}, shown) == {}
    both = tabs.fill({"xch_tab": "fan", "tiles": "3"}, shown)["xch-tab-shown"]
    assert tabs.fill({"xch_tab": "tile", "tiles": "3"}, both) == {}
    assert set(tabs.fill({"xch_tab": "tile", "tiles": "4"}, both)) == {"xch-tab-tile", "xch-tab-shown"}


def test_nothing_is_filled_while_the_browser_leaves_the_page(tabs: Tabs) -> None:
    assert tabs.fill({}, {}, "/") == {}
    assert tabs.fill({}, {}, f"/t/{tabs.key}/timeline") == {}


def test_the_page_holds_a_box_for_every_tab(tabs: Tabs) -> None:
    context = open_context(tabs.library, "report", tabs.key, {"xch_tab": "pairs"}, "light")
    page = json.dumps([TAB_SET.layout(context).to_plotly_json(), TAB_SET.stores(context)], default=vars)
    for value in TAB_SET.titles:
        assert page.count(f'"xch-tab-{value}"') == 1
    assert TAB_SET.chosen(context) == "pairs"
