"""Reports described in plain Python, one object per program and variable: the obvious twin of what a compiler writes.

    described = PlainReport(tiles=8, programs=[...], variables=[...])
    described.write(folder)

Every figure follows from the description in a way that a reader can redo by hand, so an edit of the description (one
tile 1,024 B fuller, one step 100 cycles longer, a rename, a removal) is a difference of exactly that and nothing else.
All tiles take part in each step for as long as `cycles` says; a Sync waits for the slowest tile and 10 cycles more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from popvision.formats.debug_info import DebugInfo, write_debug_info
from popvision.formats.profile import model
from popvision.formats.profile.writer import ProfileWriter

CAPACITY = 200_000
WORKERS = 6
SYNC = 10


@dataclass(frozen=True)
class PlainProgram:
    """A leaf program. `cycles` of each tile; one number = the same on all tiles. `messages` = (from, to, bytes)."""

    type: str
    name: str
    cycles: int | Sequence[int] = 0
    messages: Sequence[tuple[int, int, int]] = ()
    line: int = 0  #: line of "model.py" in its debug context, 0 = no debug context
    vertex: str = "PlainVertex"  #: type of its vertices
    provenance: str = "exact"  #: of its vertices' cycles
    plan: str = ""  #: the plan of a product in its debug context
    uses: Sequence[int] = ()  #: rows of `variables` that it reads or writes
    instances: int = WORKERS  #: vertices on each tile in the counts; the lanes hold one a worker


@dataclass(frozen=True)
class PlainVariable:
    """`bytes` by tile, multiples of 8, as is `gap`; `live` = first and last liveness index, None = always."""

    name: str
    bytes: dict[int, int]
    live: tuple[int, int] | None = None
    category: str = "variable"
    region: str = "nonInterleaved"
    gap: int = 0  #: unused bytes before it on each of its tiles


Described = TypeVar("Described", PlainProgram, PlainVariable)


@dataclass(frozen=True)
class PlainReport:
    """Programs run once, in order; the liveness index of a program is its place in the list."""

    programs: Sequence[PlainProgram]
    variables: Sequence[PlainVariable]
    tiles: int = 8
    label: str = "plain"
    region_split: int = 0  #: address at which interleaved memory begins
    timestamp: str = "2026-11-21T00:00:00Z"

    def write(self, folder: Path) -> Path:
        """profile.pop and debug.json in `folder`; the path of the former."""
        folder.mkdir(parents=True, exist_ok=True)
        run_id = f"{self.label}-run"
        write_debug_info(folder, [_context(i, each) for i, each in enumerate(self.programs) if each.line], run_id)
        with ProfileWriter(folder / "profile.pop") as writer:
            writer.write_compilation(_compilation(self))
            writer.append_run(_run(self))
        return folder / "profile.pop"

    def with_program(self, index: int, **changes: object) -> PlainReport:
        """The report with one program changed; `remove=True` takes it out."""
        return replace(self, programs=_changed(self.programs, index, changes))

    def with_variable(self, index: int, **changes: object) -> PlainReport:
        """The same for a variable."""
        return replace(self, variables=_changed(self.variables, index, changes))


def _changed(described: Sequence[Described], index: int, changes: dict[str, object]) -> list[Described]:
    """All of them, the one at `index` changed or taken out."""
    changed = [] if changes == {"remove": True} else [replace(described[index], **changes)]  # type: ignore[arg-type]
    return [*described[:index], *changed, *described[index + 1 :]]


def _context(index: int, program: PlainProgram) -> DebugInfo:
    plan = {"plan": program.plan} if program.plan else {}
    return DebugInfo(
        index, layer="poplibs", name=program.name, arguments=plan, file="/home/user/model.py", line=program.line
    )


def _compute_sets(report: PlainReport) -> list[int]:
    """Rows of `programs` that execute a compute set; their order is the compute sets' order."""
    return [row for row, each in enumerate(report.programs) if each.type == "OnTileExecute"]


def _cycles(report: PlainReport, program: PlainProgram) -> np.ndarray:
    return np.broadcast_to(np.asarray(program.cycles, np.int64), report.tiles)


