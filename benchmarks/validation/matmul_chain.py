"""The matmul chain of the published profiling tutorial (published-numbers 6.1).

FLOAT m1 [800, 500] x m2 [500, 400] x m3 [400, 200], mapped linearly, on the Mk2 IPU Model, Poplar 2.0.0. Spans were
measured in pixels of a chart of 34,655 cycles, 8 cycles of reading error.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.validation.row import EXACT, REPORTED, Bound, Group, Row, percent, points, within
from popvision.analysis.liveness.variables import always_live_table
from popvision.analysis.report.figure_titles import viewer_frame
from popvision.analysis.report.source import ReportSource
from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Sequence
from simulator.poplibs import poplin, poputil

SHAPES = ((800, 500), (500, 400), (400, 200))
MIB, KB = 2**20, 1024
CYCLES = within(10, 16, "cycles")
BYTES = percent(10)
LIVE_BYTES = Bound("15 % or 0.5 MiB", 0.15, 0.5 * MIB)


class Span(NamedTuple):
    title: str
    key: str  #: its key in `spans`
    published: float
    bound: Bound = CYCLES


SPANS = [
    Span("total of Engine::run", "total", 34655),
    Span("control stream copies without their syncs", "host exchange", 242, percent(15)),
    Span("switch control broadcast", "switchControlBroadcast", 123),
    Span("copy6 to m4 preRegroup, exchange and on-tile copy", "m4 regroup copy", 1123),
    Span("m4 Transpose", "m4 Transpose", 590),
    Span("copy1 to m4 actsRearranged", "m4 rearrange copy", 314),
    Span("m4 Convolve, exchange and PreArrange", "m4 Convolve", 15248),
    Span("m4 Reduce0 with exchange", "m4 Reduce0", 3471),
    Span("copy8 to m5 preRegroup", "m5 regroup copy", 506),
    Span("m5 Transpose", "m5 Transpose", 876),
    Span("copy9 to m5 operands, exchange and on-tile copy", "m5 rearrange copy", 609),
    Span("m5 Convolve with exchange", "m5 Convolve", 7906),
    Span("m5 Reduce0 with exchange", "m5 Reduce0", 2392),
]
#: in order of the chart: after each control copy, before the broadcast ..., before each exchange of the program
SYNCS = (133, 133, 125, 133, 110, 122, 100, 88, 101, 108, 101)
#: percent of the chart's length by the colour of its bars
SHARES = {"compute": 92.2, "exchange": 3.0, "host exchange": 0.8, "sync": 3.9}
ALWAYS_LIVE = {
    "m1": 1_600_000,
    "m2": 800_000,
    "m3": 320_000,
    "vertexInstanceState": 271 * KB,
    "vertexFieldData": 222 * KB,
    "instrumentationResults": 66.0 * KB,
    "m4/Conv_1/worklists": 49.2 * KB,
    "m5/Conv_1/worklists": 47.5 * KB,
    "hostExchangePacketHeader": 12.1 * KB,
    "copyDescriptor": 3.1 * KB,
    "controlId": 8,
}


def build(graph: Graph, shapes: tuple[tuple[int, int], ...] = SHAPES) -> Sequence:
    """m4 = m1 x m2, m5 = m4 x m3."""
    matrices = [graph.addVariable(FLOAT, list(shape), f"m{i}") for i, shape in enumerate(shapes, start=1)]
    for matrix in matrices:
        poputil.mapTensorLinearly(graph, matrix)
    program = Sequence()
    m4 = poplin.matMul(graph, matrices[0], matrices[1], program, "m4")
    poplin.matMul(graph, m4, matrices[2], program, "m5")
    return program


def run_chain(folder: Path, shapes: tuple[tuple[int, int], ...] = SHAPES) -> tuple[ReportSource, list[str]]:
    """Compile and run the chain with every report on; returns the report and the two plans as text."""
    device = IPUModel().createDevice()
    graph = Graph(device)
    program = build(graph, shapes)
    with Engine(graph, program, {"autoReport.all": "true", "autoReport.directory": str(folder)}) as engine:
        engine.load(device)
        engine.run(0)
    plans = [
        poplin.plan_of(graph, FLOAT, list(a), list(b)).describe()
        for a, b in ((shapes[0], shapes[1]), ((shapes[0][0], shapes[1][1]), shapes[2]))
    ]
    return ReportSource(folder), plans


def walk(source: ReportSource) -> list[tuple[str, str, int]]:
    """(type, name, cycles from the end of what came before) of every executed step."""
    steps, on_ipu, programs = source.reader.steps(), source.reader.steps_on_ipu(0), source.reader.programs()
    out, before = [], 0
    for step in range(len(steps.program)):
        program, end = int(steps.program[step]), int(on_ipu.all_to_max[step])
        out.append((programs.type[program], programs.name[program], max(0, end - before)))
        before = max(before, end)
    return out


def spans(steps: list[tuple[str, str, int]]) -> dict[str, float]:
    """Cycles of each bar of the published chart. An exchange and a PreArrange before a compute set belong to that
    compute set's bar."""
    out: dict[str, float] = {"total": sum(cycles for _, _, cycles in steps)}
    for kind, name, cycles in steps:
        key = span_of(kind, name)
        out[key] = out.get(key, 0) + cycles
    return out


