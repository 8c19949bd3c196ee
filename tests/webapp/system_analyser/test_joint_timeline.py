"""Several traces in one timeline and the comparison of two, through the pages and routes of the viewer."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from plotly.utils import PlotlyJSONEncoder

from popvision.analysis.trace.activity import RUN_LABEL
from tests.analysis.trace.trace_case import make_trace
from webapp.base.joint_key import JointKey, joint_key, parse_joint_key, trace_keys
from webapp.base.library import Library, UnknownKeyError
from webapp.base.view import ViewContext, open_context
from webapp.documents.export import export_trace
from webapp.shell.app import create_app
from webapp.shell.pages import show
from webapp.shell.security import HostPolicy
from webapp.shell.serve import print_addresses
from webapp.system_analyser.timeline.page import facts
from webapp.system_analyser.timeline.tabs import tab_content

DAY = 1_100_000_000_000_000_000


@pytest.fixture
def library(tmp_path: Path) -> Library:
    (tmp_path / "x").mkdir()
    first = [(0, 0, 1000, "app/epoch"), (0, 100, 300, "app/load"), (0, 400, 600, f"poplar/{RUN_LABEL}")]
    second = [(0, 500, 1200, "app/epoch"), (0, 600, 700, "io/write"), (0, 800, 900, "app/load")]
    for name, spans in (("a", first), ("b", second)):
        moved = [(thread, DAY + begin, DAY + end, label) for thread, begin, end, label in spans]
        make_trace(tmp_path / "x" / f"{name}.pvti", moved)
    return Library([tmp_path])


def keys(library: Library) -> list[str]:
    return [each.key for each in library.entries() if each.kind == "trace" and not each.is_sample]


def text_of(component: Any) -> str:
    return json.dumps(component, cls=PlotlyJSONEncoder)


def test_a_key_of_several_files() -> None:
    assert parse_joint_key("a-1+b-2") == JointKey(("a-1", "b-2"))
    assert parse_joint_key("a+b+c@first") == JointKey(("a", "b", "c"), "first")
    assert parse_joint_key("a+b@2.i.17") == JointKey(("a", "b"), "event", (2, -1, 17))
    for text in ("a", "a@first", "a+a", "a+", "+", "a+b@last", "a+b@1.2", "a+b@-1.0.0", "+".join(map(str, range(65)))):
        assert parse_joint_key(text) is None
    assert joint_key(["a", "b"], "first") == "a+b@first"
    assert joint_key(["a"], "first") == "a"
    assert (trace_keys("a"), trace_keys("a+b@first")) == (("a",), ("a", "b"))


def test_the_alignment_of_the_address_places_the_files(library: Library) -> None:
    a, b = keys(library)
    starts = {}
    for alignment in ("", "@first", "@0.1.0"):
        trace = library.trace(f"{a}+{b}{alignment}")
        starts[alignment] = [int(thread.lanes[0].start[0]) - DAY for thread in trace.threads]
    # Event 0.1.0 is the load of the first file, from 100 on; that of the second file begins at 800.
    assert starts == {"": [0, 500], "@first": [0, 0], "@0.1.0": [0, -200]}
    with pytest.raises(UnknownKeyError):
        library.trace(f"{a}+{b}@0.9.0")
    with pytest.raises(UnknownKeyError):
        library.trace(f"{a}+unknown")
    report = next(each.key for each in library.entries() if each.kind == "report")
    with pytest.raises(UnknownKeyError):
        library.entry(f"{a}+{report}")


def test_a_file_written_again_is_read_again(library: Library) -> None:
    a, b = keys(library)
    key = f"{a}+{b}"
    assert library.trace(key).events == 6
    assert library.trace(key) is library.trace(key)
    stamp = library.stamp(key)
    make_trace(library.entry(b).path, [(0, DAY, DAY + 5, "app/epoch")])
    assert library.stamp(key) != stamp
    assert library.trace(key).events == 4


def test_rows_stand_below_their_file(library: Library) -> None:
    a, b = keys(library)
    described = facts("key", library.trace(f"{a}+{b}"))
    assert [file["name"] for file in described["files"]] == ["a.pvti", "b.pvti"]
    threads = [[each["index"] for each in file["processes"][0]["threads"]] for file in described["files"]]
    assert threads == [[0], [1]]
    assert [file["activity"] for file in described["files"]] == [{"index": 0, "runs": 1}, None]
    assert (described["total"], described["events"]) == (1200, 6)
    assert [channel["name"] for channel in described["channels"]] == ["app", "poplar", "io"]


@pytest.fixture
def client(library: Library) -> FlaskClient:
    return create_app(library, HostPolicy()).server.test_client()


def test_routes_answer_for_all_files(library: Library, client: FlaskClient) -> None:
    a, b = keys(library)
    address = f"/data/{a}+{b}/timeline"
    assert client.get(f"{address}/count?from=0&to=1201&width=1").json == {"events": 6}
    assert client.get(f"{address}/count?from=1100&to=1201&width=1").json == {"events": 1}
    hit = client.get(f"{address}/find?text=write&time=0").json
    assert hit is not None
    assert (hit["thread"], hit["start"], hit["duration"]) == (1, 600, 100)
    assert client.get(f"{address}/event?at=2.0.0").status_code == 404
    assert client.get(f"{address}/activity?id=1&from=0&to=9&width=9").data == b"this file holds no run of an IPU"
    assert client.get(f"{address}/activity?id=2&from=0&to=9&width=9").status_code == 400
    assert client.get(f"{address}/activity?id=0&from=0&to=1201&width=600").status_code == 200
    report = next(each.key for each in library.entries() if each.kind == "report")
    assert client.get(f"{address}/run?report={report}&run=0").status_code == 400
    assert client.get(f"/data/{a}+nothing/timeline/count?from=0&to=9&width=1").status_code == 404
    assert client.get(f"/data/{a}+{b}/state").json is not None


def test_a_difference_leads_to_both_traces_in_one_timeline(library: Library) -> None:
    a, b = keys(library)
    content = text_of(tab_content(open_context(library, "trace", a, {"vs": b}, "light"), "difference"))
    assert f'"/t/{a}+{b}@first/timeline"' in content
    within = text_of(tab_content(open_context(library, "trace", f"{a}+{b}", {"vs": b}, "light"), "difference"))
    assert "Both in one timeline" not in within


def test_the_menu_offers_files_to_add_and_to_compare_with(library: Library) -> None:
    a, b = keys(library)
    page = text_of(show(library, {"pathname": f"/t/{a}/timeline", "search": ""}, "light"))
    assert f'"/t/{a}+{b}/timeline"' in page
    assert f"/t/{a}/timeline?vs={b}&tl_tab=difference" in page
    both = text_of(show(library, {"pathname": f"/t/{a}+{b}@first/timeline", "search": ""}, "light"))
    assert "a.pvti + b.pvti" in both
    for address in (f"/t/{a}/timeline", f"/t/{b}/timeline", f"/t/{a}+{b}/timeline"):
        assert f'"{address}"' in both
    assert "Moved" in text_of(tab_content(open_context(library, "trace", f"{a}+{b}@first", {}, "light"), "summary"))
    chosen = open_context(library, "trace", f"{a}+{b}", {"tl_event": "1.0.0"}, "light")
    content = text_of(tab_content(chosen, "summary"))
    assert f"/t/{a}+{b}@1.0.0/timeline?tl_event=1.0.0" in content
    assert "<td>b.pvti</td>" in content


def rows_of(component: Any) -> list[dict[str, Any]]:
    """The rows of the only grid."""
    stack = [json.loads(text_of(component))]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            if "rowData" in node:
                rows: list[dict[str, Any]] = node["rowData"]
                return rows
            stack += node.values()
        elif isinstance(node, list):
            stack += node
    return []


def test_an_empty_and_a_hostile_trace_join_and_compare(library: Library, tmp_path: Path) -> None:
    a, _ = keys(library)
    make_trace(tmp_path / "empty.pvti", [])
    hostile = "</script><img src=x onerror=alert(1)>\u202e" + "x" * 5000
    make_trace(tmp_path / "hostile.pvti", [(0, 0, 10, f"{hostile.replace('/', '')}/{hostile.replace('/', '')}")])
    library.scan()
    empty, bad = (
        next(each.key for each in library.entries() if each.path.name == f"{name}.pvti")
        for name in ("empty", "hostile")
    )
    assert library.trace(f"{a}+{empty}").events == 3
    assert library.trace(f"{empty}+{a}@first").events == 3
    assert library.trace(f"{empty}+{bad}").events == 1
    for key in (f"{a}+{empty}", f"{empty}+{bad}@first", f"{bad}+{a}", empty):
        for params in ({}, {"vs": bad}, {"vs": empty}, {"tl_marks": "1,x,-3,99999999999999999999"}):
            context = open_context(library, "trace", key, params, "light")
            for tab in ("summary", "calls", "flame", "statistics", "matches", "difference"):
                text_of(tab_content(context, tab))
        show(library, {"pathname": f"/t/{key}/timeline", "search": "?vs=" + bad}, "light")
    for text in ("/(a+)+/", "/[/", "dur>1s", "meta:a"):
        content = text_of(tab_content(open_context(library, "trace", a, {"tl_find": text}, "light"), "matches"))
        assert "message" in content or "hint" in content or "rowData" in content


def test_the_difference_has_a_row_per_path(library: Library) -> None:
    a, b = keys(library)
    context = open_context(library, "trace", a, {"vs": b}, "light")
    rows = {row["path"]: row for row in rows_of(tab_content(context, "difference"))}
    assert set(rows) == {"epoch", "epoch > load", "epoch > write", f"epoch > {RUN_LABEL}"}
    assert (rows["epoch"]["total_us_source"], rows["epoch"]["total_us_target"]) == (1.0, 0.7)
    assert rows["epoch > write"]["total_us_diff"] == pytest.approx(0.1)
    assert rows["epoch > write"]["count_source"] == 0
    assert rows[f"epoch > {RUN_LABEL}"]["total_us_diff"] == pytest.approx(-0.2)


def test_a_target_that_is_not_there_is_named(library: Library) -> None:
    a, _ = keys(library)
    _, head, _ = show(library, {"pathname": f"/t/{a}/timeline", "search": "?vs=gone"}, "light")
    assert "The given folders have no trace 'gone' to compare with." in text_of(head)
    content = tab_content(open_context(library, "trace", a, {"vs": "gone"}, "light"), "difference")
    assert "no trace 'gone'" in text_of(content)
    content = tab_content(ViewContext(a, library.trace(a)), "difference")
    assert "menu Files" in text_of(content)


def test_the_exported_page_tells_files_apart(library: Library) -> None:
    a, b = keys(library)
    page = export_trace(library.trace(f"{a}+{b}@first"), {}).decode()
    assert "1: thread 0" in page
    assert "2: thread 0" in page
    assert "Moved of file 2" in page
    hidden = export_trace(library.trace(f"{a}+{b}@first"), {}, confidential=True).decode()
    assert "b.pvti" not in hidden
    assert "epoch" not in hidden


def test_view_prints_the_address_of_traces_named_together(library: Library) -> None:
    a, b = keys(library)
    paths = [library.entry(key).path for key in (a, b)]
    out = io.StringIO()
    print_addresses(Library(paths), "http://localhost:1/?token=t", out)
    assert f"http://localhost:1/t/{a}+{b}/timeline?token=t" in out.getvalue()
    assert f"http://localhost:1/t/{a}/timeline?tl_tab=difference&vs={b}&token=t" in out.getvalue()
    out = io.StringIO()
    print_addresses(Library([paths[0].parent]), "http://localhost:1/", out)
    assert out.getvalue() == ""
