"""Which scripts the page of an address names: all that Dash runs, nothing it does not, plots and tables in time."""

from __future__ import annotations

import re

import pytest
from flask.testing import FlaskClient

from webapp.base.library import Library
from webapp.shell.app import create_app
from webapp.shell.index_page import scripts_ahead


@pytest.fixture(scope="module")
def client() -> FlaskClient:
    return create_app(Library()).server.test_client()


def test_scripts_of_every_page(client: FlaskClient) -> None:
    page = client.get("/").text
    scripts = " ".join(re.findall(r'<script src="([^"]+)"', page))
    for name in ("react@", "react-dom@", "dash_renderer", "dash_core_components", "dash_html_components"):
        assert name in scripts
    assert "dash_ag_grid" in scripts
    assert "polyfill" not in scripts
    assert "dash_table" not in scripts


def test_what_the_renderer_asks_first_is_on_its_way(client: FlaskClient) -> None:
    ahead = re.findall(r'<link rel="preload" as="fetch" crossorigin="anonymous" href="([^"]+)">', client.get("/").text)
    assert ahead == ["/_dash-layout", "/_dash-dependencies"]
    assert all(client.get(address).status_code == 200 for address in ahead)


@pytest.mark.parametrize("path", ["/r/some-report/memory", "/r/some-report/liveness", "/r/some-report", "/"])
def test_plots_and_tables_are_fetched_before_dash_asks(client: FlaskClient, path: str) -> None:
    links = re.findall(r'<link rel="preload" as="script" href="([^"]+)" data-ahead="">', client.get(path).text)
    assert tuple(links) == scripts_ahead(path)
    assert all(client.get(address).status_code == 200 for address in links)


def test_only_for_views_that_open_with_them() -> None:
    assert [address.rpartition("/")[2] for address in scripts_ahead("/r/x/memory")] == [
        "async-graph.js",
        "plotly.min.js",
    ]
    assert scripts_ahead("/r/x/source") == ()
    assert scripts_ahead("/r/x/no-such-view") == ()
    assert scripts_ahead("/catalogue") == ()
