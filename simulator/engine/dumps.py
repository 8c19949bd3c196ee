"""Files and text for debugging: dumpProgram, debug.loweredVarDumpFile and target.saveOutputVertexGraph."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from popvision.formats.profile.model import CATEGORIES, Compilation
from simulator.base.errors import poplar_error
from simulator.base.options.compile import CompileSettings
from simulator.base.wrong_arguments import refuses_wrong_arguments
from simulator.building.graph import Graph
from simulator.compiler.compile import compile_graph
from simulator.compiler.ir.program_table import ProgramTable
from simulator.graph.program import Program

#: Columns of debug.loweredVarDumpFile. Published programs name the option, but nothing says what its file looks like.
LOWERED_COLUMNS = ("tile", "address", "bytes", "category", "name", "always_live")


@refuses_wrong_arguments
def dumpProgram(graph: Graph, program: Program, out: IO[str]) -> None:
    """Write what `program` is lowered to, a line for each node: type, name, trips of a Repeat; then the functions that
    it calls. Raises what compiling it would raise."""
    top = graph.getTopLevelGraph()
    lowered = compile_graph(top.store, top.getTarget(), [program], CompileSettings(memory=False)).lowered
    for row in (lowered.branches[0], *lowered.function_roots.values()):
        for line in _program_lines(lowered.table, row, 0):
            out.write(line + "\n")


def _program_lines(table: ProgramTable, row: int, depth: int) -> Iterator[str]:
    trips = f" {table.repeat_count[row]} times" if table.type[row] == "Repeat" else ""
    name = f" '{table.name[row]}'" if table.name[row] else ""
    yield f"{'  ' * depth}{table.type[row]}{name}{trips}"
    for child in table.children[row]:
        yield from _program_lines(table, child, depth + 1)


def dump_lowered_variables(path: Path, compilation: Compilation) -> None:
    """Write every allocation of every tile as CSV, making the folder if it is missing. Raises poplar_error where that
    is not possible."""
    names = compilation.lowered_names
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(LOWERED_COLUMNS)
            for tile in compilation.lowered:
                columns = (tile.address, tile.bytes, tile.category, tile.name, tile.eq_class)
                for address, size, category, name, live in zip(*(c.tolist() for c in columns), strict=True):
                    rows.writerow((tile.tile, address, size, CATEGORIES[category], names[name], int(live < 0)))
    except OSError as error:
        raise poplar_error(
            f"The lowered variables cannot be written to {path} ({error.strerror or error}); give "
            "debug.loweredVarDumpFile another path."
        ) from None


def save_vertex_graph(path: Path, graph: Graph, programs: list[Program]) -> None:
    """Write the vertex graph of these programs in dot format. Raises poplar_error where that is not possible."""
    try:
        with path.open("w") as file:
            graph.outputVertexGraph(file, programs)
    except OSError as error:
        raise poplar_error(
            f"The vertex graph cannot be written to {path} ({error.strerror or error}); give "
            "target.saveOutputVertexGraph another path."
        ) from None
