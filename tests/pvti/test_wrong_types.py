"""A wrong argument is refused in one sentence, the same with tracing on and off."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "wrong_types.py"

#: Public names that no wrong argument can reach: they take none, or are values.
TAKE_NONE = {
    "Metadata",
    "TraceChannel",
    "closeTrace",
    "getCurrentTraceFilename",
    "isRecording",
    "listTraceChannel",
    "runId",
    "traceDrivers",
    "traceFramework",
    "tracePoplar",
}


def answers(folder: Path, options: str) -> tuple[dict[str, str], set[str]]:
    environment = {name: text for name, text in os.environ.items() if name != "PVTI_OPTIONS"}
    environment |= {"PYTHONPATH": str(PROGRAM.parents[2])}
    environment |= {"PVTI_OPTIONS": options} if options else {}
    done = subprocess.run(
        [sys.executable, PROGRAM], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout), set(json.loads(done.stderr.splitlines()[-1]))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], dict[str, str]]:
    folder = tmp_path_factory.mktemp("wrong")
    on, others = answers(folder, '{"enable": "true", "directory": "."}')
    assert others <= TAKE_NONE
    assert len(list(folder.glob("*.pvti"))) == 1
    return on, answers(folder, "")[0]


def test_tracing_changes_no_answer(both: tuple[dict[str, str], dict[str, str]]) -> None:
    on, off = both
    assert {call: (said, off[call]) for call, said in on.items() if said != off[call]} == {}


def test_sentences_name_what_was_wrong(both: tuple[dict[str, str], dict[str, str]]) -> None:
    on, _ = both
    inside = ("has no attribute", "object is not", "argument must be", "unhashable", "argument 1", "expected")
    assert {call: said for call, said in on.items() if any(words in said for words in inside)} == {}
    assert on["Tracepoint 0 text"] == "TypeError: a channel must be made by createTraceChannel, not be of type str."
    assert on["Tracepoint 1 list"] == "TypeError: the label of an event must be a str, not list."
    assert on["Tracepoint 2 circle"] == ""
    assert on["instrument_fn 0 text"] == on["Tracepoint 0 text"]
    assert on["instrument 1 strings"] == "AttributeError: Traced has no method 'nope' to instrument."
    assert on["built-in 0"].startswith("TypeError: an object of type list cannot be instrumented")
    assert on["Series.add 0 None"] == "TypeError: a sample of series 's' must be a number, not of type NoneType."
    assert on["HeatmapDouble.add 0 mixed"] == "TypeError: heat map 'h' counts numbers, not a value of type NoneType."
    assert on["HeatmapInt.add 0 edges"].startswith("TypeError: a HeatmapInt counts whole numbers, not 0.0")
