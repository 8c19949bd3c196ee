"""Every number of pva against the same number taken from the file by hand, on a report where it is not zero."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from popvision import pva
from tests.pva.plain_file import PlainFile
from tests.pva.recompute import VALUES
from tests.samples import SAMPLES

#: Figures that are zero for the small program.
ELSEWHERE = {
    "TileMemory.overflowed": "out_of_memory",
    "CategoryMemory.overflowed": "out_of_memory",
    "TileMemory.interleaved": "pipeline",
    "CategoryMemory.interleaved": "pipeline",
}


@pytest.mark.parametrize("name", VALUES)
def test_value(name: str, made: pva.Report, made_path: Path) -> None:
    path = SAMPLES / ELSEWHERE[name] / "profile.pop" if name in ELSEWHERE else made_path
    ask, recompute = VALUES[name]
    found, wanted = ask(pva.openReport(path) if name in ELSEWHERE else made), recompute(PlainFile(path))
    assert found == wanted
    assert says_something(found)


def says_something(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(says_something, value.values()))
    return any(map(says_something, value)) if isinstance(value, list | tuple) else bool(value)
