"""dumpProgram: the lowered form of a program as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

from simulator.graph.programs.base import Program

if TYPE_CHECKING:
    from simulator.compiler.ir.program_table import ProgramTable
    from simulator.programming.graph import Graph


def dumpProgram(graph: Graph, program: Program, out: IO[str]) -> None:
    """Write what `program` is lowered to, a line for each node: type, name, trips of a Repeat; then the functions that
    it calls. Raises what compiling it would raise."""
    from simulator.base.options.compile import CompileSettings
    from simulator.compiler.compile import compile_graph  # imports the programs

    top = graph.getTopLevelGraph()
    lowered = compile_graph(top.store, top.getTarget(), [program], CompileSettings(memory=False)).lowered
    for row in (lowered.branches[0], *lowered.function_roots.values()):
        for line in _lines(lowered.table, row, 0):
            out.write(line + "\n")


def _lines(table: ProgramTable, row: int, depth: int) -> Iterator[str]:
    trips = f" {table.repeat_count[row]} times" if table.type[row] == "Repeat" else ""
    name = f" '{table.name[row]}'" if table.name[row] else ""
    yield f"{'  ' * depth}{table.type[row]}{name}{trips}"
    for child in table.children[row]:
        yield from _lines(table, child, depth + 1)