def span_of(kind: str, name: str) -> str:
    """The bar of the published chart that a step belongs to."""
    if kind == "Sync":
        return "sync"
    for matrix in ("m4", "m5"):
        for part in ("Convolve", "Reduce0", "Transpose"):
            if f"{matrix}/Conv_1/{part}" in name:
                return f"{matrix} {part}"
        if f"to_{matrix}/Conv_1/preRegroup" in name:
            return f"{matrix} regroup copy"
        if f"{matrix}/Conv_1/partialTranspose_to" in name:
            return f"{matrix} rearrange copy"
    return "switchControlBroadcast" if "switchControl" in name else "host exchange" if "Stream" in kind else "other"


def shares(steps: list[tuple[str, str, int]], drawn: bool = True) -> dict[str, float]:
    """Percent of the chart by the colour of its bars, in which DoExchange steps before a compute set belong to it;
    without `drawn`, by the phase of each step alone."""
    out = dict.fromkeys(SHARES, 0.0)
    for kind, name, cycles in steps:
        compute = kind == "OnTileExecute" or (drawn and any(part in name for part in ("Convolve/", "Reduce0/")))
        phase = (
            "sync" if kind == "Sync" else "host exchange" if "Stream" in kind else "compute" if compute else "exchange"
        )
        out[phase] += cycles
    total = sum(out.values())
    return {phase: 100 * cycles / total for phase, cycles in out.items()}


def tile_balances(source: ReportSource) -> tuple[float, float]:
    """Percent, over compute steps: the mean tile by the longest tile of each step, and by the busiest tile
    of the run."""
    steps, on_ipu, programs = source.reader.steps(), source.reader.steps_on_ipu(0), source.reader.programs()
    cycles = [
        source.reader.array(int(on_ipu.cycles_array[step])).astype(np.int64)
        for step in range(len(steps.program))
        if programs.type[int(steps.program[step])] == "OnTileExecute"
    ]
    of_tile = np.sum(cycles, axis=0)
    mean = 100 * float(of_tile.mean())
    return mean / sum(int(each.max()) for each in cycles), mean / int(of_tile.max())


def groups(source: ReportSource) -> list[Group]:
    """All published figures of the chain."""
    steps = walk(source)
    return [
        Group(
            "Matmul chain: cycles of Engine::run", f"{_ABOUT}\n{_share_argument(source)}", _cycle_rows(source, steps)
        ),
        Group("Matmul chain: counts and memory", "", _memory_rows(source)),
        Group("Matmul chain: always-live memory", "", _always_live_rows(source)),
    ]


_ABOUT = (
    "FLOAT [800, 500] x [500, 400] x [400, 200] mapped linearly, Mk2 IPU Model. The chart includes an exchange before "
    "a compute set in that compute set's bar; shares and spans below do the same."
)


def _share_argument(source: ReportSource) -> str:
    """The reason why the published chart cannot count the exchange before Convolve as exchange, in figures
    of the plan."""
    programs = source.reader.programs()
    (row,) = (i for i, name in enumerate(programs.name) if name.endswith("m4/Conv_1/Convolve/ExchangePre"))
    part = source.reader.program_on_ipu(row, 0)
    assert part is not None
    assert part.rx is not None
    received, total = int(part.rx.max()), SPANS[0].published
    shown = SHARES["exchange"] / 100 * total
    return (
        f"The figures show it: by the plan of m4 (below) the busiest tile receives {received:,} B for Convolve. That "
        f"takes {received // 8:,} cycles at 8 B a cycle, where two tiles of a bus receive the same, and "
        f"{received // 4:,} at 4 B. The exchange of the whole chart is only {SHARES['exchange']:g} % of {total:,} = "
        f"{shown:,.0f} cycles. So the published span of Convolve contains its exchange, and the published "
        f'{SHARES["compute"]:g} % count it as compute; the rows "by the phase of each step" count it as exchange.'
    )


