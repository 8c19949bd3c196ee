"""Runs of a watched program: one that has ended before anybody looks has ended all the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from popvision.watch.limits import Limits
from popvision.watch.program_run import ProgramRuns
from tests.waiting import wait_until


def has_ended_and_said_so(warm: int) -> bool:
    """Whether the warm process waits for its next order, with no program below it."""
    children = Path(f"/proc/{warm}/task/{warm}/children").read_text()
    state = Path(f"/proc/{warm}/stat").read_text().rpartition(")")[2].split()[0]
    return not children and state == "S"


def test_a_program_that_ends_before_anybody_looks_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "program.py"
    program.write_text("print('done')\nraise SystemExit(3)\n", encoding="utf-8")
    order = ProgramRuns._order

    def order_and_wait(self: ProgramRuns, warm: Any, what: dict[str, Any]) -> None:
        order(self, warm, what)
        if "folder" in what:
            outcome = Path(what["folder"]) / "outcome.json"
            wait_until(lambda: outcome.exists() and has_ended_and_said_so(warm.pid), "the end of the program")

    monkeypatch.setattr(ProgramRuns, "_order", order_and_wait)
    runs = ProgramRuns(str(program), [], Limits(), {}, tmp_path / "scratch")
    looks: list[int] = []

    def is_cancelled() -> bool:
        looks.append(1)
        assert len(looks) < 20, "its end was read, and is waited for"
        return False

    try:
        ended = runs.run(tmp_path / "run", is_cancelled)
    finally:
        runs.close()
    assert ended is not None
    assert ended.output == "done\n"
    assert ended.problem is not None
    assert ended.problem.sentence == "SystemExit: exit code 3"