def _compilation(report: PlainReport) -> model.Compilation:
    leaves = report.programs
    sets = _compute_sets(report)
    count = len(leaves) + 1
    sync = ["internal" if each.type == "Sync" else "" for each in leaves]
    programs = model.Programs(
        type=["Sequence"] + [each.type for each in leaves],
        name=["main"] + [each.name for each in leaves],
        owner=["control"] * count,
        compute_set=np.array([-1] + [sets.index(row) if row in sets else -1 for row in range(len(leaves))]),
        repeat_count=np.zeros(count, np.int64),
        debug_id=np.array([-1] + [row if each.line else -1 for row, each in enumerate(leaves)]),
        sync_type=["", *sync],
        child_offsets=np.array([0] + [len(leaves)] * count),
        children=np.arange(1, count),
    )
    names = [leaves[row].name for row in sets]
    types = list(dict.fromkeys([leaves[row].vertex for row in sets])) or ["PlainVertex"]
    return model.Compilation(
        target=model.Target(
            "IpuModel",
            "Ipu2",
            1,
            report.tiles,
            CAPACITY,
            1e9,
            region_split=report.region_split,
            physical_tile=np.arange(report.tiles),
        ),
        programs=programs,
        compute_sets=model.ComputeSets(names, np.full(len(sets), -1), np.full(len(sets), 1000)),
        vertex_types=model.VertexTypes(
            types, ["worker"] * len(types), np.full(len(types), 16), np.full(len(types), -1)
        ),
        num_vertices=len(sets) * report.tiles * WORKERS,
        num_edges=len(sets) * report.tiles * WORKERS,
        num_variables=len(report.variables),
        program_on_ipu=_figures(report),
        messages=_messages(report),
        program_variables=[
            model.ProgramVariables(row + 1, np.array(sorted(each.uses))) for row, each in enumerate(leaves) if each.uses
        ],
        compute_set_vertices=[
            model.ComputeSetVertices(
                each,
                types.index(leaves[row].vertex),
                0,
                np.full(report.tiles, leaves[row].instances),
                _cycles(report, leaves[row]) * WORKERS,
                leaves[row].provenance,
                flops=1000,
            )
            for each, row in enumerate(sets)
        ],
        vertex_lanes=[_lanes(report, each, row, types) for each, row in enumerate(sets)],
        meta=_meta(report),
        **_memory(report),
    )


def _lanes(report: PlainReport, compute_set: int, row: int, types: list[str]) -> model.VertexLanes:
    """Six equal vertices a tile, one a worker."""
    offsets = np.arange(report.tiles + 1) * WORKERS
    cycles = np.repeat(_cycles(report, report.programs[row]), WORKERS)
    worker = np.tile(np.arange(WORKERS), report.tiles)
    type_ = np.full(len(worker), types.index(report.programs[row].vertex))
    return model.VertexLanes(compute_set, 0, offsets, type_, cycles, worker)


def _figures(report: PlainReport) -> list[model.ProgramOnIpu]:
    found = []
    for row, each in enumerate(report.programs):
        if each.type not in ("OnTileExecute", "DoExchange"):
            continue
        received, sent = np.zeros(report.tiles, np.int64), np.zeros(report.tiles, np.int64)
        for source, target, size in each.messages:
            received[target] += size
            sent[source] += size
        moved = {"rx": received, "tx": sent, "exchange_code": np.full(report.tiles, 24)} if each.messages else {}
        found.append(model.ProgramOnIpu(row + 1, 0, cycles=_cycles(report, each), **moved))
    return found


def _messages(report: PlainReport) -> list[model.Messages]:
    return [
        model.Messages(row + 1, 0, *(np.array(column) for column in zip(*each.messages, strict=True)))
        for row, each in enumerate(report.programs)
        if each.messages
    ]


def _meta(report: PlainReport) -> dict[str, object]:
    return {
        "poplarVersion": "3.4.0 (popvision 0.1.0)",
        "modelVersion": "popvision 0.1.0",
        "simulated": True,
        "engineOptions": {"autoReport.all": "true"},
        "engineName": report.label,
        "timestamp": report.timestamp,
        "reportId": report.label,
        "runId": f"{report.label}-run",
        "computeInstrumentation": "Tile",
        "externalExchangeInstrumentation": "Off",
    }


