"""`popvision trace info|stats|export` of several files: each counted alone and all together, on one clock."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.trace.trace_case import Span, make_trace
from tests.cli.called import popvision
from tests.pvti.rewriting import set_meta

#: 2004 in ns, so that the clocks count from 1970
DAY = 1_100_000_000_000_000_000

#: Two ranks: the second begins 50 us later on its own host, with the same process and thread numbers.
RANKS: dict[str, list[Span]] = {
    "rank0.pvti": [(0, DAY, DAY + 100_000, "a/step"), (0, DAY + 10_000, DAY + 40_000, "b/load")],
    "rank1.pvti": [
        (0, DAY + 50_000, DAY + 130_000, "a/step"),
        (0, DAY + 60_000, DAY + 70_000, "b/load"),
        (0, DAY + 80_000, DAY + 85_000, "b/save"),
    ],
}


@pytest.fixture
def ranks(tmp_path: Path) -> Path:
    for name, spans in RANKS.items():
        make_trace(tmp_path / name, spans)
        set_meta(tmp_path / name, "run_id", "one run")
    return tmp_path


def answer_of(folder: Path, *arguments: object) -> Any:
    done = popvision("trace", *arguments, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def by_file(rows: list[dict[str, Any]], key: str) -> dict[tuple[str, str], Any]:
    return {(row["label"], row["file"]): row[key] for row in rows}


def test_statistics_have_a_row_for_all_files_and_one_for_each(ranks: Path) -> None:
    answer = answer_of(ranks, "stats", "rank0.pvti", "rank1.pvti", "--by", "total_us")
    assert [(row["label"], row["file"], row["count"], row["total_us"], row["self_us"]) for row in answer["rows"]] == [
        ("step", "(all files)", 2, 180.0, 135.0),
        ("step", "rank0.pvti", 1, 100.0, 70.0),
        ("step", "rank1.pvti", 1, 80.0, 65.0),
        ("load", "(all files)", 2, 40.0, 40.0),
        ("load", "rank0.pvti", 1, 30.0, 30.0),
        ("load", "rank1.pvti", 1, 10.0, 10.0),
        ("save", "(all files)", 1, 5.0, 5.0),
        ("save", "rank1.pvti", 1, 5.0, 5.0),
    ]
    assert (answer["duration_us"], answer["align"], answer["total"]) == (130.0, "absolute", 3)
    assert [(file["path"], file["begin_us"]) for file in answer["files"]] == [("rank0.pvti", 0.0), ("rank1.pvti", 50.0)]


def test_a_page_counts_labels_each_with_all_its_files(ranks: Path) -> None:
    def page(*options: object) -> tuple[list[tuple[str, str]], object, object]:
        answer = answer_of(ranks, "stats", ".", "--by", "total_us", *options)
        return [(row["label"], row["file"]) for row in answer["rows"]], answer["next_offset"], answer["total"]

    first, second = ("(all files)", "rank0.pvti", "rank1.pvti"), ("(all files)", "rank1.pvti")
    assert page("--limit", 1) == ([("step", file) for file in first], 1, 3)
    assert page("--limit", 2, "--offset", 1) == (
        [*(("load", file) for file in first), *(("save", file) for file in second)],
        None,
        3,
    )
    assert page("--offset", 3) == ([], None, 3)
    text = popvision("trace", "stats", ".", "--limit", 1, cwd=ranks).stdout
    assert text.splitlines()[-1] == "Labels 1 to 1 of 3; --offset 1 shows the next labels."
    assert popvision("trace", "stats", "rank0.pvti", cwd=ranks).stdout.splitlines()[-1] == "Rows 1 to 2 of 2."


def test_a_folder_of_one_run_stands_for_its_files(ranks: Path) -> None:
    named = answer_of(ranks, "stats", "rank0.pvti", "rank1.pvti")
    folder = answer_of(ranks, "stats", ".")
    assert folder["rows"] == named["rows"]


@pytest.mark.parametrize(
    ("align", "totals"),
    [
        # 60 to 70 us on the clock of the first file
        ([], {"rank0.pvti": 10.0, "rank1.pvti": 10.0}),
        (["--align", "first"], {"rank0.pvti": 10.0, "rank1.pvti": 10.0}),
        # the first load of rank1 begins at 10, so its step ends at 80
        (["--align", "event", "--label", "load"], {"rank0.pvti": 10.0, "rank1.pvti": 10.0}),
    ],
)
def test_a_window_is_on_the_common_clock(ranks: Path, align: list[str], totals: dict[str, float]) -> None:
    answer = answer_of(ranks, "stats", "rank0.pvti", "rank1.pvti", "--begin", 60, "--end", 70, *align)
    steps = {file: total for (label, file), total in by_file(answer["rows"], "total_us").items() if label == "step"}
    assert steps == {"(all files)": sum(totals.values()), **totals}


def test_files_move_only_by_their_alignment(ranks: Path) -> None:
    early = ("stats", "rank0.pvti", "rank1.pvti", "--begin", 0, "--end", 20)
    absolute, first = answer_of(ranks, *early), answer_of(ranks, *early, "--align", "first")
    assert ("step", "rank1.pvti") not in by_file(absolute["rows"], "total_us")
    assert by_file(first["rows"], "total_us")["step", "rank1.pvti"] == 20.0
    assert first["files"][1]["shift_ns"] == -50_000


def test_csv_of_statistics_names_the_file(ranks: Path) -> None:
    out = popvision("trace", "stats", ".", "--csv", cwd=ranks).stdout
    rows = list(csv.DictReader(io.StringIO(out.partition("\n")[2])))
    assert Counter(row["file"] for row in rows) == {"(all files)": 3, "rank0.pvti": 2, "rank1.pvti": 3}
    alone = popvision("trace", "stats", "rank0.pvti", "--csv", cwd=ranks).stdout
    assert [row["file"] for row in csv.DictReader(io.StringIO(alone.partition("\n")[2]))] == ["rank0.pvti"] * 2


@pytest.mark.parametrize("format_", ["csv", "json"])
def test_exported_events_name_their_file_on_one_clock(ranks: Path, format_: str) -> None:
    done = popvision("trace", "export", ".", "--format", format_, "--align", "first", cwd=ranks)
    if format_ == "csv":
        rows = list(csv.DictReader(io.StringIO(done.stdout.partition("\n")[2])))
    else:
        document = json.loads(done.stdout)
        rows = [dict(zip(document["columns"], row, strict=True)) for row in document["rows"]]
    seen = Counter((row["file"], row["label"], int(row["begin_ns"]) - DAY, int(row["duration_ns"])) for row in rows)
    assert seen == Counter(
        (name, span[3].split("/")[1], span[1] - spans[0][1], span[2] - span[1])
        for name, spans in RANKS.items()
        for span in spans
    )


def test_chrome_events_of_two_files_have_processes_of_their_own(ranks: Path) -> None:
    document = json.loads(popvision("trace", "export", ".", "--format", "chrome", cwd=ranks).stdout)
    events = document["traceEvents"]
    names = {each["pid"]: each["args"]["name"] for each in events if each["name"] == "process_name"}
    assert sorted(names.values()) == ["rank0.pvti: p", "rank1.pvti: p"]
    steps = {names[each["pid"]]: (each["ts"], each["dur"]) for each in events if each["name"] == "step"}
    assert steps == {"rank0.pvti: p": (0.0, 100.0), "rank1.pvti: p": (50.0, 80.0)}


def test_speedscope_profiles_name_their_file(ranks: Path) -> None:
    document = json.loads(popvision("trace", "export", ".", "--format", "speedscope", cwd=ranks).stdout)
    names = [(each["name"], each["startValue"]) for each in document["profiles"]]
    assert names == [("rank0.pvti: thread 0", 0), ("rank1.pvti: thread 0", 50_000)]


def test_info_lists_what_files_hold_together_and_each_alone(ranks: Path) -> None:
    answer = answer_of(ranks, "info", ".")
    together = {key: answer[key] for key in ("duration_us", "events", "threads", "processes", "channels", "runs")}
    assert together == {
        "duration_us": 130.0,
        "events": 5,
        "threads": 2,
        "processes": 2,
        "channels": 2,
        "runs": 1,
    }
    assert [(each["begin_us"], each["threads"][0]["events"]) for each in answer["files"]] == [(0.0, 2), (50.0, 3)]
    text = popvision("trace", "info", ".", cwd=ranks).stdout
    assert "2 files, aligned by absolute" in text
    assert text.index("rank1.pvti") < text.index("Threads")


def test_an_alignment_that_fails_is_said(ranks: Path) -> None:
    event = ("--align", "event", "--label", "save")
    answer = answer_of(ranks, "stats", ".", *event)
    assert answer["notes"] == ["rank0.pvti has no event 'save'; it is aligned by its first event."]
    done = popvision("trace", "export", ".", "--format", "csv", *event, cwd=ranks)
    assert "rank0.pvti has no event 'save'" in done.stderr
    assert popvision("trace", "stats", ".", "--label", "save", cwd=ranks).returncode == 2
