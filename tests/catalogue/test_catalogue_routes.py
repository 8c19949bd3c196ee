"""Routes of the catalogue: rows and points of a folder of reports, conditions, exports, bad queries."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from popvision.analysis.report.source import ReportSource
from popvision.package_data import package_folder
from tests.waiting import wait_until
from webapp.base.library import Library
from webapp.shell.app import create_app

NAMES = ("matmul_chain", "matmul_chain_hardware", "out_of_memory")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("many")
    for name in NAMES:
        shutil.copytree(package_folder("sample_reports") / name, root / name)
    return root


@pytest.fixture(scope="module")
def client(folder: Path) -> FlaskClient:
    client = create_app(Library([folder])).server.test_client()

    def is_read() -> bool:
        answer = client.get("/data/catalogue/rows").json
        return answer is not None and answer["rows"] and not answer["state"]["is_reading"]

    wait_until(is_read, "the catalogue is read")
    return client


def rows(client: FlaskClient, **query: Any) -> dict[str, Any]:
    answer = client.get("/data/catalogue/rows", query_string=query)
    assert answer.status_code == 200, answer.text
    return dict(answer.json)


def test_rows_are_the_reports_with_their_figures(client: FlaskClient, folder: Path) -> None:
    answer = rows(client)
    assert [row["report"] for row in answer["rows"]] == list(NAMES)
    assert (answer["total"], answer["pages"], answer["state"]["problem"]) == (3, 1, "")
    at = [column["name"] for column in answer["columns"]].index("cycles")
    cycles = {row["report"]: row["cells"][at] for row in answer["rows"]}
    for name in NAMES[:2]:
        assert cycles[name] == int(ReportSource(folder / name).reader.runs().cycles.sum())
    assert cycles["out_of_memory"] is None
    keys = {row["key"] for row in answer["rows"]}
    assert keys == {entry.key for entry in Library([folder]).entries() if not entry.is_sample}


def test_a_condition_and_an_order(client: FlaskClient) -> None:
    answer = rows(client, where="cycles > 0", sort="cycles", down="1")
    at = [column["name"] for column in answer["columns"]].index("cycles")
    cycles = [row["cells"][at] for row in answer["rows"]]
    assert (len(cycles), cycles) == (2, sorted(cycles, reverse=True))


def test_points_of_two_figures(client: FlaskClient, folder: Path) -> None:
    points = client.get("/data/catalogue/points?x=cycles&y=peak_used").json
    assert points is not None
    assert (points["total"], points["missing"], sum(points["count"])) == (3, 1, 2)
    assert points["report"] == list(NAMES[:2])
    assert points["x"]["title"] == "Total device cycles"
    assert points["x"]["values"] == [int(ReportSource(folder / name).reader.runs().cycles.sum()) for name in NAMES[:2]]


def test_what_does_not_fit_is_marked(client: FlaskClient) -> None:
    """The program that does not fit has a memory, and no cycles: it lies at the foot, with its report."""
    points = client.get("/data/catalogue/points?x=peak&y=cycles").json
    assert points is not None
    assert points["fits"] == [True, True]
    assert [(each["report"], each["key"].startswith("out-of-memory-")) for each in points["outside"]] == [
        ("out_of_memory", True)
    ]
    memory = client.get("/data/catalogue/points?x=tiles_over&y=peak").json
    assert memory is not None
    assert dict(zip(memory["report"], memory["fits"], strict=True)) == dict(
        zip(NAMES, (True, True, False), strict=True)
    )


def test_exports_hold_all_rows(client: FlaskClient) -> None:
    text = client.get("/data/catalogue/table.csv?where=cycles>0").text
    assert text.splitlines()[0].startswith("report,state,")
    assert len(text.splitlines()) == 3
    exported = client.get("/data/catalogue/table.json").json
    assert exported is not None
    assert [row["report"] for row in exported] == list(NAMES)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("rows?where=cycles+>", "the condition 'cycles >' cannot be used"),
        ("rows?where=1=1);drop+table+rows;select+(1", "is more than one statement"),
        ("rows?where=cycles+>+(select+count(*)+from+read_csv('/etc/passwd'))", "cannot be used"),
        ("rows?sort=speed", "the catalogue has no column 'speed' to sort by"),
        ("rows?folder=7", "folder='7' is not a whole number from 0 to 0"),
        ("points?x=report", "the catalogue has no figure 'report'"),
        ("rows?where=" + "1" * 2_001, "a condition has at most 2,000 letters, not 2,001"),
    ],
)
def test_a_wrong_query_is_one_sentence(query: str, sentence: str, client: FlaskClient) -> None:
    answer = client.get(f"/data/catalogue/{query}")
    assert answer.status_code == 400
    assert sentence in answer.text
    assert len(answer.text.splitlines()) == 1


def test_a_condition_without_an_end_is_given_up(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webapp.catalogue.routes.MOST_SECONDS", 0.3)
    endless = "(select count(*) from range(1000000) a, range(1000000) b where a.range + b.range = cycles) > 0"
    answer = client.get("/data/catalogue/rows", query_string={"where": endless})
    assert answer.status_code == 400
    assert "takes more than 0.3 s; ask for less." in answer.text


def test_without_duckdb_the_page_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    client = create_app(Library([folder])).server.test_client()

    def problem() -> str:
        answer = client.get("/data/catalogue/rows")
        return str(answer.json["state"]["problem"]) if answer.status_code == 200 and answer.json else answer.text

    assert wait_until(problem) == "Catalogues need DuckDB: pip install 'popvision[sql]'."


def test_without_a_folder_there_is_no_catalogue() -> None:
    answer = create_app(Library()).server.test_client().get("/data/catalogue/rows")
    assert (answer.status_code, answer.text) == (
        400,
        "The viewer was given no folder: open one with popvision view FOLDER.",
    )


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("answer", "no report here is a point of a sweep"),
        ("table.csv?across=axis.tiles", "no report here is a point of a sweep"),
        ("answer?folder=7", "folder='7' is not a whole number from 0 to 0"),
    ],
)
def test_a_what_if_without_a_sweep_is_one_sentence(query: str, sentence: str, client: FlaskClient) -> None:
    answer = client.get(f"/data/what-if/{query}")
    assert answer.status_code == 400
    assert sentence in answer.text
    assert len(answer.text.splitlines()) == 1
