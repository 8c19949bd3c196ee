"""Questions about lowered programs, their tree, their tiles and the sources of their figures.

The id of a program is the row of `programs()` by "program", as the viewer shows it."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from popvision.analysis.programs import table as program_tables
from popvision.analysis.programs.program_tree import roots, tree_rows
from popvision.analysis.programs.table import FIELDS, known_integers, program_columns
from popvision.analysis.report.columns import programs_of
from popvision.analysis.report.figure import Unit
from popvision.analysis.report.figure_titles import column_of
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.table_columns import catalogued, columns
from popvision.arrays import Int64Array
from popvision.formats.errors import AbsentError
from popvision.questions.question import Answer, question


class OpenReport(Protocol):
    """What has a report as its source: a report from popvision.open."""

    @property
    def source(self) -> ReportSource:
        """The report."""


PROGRAMS = columns(
    "lowered_programs",
    """
    program        | id     | id, as the viewer shows it
    type           | text   | libpva's Program.Type
    name           | text   | debug name
    self_cycles    | cycles | its own steps, all recorded runs
    total_cycles   | cycles | with everything below and called
    apart_cycles   | cycles | its own steps in runs that happen once per attachment, which no other column has
    executions     | count  | how often it ran
    received_bytes | bytes  | received by its own steps and all below
    live_bytes     | bytes  | most live bytes while it runs
    code_bytes     | bytes  | exchange and control code of the program itself
    trips          | count  | iterations of a Repeat per execution
    sent_bytes     | bytes  | sent by its own steps and all below
    owner          | text   | "control" or "function"
    compute_set    | id     | its compute set, -1 for none
    callee         | id     | the function that a Call calls, -1 for none
    debug_id       | id     | debug context, -1 for none
    """,
)


@question(PROGRAMS)
def programs(source: ReportSource, ipu: int | None = None) -> Answer:
    """Lowered programs by id, with figures over all recorded runs, on one IPU or over all (cycles: on the IPU with
    most). A figure that the report does not hold is missing."""
    table, figures = programs_of(source), _figures(source, ipu)
    count = len(table.type)
    callee = np.full(count, -1, np.int64) if table.callee is None else np.asarray(table.callee, np.int64)
    return Answer(
        PROGRAMS.table(
            program=np.arange(count),
            type=table.type,
            name=table.name,
            owner=table.owner,
            compute_set=np.asarray(table.compute_set, np.int64),
            callee=callee,
            debug_id=np.asarray(table.debug_id, np.int64),
            **{column_of("programs", field): known_integers(values) for field, values in figures.items()},
        )
    )


TREE = columns(
    "program_tree",
    """
    root         | id     | the control program or function that it is below
    program      | id     | id, as the viewer shows it
    depth        | count  | levels below the root
    rows         | count  | rows of its subtree, itself included
    type         | text   | libpva's Program.Type
    name         | text   | debug name
    self_cycles  | cycles | its own steps, all recorded runs
    total_cycles | cycles | with everything below and called
    executions   | count  | how often it ran
    """,
)


@question(TREE)
def tree(source: ReportSource, root: int | None = None, ipu: int | None = None) -> Answer:
    """The program tree from top to bottom, below one program or all of it. A program with several parents has several
    rows."""
    figures, table = _figures(source, ipu), programs_of(source)
    tops = [top.program for top in roots(source)] if root is None else [root]
    trees = [tree_rows(source, top) for top in tops]
    empty = np.empty(0, np.int64)
    program, depth, size = (
        np.concatenate([empty, *(getattr(rows, name) for rows in trees)]) for name in ("program", "depth", "size")
    )
    ids = program.tolist()
    fields = ("self", "total", "executions")
    return Answer(
        TREE.table(
            root=np.repeat(np.asarray(tops, np.int64), [len(rows.program) for rows in trees]),
            program=program,
            depth=depth,
            rows=size,
            type=[table.type[row] for row in ids],
            name=[table.name[row] for row in ids],
            **{column_of("programs", field): known_integers(figures[field][program]) for field in fields},
        )
    )


#: Figures of a program on a tile; those that the report does not hold are left out.
_ON_TILES: dict[str, Unit] = {
    "tile": "id",
    "ipu": "id",
    **{id: unit for id, (unit, _) in program_tables.TILE_FIGURES.items()},
}


PROGRAM_TILES = catalogued("program_tiles", _ON_TILES)


@question(PROGRAM_TILES)
def program_tiles(source: ReportSource, program: int) -> Answer:
    """What the report holds of one program on each tile."""
    return Answer(program_tables.program_tiles(source, program), {"program": program})


#: Columns that programs of two reports can be compared by -> figure.
COMPARED = {column_of("programs", field): field for field in FIELDS}


@question(by=tuple(COMPARED))
def compared_programs(
    source: ReportSource, other: OpenReport, by: str = "self_cycles", ipu: int | None = None
) -> Answer:
    """This report's programs beside those of another (docs/compare.md), largest difference first: `by` of this report,
    other_`by` of the other."""
    from popvision.analysis.compare import programs as two_reports

    table = two_reports.compared_programs(source, other.source, COMPARED[by], ipu)
    return Answer(table, {"other": other.source.label})


EXPLAIN = columns(
    "explained_terms",
    """
    figure       | text  | the figure that is explained
    figure_value | count | its value
    unit         | text  | its unit
    term         | text  | a term of it
    sign         | count | 1 or -1; 0 = a fact that is not added
    value        | count | value of the term
    provenance   | text  | exact, fitted, given, guess or report
    source       | text  | formula and publication
    """,
)


@question(EXPLAIN)
def explain(source: ReportSource, program: int | None = None, tile: int | None = None) -> Answer:
    """The terms of the figures of one program on its busiest tile or on the one given; without a program those of the
    report's total cycles and memory."""
    from popvision.analysis.explain.explain import explain_program
    from popvision.analysis.explain.report import explain_report

    if program is None and tile is not None:
        raise ValueError("a tile needs a program: explain(program, tile)")
    derivations = explain_report(source) if program is None else explain_program(source, program, tile).derivations
    rows = [(derivation, term) for derivation in derivations for term in derivation.terms]
    return Answer(
        EXPLAIN.table(
            figure=[derivation.figure for derivation, _ in rows],
            figure_value=[derivation.value for derivation, _ in rows],
            unit=[derivation.unit for derivation, _ in rows],
            term=[term.text for _, term in rows],
            sign=[term.sign for _, term in rows],
            value=[term.value for _, term in rows],
            provenance=[term.provenance for _, term in rows],
            source=[term.source for _, term in rows],
        )
    )


def _figures(source: ReportSource, ipu: int | None) -> dict[str, Int64Array]:
    """Figures by program, -1 when unknown; all unknown in a report without runs or without the columns."""
    try:
        return program_columns(source, ipu)
    except AbsentError:
        return {field: np.full(len(programs_of(source).type), -1, np.int64) for field in FIELDS}
