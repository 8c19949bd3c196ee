"""The program of a generated report: a stack of transformer layers, each operation = exchange, compute, sync."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from popvision.arrays import IntegerArray
from popvision.formats.profile.model import (
    Compilation,
    ComputeSets,
    ComputeSetVertices,
    Messages,
    ProgramOnIpu,
    Programs,
    Sendings,
    VertexLanes,
    VertexTypes,
)

#: Operations of one layer: (name, vertex type of its compute set).
OPERATIONS = (
    ("attention/qkv", 0),
    ("attention/scores", 0),
    ("attention/softmax", 2),
    ("attention/context", 0),
    ("attention/projection", 0),
    ("norm1", 1),
    ("mlp/up", 0),
    ("mlp/gelu", 2),
    ("mlp/down", 0),
    ("norm2", 1),
)

VERTEX_TYPES = VertexTypes(
    name=["poplin::ConvPartial1x1Out<half,half,true>", "popops::Reduce<float,ADD>", "popops::UnaryOp2D<half>"],
    kind=["supervisor", "worker", "worker"],
    state_bytes=np.array([36, 20, 16]),
    code_bytes=np.array([2_212, 984, 1_316]),
)


@dataclass(frozen=True)
class Program:
    """The tree, and the order in which its leaves run: `prelude` once per run, then `body` once per trip."""

    programs: Programs
    compute_sets: ComputeSets
    prelude: IntegerArray  #: three stream copy programs
    body: IntegerArray  #: exchange, compute, sync of each operation


class _Tree:
    def __init__(self) -> None:
        self.rows: list[tuple[str, str, int, int, str]] = []
        self.children: list[list[int]] = []

    def add(self, type: str, name: str, compute_set: int = -1, repeat: int = 0, sync: str = "") -> int:
        self.rows.append((type, name, compute_set, repeat, sync))
        self.children.append([])
        return len(self.rows) - 1

    def programs(self) -> Programs:
        types, names, compute_sets, repeats, syncs = (list(column) for column in zip(*self.rows, strict=True))
        lengths = np.array([len(children) for children in self.children])
        return Programs(
            type=types,
            name=names,
            owner=["control"] * len(types),
            compute_set=np.array(compute_sets),
            repeat_count=np.array(repeats),
            debug_id=np.full(len(types), -1),
            sync_type=syncs,
            child_offsets=np.concatenate([[0], np.cumsum(lengths)]),
            children=np.array([child for children in self.children for child in children], dtype=np.int64),
        )


def build(layers: int, trips: int, compute_sets: int = 0) -> Program:
    """Main = stream copy, then a Repeat of `trips` over `layers` layers. The last sync of a layer is external.

    `compute_sets` limits their number: later operations run the first ones again."""
    tree = _Tree()
    main = tree.add("Sequence", "main")
    prelude = [tree.add(type, "images") for type in ("StreamCopyBegin", "StreamCopyMid", "StreamCopyEnd")]
    loop = tree.add("Repeat", "loop", repeat=trips)
    stack = tree.add("Sequence", "model")
    tree.children[main] = [*prelude, loop]
    tree.children[loop] = [stack]
    body: list[int] = []
    names: list[str] = []
    for layer in range(layers):
        block = tree.add("Sequence", f"layer{layer}")
        tree.children[stack].append(block)
        for position, (operation, _) in enumerate(OPERATIONS):
            path = f"model/layer{layer}/{operation}"
            external = position == len(OPERATIONS) - 1
            again = compute_sets and len(body) // 3 >= compute_sets
            compute_set = len(body) // 3 % compute_sets if again else len(names)
            leaves = [
                tree.add("DoExchange", f"{path}/PreArrange"),
                tree.add("OnTileExecute", f"{path}/Compute", compute_set=compute_set),
                tree.add("Sync", "External" if external else "Internal", sync="external" if external else "internal"),
            ]
            if not again:
                names.append(f"{path}/Compute")
            tree.children[block] += leaves
            body += leaves
    count = len(names)
    sets = ComputeSets(names, np.full(count, -1), np.arange(1, count + 1) * 1_000_000)
    return Program(tree.programs(), sets, np.array(prelude), np.array(body))


def vertices(program: Program, ipus: int, tiles: int, rng: np.random.Generator) -> list[ComputeSetVertices]:
    """One vertex type per compute set; six to sixty instances on each tile."""
    result = []
    for compute_set in range(len(program.compute_sets.name)):
        kind = OPERATIONS[compute_set % len(OPERATIONS)][1]
        for ipu in range(ipus):
            count = rng.integers(6, 61, tiles)
            cycles = count * int(rng.integers(80, 400))
            result.append(ComputeSetVertices(compute_set, kind, ipu, count, cycles, "guess"))
    return result


def lanes(blocks: list[ComputeSetVertices]) -> list[VertexLanes]:
    """Vertices of the blocks of the first layer on their workers: dealt out in turn, supervisors on none."""
    result = []
    for block in (block for block in blocks if block.compute_set < len(OPERATIONS)):
        offsets = np.concatenate([[0], np.cumsum(block.count)])
        place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], block.count)
        is_worker = VERTEX_TYPES.kind[block.vertex_type] == "worker"
        worker = place % 6 if is_worker else np.full(len(place), 255)
        kind = np.full(len(place), block.vertex_type)
        cycles = np.repeat(block.cycles // block.count, block.count)
        result.append(VertexLanes(block.compute_set, block.ipu, offsets, kind, cycles, worker))
    return result


def traffic(
    program: Program, ipus: int, tiles: int, rng: np.random.Generator
) -> tuple[list[ProgramOnIpu], list[Messages], list[Sendings]]:
    """Each exchange moves one message from every tile to another; received bytes follow from them; exchanges before
    the same compute set move the same. The stream copy brings 1 MiB to each IPU, in equal words."""
    figures, messages, sendings = [], [], []
    words = np.full(tiles, (1 << 20) // 4 // tiles)
    words[: (1 << 20) // 4 - int(words.sum())] += 1
    for ipu in range(ipus):
        figures.append(ProgramOnIpu(int(program.prelude[1]), ipu, rx=4 * words))
    source, once = np.arange(tiles), np.ones(tiles, np.int64)
    drawn: dict[tuple[int, int], tuple[IntegerArray, IntegerArray, IntegerArray]] = {}
    for exchange, compute in program.body.reshape(-1, 3)[:, :2].tolist():
        for ipu in range(ipus):
            key = int(program.programs.compute_set[compute]), ipu
            if key not in drawn:
                drawn[key] = _permuted(tiles, rng)
            target, sent, received = drawn[key]
            first = ipu * tiles
            figures.append(ProgramOnIpu(exchange, ipu, rx=received, tx=sent, exchange_code=16 + 4 * (sent // 256)))
            messages.append(Messages(exchange, ipu, source + first, target + first, sent))
            sendings.append(Sendings(exchange, ipu, source + first, once, sent))
    return figures, messages, sendings


def _permuted(tiles: int, rng: np.random.Generator) -> tuple[IntegerArray, IntegerArray, IntegerArray]:
    """(target of each tile, bytes that it sends there, bytes that each tile receives)."""
    target = rng.permutation(tiles)
    sent = rng.integers(1, 512, tiles) * 4
    received = np.empty(tiles, dtype=np.int64)
    received[target] = sent
    return target, sent, received


def moved(compilation: Compilation, ipus: int) -> tuple[IntegerArray, IntegerArray]:
    """(bytes received, bytes sent) of one execution, programs x IPUs."""
    sums = np.zeros((2, len(compilation.programs.type), ipus), np.int64)
    for each in compilation.program_on_ipu:
        for row, values in enumerate((each.rx, each.tx)):
            sums[row, each.program, each.ipu] += 0 if values is None else int(values.sum())
    return sums[0], sums[1]