def _cycle_rows(source: ReportSource, steps: list[tuple[str, str, int]]) -> list[Row]:
    found, chart = spans(steps), "6.1, chart"
    rows = [Row(s.title, s.published, found.get(s.key), "cycles", chart, s.bound) for s in SPANS]
    ours = [cycles for kind, _, cycles in steps if kind == "Sync"]
    for number, published in enumerate(SYNCS):
        value = ours[number] if number < len(ours) else None
        rows.append(Row(f"sync {number + 1}", published, value, "cycles", chart, CYCLES))
    rows += [
        Row(f"share of {name}", SHARES[name], share, "%", chart, points(3)) for name, share in shares(steps).items()
    ]
    rows += [
        Row(f"share of {name}, by the phase of each step", SHARES[name], share, "%", chart, REPORTED)
        for name, share in shares(steps, drawn=False).items()
    ]
    by_step, by_tile = tile_balances(source)
    return [
        *rows,
        Row("tile balance", 81.0, by_step, "%", "6.1, summary page", points(3)),
        Row(
            "parallel efficiency (ours: compute of the mean by the busiest tile)",
            89.04,
            by_tile,
            "%",
            "6.1, summary page",
            REPORTED,
        ),
    ]


def _memory_rows(source: ReportSource) -> list[Row]:
    reader = source.reader
    counts, memory, page = reader.counts(), reader.tile_memory(), "6.1, summary page"
    assert memory is not None
    regions: dict[str, float] = {}
    for part in reader.category_memory():
        regions[part.region] = regions.get(part.region, 0) + float(part.bytes.sum())
    lowered = [reader.lowered_tile(tile) for tile in range(reader.target().num_tiles)]
    variables = sum(len(tile.bytes) for tile in lowered if tile is not None)
    return [
        Row("compute sets", 9, counts["num_compute_sets"], "", page, REPORTED),
        Row("vertices", 16877, counts["num_vertices"], "", page, REPORTED),
        Row("edges", 77137, counts["num_edges"], "", page, REPORTED),
        Row("variables (ours: allocations)", 73841, variables, "", page, REPORTED),
        Row("memory including gaps", 307_309_104, float(memory.including_gaps.sum()), "B", page, LIVE_BYTES),
        Row("memory excluding gaps", 59_894_241, float(memory.excluding_gaps.sum()), "B", page, LIVE_BYTES),
        Row("non-interleaved", 50_934_241, regions.get("nonInterleaved", 0), "B", page, REPORTED),
        Row("interleaved", 8_960_000, regions.get("interleaved", 0), "B", page, REPORTED),
        Row("overflowed", 0, regions.get("overflowed", 0), "B", page, EXACT),
        Row("instrumentation, 4 B per compute set and tile", *_counter_bytes(source), "B", "6.2", EXACT),
    ]


def _counter_bytes(source: ReportSource) -> tuple[float, float]:
    """(rule, ours): four bytes for each compute set and tile with vertices in it."""
    reader, programs = source.reader, source.reader.programs()
    busy: set[tuple[int, int]] = set()
    for program, compute_set in enumerate(programs.compute_set):
        part = reader.program_on_ipu(program, 0) if compute_set >= 0 else None
        if part is not None and part.cycles is not None:
            busy |= {(int(compute_set), int(tile)) for tile in part.cycles.nonzero()[0]}
    terms = reader.cost_terms("category:instrumentationResults")
    return 4.0 * len(busy), sum(term.value for term in terms if term.term == "+ counters of compute sets")


def _always_live_rows(source: ReportSource) -> list[Row]:
    ours: dict[str, float] = {}
    for _, row in viewer_frame(always_live_table(source)).iterrows():
        ours[row["name"]] = ours.get(row["name"], 0) + float(row["size_bytes"])
    return [Row(name, size, ours.get(name), "B", "6.1, liveness page", BYTES) for name, size in ALWAYS_LIVE.items()]
