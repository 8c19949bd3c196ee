"""What a trace of another tool lost or left out is said by every command, in JSON, in the list and on the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popvision.analysis.summary.report_list import NOT_READ, ReportPath, describe
from popvision.analysis.trace.joint import join_traces
from popvision.analysis.trace.source import TraceSource
from tests.cli.called import popvision
from webapp.base.library import Library
from webapp.shell import pages

SPAN = {"ph": "X", "pid": 1, "tid": 1, "ts": 0, "dur": 10, "name": "a"}
LOST_END = {"ph": "E", "pid": 1, "tid": 1, "ts": 5, "name": "z"}
OBJECT = {"ph": "N", "pid": 1, "tid": 1, "ts": 5, "name": "o", "id": 1}

SOUND, CUT = json.dumps([SPAN]), '{"traceEvents": [' + json.dumps(SPAN)

#: Content of a file -> what is said of it.
LOSSES = {
    json.dumps([SPAN, LOST_END]): "is damaged; lost: Left out: ends without a begin: 1.",
    json.dumps([SPAN, OBJECT, OBJECT]): "is read in part; lost: Not read: objects: 2.",
    CUT: "it ends within the list of events.",
    json.dumps([SPAN, OBJECT, LOST_END]): "ends without a begin: 1; and 1 more (popvision trace info lists them).",
}

COMMANDS = [
    ("info", "FILE"),
    ("info", "FILE", "--json"),
    ("stats", "FILE"),
    ("stats", "FILE", "--csv"),
    ("stats", "FILE", "--json"),
    ("export", "FILE", "--format", "chrome"),
    ("diff", "FILE", "sound.json"),
    ("diff", "sound.json", "FILE", "--json"),
    ("align", "FILE", "sound.json", "--json"),
    ("import", "FILE", "-o", "new.pvti"),
]


@pytest.mark.parametrize("content", LOSSES)
def test_every_command_says_what_is_lost(tmp_path: Path, content: str) -> None:
    (tmp_path / "lossy.json").write_text(content)
    (tmp_path / "sound.json").write_text(SOUND)
    for command in COMMANDS:
        for name, strict in (("lossy", ()), ("lossy", ("--strict",)), ("sound", ("--strict",))):
            if name == "sound" and "sound.json" in command:
                continue
            words = [f"{name}.json" if word == "FILE" else word for word in command]
            (tmp_path / "new.pvti").unlink(missing_ok=True)
            done = popvision("trace", *words, *strict, cwd=tmp_path)
            lines = [line for line in done.stderr.splitlines() if not line.startswith("Wrote ")]
            assert done.returncode == (1 if strict and name == "lossy" else 0), command
            assert len(lines) == (name == "lossy"), (command, lines)
            assert all(LOSSES[content] in line for line in lines), (command, lines)
            if "--json" in command:
                answer = json.loads(done.stdout)
                assert answer["verified"] == "no"  # another tool's trace has no checksums
                assert bool(answer["lost"]) == (name == "lossy")


def test_the_html_file_says_what_is_lost(tmp_path: Path) -> None:
    for content, sentence in (
        (CUT, "This trace is damaged. What could be read is shown."),
        (json.dumps([SPAN, OBJECT]), "This trace is read in part. What could be read is shown."),
    ):
        (tmp_path / "lossy.json").write_text(content)
        done = popvision("html", "lossy.json", "-o", "page.html", cwd=tmp_path)
        assert done.stderr.count("\n") == 1
        assert sentence in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("content", "state", "problem"),
    [
        (SOUND, "complete", ""),
        (CUT, "damaged", "it ends within the list of events"),
        (json.dumps([SPAN, LOST_END]), "damaged", "Is damaged. Left out: ends without a begin: 1."),
        (json.dumps([SPAN, OBJECT]), "complete", "Is read in part. Not read: objects: 1."),
        (SOUND[:-1], "recording or killed", ""),
        (json.dumps([SPAN | {"ts": 10**18}]), "damaged", "look like nanoseconds"),
    ],
)
def test_the_list_says_which_traces_are_damaged(tmp_path: Path, content: str, state: str, problem: str) -> None:
    (tmp_path / "t.json").write_text(content)
    card = describe(ReportPath("trace", tmp_path / "t.json"))
    assert card.state == state
    assert problem in card.problem
    assert bool(problem) == bool(card.problem)


def test_a_large_trace_is_described_once_it_is_open(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(CUT + " " * (1 << 20))
    library = Library([tmp_path])
    entry = next(each for each in library.entries() if not each.is_sample)
    assert library.card(entry).state == NOT_READ
    library.trace(entry.key)
    assert library.card(entry).state == "damaged"
    assert library.card(entry) is library.card(entry)


def test_the_page_has_a_banner(tmp_path: Path) -> None:
    (tmp_path / "lossy.json").write_text(json.dumps([SPAN, LOST_END]))
    library = Library([tmp_path])
    entry = next(each for each in library.entries() if not each.is_sample)
    shown = str(pages.show(library, {"pathname": f"/t/{entry.key}/timeline"}, "light")[2])
    assert "This trace is damaged." in shown
    assert "What could be read is shown. Lost: " in shown
    assert "Left out: ends without a begin: 1" in shown


def test_a_joint_trace_is_as_damaged_as_its_parts(tmp_path: Path) -> None:
    sources = []
    for name, content in (("a", SOUND), ("b", json.dumps([SPAN, OBJECT])), ("c", CUT)):
        (tmp_path / f"{name}.json").write_text(content)
        sources.append(TraceSource(tmp_path / f"{name}.json"))
    assert join_traces(sources[:1]).lost == []
    assert join_traces(sources[:2]).loss_state == "is read in part"
    assert join_traces(sources).loss_state == "is damaged"
