"""The Blocks tab of the execution trace, on a real report."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.shell_pages import Viewer
from tests.compiler.tiny_graphs import model
from tests.runtime.block_programs import Programs, hundred

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hundred operations whose buffer overflows, recorded with all reports."""
    made = tmp_path_factory.mktemp("reports")
    programs = Programs(model())
    options = {
        "autoReport.all": "true",
        "autoReport.directory": str(made / "blocks"),
        "profiler.programs.filter": "operation",
        "profiler.blocks.implicitFlush": "false",
    }
    programs.report(hundred(programs), options)
    return made


def test_executions_and_overflows_are_listed(viewer: Viewer) -> None:
    page = viewer.open("blocks", "execution", "detail=blocks")
    table = page.locator("#execution-tab-blocks")
    expect(table.get_by_role("row").filter(has_text="operation")).to_contain_text("36")  # 83 records, 12 of copies
    expect(table.get_by_role("row").filter(has_text="(buffer full)")).to_contain_text("overflow")
    expect(table.get_by_role("row").filter(has_text="StreamCopyBegin").first).to_contain_text("stream copy")
