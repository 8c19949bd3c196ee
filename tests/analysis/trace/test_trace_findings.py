"""What `popvision trace check` says of traces, and that nothing is left to say of what it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from popvision.analysis.trace.findings import Finding, _advice, trace_findings
from popvision.analysis.trace.source import TraceSource
from popvision.analysis.trace.statistics import label_statistics
from popvision.formats.errors import FormatError
from popvision.formats.foreign_traces import clock, recording
from tests.cli.called import popvision


def event(phase: str, time: float, name: str = "a", **more: Any) -> dict[str, Any]:
    return {"ph": phase, "ts": time, "name": name, "pid": 1, "tid": 1, **more}


def text(*events: dict[str, Any]) -> bytes:
    return json.dumps(list(events)).encode()


SOUND = text(event("X", 0, dur=9), event("X", 1, "b", dur=3))

#: Contents of a file -> kind, number and first words of all that there is to say.
CASES: dict[str, tuple[bytes, list[tuple[str, int, str]]]] = {
    "sound": (SOUND, []),
    "ends first": (
        text(event("E", 40), event("E", 30, "b"), event("B", 0), event("B", 10, "b")),
        [("repaired", 2, "ends that stand before")],
    ),
    "no end": (text(event("B", 0), event("X", 5, "b", dur=1)), [("repaired", 1, "spans without an end")]),
    "no begin": (text(event("X", 0, dur=1), event("E", 5)), [("lost", 1, "ends without a begin")]),
    "overlap": (
        text(event("X", 0, dur=10), event("X", 5, "b", dur=10)),
        [("repaired", 1, "spans that overlap")],
    ),
    "long label": (text(event("X", 0, "x" * 5000, dur=1)), [("repaired", 1, "labels of more than 4,096")]),
    "control character": (
        b'[{"ph": "X", "ts": 0, "dur": 1, "name": "a\nb"}, ' + SOUND[1:],
        [("lost", 1, "pieces that are no JSON")],
    ),
    "latin-1": (SOUND.replace(b'"b"', b'"\xe4"'), [("lost", 1, "characters of another encoding")]),
    "NaN": (
        text(event("X", 0, dur=1, args={"loss": float("nan"), "x": [float("inf")]})),
        [("repaired", 2, "numbers that")],
    ),
    "two documents": (SOUND + b"\n" + SOUND, [("repaired", 1, "further documents")]),
    "cut": (SOUND[:-20], [("lost", 1, "")]),
    "open": (SOUND[:-1], [("repaired", 1, "list of events without its end")]),
    "no duration": (text(event("X", 0), event("X", 1, dur="x"), event("X", 1, dur=-1)), [
        ("lost", 1, "spans without a duration"),
        ("lost", 1, "spans that end before they begin"),
    ]),
    "no time": (text(event("X", 0, dur=1), event("i", float("nan"))), [
        ("lost", 1, "events without a time"),
        ("repaired", 1, "numbers that"),
    ]),
    "a base": (
        b'{"baseTimeNanoseconds": 1000000000000000000, "traceEvents": '
        + text(event("X", 1.6e15, dur=1), event("X", 5, dur=1))
        + b"}",
        [("repaired", 1, "times that count from 1970")],
    ),
    "objects": (text(event("X", 0, dur=1), event("N", 1), event("O", 2)), [("not read", 2, "objects")]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_findings_and_repairs(tmp_path: Path, case: str) -> None:
    content, expected = CASES[case]
    path = tmp_path / "t.json"
    path.write_bytes(content)
    findings = trace_findings(path)
    found = [(finding.kind, finding.count, finding.what) for finding in findings]
    assert [(kind, count) for kind, count, _ in found] == [(kind, count) for kind, count, _ in expected]
    assert all(what.startswith(begin) for (*_, what), (*_, begin) in zip(found, expected, strict=True))
    assert all(finding.advice != "look at these events" for finding in findings)
    before = label_statistics(TraceSource(path))
    for name in ("fixed.json", "fixed.json.gz", "fixed.pvti"):
        done = popvision("trace", "check", path, "--fix", "-o", tmp_path / name)
        assert (done.returncode, done.stderr) == (0, f"Wrote {tmp_path / name}\n")
        overlaps = [finding for finding in findings if finding.what.startswith("spans that overlap")]
        assert trace_findings(tmp_path / name) == (overlaps if name == "fixed.pvti" else [])
        after = label_statistics(TraceSource(tmp_path / name))
        assert after[["label", "total_us", "self_us"]].equals(before[["label", "total_us", "self_us"]]) or overlaps


def test_there_is_advice_for_all_that_a_reader_counts() -> None:
    for texts in (recording, clock):
        counted = {name: text for name, text in vars(texts).items() if name.isupper() and isinstance(text, str)}
        assert len(counted) >= 4
        assert {name for name, text in counted.items() if _advice(text) == _advice("")} == set()


def test_what_an_import_lost_is_said_with_its_number(tmp_path: Path) -> None:
    events = [event("X", 0, dur=1), event("E", 5), event("E", 6), event("N", 1)]
    (tmp_path / "t.json").write_bytes(text(*events))
    popvision("trace", "import", tmp_path / "t.json", "-o", tmp_path / "t.pvti")
    findings = trace_findings(tmp_path / "t.pvti")
    assert [(finding.kind, finding.count) for finding in findings] == [("lost", 2), ("not read", 1)]
    assert {finding.advice for finding in findings} == {"look at the file that it was imported from"}


def test_the_command_says_it_in_words_and_json(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(CASES["no begin"][0])
    done = popvision("trace", "check", path)
    assert done.stdout == (
        f"{path}\nlost: 1 ends without a begin\n"
        "    producer: write a begin on the same thread, with the same name, for every end\n"
    )
    assert popvision("trace", "check", path, "--strict").returncode == 1
    answer = json.loads(popvision("trace", "check", path, "--json").stdout)
    assert [Finding(**finding) for finding in answer["findings"]] == trace_findings(path)
    path.write_bytes(SOUND)
    done = popvision("trace", "check", path, "--strict")
    assert (done.stdout, done.returncode) == (f"{path}: nothing to say.\n", 0)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--fix"], "--fix needs an --output"),
        (["-o", "x.json"], "--output is for --fix"),
        (["--fix", "-o", "x.csv"], "x.csv must end in .json, .json.gz or .pvti."),
        (["--fix", "-o", "t.json"], "t.json is the trace itself; give another --output."),
    ],
)
def test_other_outputs_are_refused(tmp_path: Path, words: list[str], sentence: str) -> None:
    (tmp_path / "t.json").write_bytes(SOUND)
    done = popvision("trace", "check", "t.json", *words, cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert sentence in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["t.json"]
    assert (tmp_path / "t.json").read_bytes() == SOUND


def test_a_pvti_is_checked_too(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_bytes(CASES["no end"][0])
    popvision("trace", "import", tmp_path / "t.json", "-o", tmp_path / "t.pvti")
    assert [finding.what[:20] for finding in trace_findings(tmp_path / "t.pvti")] == ["spans without an end"]
    assert popvision("trace", "check", tmp_path / "t.pvti", "--fix", "-o", tmp_path / "u.json").returncode == 0
    assert trace_findings(tmp_path / "u.json") == []
    (tmp_path / "x").write_text("text")
    with pytest.raises(FormatError, match="no trace of a known format"):
        trace_findings(tmp_path / "x")


def test_a_repaired_profile_is_sampled_still(tmp_path: Path) -> None:
    profile = {"type": "sampled", "name": "p", "unit": "none", "samples": [[0], [0]], "weights": [3, 4]}
    document = {"$schema": "https://www.speedscope.app/file-format-schema.json", "profiles": [profile]}
    (tmp_path / "t.json").write_text(json.dumps(document | {"shared": {"frames": [{"name": "f"}]}}))
    popvision("trace", "check", tmp_path / "t.json", "--fix", "-o", tmp_path / "u.json")
    source = TraceSource(tmp_path / "u.json")
    assert (source.samples, source.unit) == (2, "weight")
