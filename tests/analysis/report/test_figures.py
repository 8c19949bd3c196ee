"""Every figure of every table is in the catalogue, and every entry of the catalogue is a figure of a table."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from popvision.analysis.compare.aggregation import aggregate_both
from popvision.analysis.compare.exchange import compared_exchanges, compared_host_copies
from popvision.analysis.compare.join import join
from popvision.analysis.compare.liveness import (
    always_live_pair,
    curve_pair,
    cycles_pair,
    flops_pair,
    live_pair,
    vertices_pair,
)
from popvision.analysis.compare.matching import match_vertex_types
from popvision.analysis.compare.memory import compared_details, details_pair
from popvision.analysis.compare.operations import compared_operations
from popvision.analysis.compare.programs import compared_programs, program_tiles_pair
from popvision.analysis.compare.steps import steps_of_both
from popvision.analysis.compare.tile_peak import compared_peaks
from popvision.analysis.exchange.host import host_copies
from popvision.analysis.exchange.messages import (
    between_ipus_table,
    fan_out_table,
    fan_outs,
    messages_of,
    sendings_table,
)
from popvision.analysis.exchange.table import exchange_programs_table, pairs_table
from popvision.analysis.execution.aggregation import aggregate, aggregate_vertices
from popvision.analysis.execution.blocks import block_statistics
from popvision.analysis.execution.step_details import steps_in_window
from popvision.analysis.execution.worker_lanes import lane_table, lanes_by_tile, worker_lanes
from popvision.analysis.insights.late import costs_of_waiting, waits_table
from popvision.analysis.liveness.steps import curve_table, cycles_table, flops_table, vertices_table
from popvision.analysis.liveness.tile_peak import peak_table, tile_peak
from popvision.analysis.liveness.variables import always_live_table, live_table
from popvision.analysis.memory.lowered import lowered_table, variables_table
from popvision.analysis.memory.tile_contents import compute_set_table, exchange_table, vertex_table
from popvision.analysis.memory.tile_details import details_table, tile_details
from popvision.analysis.memory.tile_ranking import fullest_first, tile_table
from popvision.analysis.memory.variable_parts import parts_table
from popvision.analysis.memory.variable_tiles import variable_table
from popvision.analysis.operations.derived import derived_table
from popvision.analysis.operations.owners import owners
from popvision.analysis.operations.parts import compute_set_rows, program_rows, variable_rows, vertex_type_rows
from popvision.analysis.operations.table import operation_table
from popvision.analysis.programs.table import program_table, program_tiles, program_vertices
from popvision.analysis.report.figure import Figure, Table, Unit, headings, least_certain, table_of, with_changes
from popvision.analysis.report.figure_titles import (
    TITLES,
    UnknownFigureError,
    field_of,
    figure_title,
    opened_frame,
    viewer_frame,
)
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tile_columns import tile_columns
from popvision.analysis.report.tiles import Where, target_of
from popvision.analysis.report.titles.figure_title import FigureTitle
from popvision.analysis.source_code.lines import file_table, line_table, programs_of_line
from popvision.questions import QUESTIONS
from tests.analysis.memory.memory_case import make_case, write_case
from tests.samples import SAMPLES, program_ending
from webapp.components.figure_columns import KINDS, figure_columns


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> ReportSource:
    return write_case(tmp_path_factory.mktemp("figures"), make_case(12))


def every_table(source: ReportSource) -> list[Table]:
    """All tables of analysis, of the pages that compare two reports as well."""
    columns = tile_columns(target_of(source), [0, 1])
    vertices = vertex_table(source, columns)
    sample = ReportSource(SAMPLES / "train_mlp")
    hardware = ReportSource(SAMPLES / "matmul_chain_hardware")
    copy = program_ending(hardware, "copy0_switchControlBroadcast0/ExchangePre")
    messages, file = messages_of(hardware, copy), next(iter(file_table(sample)["file"]))
    return [
        vertices,
        join(vertices, vertices, "vertex_type", match_vertex_types(source, source), vertices.placed_ids()),
        compute_set_table(source, columns),
        exchange_table(source, columns),
        variable_table(source, columns),
        variables_table(source),
        lowered_table(source, 1),
        parts_table(source, 0),
        fullest_first(tile_table(source)),
        always_live_table(source),
        live_table(source, [2, 5]),
        curve_table(source),
        vertices_table(source, [0, 2], range(6)),
        cycles_table(source, [0, 2], range(6)),
        flops_table(source, [0, 2]),
        always_live_pair(source, source, Where()),
        live_pair(source, source, [2, 5], Where()),
        curve_pair(source, source, Where()),
        vertices_pair(source, source, 0, (range(6), range(6))),
        cycles_pair(source, source, [0, 2], (range(6), range(6))),
        flops_pair(source, source, 0),
        program_table(source),
        compared_programs(source, source, "self"),
        program_tiles(hardware, copy),
        program_tiles_pair(hardware, hardware, copy),
        operation_table(sample),
        derived_table(sample, operation_table(sample)),
        compared_operations(sample, sample),
        exchange_programs_table(source),
        compared_exchanges(source, source),
        pairs_table(source, 2),
        host_copies(source),
        lanes_by_tile(sample, 0, 0),
        lane_table(sample, worker_lanes(sample, 0, 0)),
        program_rows(sample, owners(sample), [1]),
        vertex_type_rows(sample, owners(sample), [1]),
        compute_set_rows(sample, owners(sample), [1]),
        variable_rows(sample, owners(sample), [1]),
        compared_host_copies(hardware, hardware),
        block_statistics(hardware, [0], 0, 1_000),
        aggregate(hardware, [0], 0, 1_000, "name"),
        aggregate_both((hardware, hardware), [0], ((0, 1_000), (0, 1_000)), "name"),
        aggregate_vertices(hardware, [0], 0, 10**9),
        steps_in_window(hardware, 0, 0, 1_000),
        steps_of_both(hardware, hardware, 0, (0, 1_000), (0, 1_000)),
        details_table(tile_details(source, columns)),
        compared_details(details_pair(source, source, columns, [0, 1], [], None)),
        file_table(sample),
        peak_table(tile_peak(source, 1)),
        compared_peaks(source, source, (tile_peak(source, 1), tile_peak(source, 1))),
        line_table(sample, file),
        programs_of_line(sample, file, int(line_table(sample, file)["line"][0])),
        program_vertices(sample, 0),
        waits_table(sample, costs_of_waiting(sample, 0), 5),
        fan_out_table(messages),
        sendings_table(*fan_outs(messages)),
        between_ipus_table(messages, target_of(hardware)),
    ]


def test_every_figure_has_a_title_and_a_column_of_its_own(source: ReportSource) -> None:
    for table in every_table(source):
        assert len({field_of(table, figure) for figure in table}) == len(table.figures), table.id
        assert list(viewer_frame(table)) == [field_of(table, figure) for figure in table]


def test_the_catalogue_lists_no_figure_that_no_table_has(source: ReportSource) -> None:
    found: dict[str, set[str]] = {}
    declared = [made.columns for made in QUESTIONS.values() if made.columns is not None]
    assert {columns.id for columns in declared} >= {"tiles", "runs"}
    found |= {columns.id: {*columns.ids, "in_report"} for columns in declared}
    for table in every_table(source):
        found.setdefault(table.id, {"in_report"}).update(figure.id for figure in table)
    unused = {table: set(entries) - found.get(table, set()) for table, entries in TITLES.items()}
    assert {table: names for table, names in unused.items() if names} == {}


def test_a_figure_that_is_not_listed_is_an_error() -> None:
    table = Table("vertices_on_tiles", [Figure("instances", "count", [1]), Figure("heat", "bytes", [2])])
    for show in (viewer_frame, opened_frame):
        with pytest.raises(UnknownFigureError, match="'heat' of table 'vertices_on_tiles'"):
            show(table)
    with pytest.raises(UnknownFigureError, match="'instances' of table 'none'"):
        figure_title("none", "instances")


def test_a_page_lays_out_a_new_column_by_its_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A figure and its entry of the catalogue are enough; its unit comes from the figure, never from its name."""
    monkeypatch.setitem(TITLES["vertices_on_tiles"], "heat_bytes", FigureTitle("Heat", "How warm it gets"))
    for unit, kind in (("bytes", "bytes"), ("count", "integer"), ("text", "text")):
        table = headings("vertices_on_tiles", {"name": "text", "heat_bytes": unit})
        assert [(column.title, column.kind) for column in figure_columns(table)][1] == ("Heat", kind)
    assert set(KINDS) == set(get_args(Unit))


