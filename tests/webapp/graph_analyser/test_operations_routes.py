"""What the operations page answers: the graph as JSON, rows of the table, and hostile queries of both."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from popvision.analysis.report.source import ReportSource
from tests.analysis.operations.operation_case import run_operations
from webapp.base.library import Library
from webapp.graph_analyser.operations.state import Chosen, OperationState, chosen_operations
from webapp.shell.app import create_app

HOSTILE = ["", "1" * 5000, "-1", "NaN", "١", "../x", "</script><script>", "\x00", "9" * 19, "name", "0"]
NAMES = ("ops_layer", "ops_group", "ops_under", "ops_find", "ops_by", "ops_open", "ops_all", "ipu")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("served")
    run_operations(folder / "one")
    library = Library([folder])
    key = next(entry.key for entry in library.entries() if not entry.is_sample)
    return create_app(library).server.test_client(), key


def test_the_graph_has_a_place_for_everything(served: Any) -> None:
    client, key = served
    answer = client.get(f"/data/{key}/operations/graph").get_json()
    names = [node["name"] for node in answer["nodes"]]
    assert {"net/first", "net/second", "out", "(not attributed)"} <= set(names)
    first, second = (answer["nodes"][names.index(name)] for name in ("net/first", "net/second"))
    assert first["y"] < second["y"]
    edge = next(
        each
        for each in answer["edges"]
        if (names[each["source"]], names[each["target"]]) == ("net/first", "net/second")
    )
    assert edge["bytes"] == 64 * 4  # its result; b is always live and made by no operation
    assert edge["points"][0] == [first["x"], first["y"]]
    assert edge["points"][-1] == [second["x"], second["y"]]
    assert edge["text"] == "1 variable, 256 B"
    for node in answer["nodes"]:
        assert 0 <= node["x"] <= answer["width"]
        assert 0 <= node["y"] <= answer["height"]


def test_an_opened_operation_shows_programs_and_variables(served: Any) -> None:
    client, key = served
    whole = client.get(f"/data/{key}/operations/graph").get_json()
    context = next(node["context"] for node in whole["nodes"] if node["name"] == "net/second")
    answer = client.get(f"/data/{key}/operations/graph?ops_open={context}&ops_find=second").get_json()
    kinds = {node["kind"] for node in answer["nodes"]}
    assert {"program", "input", "variable"} <= kinds
    assert all(node["found"] == ("second" in node["name"]) for node in answer["nodes"])
    refused = client.get(f"/data/{key}/operations/graph?ops_open=99999")
    assert (refused.status_code, refused.text) == (400, "there is no operation 99999 in layer poplibs")


def test_a_selected_program_selects_the_operation_that_made_it(tmp_path: Path) -> None:
    source = ReportSource(run_operations(tmp_path / "again"))
    state = OperationState.read(source, {})
    owners = state.groups(source).sums.owners
    row = owners.name.index("net/second")
    program = owners.program.tolist().index(row)
    chosen = chosen_operations(source, state, {"program": str(program)})
    assert chosen == Chosen([row], "net/second", int(owners.context[row]))
    assert chosen_operations(source, state, {"program": "0"}) is None
    assert chosen_operations(source, state, {"program": "0", "ops_name": "out"}).title == "out"  # type: ignore[union-attr]


@pytest.mark.parametrize("value", HOSTILE)
def test_no_query_breaks_the_server(served: Any, value: str, caplog: pytest.LogCaptureFixture) -> None:
    client, key = served
    with caplog.at_level(logging.ERROR):
        for path in ("operations/graph", "table/operations.csv"):
            for query in (
                dict.fromkeys(NAMES, value),
                *({name: value} for name in NAMES),
                {"vs": key, "ops_by": value},
            ):
                answer = client.get(f"/data/{key}/{path}", query_string=query)
                assert answer.status_code in (200, 400), (path, query, caplog.text[-2000:])
