"""Figures of many reports in one file: what is read anew, what is listed, what a trend breaks."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from popvision.analysis.compare.metrics import measure
from popvision.analysis.report.source import ReportSource
from popvision.catalogue import FILE_NAME, refresh, report_row, select_reports
from popvision.catalogue.selection import select_page
from popvision.formats.errors import FormatError
from tests.cli.called import popvision
from tests.reports import write_tiny
from tests.samples import SAMPLES

PROGRAMS = [SAMPLES / "matmul_chain", SAMPLES / "out_of_memory"]


def point(folder: Path, commit: str = "", time: int = 0, /, **axes: Any) -> None:
    """Beside a report: what a sweep writes."""
    document = {"digest": folder.name, "commit": commit, "commit_time": time, "axes": axes, "error": ""}
    (folder / "point.json").write_text(json.dumps(document))


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """Two sample programs and a tiny report."""
    root = tmp_path / "reports"
    for name in PROGRAMS:
        shutil.copytree(name, root / name.name)
    write_tiny(root / "tiny")
    return root


def test_rows_are_the_metrics_of_each_report(reports: Path) -> None:
    done = refresh(reports)
    assert (done.reports, done.read, done.removed) == (3, 3, 0)
    frame = select_reports(reports).set_index("report")
    assert set(frame.index) == {path.name for path in reports.iterdir() if path.is_dir()}
    for name, row in frame.iterrows():
        for metric, value in measure(ReportSource(reports / str(name))).items():
            assert row[metric] == value or (value is None and row[metric] != row[metric]), (name, metric)


def test_duckdb_reads_the_file(reports: Path) -> None:
    refresh(reports)
    rows = duckdb.sql(f"SELECT report, cycles FROM '{reports / FILE_NAME}' WHERE report = 'tiny'").fetchall()
    assert rows == [("tiny", 43.0)]


def test_only_what_changed_is_read_again(reports: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refresh(reports)
    read: list[str] = []
    real = report_row.read_row

    def noted(root: Path, folder: Path) -> dict[str, Any]:
        read.append(folder.name)
        return real(root, folder)

    monkeypatch.setattr("popvision.catalogue.places.read_row", noted)
    assert refresh(reports).read == 0
    point(reports / "tiny", tiles=4)
    shutil.copytree(reports / "tiny", reports / "copy")
    shutil.rmtree(reports / PROGRAMS[0].name)
    done = refresh(reports)
    assert (done.reports, done.read, done.removed) == (3, 2, 1)
    assert sorted(read) == ["copy", "tiny"]
    frame = select_reports(reports, where='"axis.tiles" = 4')
    assert list(frame["report"]) == ["copy", "tiny"]
    (reports / FILE_NAME).unlink()
    assert refresh(reports).read == 3


def test_a_damaged_file_of_the_catalogue_is_made_again(reports: Path) -> None:
    (reports / FILE_NAME).write_bytes(b"PAR1 no more")
    with pytest.raises(FormatError, match=r"cannot be read \(.*\); delete it and make it again"):
        select_reports(reports)
    refresh(reports)
    assert len(select_reports(reports)) == 3


def test_damaged_reports_are_rows_with_a_sentence(reports: Path) -> None:
    (reports / "tiny/profile.pop").write_bytes(b"not a report")
    refresh(reports)
    (row,) = select_reports(reports, where="state = 'damaged'").to_dict("records")
    assert row["report"] == "tiny"
    assert row["problem"]
    assert row["cycles"] != row["cycles"]


def test_a_report_that_changes_while_it_is_read_is_read_again(reports: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = report_row.measure

    def changing(source: ReportSource) -> Any:
        values = real(source)
        if source.reader.path.parent.name == "tiny":
            os.utime(source.reader.path, ns=(1, 1))
        return values

    monkeypatch.setattr(report_row, "measure", changing)
    refresh(reports)
    (row,) = select_reports(reports, where="report = 'tiny'").to_dict("records")
    assert (row["state"], row["cycles"] != row["cycles"]) == ("changing", True)
    monkeypatch.setattr(report_row, "measure", real)
    assert refresh(reports).read == 1
    assert list(select_reports(reports, where="report = 'tiny'")["cycles"]) == [43]


def test_the_command_filters_and_sorts(reports: Path) -> None:
    rows = json.loads(popvision("catalogue", reports, "--sort", "cycles", "--descending", "--json").stdout)
    cycles = [row["cycles"] for row in rows if row["cycles"] is not None]
    assert cycles == sorted(cycles, reverse=True)
    assert [row["cycles"] for row in rows][: len(cycles)] == cycles  # missing ones come last
    text = popvision("catalogue", reports, "--where", "cycles < 100", "--columns", "report,cycles").stdout
    assert text.splitlines()[-2:] == ["tiny        43", "1 of 1 reports."]
    assert popvision("catalogue", reports, "--limit", 2).stdout.splitlines()[-1] == "2 of 3 reports."
    table = list(csv.DictReader(io.StringIO(popvision("catalogue", reports, "--csv", "--columns", "all").stdout)))
    assert [row["report"] for row in table] == sorted(row["report"] for row in table)
    assert [float(row["cycles"]) for row in table if row["report"] == "tiny"] == [43]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--sort", "cycle"], "the catalogue has no column 'cycle' to sort by; columns are report, "),
        (["--columns", "report,x"], "the catalogue has no column 'x'; columns are report, "),
        (
            ["--where", "cycle >"],
            "the condition 'cycle >' cannot be used on .popvision-catalogue.parquet: Parser Error",
        ),
        (["--where", "1 = 1); SELECT (2"], "is more than one statement."),
        (["--where", "report IN (SELECT * FROM read_csv('/etc/passwd'))"], "cannot be used"),
    ],
)
def test_bad_questions_get_one_sentence(reports: Path, words: list[str], sentence: str) -> None:
    done = popvision("catalogue", reports, *words)
    assert done.returncode == 1
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_folder_without_reports_or_catalogue(tmp_path: Path) -> None:
    assert "holds no report" in popvision("catalogue", tmp_path).stderr
    done = popvision("catalogue", tmp_path, "--no-refresh")
    assert done.stderr == (f"popvision: {tmp_path} has no catalogue: make it with popvision catalogue {tmp_path}.\n")


def test_duckdb_that_is_missing_is_named(reports: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    done = popvision("catalogue", reports)
    assert done.stderr == "popvision: Catalogues need DuckDB: pip install 'popvision[sql]'.\n"


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """Three commits of two programs: 43 cycles but for the last commit of the second, which is another program."""
    root = tmp_path / "history"
    for program in ("a", "b"):
        for number, commit in enumerate(("cc", "aa", "bb")):
            folder = root / f"{program}{commit}"
            if (program, commit) == ("b", "bb"):
                shutil.copytree(PROGRAMS[0], folder)
            else:
                write_tiny(folder)
            point(folder, commit * 20, 1000 + number, commit=commit, program=program, n=256)
    return root


def test_a_trend_follows_the_commits_and_breaks_limits(history: Path) -> None:
    done = popvision("trend", history, "--fail-on", "cycles>+2%", "--json")
    assert done.returncode == 3
    a, b = json.loads(done.stdout)
    assert (a["series"], b["series"]) == ({"n": 256, "program": "a"}, {"n": 256, "program": "b"})
    assert a["reports"] == ["acc", "aaa", "abb"]
    assert a["values"] == [43, 43, 43]
    assert [each["limits"][0]["broken"] for each in (a, b)] == [False, True]
    assert (b["compared_with"], b["values"][:2]) == ("baa", [43, 43])
    text = popvision("trend", history, "--fail-on", "cycles>+2%").stdout
    assert text.startswith("n = 256, program = a\n")
    assert text.count("BROKEN") == 1
    assert popvision("trend", history, "--fail-on", "cycles>+2%", "--where", "\"axis.program\" = 'a'").returncode == 0
    first = json.loads(popvision("trend", history, "--against", "first", "--json").stdout)
    assert [each["compared_with"] for each in first] == ["acc", "bcc"]


def test_a_condition_of_one_long_call_is_killed(reports: Path) -> None:
    """DuckDB does not interrupt one call; the process that it runs in ends, with what it had filled."""
    refresh(reports)
    for where in ("length(repeat(repeat('x', 1000000), 100000)) > 0", "1 = 1) UNION ALL SELECT ('x'"):
        with pytest.raises(FormatError, match=r"the condition .* cannot be used"):
            select_page(reports, where=where, most_seconds=0.3)
    assert len(select_page(reports, where="1 = 1", most_seconds=30.0)[0]) == len(select_reports(reports))


def test_a_trend_needs_two_reports_and_known_names(history: Path, tmp_path: Path) -> None:
    write_tiny(tmp_path / "one/report")
    assert "holds no two reports that differ only in their commit" in popvision("trend", tmp_path / "one").stderr
    assert "there is no metric 'cycle'" in popvision("trend", history, "--metric", "cycle").stderr
    assert popvision("trend", history, "--fail-on", "cycles").returncode == 2
