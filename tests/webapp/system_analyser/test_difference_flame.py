"""The differential flame graph of two traces by hand, on the page, in a document, and as text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from popvision.analysis.trace.difference import trace_difference
from popvision.analysis.trace.source import TraceSource
from tests.cli.called import popvision
from webapp.base.library import Library
from webapp.base.view import ViewContext
from webapp.system_analyser.timeline.difference_flame import difference_blocks
from webapp.system_analyser.timeline.tabs import tab_content


def write(path: Path, spans: list[tuple[str, float, float]]) -> Path:
    events = [
        {"ph": "X", "name": name, "cat": "c", "ts": begin, "dur": end - begin, "pid": 1, "tid": 1}
        for name, begin, end in spans
    ]
    path.write_text(json.dumps(events))
    return path


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """step takes 10 and 20 us, load 4 and 6; only one has old (2 us), only the other new (8 us)."""
    return (
        write(tmp_path / "source.json", [("step", 0, 10), ("load", 0, 4), ("old", 4, 6)]),
        write(tmp_path / "target.json", [("step", 0, 20), ("load", 0, 6), ("new;1", 6, 14)]),
    )


def test_blocks_by_hand(pair: tuple[Path, Path]) -> None:
    source, target = map(TraceSource, pair)
    blocks, narrow = difference_blocks(trace_difference(source, target), source)
    assert narrow == 0
    assert [(block.text, block.depth, round(block.left, 6), round(block.width, 6)) for block in blocks] == [
        ("step +100%", 0, 0, 1),
        ("load +50%", 1, 0, 0.333333),
        ("new;1 (only in the target)", 1, 0.333333, 0.266667),
        ("old (only in the source)", 1, 0.6, 0.066667),
    ]
    assert [round(block.change, 6) for block in blocks] == [0.333333, 0.2, 1, -1]
    assert [block.strength for block in blocks] == [21, 16, 48, 48]
    assert "total: source 4.000 µs, target 6.000 µs, +2.000 µs" in blocks[1].title


def test_equal_traces_have_no_colour(pair: tuple[Path, Path]) -> None:
    source = TraceSource(pair[0])
    blocks, _ = difference_blocks(trace_difference(source, TraceSource(pair[0])), source)
    assert {(block.strength, block.text) for block in blocks} == {(0, "step"), (0, "load"), (0, "old")}


def test_folded_stacks_have_both_self_times(pair: tuple[Path, Path]) -> None:
    done = popvision("trace", "diff", *pair, "--folded")
    assert sorted(done.stdout.splitlines()) == [
        "step 4000 6000", "step;load 4000 6000", "step;new:1 0 8000", "step;old 2000 0",
    ]  # fmt: skip
    for others in (["--json"], ["--name", "load"], ["--by", "total_us"], ["--limit", "9"], ["--offset", "1"]):
        assert popvision("trace", "diff", *pair, "--folded", *others).returncode == 2


def test_the_tab_draws_it(pair: tuple[Path, Path]) -> None:
    library = Library(pair)
    keys = {entry.path: entry.key for entry in library.entries()}
    context = ViewContext(keys[pair[0]], library.trace(keys[pair[0]]), {"vs": keys[pair[1]]}, library=library)
    content: Any = tab_content(context, "difference")
    shown = json.dumps(content.to_plotly_json(), ensure_ascii=False, default=lambda value: value.to_plotly_json())
    for words in ("step +100%", "new;1 (only in the target)", "diff-less", "tl-difference-table"):
        assert words in shown


@pytest.mark.parametrize("flags", [[], ["--confidential"]])
def test_the_document_draws_it(pair: tuple[Path, Path], tmp_path: Path, flags: list[str]) -> None:
    done = popvision("html", pair[0], "--against", pair[1], "-o", tmp_path / "d.html", *flags)
    assert (done.returncode, done.stderr) == (0, "")
    document = (tmp_path / "d.html").read_text()
    assert "Calls of both traces by path" in document
    for name in ("load", "new;1", "source.json", "target.json"):
        assert (name in document) != bool(flags)


def test_a_document_of_two_traces_refuses_a_window(pair: tuple[Path, Path], tmp_path: Path) -> None:
    done = popvision("html", pair[0], "--against", pair[1], "--selection", "tl_from=5", "-o", tmp_path / "d.html")
    assert (done.returncode, (tmp_path / "d.html").exists()) == (2, False)
    assert "--selection chooses a window of one trace" in done.stderr