def _memory(report: PlainReport) -> dict[str, object]:
    """Each variable has its own addresses, one after the other and its gap: nothing overlaps."""
    indices = len(report.programs)
    changing = [each for each in report.variables if each.live is not None]
    classes = {id(each): row for row, each in enumerate(changing)}
    live = np.zeros((report.tiles, indices), np.int64)
    always, total = np.zeros(report.tiles, np.int64), np.zeros(report.tiles, np.int64)
    highest = np.zeros(report.tiles, np.int64)
    by_category: dict[tuple[str, str], np.ndarray] = {}
    rows: list[list[tuple[int, ...]]] = [[] for _ in range(report.tiles)]
    for number, each in enumerate(report.variables):
        for tile, size in each.bytes.items():
            code = model.CATEGORIES.index(each.category)
            region = model.REGIONS.index(each.region)
            address = int(highest[tile]) + each.gap
            rows[tile].append((size, address, code, region, number, classes.get(id(each), -1), number))
            total[tile] += size
            highest[tile] = address + size
            by_category.setdefault((each.category, each.region), np.zeros(report.tiles, np.int64))[tile] += size
            if each.live is None:
                always[tile] += size
            else:
                live[tile, each.live[0] : each.live[1] + 1] += size
    lowered, first = [], 0
    for tile, own in enumerate(rows):
        columns = [np.array(column) for column in zip(*own, strict=True)] if own else [np.zeros(0, np.int64)] * 7
        lowered.append(model.LoweredTile(tile, first, *columns))
        first += len(own)
    spans = [each.live for each in changing if each.live is not None]
    curve = live.sum(axis=0)
    return {
        "tile_memory": model.TileMemory(highest, total, always, live.max(axis=1), np.zeros(report.tiles, np.int64)),
        "category_memory": [model.CategoryMemory(*key, False, 0, column) for key, column in by_category.items()],
        "variables": model.Variables(
            [each.name for each in report.variables],
            np.full(len(report.variables), -1),
            np.array([sum(each.bytes.values()) for each in report.variables]),
            np.array([each.live is None for each in report.variables]),
            np.array([classes.get(id(each), -1) for each in report.variables]),
        ),
        "eq_classes": model.EquivalenceClasses(
            np.arange(len(spans) + 1), np.array([a for a, _ in spans]), np.array([b + 1 for _, b in spans])
        ),
        "liveness": model.Liveness(np.arange(1, indices + 1), curve, [curve]),
        "vars_info": _vars_info(rows),
        "lowered": lowered,
        "lowered_names": [each.name for each in report.variables],
    }


def _vars_info(rows: list[list[tuple[int, ...]]]) -> tuple[np.ndarray, ...]:
    flat = [(tile, row[2], row[6], row[0]) for tile, own in enumerate(rows) for row in own]
    return tuple(np.array(column, np.int64) for column in zip(*flat, strict=True))


def _run(report: PlainReport) -> model.RunRecord:
    clock = np.zeros(report.tiles, np.int64)
    patterns, bases = [], []
    for each in report.programs:
        spent = clock.max() + SYNC - clock if each.type == "Sync" else _cycles(report, each)
        base = int(clock.min())
        patterns.append(model.StepOnIpu((clock - base).astype(np.uint32), spent.astype(np.uint32)))
        bases.append(base)
        clock = clock + spent
    steps = len(report.programs)
    moved = np.array([[sum(size for *_, size in each.messages)] for each in report.programs], np.int64)
    return model.RunRecord(
        program_index=0,
        name="step",
        host_start_us=1_000_000,
        host_end_us=1_000_250,
        cycles=int(clock.max()),
        program=np.arange(1, steps + 1),
        base=np.array(bases)[:, None],
        pattern=np.arange(steps)[:, None],
        patterns=patterns,
        tail=[clock.max() - clock],
        data_in=moved,
        data_out=moved,
    )
