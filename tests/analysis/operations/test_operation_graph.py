"""What passes between operations, what they are made of, their roofline, and where a drawing puts them."""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.operations import drawing as drawing_module
from popvision.analysis.operations.drawing import flow_drawing, parts_drawing
from popvision.analysis.operations.flow import flow
from popvision.analysis.operations.layered_layout import layered_layout
from popvision.analysis.operations.operations import operations
from popvision.analysis.operations.parts import (
    compute_set_rows,
    cycles_by_type,
    program_rows,
    tile_parts,
    variable_rows,
    vertex_type_rows,
)
from popvision.analysis.operations.roofline import roofline
from popvision.analysis.operations.table import operation_groups
from popvision.analysis.report.figure_titles import viewer_frame
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.source import ReportSource
from popvision.formats.debug_info import DebugInfo, write_debug_info
from popvision.formats.profile.model import ProgramVariables
from popvision.formats.profile.writer import ProfileWriter
from tests.analysis.operations.operation_case import run_operations
from tests.reports import i8, tiny_compilation, tiny_run, u4


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> ReportSource:
    return ReportSource(run_operations(tmp_path_factory.mktemp("operations")))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> ReportSource:
    """tiny with two operations: "give" made program 1, the temporary and the weights, "take" made program 3."""
    folder = tmp_path_factory.mktemp("flow")
    found = tiny_compilation()
    assert found.variables is not None
    changed = dataclasses.replace(
        found,
        variables=dataclasses.replace(found.variables, debug_id=i8(2, 2, -1)),
        program_variables=[ProgramVariables(1, u4(0, 1)), ProgramVariables(3, u4(1, 2))],
    )
    with ProfileWriter(folder / "profile.pop") as writer:
        writer.write_compilation(changed)
        writer.append_run(tiny_run())
    contexts = [DebugInfo(1, (), "poplibs", "take"), DebugInfo(2, (), "poplibs", "give")]
    write_debug_info(folder, contexts, "tiny-run")
    return ReportSource(folder)


def test_a_variable_goes_from_who_gives_it_its_value(tiny: ReportSource) -> None:
    groups = operation_groups(tiny)
    assert groups.name == ["(not attributed)", "give", "take"]
    passed = flow(tiny, groups)
    edges = list(zip(passed.source.tolist(), passed.target.tolist(), passed.bytes.tolist(), strict=True))
    assert edges == [(0, 2, 112), (1, 2, 32)]  # the constant that nobody made, the temporary; weights stay at home
    assert passed.variables.tolist() == [1, 1]
    drawing = flow_drawing(tiny, groups)
    kinds = [(node.kind, node.name) for node in drawing.nodes]
    assert kinds == [("operation", "give"), ("operation", "take"), ("rest", "(not attributed)")]
    assert [edge.bytes for edge in drawing.edges] == [112, 32]
    assert drawing.nodes[0].value == operations(tiny).columns()["cycles"][1]


def test_the_parts_of_an_operation(tiny: ReportSource) -> None:
    drawing = parts_drawing(tiny, operations(tiny).owners, [2])
    names = {node.name: node.kind for node in drawing.nodes}
    assert names == {"cs0_layer/ExchangePre": "program", "temporary": "input", "constant": "input"}
    arrows = {(drawing.nodes[e.source].name, drawing.nodes[e.target].name, e.bytes) for e in drawing.edges}
    assert arrows == {("temporary", "cs0_layer/ExchangePre", 32), ("constant", "cs0_layer/ExchangePre", 112)}


def test_other_operations_are_one_box(source: ReportSource) -> None:
    drawing = flow_drawing(source, operation_groups(source, level=2, under="net"))
    kinds = {node.kind for node in drawing.nodes}
    assert {"operation", "rest", "outside"} <= kinds
    outside = next(at for at, node in enumerate(drawing.nodes) if node.kind == "outside")
    first = next(at for at, node in enumerate(drawing.nodes) if node.name == "net/first")
    assert any(edge.source == first and edge.target == outside for edge in drawing.edges)  # out adds it


