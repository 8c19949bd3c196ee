"""Compute sets, vertices and programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.pva.plain_file import PlainFile

T = 3


def _compute_set(f: PlainFile) -> int:
    """The compute set with most vertices."""
    rows = f.rows("SELECT compute_set, count_array FROM compute_set_vertices")
    count: dict[int, int] = {}
    for number, identity in rows:
        count[number] = count.get(number, 0) + sum(f.array(identity))
    return max(count, key=lambda number: (count[number], -number))


def _largest(r: Any) -> Any:
    return max(r.compilation.computeSets, key=lambda c: sum(sum(v.countByTile) for v in c.vertices))


def _of_set(column: str) -> Callable[[PlainFile], dict[str, list[int]]]:
    def read(f: PlainFile) -> dict[str, list[int]]:
        found = {}
        rows = f.rows("SELECT v.id, v.name FROM vertex_types v")
        for kind, name in rows:
            query = f"SELECT ipu, {column} FROM compute_set_vertices WHERE compute_set=? AND vertex_type=?"
            arrays = f.rows(query, _compute_set(f), kind)
            if arrays:
                found[name] = f.by_tile(arrays)
        return found

    return read


def _first(type_: str) -> Callable[[Any], Any]:
    """The first program of a type that has figures of its own."""
    return lambda r: next(p for p in r.compilation.programs if p.type.name == type_ and p.estimatedCyclesByTile)


def _control(f: PlainFile) -> list[list[int]]:
    found = []
    for program in f.column("SELECT id FROM programs ORDER BY id"):
        parts = [f.figure(each, "control_code") for each in f.under(program)]
        found.append([sum(each) for each in zip(*parts, strict=True)])
    return found


_TYPED = "SELECT {} FROM programs p JOIN program_types t ON t.id = p.type WHERE {} ORDER BY p.id"

VALUES: dict[str, tuple[Callable[[Any], Any], Callable[[PlainFile], Any]]] = {
    "CompilationReport.computeSets": (
        lambda r: [c.name for c in r.compilation.computeSets],
        lambda f: f.column("SELECT name FROM compute_sets ORDER BY compute_set"),
    ),
    "ComputeSet.estimatedCyclesByTile": (
        lambda r: [c.estimatedCyclesByTile for c in r.compilation.computeSets],
        lambda f: [
            f.figure(f.one("SELECT min(id) FROM programs WHERE compute_set=?", number), "cycles")
            for number in f.column("SELECT compute_set FROM compute_sets ORDER BY compute_set")
        ],
    ),
    "VertexInstances.countByTile": (
        lambda r: {v.type.name: v.countByTile for v in _largest(r).vertices},
        _of_set("count_array"),
    ),
    "VertexInstances.estimatedCycles": (
        lambda r: {v.type.name: v.estimatedCycles for v in _largest(r).vertices},
        lambda f: {name: sum(cycles) for name, cycles in _of_set("cycles_array")(f).items()},
    ),
    "VertexType.size": (
        lambda r: {v.type.name: v.type.size for c in r.compilation.computeSets for v in c.vertices},
        lambda f: dict(f.rows("SELECT name, state_bytes FROM vertex_types")),
    ),
    "CompilationReport.programs": (
        lambda r: [(p._id, p.type.name, p.name) for p in r.compilation.programs],
        lambda f: f.rows(
            "SELECT p.id, t.name, p.name FROM programs p JOIN program_types t ON t.id = p.type ORDER BY p.id"
        ),
    ),
    "Program.children": (
        lambda r: [[c._id for c in p.children] for p in r.compilation.programs],
        lambda f: [
            f.column("SELECT child FROM program_children WHERE program=? ORDER BY pos", program)
            for program in f.column("SELECT id FROM programs ORDER BY id")
        ],
    ),
    "Program.controlCodeByTile": (lambda r: [p.controlCodeByTile for p in r.compilation.programs], _control),
    "Program.estimatedCyclesByTile": (
        lambda r: _first("DoExchange")(r).estimatedCyclesByTile,
        lambda f: f.figure(f.first("DoExchange"), "cycles"),
    ),
    "Program.vars": (
        lambda r: [[v._id for v in p.vars] for p in r.compilation.programs],
        lambda f: [f.variables_of(program) for program in f.column("SELECT id FROM programs ORDER BY id")],
    ),
    "OnTileExecuteProgram.computeset": (
        lambda r: [p.computeset.name for p in r.compilation.programs if p.type.name == "OnTileExecute"],
        lambda f: f.column("SELECT c.name FROM programs p JOIN compute_sets c USING (compute_set) ORDER BY p.id"),
    ),
    "DoExchangeProgram.codeBytesByTile": (
        lambda r: [p.codeBytesByTile for p in r.compilation.programs if p.type.name == "DoExchange"],
        lambda f: [
            f.figure(program, "exchange_code") for program in f.column(_TYPED.format("p.id", "t.name = 'DoExchange'"))
        ],
    ),
    "GlobalExchangeProgram.codeBytesByTile": (
        lambda r: _first("GlobalExchange")(r).codeBytesByTile,
        lambda f: f.figure(f.first("GlobalExchange"), "exchange_code"),
    ),
    "StreamCopyProgram.codeBytesByTile": (
        lambda r: _first("StreamCopyMid")(r).codeBytesByTile,
        lambda f: f.figure(f.first("StreamCopyMid"), "exchange_code"),
    ),
}