def test_columns_fit_their_titles_and_what_stands_once_comes_first() -> None:
    nothing = headings("vertices_on_tiles", {"name": "text", "instances": "count", "kind": "text", "vertex_type": "id"})
    columns = figure_columns(nothing)
    assert [column.title for column in columns] == ["Vertex type", "Instances", "Kind", "Id"]
    assert columns[0].width is None
    assert all(column.width is not None and column.width >= 44 + 8 * len(column.title) for column in columns[1:])
    assert [column.title for column in figure_columns(nothing, order=["vertex_type"])][:2] == ["Id", "Vertex type"]
    both = figure_columns(join(nothing, nothing, "name"))
    assert [column.field for column in both][:5] == ["name", "kind", "vertex_type", "in_report", "instances_source"]


def test_a_table_has_the_figures_of_its_units_and_no_others() -> None:
    table = table_of("variables", {"name": "text", "size_bytes": "bytes"}, {"size_bytes": [4], "name": ["a"], "x": [1]})
    assert [(figure.id, figure.unit) for figure in table] == [("name", "text"), ("size_bytes", "bytes")]
    with pytest.raises(KeyError, match="size_bytes"):
        table_of("variables", {"size_bytes": "bytes"}, {"name": ["a"]})
    assert len(headings("variables", {"name": "text"})) == 0


