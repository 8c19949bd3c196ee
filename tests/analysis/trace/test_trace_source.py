"""What a trace is called."""

from __future__ import annotations

import pytest

from popvision.analysis.trace.source import trace_label

DATE = "Tue_Nov_24_14:05:36_2026_UTC_28401.pvti"


@pytest.mark.parametrize(
    ("name", "command", "label"),
    [
        (DATE, "examples/train.py --fast", "train.py 14:05:36, process 28401"),
        (DATE.replace("UTC", "CET"), "train.py", "train.py 14:05:36, process 28401"),
        (DATE, "", DATE),
        (DATE, "-c", DATE),
        ("train.pvti", "train.py", "train.pvti"),
    ],
)
def test_a_trace_named_by_a_date_is_called_by_its_program(name: str, command: str, label: str) -> None:
    assert trace_label(name, {"command": command}) == label


def test_a_trace_that_names_its_rank_is_called_by_it() -> None:
    assert trace_label("host.pt.trace.json", {"rank": "1", "ranks": "4"}) == "host.pt.trace.json, rank 1"
