"""Questions about lowered programs, compute sets and vertices, and about the sources of their figures.

The id of a program is the row of `programs()` by "program", as the viewer shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from popvision.analysis.compare.programs import compared_programs as programs_side_by_side
from popvision.analysis.explain.explain import explain_program
from popvision.analysis.explain.report import explain_report
from popvision.analysis.programs import table as program_tables
from popvision.analysis.programs.program_tree import roots, tree_rows
from popvision.analysis.programs.table import FIELDS, program_columns
from popvision.analysis.report.columns import programs_of
from popvision.analysis.report.figure_titles import column_of, opened_frame
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import target_of
from popvision.arrays import Int64Array
from popvision.formats.errors import AbsentError
from popvision.opened.frames import report_frame, report_table
from popvision.opened.questions import Opened, check_ipu

if TYPE_CHECKING:
    import pandas as pd


def programs(source: ReportSource, ipu: int | None = None) -> pd.DataFrame:
    """A row per lowered program by id, with figures over all recorded runs, on one IPU or over all (cycles: on the IPU
    with most): program, type, name, self_cycles (its own steps), total_cycles (with everything below and called),
    executions, received_bytes, sent_bytes, live_bytes (most live bytes while it runs), code_bytes, trips (of a Repeat),
    owner ("control" or "function"), compute_set, callee, debug_id (-1 for none).

    A figure that the report does not hold is missing (NA)."""
    import pandas as pd

    table, figures = programs_of(source), _figures(source, ipu)
    count = len(table.type)
    callee = np.full(count, -1, np.int64) if table.callee is None else np.asarray(table.callee, np.int64)
    columns: dict[str, Any] = {"program": np.arange(count), "type": table.type, "name": table.name}
    for field, values in figures.items():
        columns[column_of("programs", field)] = pd.arrays.IntegerArray(values, values < 0)
    columns |= {
        "owner": table.owner,
        "compute_set": np.asarray(table.compute_set, np.int64),
        "callee": callee,
        "debug_id": np.asarray(table.debug_id, np.int64),
    }
    return report_frame(source, columns)


def tree(source: ReportSource, root: int | None = None, ipu: int | None = None) -> pd.DataFrame:
    """The program tree from top to bottom, below one program or all of it: root, program, depth, rows (of its subtree,
    itself included), type, name, self_cycles, total_cycles, executions. A program with several parents has several
    rows."""
    import pandas as pd

    figures, table = _figures(source, ipu), programs_of(source)
    tops = [each.program for each in roots(source)] if root is None else [root]
    trees = [tree_rows(source, top) for top in tops]
    empty = np.empty(0, np.int64)
    program, depth, size = (
        np.concatenate([empty, *(getattr(each, name) for each in trees)]) for name in ("program", "depth", "size")
    )
    ids = program.tolist()
    columns: dict[str, Any] = {
        "root": np.repeat(np.asarray(tops, np.int64), [len(each.program) for each in trees]),
        "program": program,
        "depth": depth,
        "rows": size,
        "type": [table.type[each] for each in ids],
        "name": [table.name[each] for each in ids],
    }
    for field in ("self", "total", "executions"):
        values = figures[field][program]
        columns[column_of("programs", field)] = pd.arrays.IntegerArray(values, values < 0)
    return report_frame(source, columns)


def program_tiles(source: ReportSource, program: int) -> pd.DataFrame:
    """The figures of one program on each tile: tile, ipu, estimated_cycles, recorded_cycles (of its last step),
    received_bytes, sent_bytes, exchange_code_bytes, control_code_bytes."""
    return report_table(source, opened_frame(program_tables.program_tiles(source, program)), program=program)


def compute_sets(source: ReportSource) -> pd.DataFrame:
    """A row per compute set: compute_set, name, vertices (instances over all tiles), vertex_types (their number), flops
    (floating point operations of one execution over all tiles, missing when unknown), debug_id."""
    import pandas as pd

    table = source.reader.compute_sets()
    count = len(table.name)
    compute_set, _, _, instances = source.reader.compute_set_counts()
    vertices = np.zeros(count, np.int64)
    sums = {id(each): int(each.sum(dtype=np.int64)) for each in instances}
    np.add.at(vertices, compute_set, np.array([sums[id(each)] for each in instances], np.int64))
    pairs = set(source.reader.compute_set_types())
    types = np.bincount(np.array([a for a, _ in pairs], np.int64), minlength=count)
    flops = np.asarray(table.flops, np.int64)
    return report_frame(
        source,
        {
            "compute_set": np.arange(count),
            "name": table.name,
            "vertices": vertices,
            "vertex_types": types[:count],
            "flops": pd.arrays.IntegerArray(flops, flops < 0),
            "debug_id": np.asarray(table.debug_id, np.int64),
        },
    )


def vertices(source: ReportSource, compute_set: int | None = None) -> pd.DataFrame:
    """A row per compute set, vertex type and IPU, for one compute set or for all: compute_set, compute_set_name,
    vertex_type (its name), kind, ipu, instances, tiles (that have an instance), thread_cycles (estimates summed over
    instances: cycles of worker threads, for supervisor and multi vertices of the tile), state_bytes of one instance,
    flops, provenance of the estimate ("exact", "fitted" or "guess")."""
    reader = source.reader
    sets, types = reader.compute_sets(), reader.vertex_types()
    if compute_set is not None:
        _check_compute_set(source, compute_set)
    rows = reader.compute_set_vertices(compute_set)
    kind = [each.vertex_type for each in rows]
    return report_frame(
        source,
        {
            "compute_set": [each.compute_set for each in rows],
            "compute_set_name": [sets.name[each.compute_set] for each in rows],
            "vertex_type": [types.name[each] for each in kind],
            "kind": [types.kind[each] for each in kind],
            "ipu": [each.ipu for each in rows],
            "instances": [int(each.count.sum()) for each in rows],
            "tiles": [int(np.count_nonzero(each.count)) for each in rows],
            "thread_cycles": [int(each.cycles.sum()) for each in rows],
            "state_bytes": np.asarray(types.state_bytes, np.int64)[kind],
            "flops": [each.flops for each in rows],
            "provenance": [each.provenance for each in rows],
        },
    )


def vertices_by_tile(source: ReportSource, compute_set: int) -> pd.DataFrame:
    """Instances of each vertex type of one compute set: a row per tile of all IPUs (tile), a column per type."""
    _check_compute_set(source, compute_set)
    target, types = target_of(source), source.reader.vertex_types()
    columns: dict[str, Any] = {"tile": np.arange(target.num_tiles)}
    for each in source.reader.compute_set_vertices(compute_set):
        counts = columns.setdefault(types.name[each.vertex_type], np.zeros(target.num_tiles, np.int64))
        first = each.ipu * target.tiles_per_ipu
        counts[first : first + len(each.count)] += each.count
    return report_frame(source, columns, compute_set=compute_set)


def vertex_types(source: ReportSource) -> pd.DataFrame:
    """A row per vertex type: vertex_type (its number), name, kind, state_bytes of one instance, code_bytes on a tile
    that holds it (missing when unknown)."""
    import pandas as pd

    types = source.reader.vertex_types()
    code = np.asarray(types.code_bytes, np.int64)
    return report_frame(
        source,
        {
            "vertex_type": np.arange(len(types.name)),
            "name": types.name,
            "kind": types.kind,
            "state_bytes": np.asarray(types.state_bytes, np.int64),
            "code_bytes": pd.arrays.IntegerArray(code, code < 0),
        },
    )


def compared_programs(
    source: ReportSource, other: Opened[ReportSource], by: str = "self_cycles", ipu: int | None = None
) -> pd.DataFrame:
    """This report's programs beside those of `other` (from popvision.open), largest difference first: program,
    other_program (missing for a program of one report alone), type, name, matched (how), `by` and other_`by`. `by` is
    one of self_cycles, total_cycles, executions, received_bytes, sent_bytes, live_bytes, code_bytes, trips."""
    fields = {column_of("programs", field): field for field in FIELDS}
    if by not in fields:
        raise ValueError(f"programs have no figure {by!r}; use one of {', '.join(fields)}")
    table = programs_side_by_side(source, other.source, fields[by], ipu)
    columns = {column_of(table.id, each.id): each.values for each in table if not each.side}
    columns |= {by: table.column(fields[by], side="source").values}
    columns |= {f"other_{by}": table.column(fields[by], side="target").values}
    return report_frame(source, columns, other=str(other.source.reader.path))


def explain(source: ReportSource, program: int | None = None, tile: int | None = None) -> pd.DataFrame:
    """The terms of a figure, a row per term: figure, figure_value, unit, term, sign (1 or -1; 0 = a fact that is not
    added), value, provenance ("exact", "fitted", "guess" or "report"), source (formula and publication). Explains one
    program on its busiest tile or on the one given; without a program the report's total cycles and memory."""
    if program is None and tile is not None:
        raise ValueError("a tile needs a program: explain(program, tile)")
    derivations = explain_report(source) if program is None else explain_program(source, program, tile).derivations
    rows = [(each, term) for each in derivations for term in each.terms]
    return report_frame(
        source,
        {
            "figure": [each.figure for each, _ in rows],
            "figure_value": [each.value for each, _ in rows],
            "unit": [each.unit for each, _ in rows],
            "term": [term.text for _, term in rows],
            "sign": [term.sign for _, term in rows],
            "value": [term.value for _, term in rows],
            "provenance": [term.provenance for _, term in rows],
            "source": [term.source for _, term in rows],
        },
    )


def _figures(source: ReportSource, ipu: int | None) -> dict[str, Int64Array]:
    """Figures by program, -1 when unknown; all unknown in a report without runs or without the columns."""
    if ipu is not None:
        check_ipu(source, ipu)
    try:
        return program_columns(source, ipu)
    except AbsentError:
        return {field: np.full(len(programs_of(source).type), -1, np.int64) for field in FIELDS}


def _check_compute_set(source: ReportSource, compute_set: int) -> None:
    count = len(source.reader.compute_sets().name)
    if not 0 <= compute_set < count:
        raise ValueError(f"compute set {compute_set} does not exist: this report has {count}")