@pytest.mark.parametrize(
    ("classes", "least"),
    [([], ""), (["exact"], "exact"), (["exact", "guess", "fitted"], "guess"), (["", "fitted", "other"], "fitted")],
)
def test_the_least_certain_source_counts(classes: list[str], least: str) -> None:
    assert least_certain(classes) == least


def test_figures_of_different_length_are_no_table() -> None:
    with pytest.raises(ValueError, match="2 and 3 rows"):
        Table("variables", [Figure("name", "text", ["a", "b"]), Figure("size_bytes", "bytes", [1, 2, 3])])


def test_changes_are_to_the_first_place_of_the_same_figure() -> None:
    table = Table(
        "vertices_on_tiles",
        [
            Figure("instances", "count", np.array([5, 1]), "tile 0"),
            Figure("state_bytes", "bytes", np.array([50, 10]), "tile 0"),
            Figure("instances", "count", np.array([7, 1]), "tile 3"),
            Figure("state_bytes", "bytes", np.array([20, 10]), "tile 3"),
        ],
    )
    frame = viewer_frame(with_changes(table))
    assert list(frame)[4:] == ["instances, tile 3_change", "state_bytes, tile 3_change"]
    assert frame["instances, tile 3_change"].tolist() == [2, 0]
    assert frame["state_bytes, tile 3_change"].tolist() == [-30, 0]
    assert table.column("state_bytes", "tile 3").values.tolist() == [20, 10]
    with pytest.raises(KeyError, match=r"no figure 'state_bytes' at 'tile 9'"):
        table.column("state_bytes", "tile 9")


def test_a_frame_of_opened_names_figures_by_id(source: ReportSource, tmp_path: Path) -> None:
    frame = opened_frame(vertex_table(source, tile_columns(target_of(source), [1])))
    names = ["name", "vertex_type", "kind", "instance_bytes", "instances", "state_bytes", "code_bytes"]
    assert list(frame) == names
    with pytest.raises(ValueError, match="several places"):
        opened_frame(vertex_table(source, tile_columns(target_of(source), [0, 1])))
