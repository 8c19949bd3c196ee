"""A report and the host trace of the same execution: one row of the list, and links between their pages and runs."""

from __future__ import annotations

import html
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from plotly.utils import PlotlyJSONEncoder

from popvision.analysis.trace.activity import RUN_LABEL
from popvision.formats.profile.writer import ProfileWriter
from popvision.formats.pvti.finalise import finalise
from popvision.formats.pvti.writer import TraceWriter
from tests.reports import tiny_compilation, tiny_run
from webapp.base.library import Library
from webapp.base.view import open_context
from webapp.graph_analyser.execution.details_tab import content as step_details
from webapp.picker import page as picker
from webapp.shell.app import create_app
from webapp.shell.pages import show
from webapp.shell.security import HostPolicy
from webapp.system_analyser.timeline.tabs import tab_content

#: The run of `tiny_run` on the host's clock, and its event in the trace, ns.
RUN_BEGIN, RUN_END = 1_000_000_000, 1_000_250_000
EVENT = (1_000_010_000, 1_000_240_000)
TRACE_BEGIN = 999_000_000


def write_report(folder: Path, run_id: str) -> None:
    folder.mkdir(parents=True)
    compilation = tiny_compilation()
    with ProfileWriter(folder / "profile.pop") as writer:
        writer.write_compilation(replace(compilation, meta=compilation.meta | {"runId": run_id}))
        writer.append_run(tiny_run())


def write_trace(path: Path, run_id: str, event: tuple[int, int] = EVENT) -> None:
    """A step of the user's program around one Engine::run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = TraceWriter(path, {"run_id": run_id}, clock_offset_ns=0)
    with writer.transaction():
        writer.add_process(1, 1, None, "p")
        writer.set_channel(1, "Poplar Runtime", True)
        for site, label in ((1, "step"), (2, RUN_LABEL)):
            writer.add_string(site, label)
            writer.add_site(site, 1, site, None)
        writer.set_thread(1, 1, 100, "main")
        writer.add_events(1, [4, 8, 9, 5], [TRACE_BEGIN, *event, 1_002_000_000])
    writer.close()
    finalise(path)


@pytest.fixture
def execution(tmp_path: Path) -> Library:
    """Two engines and two processes of one execution; a report and a trace of others."""
    write_report(tmp_path / "run" / "training", "one")
    write_report(tmp_path / "run" / "inference", "one")
    write_trace(tmp_path / "run" / "a.pvti", "one")
    write_trace(tmp_path / "run" / "b.pvti", "one", (1_001_000_000, 1_001_000_900))
    write_report(tmp_path / "other", "two")
    write_trace(tmp_path / "alone.pvti", "three")
    write_trace(tmp_path / "unknown.pvti", "")
    return Library([tmp_path])


def key_of(library: Library, name: str) -> str:
    return next(each.key for each in library.entries() if each.path.name == name and not each.is_sample)


def partners(library: Library, name: str) -> list[str]:
    return [each.path.name for each in library.partners(key_of(library, name))]


def text_of(component: Any) -> str:
    return json.dumps(component, cls=PlotlyJSONEncoder)


def test_files_of_one_execution_are_partners(execution: Library) -> None:
    assert partners(execution, "training") == partners(execution, "inference") == ["a.pvti", "b.pvti"]
    assert partners(execution, "a.pvti") == ["inference", "training"]
    assert [partners(execution, name) for name in ("other", "alone.pvti", "unknown.pvti")] == [[], [], []]


def test_a_copy_of_an_execution_has_its_own_partners(execution: Library, tmp_path: Path) -> None:
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    execution.scan()
    for entry in execution.entries():
        for partner in [] if entry.is_sample else execution.partners(entry.key):
            assert entry.path.relative_to(tmp_path).parts[0] == partner.path.relative_to(tmp_path).parts[0]


def test_a_file_that_changes_has_other_partners(execution: Library, tmp_path: Path) -> None:
    assert partners(execution, "alone.pvti") == []
    (tmp_path / "alone.pvti").unlink()
    write_trace(tmp_path / "alone.pvti", "two", (1_000_010_000, 1_000_020_000))
    assert partners(execution, "alone.pvti") == ["other"]


def test_the_list_has_one_row_for_both(execution: Library) -> None:
    listed = text_of(picker.layout(execution))
    rows = [
        each.path.name for each in execution.entries() if f'"title": "{each.path}"' in listed and not each.is_sample
    ]
    assert sorted(rows) == ["alone.pvti", "inference", "other", "training", "unknown.pvti"]
    assert listed.count(f'"/t/{key_of(execution, "a.pvti")}/timeline"') == 2  # in the row of each engine


def test_each_page_leads_to_the_other(execution: Library) -> None:
    report, trace = key_of(execution, "training"), key_of(execution, "a.pvti")
    _, head, _ = show(execution, {"pathname": f"/r/{report}/summary"}, "light")
    assert f"/t/{trace}/timeline" in text_of(head)
    _, head, _ = show(execution, {"pathname": f"/t/{trace}/timeline"}, "light")
    assert f"/r/{report}/summary" in text_of(head)


def test_a_run_of_the_host_opens_the_device_trace(execution: Library) -> None:
    report, trace = key_of(execution, "training"), key_of(execution, "a.pvti")

    def summary_of(event: str) -> str:
        context = open_context(execution, "trace", trace, {"tl_event": event}, "light")
        return html.unescape(text_of(tab_content(context, "summary")))

    assert f"/r/{report}/execution?from=0&to=43" in summary_of("0.1.0")
    assert "Engine::run #0 (step) of training" in summary_of("0.1.0")
    assert "Device trace" not in summary_of("0.0.0")


@pytest.fixture
def client(execution: Library) -> FlaskClient:
    return create_app(execution, HostPolicy(port=8050)).server.test_client()


def test_a_run_of_the_device_leads_back(execution: Library, client: FlaskClient) -> None:
    report, trace, other = (key_of(execution, name) for name in ("training", "a.pvti", "b.pvti"))
    details = text_of(step_details(open_context(execution, "report", report, {"step": "2"}, "light")))
    link = f"/data/{trace}/timeline/run?report={report}&run=0"
    assert link in details
    answer = client.get(link, headers={"Host": "localhost:8050"})
    room = (EVENT[1] - EVENT[0]) // 4 + 1
    first, last = EVENT[0] - room - TRACE_BEGIN, EVENT[1] + room - TRACE_BEGIN
    assert answer.status_code == 302
    assert answer.location == f"/t/{trace}/timeline?tl_event=0.1.0&tl_from={first}&tl_to={last}"
    # The other process ran nothing at that time: its page shows the span of the run.
    answer = client.get(f"/data/{other}/timeline/run?report={report}&run=0", headers={"Host": "localhost:8050"})
    chosen = f"tl_sel={RUN_BEGIN - TRACE_BEGIN}-{RUN_END - TRACE_BEGIN}"
    assert answer.location.startswith(f"/t/{other}/timeline?{chosen}&")


@pytest.mark.parametrize(("query", "status"), [("run=1", 400), ("run=x", 400), ("", 400), ("report=no&run=0", 404)])
def test_wrong_runs_are_refused(execution: Library, client: FlaskClient, query: str, status: int) -> None:
    report, trace = key_of(execution, "training"), key_of(execution, "a.pvti")
    query = query if "report" in query else f"report={report}&{query}"
    answer = client.get(f"/data/{trace}/timeline/run?{query}", headers={"Host": "localhost:8050"})
    assert (answer.status_code, answer.text.count("\n") < 2) == (status, True)
