"""The routes of the SQL page without a browser: rows, places, files, and requests that are refused."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from popvision.package_data import package_folder
from webapp.base.library import Library
from webapp.shell.app import create_app

HEADER = {"X-Popvision": "sql"}


@pytest.fixture(scope="module")
def client() -> Any:
    library = Library([package_folder("sample_reports") / "train_mlp"])
    made = create_app(library).server.test_client()
    made.key = next(each.key for each in library.entries() if not each.is_sample and each.kind == "report")
    return made


def post(client: Any, action: str, sql: str, headers: dict[str, str] = HEADER) -> Any:
    return client.post(f"/data/{client.key}/sql/{action}?id=test", data=sql, headers=headers)


def test_rows_come_with_the_places_of_their_ids(client: Any) -> None:
    sql = (
        "select program, compute_set, debug_id from program_list where compute_set >= 0 and debug_id >= 0 "
        "order by program limit 3"
    )
    answer = post(client, "run", sql).json
    assert answer["columns"] == ["program", "compute_set", "debug_id"]
    assert not answer["more"]
    for program, compute_set, debug_id in answer["rows"]:
        assert answer["places"]["compute_set"][str(compute_set)] == program
        file, line = answer["places"]["debug_id"][str(debug_id)]
        assert file.endswith(".py")
        assert line > 0


def test_more_rows_are_saved_than_shown(client: Any) -> None:
    sql = "with recursive t(n) as (select 1 union all select n + 1 from t limit 1500) select n, '=cmd|x' as a from t"
    shown = post(client, "run", sql).json
    assert (len(shown["rows"]), shown["more"]) == (1000, True)
    rows = list(csv.reader(io.StringIO(post(client, "export.csv", sql).text)))
    assert rows[0] == ["n", "a"]
    assert rows[1500] == ["1500", "'=cmd|x"]  # no spreadsheet runs it
    assert post(client, "export.json", sql).json[-1] == {"n": 1500, "a": "=cmd|x"}


def test_problems_are_answers(client: Any) -> None:
    answer = post(client, "run", "drop table steps")
    assert answer.mimetype == "application/problem+json"
    assert answer.json == {"problem": "Queries only read: 'drop' is not SELECT, WITH, VALUES or EXPLAIN."}
    assert post(client, "run", "").json["problem"].startswith("The query is empty")
    assert post(client, "export.csv", "select nothing").json["problem"].startswith("The query cannot be run")


@pytest.mark.parametrize("action", ["run", "export.csv", "export.json", "cancel"])
def test_other_sites_cannot_ask(client: Any, action: str) -> None:
    assert post(client, action, "select 1", {}).status_code == 403
    assert post(client, action, "select 1", HEADER | {"Origin": "http://evil.example"}).status_code == 403
    assert post(client, action, "select 1", HEADER | {"Host": "evil.example"}).status_code == 403
    assert client.get(f"/data/{client.key}/sql/{action}", headers=HEADER).status_code == 404
    assert client.post(f"/data/nothing/sql/{action}", data="select 1", headers=HEADER).status_code in (204, 404)
