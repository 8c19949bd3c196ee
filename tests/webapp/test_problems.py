"""Why a page shows nothing: the sentences of damage and of other errors, each worded in one place."""

from __future__ import annotations

from pathlib import Path

import pytest

from popvision.analysis.report.not_recorded import LostError, NotRecordedError
from webapp.base.problems import LOST, reason

_ROOT = Path(__file__).parents[2]

#: What is said where -> the files of the viewer and its analyses that may word it.
_HOMES = {
    "Loading …": {"webapp/components/message.py", "webapp/assets/shared/table.js"},
    "No run was recorded": {"popvision/analysis/memory/capacity.py", "webapp/graph_analyser/summary/headline.py"},
    "the file is damaged. The bar": {"webapp/base/problems.py"},
}


def test_damage_is_lost_and_other_problems_are_sentences() -> None:
    assert reason(LostError("/home/user/r/profile.pop: run 0 of 1 lost")) == LOST
    assert reason(NotRecordedError("no run was kept")) == "No run was kept."
    assert reason(ValueError("run 7 does not exist.")) == "Run 7 does not exist."


@pytest.mark.parametrize("text", _HOMES)
def test_a_state_is_worded_in_one_place(text: str) -> None:
    files = [
        path
        for folder, suffix in (("webapp", ".py"), ("webapp/assets", ".js"), ("popvision/analysis", ".py"))
        for path in (_ROOT / folder).rglob(f"*{suffix}")
    ]
    worded = {str(path.relative_to(_ROOT)) for path in files if text in path.read_text("utf-8")}
    assert worded == _HOMES[text]
