"""The TensorFlow program on one Mk1 IPU (published-numbers 6.2): the lines of `benchmarks.tf_adder` as rows."""

from __future__ import annotations

from pathlib import Path

from benchmarks.tf_adder import LINES, measure, mk1
from benchmarks.validation.row import EXACT, REPORTED, Group, Row


def groups(folder: Path) -> list[Group]:
    """Lines that the published list of vertices determines must be equal; the others are reported."""
    ours = measure(folder, mk1())
    rows = [
        Row(line.title, line.published, ours[line.title], "", "6.2", EXACT if line.exact else REPORTED)
        for line in LINES
    ]
    about = "The program consists of the published vertices; the framework's other work is not public."
    return [Group("TensorFlow adder on Mk1", about, rows)]
