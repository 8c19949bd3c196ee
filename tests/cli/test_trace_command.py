"""`popvision trace`: its text, its JSON, its files and its sentences."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.analysis.trace.trace_case import make_trace
from tests.cli.called import popvision

SPANS = [(0, 0, 100_000, "a/step"), (0, 10_000, 40_000, "b/load"), (0, 50_000, 60_000, "b/load")]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "t.pvti"
    make_trace(path, SPANS, [(0, 70_000, "a/mark")])
    return path


def test_statistics_count_total_and_self_time(trace: Path) -> None:
    rows = json.loads(popvision("trace", "stats", trace, "--json").stdout)["rows"]
    assert [(row["label"], row["count"], row["total_us"], row["self_us"]) for row in rows] == [
        ("step", 1, 100.0, 60.0),
        ("load", 2, 40.0, 40.0),
    ]
    assert rows[1] | {"p50_us": 10.0, "p99_us": 30.0, "min_us": 10.0, "max_us": 30.0} == rows[1]


def test_a_window_counts_the_parts_of_events_inside_it(trace: Path) -> None:
    rows = json.loads(popvision("trace", "stats", trace, "--json", "--begin", 45, "--end", 55, "--by", "count").stdout)
    assert {row["label"]: row["total_us"] for row in rows["rows"]} == {"step": 10.0, "load": 5.0}


def test_text_names_the_columns(trace: Path) -> None:
    out = popvision("trace", "stats", trace.parent).stdout
    assert "self us" in out
    assert "Rows 1 to 2 of 2." in out
    info = popvision("trace", "info", trace).stdout
    assert "thread 0" in info
    assert "duration_us" in info


def test_info_as_json(trace: Path) -> None:
    facts = json.loads(popvision("trace", "info", trace, "--json").stdout)
    assert (facts["duration_us"], facts["begin_ns"]) == (100.0, 0)
    assert facts["threads"][0] | {"tid": 100, "events": 3, "instants": 1, "depth": 2} == facts["threads"][0]
    assert [each["name"] for each in facts["channels"]] == ["a", "b"]


@pytest.mark.parametrize("format_", ["csv", "json", "chrome", "speedscope"])
def test_export_writes_the_file_or_stdout(trace: Path, format_: str) -> None:
    out = trace.with_suffix(".out")
    done = popvision("trace", "export", trace, "--format", format_, "-o", out)
    assert (done.returncode, done.stderr) == (0, f"Wrote {out}\n")
    text = popvision("trace", "export", trace, "--format", format_).stdout
    assert out.read_text() == text
    if format_ == "csv":
        rows = list(csv.DictReader(io.StringIO(text.partition("\n")[2])))
        assert [(row["label"], row["duration_ns"]) for row in rows if row["kind"] == "span"] == [
            ("step", "100000"),
            ("load", "30000"),
            ("load", "10000"),
        ]
    else:
        json.loads(text)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("stats", "t.pvti", "--by", "label"), "there is no column 'label' to sort by"),
        (("stats", "t.pvti", "--begin", "5", "--end", "5"), "is empty"),
        (("info", "nothing.pvti"), "nothing.pvti"),
        (
            ("stats", "two"),
            "two holds 2 host traces (a.pvti, b.pvti), which do not say that one run wrote them; name the files",
        ),
        (
            ("diff", "two", "two"),
            "two holds 2 host traces (a.pvti, b.pvti); name one .pvti; `popvision view FILE FILE` shows several",
        ),
        (("info", "nobody"), "nobody holds no host trace; name a .pvti"),
        (("stats", "t.pvti", "two/../t.pvti"), "t.pvti is named twice; name each trace once"),
        (("stats", "t.pvti", "two/a.pvti", "--align", "event"), "only when its label is given"),
        (("export", "t.pvti", "nothing.pvti", "--format", "csv"), "nothing.pvti"),
        (("export", "t.pvti", "--format", "csv", "-o", "no/folder/x.csv"), "cannot write no/folder/x.csv"),
    ],
)
def test_bad_input_is_one_sentence(trace: Path, arguments: tuple[str, ...], sentence: str) -> None:
    (trace.parent / "two").mkdir()
    (trace.parent / "nobody").mkdir()
    for name in ("a.pvti", "b.pvti"):
        (trace.parent / "two" / name).write_bytes(trace.read_bytes())
    done = popvision("trace", *arguments, cwd=trace.parent)
    assert done.returncode == 1
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


def test_what_damage_has_cost_is_said(trace: Path) -> None:
    with sqlite3.connect(trace) as db:
        db.execute("UPDATE slices SET site = zeroblob(length(site)) WHERE depth = 1")
    done = popvision("trace", "stats", trace, "--json")
    assert done.returncode == 0
    assert done.stderr.startswith(f"popvision: {trace} is damaged; lost: Thread 1 is left out from the first damage on")
    assert len(json.loads(done.stdout)["rows"]) >= 1
    (lost,) = json.loads(popvision("trace", "info", trace, "--json").stdout)["lost"]
    assert lost["first"].startswith("Thread 1 is left out")
    assert (lost["kind"], lost["count"]) == ("events", 1)
    assert "Lost: Thread 1 is left out" in " ".join(popvision("trace", "info", trace).stdout.split())


def test_alignment_of_two_traces(trace: Path) -> None:
    other = trace.with_name("other.pvti")
    shutil.copy(trace, other)
    answer = json.loads(popvision("trace", "align", trace, other, "--by", "first", "--json").stdout)
    assert [row["begin_us"] for row in answer["traces"]] == [0.0, 0.0]
    text = popvision("trace", "align", trace, other, "--by", "event", "--label", "nowhere").stdout
    assert "other.pvti has no event 'nowhere'; it is aligned by its first event." in text.replace("\n", " ")
    done = popvision("trace", "align", trace, "--by", "event")
    assert (done.returncode != 0, "only when its label is given" in done.stderr) == (True, True)


def test_the_difference_of_two_traces_by_call_path(trace: Path, tmp_path: Path) -> None:
    other = tmp_path / "u.pvti"
    make_trace(other, [(0, 0, 130_000, "a/step"), (1, 0, 5000, "a/=save")])
    answer = json.loads(popvision("trace", "diff", trace, other, "--json").stdout)
    rows = {row["path"]: row for row in answer["rows"]}
    assert list(rows) == ["step > load", "step", "=save"]  # 40, 30 and 5 us
    assert [row["total_us_diff"] for row in rows.values()] == [-40.0, 30.0, 5.0]
    assert (rows["step > load"]["count_source"], rows["step > load"]["count_target"]) == (2, 0)
    assert rows["step"]["self_us_diff"] == 70.0
    by_self = json.loads(popvision("trace", "diff", trace, other, "--json", "--by", "self_us", "--limit", 1).stdout)
    assert [row["path"] for row in by_self["rows"]] == ["step"]
    text = popvision("trace", "diff", trace, other).stdout
    assert "Rows 1 to 3 of 3." in text
    assert "by total_us" in text
    lines = popvision("trace", "diff", trace, other, "--csv").stdout.splitlines()
    table = list(csv.DictReader(lines[1:]))
    assert [float(row["total_us_diff"]) for row in table] == [-40.0, 30.0, 5.0]
    assert table[2]["path"] == "'=save"  # a formula elsewhere
    assert popvision("trace", "diff", trace, other, "--csv", "--json").returncode == 2
    named = json.loads(popvision("trace", "diff", trace, other, "--json", "--name", "LOAD").stdout)
    assert [row["path"] for row in named["rows"]] == ["step > load"]
