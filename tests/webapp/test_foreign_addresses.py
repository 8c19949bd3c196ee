"""Addresses carried over from another report: an IPU that this one does not have."""

from __future__ import annotations

from pathlib import Path

from popvision.analysis.report.source import ReportSource
from webapp.base.library import Library
from webapp.base.view import ViewContext
from webapp.graph_analyser.programs.tabs import program_panel
from webapp.shell.app import create_app

SAMPLE = Path(__file__).parents[2] / "sample_reports" / "matmul_chain"


def test_rows_of_the_tree_are_those_of_all_ipus() -> None:
    library = Library([SAMPLE])
    key = next(entry.key for entry in library.scan() if entry.path.name == "matmul_chain")
    client = create_app(library).server.test_client()
    address = f"/data/{key}/program_tree/rows?ids=1-,2-"
    found = client.get(f"{address}&ipu=77")
    assert found.status_code == 200
    assert found.data == client.get(address).data


def test_details_of_a_program_are_shown() -> None:
    panel = program_panel(ViewContext("key", ReportSource(SAMPLE), {"program": "22", "ipu": "77"}))
    assert panel.className == "panel-body"
