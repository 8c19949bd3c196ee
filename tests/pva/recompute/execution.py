"""Runs, steps, figures of IPUs and totals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.pva.plain_file import PlainFile

T = 3


def _columns(names: str) -> Callable[[PlainFile], list[Any]]:
    return lambda f: [
        f.rows(f"SELECT {names} FROM steps_by_ipu WHERE ipu=? ORDER BY step_id", ipu) for ipu in range(f.ipus)
    ]


def _windows(tiles: str) -> str:
    edges = ("from_min", "from_max", "to_min", "to_max")
    return ", ".join(f"cycles_base + {tiles}_cycles_{edge}" for edge in edges)


def _by_ipu(read: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], list[Any]]:
    return lambda r: [[read(step.ipus[ipu]) for step in r.execution.steps] for ipu in range(len(r.compilation.ipus))]


def _window(name: str) -> Callable[[Any], tuple[int, ...]]:
    def read(ipu: Any) -> tuple[int, ...]:
        window = getattr(ipu, name)
        return window.cyclesFrom.min, window.cyclesFrom.max, window.cyclesTo.min, window.cyclesTo.max

    return read


def _kinds(*names: str) -> Callable[[PlainFile], int]:
    marks = ", ".join("?" * len(names))
    return lambda f: sum(
        sum(f.array(identity))
        for identity in f.column(
            f"SELECT i.cycles_array FROM steps_by_ipu i JOIN steps s ON s.id = i.step_id JOIN program_types t"
            f" ON t.name = s.type WHERE t.name IN ({marks})",
            *names,
        )
    )


VALUES: dict[str, tuple[Callable[[Any], Any], Callable[[PlainFile], Any]]] = {
    "ExecutionReport.runs": (
        lambda r: [(run.name, len(run.steps)) for run in r.execution.runs],
        lambda f: f.rows("SELECT name, n_steps FROM runs ORDER BY id"),
    ),
    "Run.microseconds": (
        lambda r: [(run.microseconds.start, run.microseconds.end) for run in r.execution.runs],
        lambda f: f.rows("SELECT host_start_us, host_end_us FROM runs ORDER BY id"),
    ),
    "Run.steps": (
        lambda r: [step.program._id for step in r.execution.runs[1].steps],
        lambda f: f.column("SELECT program FROM steps WHERE run=1 ORDER BY id"),
    ),
    "Run.cyclesByIpu": (
        lambda r: r.execution.runs[1].cyclesByIpu,
        lambda f: f.column(
            "SELECT sum(i.cycles) FROM steps_by_ipu i JOIN steps s ON s.id=i.step_id WHERE run=1 GROUP BY ipu"
        ),
    ),
    "ExecutionReport.steps": (
        lambda r: [step.program._id for step in r.execution.steps],
        lambda f: f.column("SELECT program FROM steps ORDER BY id"),
    ),
    "TotalCycles.total": (lambda r: r.execution.totalCycles.total, lambda f: f.one("SELECT sum(cycles) FROM runs")),
    "TotalCycles.compute": (lambda r: r.execution.totalCycles.compute, _kinds("OnTileExecute")),
    "TotalCycles.doExchange": (lambda r: r.execution.totalCycles.doExchange, _kinds("DoExchange")),
    "TotalCycles.globalExchange": (lambda r: r.execution.totalCycles.globalExchange, _kinds("GlobalExchange")),
    "TotalCycles.streamCopy": (
        lambda r: r.execution.totalCycles.streamCopy,
        _kinds("StreamCopyBegin", "StreamCopyMid", "StreamCopyEnd"),
    ),
    "TotalCycles.sync": (lambda r: r.execution.totalCycles.sync, _kinds("Sync", "SyncAns", "Sans")),
    "ExecutionStep.cyclesByTile": (
        lambda r: [step.cyclesByTile for step in r.execution.steps],
        lambda f: [
            f.by_tile(f.rows("SELECT ipu, cycles_array FROM steps_by_ipu WHERE step_id=?", step))
            for step in f.column("SELECT id FROM steps ORDER BY id")
        ],
    ),
    "ExecutionStep.computeSets": (
        lambda r: [[(c.name, c.cyclesByTile) for c in step.computeSets] for step in r.execution.steps],
        lambda f: [
            [
                (name, f.by_tile(f.rows("SELECT ipu, cycles_array FROM steps_by_ipu WHERE step_id=?", step)))
                for name in f.column("SELECT name FROM compute_sets WHERE compute_set=?", number)
            ]
            for step, number in f.rows("SELECT id, compute_set FROM steps ORDER BY id")
        ],
    ),
    "StepIpu.cycles": (_by_ipu(lambda i: (i.cycles,)), _columns("cycles")),
    "StepIpu.activeTiles": (_by_ipu(lambda i: (i.activeTiles,)), _columns("active_tiles")),
    "StepIpu.activeCycles": (_by_ipu(_window("activeCycles")), _columns(_windows("active"))),
    "StepIpu.allCycles": (_by_ipu(_window("allCycles")), _columns(_windows("all"))),
    "StepIpu.dataIn": (_by_ipu(lambda i: (i.dataIn,)), _columns("data_in")),
    "StepIpu.dataOut": (_by_ipu(lambda i: (i.dataOut,)), _columns("data_out")),
    "StepIpu.tileBalance": (
        _by_ipu(lambda i: (round(i.tileBalance, 12),)),
        lambda f: _balance(f, active=False),
    ),
    "StepIpu.activeTileBalance": (
        _by_ipu(lambda i: (round(i.activeTileBalance, 12),)),
        lambda f: _balance(f, active=True),
    ),
}


def _balance(f: PlainFile, active: bool) -> list[list[tuple[float]]]:
    """Mean / maximum of the tiles' cycles, over all tiles or those that take part."""
    found = []
    for ipu in range(f.ipus):
        rows = []
        for identity in f.column("SELECT cycles_array FROM steps_by_ipu WHERE ipu=? ORDER BY step_id", ipu):
            cycles = f.array(identity)
            tiles = sum(c > 0 for c in cycles) if active else len(cycles)
            rows.append((round(sum(cycles) / (tiles * max(cycles)), 12) if max(cycles) else 0.0,))
        found.append(rows)
    return found
