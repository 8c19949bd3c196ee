"""Small reports made the slow, obvious way: dictionaries and loops, from which every stored column is added up.

`Case` keeps the plain facts (which variable has how many bytes on which tile, when it is live, where it lies), so that
a test can ask them the same question that it asks the analysis.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from popvision.analysis.report.source import ReportSource
from popvision.formats.profile import ProfileWriter
from popvision.formats.profile.model import (
    CATEGORIES,
    REGIONS,
    CategoryMemory,
    Compilation,
    ComputeSets,
    ComputeSetVertices,
    EquivalenceClasses,
    Liveness,
    LoweredTile,
    ProgramOnIpu,
    Programs,
    Target,
    TileMemory,
    Variables,
    VertexTypes,
)

SPLIT = 600  # byte offset at which interleaved memory begins
CAPACITY = 1200


@dataclass
class Allocation:
    tile: int
    variable: int
    address: int
    bytes: int


@dataclass
class Case:
    """Ranges per class, class (-1 = always live) and category per variable, and every allocation."""

    target: Target
    indices: int
    ranges: list[list[tuple[int, int]]]
    classes: list[int]
    categories: list[str]
    allocations: list[Allocation] = field(default_factory=list)

    def live(self, variable: int, index: int) -> bool:
        """Whether a not-always-live variable is live at an index."""
        return self.classes[variable] >= 0 and any(s <= index < e for s, e in self.ranges[self.classes[variable]])

    def bytes_live(self, index: int, tiles: range) -> int:
        return sum(a.bytes for a in self.allocations if a.tile in tiles and self.live(a.variable, index))

    def bytes_always(self, tiles: range) -> int:
        return sum(a.bytes for a in self.allocations if a.tile in tiles and self.classes[a.variable] < 0)

    def meet(self, one: int, other: int) -> bool:
        """Whether two variables are ever live together."""
        if self.classes[one] < 0 or self.classes[other] < 0:
            return True
        return any(self.live(one, i) and self.live(other, i) for i in range(self.indices))

    def used_bytes(self, tile: int) -> dict[int, Allocation]:
        """address -> the first allocation, by address then variable, that uses it."""
        owner: dict[int, Allocation] = {}
        for a in sorted((a for a in self.allocations if a.tile == tile), key=lambda a: (a.address, a.variable)):
            for byte in range(a.address, a.address + a.bytes):
                owner.setdefault(byte, a)
        return owner


def make_case(seed: int, ipus: int = 2, tiles_per_ipu: int = 3, replicas: int = 1, indices: int = 9) -> Case:
    """A seeded report. Replicas are equal; allocations that are live together never share an address."""
    rng = random.Random(seed)
    physical = np.array(rng.sample(range(2 * tiles_per_ipu), tiles_per_ipu))
    target = Target("IpuModel", "Ipu2", ipus, tiles_per_ipu, CAPACITY, 1e9, replicas, physical_tile=physical)
    ranges = []
    for _ in range(rng.randint(1, 5)):
        cuts = sorted(rng.sample(range(indices + 1), rng.choice([2, 2, 4])))
        ranges.append(list(zip(cuts[::2], cuts[1::2], strict=True)))
    count = rng.randint(1, 8)
    classes = [rng.choice([-1, *range(len(ranges))]) for _ in range(count)]
    categories = [rng.choice(["variable", "vertexCode", "controlCode", "message", "stack"]) for _ in range(count)]
    case = Case(target, indices, ranges, classes, categories)
    per_replica = target.num_tiles // replicas
    for tile in range(per_replica):
        for variable in range(count):
            if rng.random() < 0.7:
                _place(case, rng, tile, variable)
    for a in list(case.allocations):
        for replica in range(1, replicas):
            case.allocations.append(Allocation(a.tile + replica * per_replica, a.variable, a.address, a.bytes))
    return case


def _place(case: Case, rng: random.Random, tile: int, variable: int) -> None:
    size = rng.randint(1, 150)
    address = rng.choice([0, 0, 32, 64, 500])
    others = [a for a in case.allocations if a.tile == tile and case.meet(a.variable, variable)]
    while any(a.address < address + size and address < a.address + a.bytes for a in others):
        address += 8
    case.allocations.append(Allocation(tile, variable, address, size))


def region_of(address: int) -> str:
    return "overflowed" if address >= CAPACITY else "interleaved" if address >= SPLIT else "nonInterleaved"


def columns(case: Case) -> Compilation:
    """Every column of the report, added up byte by byte."""
    target = case.target
    replica = range(target.num_tiles // target.num_replicas)
    bytes_of = [sum(a.bytes for a in case.allocations if a.variable == v) for v in range(len(case.classes))]
    flat = [span for spans in case.ranges for span in spans]
    return Compilation(
        target=target,
        programs=_programs(),
        compute_sets=ComputeSets(["mul", "add"], np.array([-1, -1]), np.array([640, -1])),
        vertex_types=VertexTypes(["Mul", "Add"], ["worker", "supervisor"], np.array([16, 12]), np.array([100, -1])),
        tile_memory=_tile_memory(case),
        num_vertices=6,
        num_variables=len(case.classes),
        program_on_ipu=[_on_ipu(target, p, ipu) for p in (1, 2) for ipu in range(target.num_ipus)],
        compute_set_vertices=[_vertices(target, c, ipu) for c in (0, 1) for ipu in range(target.num_ipus)],
        category_memory=_category_memory(case),
        variables=Variables(
            [f"v{i}" for i in range(len(case.classes))],
            np.full(len(case.classes), -1),
            np.array(bytes_of),
            np.array(case.classes) < 0,
            np.array(case.classes),
        ),
        eq_classes=EquivalenceClasses(
            np.cumsum([0, *(len(spans) for spans in case.ranges)]),
            np.array([s for s, _ in flat]),
            np.array([e for _, e in flat]),
        ),
        liveness=Liveness(
            np.array([1 + i % 3 for i in range(case.indices)]),
            np.array([case.bytes_live(i, replica) for i in range(case.indices)]),
            [
                np.array([case.bytes_live(i, _tiles(target, ipu)) for i in range(case.indices)])
                for ipu in range(target.num_ipus)
            ],
        ),
        lowered=[_lowered(case, tile) for tile in range(target.num_tiles)],
        lowered_names=[f"v{i}#0" for i in range(len(case.classes))],
        meta={"simulated": True, "reportId": "memory-case"},
    )


def _tiles(target: Target, ipu: int) -> range:
    return range(ipu * target.tiles_per_ipu, (ipu + 1) * target.tiles_per_ipu)


def _programs() -> Programs:
    """A Sequence of an OnTileExecute of each compute set and an exchange."""
    return Programs(
        ["Sequence", "OnTileExecute", "DoExchange", "OnTileExecute"],
        ["", "mul/Execute", "mul/Exchange", "add/Execute"],
        ["control"] * 4,
        np.array([-1, 0, -1, 1]),
        np.zeros(4, dtype=int),
        np.full(4, -1),
        [""] * 4,
        np.array([0, 3, 3, 3, 3]),
        np.array([1, 2, 3]),
    )


def _on_ipu(target: Target, program: int, ipu: int) -> ProgramOnIpu:
    numbers = np.arange(target.tiles_per_ipu) + ipu * 10
    if program == 1:
        return ProgramOnIpu(program, ipu, cycles=numbers * 100)
    return ProgramOnIpu(program, ipu, cycles=numbers, rx=numbers * 4, tx=numbers * 4 + 4, exchange_code=numbers + 7)


def _vertices(target: Target, compute_set: int, ipu: int) -> ComputeSetVertices:
    count = np.arange(target.tiles_per_ipu) + compute_set + ipu
    provenance = "exact" if compute_set == 0 else "guess"
    return ComputeSetVertices(compute_set, compute_set, ipu, count, count * 10, provenance, -1 if compute_set else 320)


def _tile_memory(case: Case) -> TileMemory:
    tiles = range(case.target.num_tiles)
    used = [case.used_bytes(t) for t in tiles]
    one = [range(t, t + 1) for t in tiles]
    return TileMemory(
        np.array([max(u, default=-1) + 1 for u in used]),
        np.array([len(u) for u in used]),
        np.array([case.bytes_always(t) for t in one]),
        np.array([max(case.bytes_live(i, t) for i in range(case.indices)) for t in one]),
        np.array([sum(b >= CAPACITY for b in u) for u in used]),
    )


def _category_memory(case: Case) -> list[CategoryMemory]:
    found: dict[tuple[str, str, bool, int], np.ndarray] = {}
    for tile in range(case.target.num_tiles):
        mine = [a for a in case.allocations if a.tile == tile]
        for byte, a in case.used_bytes(tile).items():
            shared = sum(o.address <= byte < o.address + o.bytes for o in mine) > 1
            ipu, within = divmod(tile, case.target.tiles_per_ipu)
            key = (case.categories[a.variable], region_of(byte), shared, ipu)
            found.setdefault(key, np.zeros(case.target.tiles_per_ipu, dtype=np.int64))[within] += 1
    return [CategoryMemory(*key, values) for key, values in found.items()]


def _lowered(case: Case, tile: int) -> LoweredTile:
    mine = sorted((a for a in case.allocations if a.tile == tile), key=lambda a: (a.address, a.variable))
    owner = np.array([a.variable for a in mine], dtype=np.int64)
    return LoweredTile(
        tile,
        tile * 1000,
        np.array([a.bytes for a in mine], dtype=np.int64),
        np.array([a.address for a in mine], dtype=np.int64),
        np.array([CATEGORIES.index(case.categories[v]) for v in owner], dtype=np.int64),
        np.array([REGIONS.index(region_of(a.address)) for a in mine], dtype=np.int64),
        owner,
        np.array([case.classes[v] for v in owner], dtype=np.int64),
        owner,
    )


def write_case(folder: Path, case: Case) -> ReportSource:
    """The report of a case, written and opened again."""
    folder.mkdir(parents=True, exist_ok=True)
    with ProfileWriter(folder / "profile.pop") as writer:
        writer.write_compilation(columns(case))
    return ReportSource(folder)