def test_groups_beyond_the_screen_stand_together(source: ReportSource, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing_module, "MOST_NODES", 2)
    groups = operation_groups(source)
    drawing = flow_drawing(source, groups)
    more = [node for node in drawing.nodes if node.kind == "more"]
    assert [node.name for node in more] == ["2 more"]
    shown = [node for node in drawing.nodes if node.kind == "operation"]
    assert shown[0].value == groups.columns["cycles"][1:].max()
    assert more[0].value == groups.columns["cycles"][1:].sum() - shown[0].value


def test_parts_add_up_to_the_operation(source: ReportSource) -> None:
    found = operations(source)
    columns = found.columns()
    for row in range(1, len(found.owners.name)):
        programs = viewer_frame(program_rows(source, found.owners, [row]))
        assert programs["cycles"].sum() == columns["cycles"][row]
        assert programs["exchange_code"].sum() == columns["exchange_code"][row]
        assert programs["control_code"].sum() == columns["control_code"][row]
        assert sum(cycles_by_type(source, found.owners, [row]).values()) == columns["cycles"][row]
        tiles = tile_parts(source, found.owners, [row])
        assert tiles.exchange.sum() == columns["exchange_code"][row]
        assert found.code is not None
        assert tiles.vertex.sum() == found.code.vertex_used[row]
        assert viewer_frame(vertex_type_rows(source, found.owners, [row]))["code"].sum() == found.code.vertex_used[row]
        sets = viewer_frame(compute_set_rows(source, found.owners, [row]))
        assert sets["flops"].sum() == columns["flops"][row]
        variables = viewer_frame(variable_rows(source, found.owners, [row]))
        live = columns["always_live"][row] + columns["not_always_live"][row]
        assert variables.loc[variables["live"] != "never", "bytes"].sum() == live


def test_roofline_by_hand(source: ReportSource) -> None:
    groups = operation_groups(source)
    found = roofline(source, groups)
    assert (found.half, found.float32, found.exchange) == (8 * 128, 8 * 32, 8 * 4)
    at = found.row.tolist().index(groups.name.index("net/second"))
    columns = {name: int(values[found.row[at]]) for name, values in groups.columns.items()}
    assert found.rate[at] == 4 * 64 / columns["cycles"]
    assert found.intensity[at] == 4 * 64 / columns["received"]


def test_without_flops_there_is_no_roofline(tmp_path: Path) -> None:
    found = tiny_compilation()
    sets = dataclasses.replace(found.compute_sets, flops=i8(-1))
    with ProfileWriter(tmp_path / "profile.pop") as writer:
        writer.write_compilation(dataclasses.replace(found, compute_sets=sets, program_variables=()))
        writer.append_run(tiny_run())
    write_debug_info(tmp_path, [DebugInfo(2, (), "poplibs", "m")], "tiny-run")
    source = ReportSource(tmp_path)
    with pytest.raises(NotRecordedError, match="includeFlopEstimates"):
        roofline(source, operation_groups(source))
    with pytest.raises(NotRecordedError, match="which variables programs touch"):
        flow(source, operation_groups(source))


@given(st.integers(1, 12).flatmap(lambda n: st.tuples(st.just(n), _edges(n))))
def test_boxes_do_not_overlap_and_arrows_point_down(case: tuple[int, list[tuple[int, int]]]) -> None:
    n, edges = case
    found = layered_layout(list(range(n)), edges, width=100, gap=10)
    for layer in range(int(found.layer.max()) + 1):
        middles = np.sort(found.x[found.layer == layer])
        assert all(b - a >= 110 - 1e-6 for a, b in pairwise(middles))
    assert found.x.min() >= 50 - 1e-6
    assert found.x.max() <= found.width - 50 + 1e-6
    for (first, last), bends in zip(edges, found.bends, strict=True):
        if first < last:
            assert [layer for _, layer in bends] == list(range(found.layer[first] + 1, found.layer[last]))
        else:
            assert bends == []


def _edges(n: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    node = st.integers(0, n - 1)
    return st.lists(st.tuples(node, node).filter(lambda pair: pair[0] != pair[1]), max_size=20, unique=True)
