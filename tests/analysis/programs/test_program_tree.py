"""Program trees against a recursive twin over random graphs of programs, and exact figures of the tiny report."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.programs import figures, program_tree
from popvision.analysis.programs.debug_chain import debug_chain
from popvision.analysis.programs.details import code_bytes_of, cost_rows, program_facts, tile_figures
from popvision.analysis.programs.related_programs import related_programs
from popvision.analysis.programs.table import program_vertices
from popvision.analysis.report.source import ReportSource
from popvision.formats.debug_info import DebugInfo, write_debug_info
from popvision.formats.errors import FormatError
from popvision.formats.profile.model import Programs
from popvision.kept import Kept
from tests.reports import write_tiny


def programs(children: list[list[int]], **columns: Any) -> Programs:
    n = len(children)
    counts = [len(each) for each in children]
    return Programs(
        type=columns.get("type", ["Sequence"] * n),
        name=columns.get("name", [f"p{row}" for row in range(n)]),
        owner=columns.get("owner", ["control"] * n),
        compute_set=columns.get("compute_set", np.full(n, -1)),
        repeat_count=np.zeros(n, np.int64),
        debug_id=np.full(n, -1),
        sync_type=[""] * n,
        child_offsets=np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64),
        children=np.array([child for each in children for child in each], np.int64),
    )


class FakeSource:
    """A source whose reader gives these programs and steps of one IPU."""

    def __init__(self, found: Programs, steps: list[int] = (), cycles: list[int] = ()) -> None:
        figures = SimpleNamespace(
            cycles=np.array(cycles, np.int64),
            data_in=np.array(cycles, np.int64) * 2,
            data_out=np.array(cycles, np.int64),
        )
        self.generation = 0
        self.kept = Kept()
        self.reader = SimpleNamespace(
            programs=lambda: found,
            target=lambda: SimpleNamespace(num_ipus=1),
            meta={},
            steps=lambda: SimpleNamespace(program=np.array(steps, np.int64)),
            steps_on_ipu=lambda _ipu: figures,
            runs=lambda: SimpleNamespace(name=[], truncated=np.zeros(0, bool), program_index=np.zeros(0, np.int64)),
        )


#: Children of program p are larger than p, so that no program contains itself; several parents may share a child.
graphs = st.integers(1, 9).flatmap(
    lambda n: st.tuples(
        *(st.lists(st.integers(row + 1, n - 1), max_size=3) if row + 1 < n else st.just([]) for row in range(n))
    )
)


def walk(children: list[list[int]], program: int, depth: int = 0) -> list[tuple[int, int, int]]:
    """(program, depth, size) in pre-order, by recursion."""
    below = [row for child in children[program] for row in walk(children, child, depth + 1)]
    return [(program, depth, len(below) + 1), *below]


@given(graphs)
def test_rows_of_a_tree(children: list[list[int]]) -> None:
    source: Any = FakeSource(programs(list(children)))
    for root in program_tree.roots(source):
        rows = program_tree.tree_rows(source, root.program)
        found = list(zip(rows.program.tolist(), rows.depth.tolist(), rows.size.tolist(), strict=True))
        assert found == walk(list(children), root.program)


@given(graphs, st.data())
def test_self_and_total_cycles(children: list[list[int]], data: st.DataObject) -> None:
    n = len(children)
    steps = data.draw(st.lists(st.integers(0, n - 1), max_size=20))
    cycles = data.draw(st.lists(st.integers(0, 99), min_size=len(steps), max_size=len(steps)))
    source: Any = FakeSource(programs(list(children)), steps, cycles)
    found = figures.figures(source)
    own = [sum(c for p, c in zip(steps, cycles, strict=True) if p == row) for row in range(n)]
    assert found.self_cycles.tolist() == own
    assert found.total_cycles.tolist() == [sum(own[p] for p, _, _ in walk(list(children), row)) for row in range(n)]
    assert found.executions.tolist() == [steps.count(row) for row in range(n)]
    assert found.bytes_received.sum() == 2 * sum(cycles)


def test_roots_are_numbered_in_their_lists() -> None:
    source: Any = FakeSource(programs([[2], [], [], []], owner=["control", "function", "control", "function"]))
    found = [(root.program, root.owner, root.number) for root in program_tree.roots(source)]
    assert found == [(0, "control", 0), (1, "function", 0), (3, "function", 1)]
    assert program_tree.root_of(source, 2) == 0
    with pytest.raises(ValueError, match="there is no program 4"):
        program_tree.root_of(source, 4)


@pytest.mark.parametrize("children", [[[1], [2], [1]], [[1], [0]], [[0]]])
def test_programs_that_contain_each_other_are_refused(children: list[list[int]]) -> None:
    source: Any = FakeSource(programs(children))
    with pytest.raises(FormatError, match="contains itself"):
        program_tree.tree_rows(source, 0)


def test_children_that_are_no_programs_are_refused() -> None:
    source: Any = FakeSource(programs([[7]]))
    with pytest.raises(FormatError, match="a child is not a program"):
        program_tree.roots(source)


def test_a_tree_that_unfolds_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_tree, "MOST_ROWS", 1000)
    source: Any = FakeSource(programs([[row + 1] * 2 for row in range(30)] + [[]]))
    with pytest.raises(FormatError, match="more than 1,000 rows"):
        program_tree.tree_rows(source, 0)


def test_search_by_name_type_and_id() -> None:
    found = programs(
        [[1, 2, 1], [], []], type=["Sequence", "DoExchange", "OnTileExecute"], name=["", "a/ExchangePre", "a/B"]
    )
    source: Any = FakeSource(found)
    assert program_tree.matching_rows(source, 0, "exchange").tolist() == [1, 3]
    assert program_tree.matching_rows(source, 0, "ontile").tolist() == [2]
    assert program_tree.matching_rows(source, 0, "DoExchange (a/").tolist() == [1, 3]
    assert program_tree.matching_rows(source, 0, "#1").tolist() == [1, 3]
    assert program_tree.matching_rows(source, 0, "  ").tolist() == []


def test_related_programs_share_the_compute_set_or_the_name() -> None:
    found = programs([[]] * 5, name=["a", "a", "b", "", ""], compute_set=np.array([-1, -1, 3, 3, -1]))
    source: Any = FakeSource(found)
    assert [related_programs(source, row).tolist() for row in range(5)] == [
        [0, 1],
        [0, 1],
        [2, 3],
        [2, 3],
        [4],
    ]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> ReportSource:
    profile = write_tiny(tmp_path_factory.mktemp("tree") / "tiny")
    contexts = [
        DebugInfo(1, (2,), "poplibs", "exchange"),
        DebugInfo(2, (3,), "popart", "layer", {"units": 4}, {}, "a.py", 12),
        DebugInfo(3, (1,), "user", "loop"),
    ]
    write_debug_info(profile.parent, contexts, "tiny-run")
    return ReportSource(profile)


def test_details_of_a_compute_program(tiny: ReportSource) -> None:
    facts = program_facts(tiny, 1)
    assert (facts.type, facts.compute_set_name, facts.executions, facts.self_cycles) == (
        "OnTileExecute",
        "layer/matmul",
        2,
        36,
    )
    assert program_tree.guessed_programs(tiny).tolist() == [False] * 4
    assert (facts.flops, facts.provenance, facts.phase) == (64, "exact", "compute")
    vertices = program_vertices(tiny, 1)
    shown = [vertices[id] for id in ("instances", "tiles", "cycles", "largest_tile_cycles", "state_bytes")]
    assert shown == [[3], [3], [35], [20], [36]]
    tiles = tile_figures(tiny, 1)
    assert tiles.estimated is not None
    assert tiles.recorded is not None
    assert tiles.estimated.tolist() == tiles.recorded.tolist() == [10, 20, 0, 5]
    assert tiles.recorded_step == 3


def test_details_of_an_exchange(tiny: ReportSource) -> None:
    tiles = tile_figures(tiny, 3)
    assert tiles.received is not None
    assert tiles.sent is not None
    assert (tiles.received.tolist(), tiles.sent.tolist()) == ([8, 0, 8, 0], [0, 8, 0, 0])
    assert program_facts(tiny, 3).bytes_received == 16
    assert len(program_vertices(tiny, 3)) == 0
    assert cost_rows(tiny, 3) == []
    assert code_bytes_of(tiny, [1, 3]) == [0, 0]


def test_debug_contexts_nearest_first_and_each_once(tiny: ReportSource) -> None:
    chain = debug_chain(tiny, 1)
    assert [(row.id, row.distance, row.layer) for row in chain] == [(1, 0, "poplibs"), (2, 1, "popart"), (3, 2, "user")]
    assert (chain[1].file, chain[1].line, chain[1].arguments) == ("a.py", 12, [("units", "4")])
    assert debug_chain(tiny, 99) == []


def test_a_program_that_is_not_there(tiny: ReportSource) -> None:
    with pytest.raises(ValueError, match="there is no program 4"):
        program_facts(tiny, 4)


def test_a_wrong_profile_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(FormatError):
        ReportSource(tmp_path)
