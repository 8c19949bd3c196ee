"""Whatever the query of an address below /data/ says, the answer is no error of the server."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from tests.reports import write_tiny
from webapp.base.library import Library
from webapp.shell.app import create_app

#: Every name that a route or a table reads a number, a list or a range from.
NUMBERS = (
    "tile",
    "tiles",
    "indices",
    "index",
    "address",
    "rows",
    "columns",
    "row",
    "column",
    "size",
    "first",
    "last",
    "bottom",
    "top",
    "pitch",
    "width",
    "from",
    "to",
    "vsfrom",
    "vsto",
    "ipu",
    "ipus",
    "cs",
    "step",
    "program",
    "root",
    "variable",
    "count",
    "cycle",
    "ids",
    "replica",
)

VALUES = ["", "1" * 5000, "9" * 19, "-1", "1e999", "NaN", "1_0", "١", "0-1", "7,8", "../x", "0"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("hostile")
    write_tiny(folder / "tiny")
    library = Library([folder])
    key = next(entry.key for entry in library.entries() if not entry.is_sample)
    server = create_app(library).server
    rules = [rule.rule for rule in server.url_map.iter_rules() if rule.rule.startswith("/data/<key>/")]
    paths = [rule.replace("<key>", key).replace("<any(csv,json):kind>", "csv") for rule in rules]
    return server.test_client(), sorted(path for path in paths if "<" not in path), key


def test_the_routes_are_found(served: Any) -> None:
    _, paths, _ = served
    parts = {path.split("/")[3] for path in paths}
    assert parts >= {"execution", "exchange", "liveness", "memory", "operations", "program_tree", "source", "table"}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("compared", [False, True])
def test_no_query_breaks_the_server(served: Any, value: str, compared: bool, caplog: pytest.LogCaptureFixture) -> None:
    client, paths, key = served
    query = dict.fromkeys(NUMBERS, value) | ({"vs": key} if compared else {})
    with caplog.at_level(logging.ERROR):
        broken = [path for path in paths if client.get(path, query_string=query).status_code >= 500]
    assert broken == [], caplog.text[-3000:]
