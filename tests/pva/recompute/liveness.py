"""Liveness, always-live and lowered variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tests.pva.plain_file import PlainFile

T = 3


def _peak(f: PlainFile) -> int:
    return f.one("SELECT liveness_index FROM liveness ORDER BY bytes DESC, liveness_index LIMIT 1")


def _peak_step(r: Any) -> Any:
    return max(r.compilation.livenessProgramSteps, key=lambda step: step.notAlwaysLiveMemory.bytes)


def _listed(variables: Iterable[Any]) -> list[tuple[int, str, int]]:
    return sorted((v._id, v.name, v.size) for v in variables)


def _live_on(f: PlainFile, tiles: Iterable[int], wanted: Callable[[int], bool]) -> list[tuple[int, str, int]]:
    size: dict[int, int] = {}
    for tile in tiles:
        columns = f.lowered(tile)
        for variable, eq_class, n in zip(columns["whole"], columns["eq_class"], columns["bytes"], strict=True):
            if wanted(eq_class):
                size[variable] = size.get(variable, 0) + n
    names = dict(f.rows("SELECT id, name FROM variables"))
    return sorted((variable, names[variable], n) for variable, n in size.items())


def _live_parts(f: PlainFile) -> list[tuple[int, str, int]]:
    """Bytes of each variable of which parts are live at the peak."""
    parts = f.rows("SELECT variable, name, p.bytes, p.eq_class FROM variable_parts p JOIN variables v ON v.id=variable")
    size: dict[tuple[int, str], int] = {}
    for variable, name, n, eq_class in parts:
        if f.is_live(eq_class, _peak(f)):
            size[variable, name] = size.get((variable, name), 0) + n
    return sorted((*key, n) for key, n in size.items())


_OWN = "SELECT 1 FROM variables v JOIN var_categories c USING (name) WHERE v.id=? AND debug_id < 0"


def _lowered(r: Any) -> Any:
    return r.compilation.loweredVariables


VALUES: dict[str, tuple[Callable[[Any], Any], Callable[[PlainFile], Any]]] = {
    "CompilationReport.alwaysLiveVariables": (
        lambda r: _listed(r.compilation.alwaysLiveVariables),
        lambda f: f.rows("SELECT id, name, bytes FROM variables WHERE always_live ORDER BY id"),
    ),
    "CompilationReport.alwaysLiveVariablesForTile": (
        lambda r: _listed(r.compilation.alwaysLiveVariablesForTile(T)),
        lambda f: _live_on(f, [T], lambda c: c == f.always),
    ),
    "CompilationReport.livenessProgramSteps": (
        lambda r: [(s.program._id, s.notAlwaysLiveMemory.bytes) for s in r.compilation.livenessProgramSteps],
        lambda f: f.rows("SELECT program, bytes FROM liveness ORDER BY liveness_index"),
    ),
    "LivenessProgramStep.notAlwaysLiveMemory": (
        lambda r: _listed(_peak_step(r).notAlwaysLiveMemory.variables),
        _live_parts,
    ),
    "LivenessProgramStep.notAlwaysLiveMemoryForIpu": (
        lambda r: (
            _peak_step(r).notAlwaysLiveMemoryForIpu(0).bytes,
            _listed(_peak_step(r).notAlwaysLiveMemoryForIpu(0).variables),
        ),
        lambda f: (
            f.array(f.one("SELECT bytes_array FROM liveness_by_ipu WHERE ipu=0"))[_peak(f)],
            _live_on(f, range(f.per_ipu), lambda c: f.is_live(c, _peak(f))),
        ),
    ),
    "LivenessProgramStep.notAlwaysLiveMemoryForTile": (
        lambda r: (
            _peak_step(r).notAlwaysLiveMemoryForTile(T).bytes,
            _listed(_peak_step(r).notAlwaysLiveMemoryForTile(T).variables),
        ),
        lambda f: (
            sum(row[2] for row in _live_on(f, [T], lambda c: f.is_live(c, _peak(f)))),
            _live_on(f, [T], lambda c: f.is_live(c, _peak(f))),
        ),
    ),
    "LoweredVariables.allBriefVars": (
        lambda r: [(v.id, v.bytes, v.tileId, v.equivalenceClass.id) for v in _lowered(r).allBriefVars],
        lambda f: [
            (id, n, tile, number)
            for tile in range(f.tiles)
            for c in [f.lowered(tile)]
            for id, n, number in zip(c["id"], c["bytes"], c["eq_class"], strict=True)
        ],
    ),
    "EquivalenceClass.steps": (
        lambda r: [[(i.start, i.end) for i in v.equivalenceClass.steps] for v in _lowered(r).forTile(T)],
        lambda f: [f.ranges(number) for number in f.lowered(T)["eq_class"]],
    ),
    "LoweredVariables.forTile": (
        lambda r: [
            (v._id, v.name, v.bytes, v.offset, v.category, v.alwaysLive, v.tileId, v.inInterleavedMem)
            for v in _lowered(r).forTile(T)
        ],
        lambda f: [
            (
                id,
                f.one("SELECT string FROM vars_string_table WHERE id=?", name),
                n,
                at,
                f.one("SELECT name FROM var_categories WHERE id=?", category),
                number == f.always,
                T,
                region == 1,
            )
            for c in [f.lowered(T)]
            for id, name, n, at, category, number, region in zip(
                *(c[k] for k in ("id", "name", "bytes", "address", "category", "eq_class", "region")), strict=True
            )
        ],
    ),
    "LoweredVar.unloweredVar": (
        lambda r: [
            (v._id, v.unloweredVar._id, v.unloweredVar.size) for v in _lowered(r).forTile(T) if v.hasUnloweredVar
        ],
        lambda f: [
            (id, variable, sum(n for n, v in zip(c["bytes"], c["whole"], strict=True) if v == variable))
            for c in [f.lowered(T)]
            for id, variable in zip(c["id"], c["whole"], strict=True)
            if not f.rows(
                "SELECT 1 FROM variables v JOIN var_categories c USING (name) WHERE v.id=? AND debug_id < 0", variable
            )
        ],
    ),
    "LoweredVar.executable": (
        lambda r: [(v.isConstant, v.vertexCode, v.executable) for v in _lowered(r).forTile(T)],
        lambda f: [
            (name == "constant", name == "vertexCode", name.endswith("Code"))
            for category in f.lowered(T)["category"]
            for name in [f.one("SELECT name FROM var_categories WHERE id=?", category)]
        ],
    ),
}
