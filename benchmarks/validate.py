"""Published figures of Graphcore's profiling tutorial beside ours: `make validate`.

The program is the one of the published screenshots: FLOAT m1 [800, 500], m2 [500, 400], m3 [400, 200], mapped linearly,
m4 = matMul(m1, m2), m5 = matMul(m4, m3), on the Mk2 IPU Model. Then ten neighbouring sizes, whose cycles must not jump
without a change of plan. Writes its tables into docs/validation.md between markers.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.document import write_section
from benchmarks.neighbours import neighbour_table
from benchmarks.published_chain import ALWAYS_LIVE, COUNTS, LIVENESS, SPANS, TOTALS, Published
from popvision.analysis.live_variables import always_live_table
from popvision.analysis.liveness import curve
from popvision.analysis.source import ReportSource
from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Sequence
from simulator.poplibs import poplin, poputil

SHAPES = ((800, 500), (500, 400), (400, 200))
MIB = 2**20

Verdict = Literal["equal", "within 1 %", "within 5 %", "within 10 %", "off"]


@dataclass(frozen=True)
class Ours:
    """Figures of our run, by the names that `published_chain` uses."""

    values: dict[str, float]
    plans: list[str]


def run_chain(folder: Path, shapes: tuple[tuple[int, int], ...] = SHAPES) -> tuple[ReportSource, list[str]]:
    """Compile and run the chain with every report on; returns the report and the two plans as text."""
    device = IPUModel().createDevice()
    graph = Graph(device)
    matrices = [graph.addVariable(FLOAT, list(shape), f"m{i}") for i, shape in enumerate(shapes, start=1)]
    for matrix in matrices:
        poputil.mapTensorLinearly(graph, matrix)
    program = Sequence()
    m4 = poplin.matMul(graph, matrices[0], matrices[1], program, "m4")
    poplin.matMul(graph, m4, matrices[2], program, "m5")
    with Engine(graph, program, {"autoReport.all": "true", "autoReport.directory": str(folder)}) as engine:
        engine.load(device)
        engine.run(0)
    plans = [
        poplin.plan_of(graph, FLOAT, list(a), list(b)).describe()
        for a, b in ((shapes[0], shapes[1]), ((shapes[0][0], shapes[1][1]), shapes[2]))
    ]
    return ReportSource(folder), plans


def spans(source: ReportSource) -> dict[str, float]:
    """Cycles from the end of one step to the end of another, as the published flat chart shows them: an exchange before
    a compute set and its gathering are part of the compute set's bar there."""
    steps, on_ipu, programs = source.reader.steps(), source.reader.steps_on_ipu(0), source.reader.programs()
    out: dict[str, float] = {}
    begin = 0
    for step in range(len(steps.program)):
        program = int(steps.program[step])
        end = int(on_ipu.all_to_max[step])
        name, kind = str(programs.name[program]), str(programs.type[program])
        key = _span_of(name, kind)
        out[key] = out.get(key, 0) + end - begin
        if kind == "Sync":
            out["longest sync"] = max(out.get("longest sync", 0), end - begin)
        begin = max(begin, end)
    out["total cycles"] = begin
    return out


def _span_of(name: str, kind: str) -> str:
    if kind == "Sync":
        return "all syncs"
    for matrix in ("m4", "m5"):
        for part in ("Convolve", "Reduce0", "Transpose"):
            if f"{matrix}/Conv_1/{part}" in name:
                return f"{matrix} {part}"
        if f"to_{matrix}/Conv_1/preRegroup" in name:
            return f"{matrix} regroup copy"
        if f"{matrix}/Conv_1/partialTranspose_to" in name:
            return f"{matrix} rearrange copy"
    return "switchControlBroadcast" if "switchControl" in name else "host exchange"


def measure(folder: Path) -> Ours:
    """Run and collect every figure that has a published counterpart."""
    source, plans = run_chain(folder)
    reader = source.reader
    values = spans(source)
    counts = reader.counts()
    values |= {name: float(counts[key]) for name, key in (
        ("compute sets", "num_compute_sets"), ("edges", "num_edges"), ("vertices", "num_vertices"),
    )}  # fmt: skip
    lowered = [reader.lowered_tile(tile) for tile in range(reader.target().num_tiles)]
    values["lowered variables"] = sum(len(tile.bytes) for tile in lowered if tile is not None)
    memory = reader.tile_memory()
    assert memory is not None
    values["memory including gaps"] = float(memory.including_gaps.sum())
    values["memory excluding gaps"] = float(memory.excluding_gaps.sum())
    regions: dict[str, float] = {}
    for row in reader.category_memory():
        regions[row.region] = regions.get(row.region, 0) + float(row.bytes.sum())
    values["non-interleaved memory"] = regions.get("nonInterleaved", 0)
    values["interleaved memory"] = regions.get("interleaved", 0)
    values |= _shares(source)
    for _, row in always_live_table(source).iterrows():
        values[f"always live {row['Variable']}"] = values.get(f"always live {row['Variable']}", 0) + float(row["Bytes"])
    values |= _liveness(source)
    return Ours(values, plans)


def _shares(source: ReportSource) -> dict[str, float]:
    """Tile balance and parallel efficiency, in percent, from cycles per tile."""
    steps, on_ipu = source.reader.steps(), source.reader.steps_on_ipu(0)
    busy = peak = 0.0
    for step in range(len(steps.program)):
        kind = str(source.reader.programs().type[int(steps.program[step])])
        if kind == "OnTileExecute":
            cycles = source.reader.array(int(on_ipu.cycles_array[step]))
            busy += float(cycles.mean())
            peak += float(cycles.max())
    return {"tile balance of compute": 100 * busy / peak}


def _liveness(source: ReportSource) -> dict[str, float]:
    """Live MiB, always live included, at the steps whose heights the published plot shows."""
    drawn, programs = curve(source), source.reader.programs()
    out: dict[str, float] = {}
    for row, program in enumerate(drawn.program):
        name = str(programs.name[int(program)])
        out[f"live at {name.split('_', 1)[1] if name.startswith('cs') else name}"] = (
            float(drawn.not_always_live[row]) + drawn.always_live
        ) / MIB
    out["peak live"] = (float(drawn.not_always_live.max()) + drawn.always_live) / MIB
    return out


def verdict(published: float, ours: float, tolerance: float = 0.0) -> Verdict:
    """How far off we are; `tolerance` = the reading error of the published figure."""
    if abs(ours - published) <= tolerance:
        return "equal"
    ratio = abs(ours / published - 1) if published else 1.0
    for limit, word in ((0.01, "within 1 %"), (0.05, "within 5 %"), (0.10, "within 10 %")):
        if ratio <= limit:
            return word  # type: ignore[return-value]
    return "off"


def table(title: str, rows: list[Published], ours: dict[str, float]) -> list[str]:
    """One table in Markdown."""
    out = [
        f"### {title}",
        "",
        "| quantity | published | ours | deviation | source | verdict |",
        "|---|---|---|---|---|---|",
    ]
    notes: list[str] = []
    for row in rows:
        value = ours.get(row.key, 0.0)
        deviation = f"{100 * (value / row.value - 1):+.1f} %" if row.value else ""
        word = verdict(row.value, value, row.tolerance)
        digits = 1 if row.value != int(row.value) or value != int(value) else 0
        mark = ""
        if row.note and word != "equal":
            notes.append(row.note)
            mark = f" ({len(notes)})"
        out.append(
            f"| {row.title} | {row.value:,.{digits}f} {row.unit} | {value:,.{digits}f} {row.unit} | {deviation} "
            f"| {row.source} | {word}{mark} |"
        )
    out.append("")
    out += [f"{i}. {note}" for i, note in enumerate(notes, start=1)] + [""]
    return out


def main() -> int:
    """Print and write all tables; exit code 1 when a neighbouring size jumps for no reason."""
    with tempfile.TemporaryDirectory() as folder:
        ours = measure(Path(folder))
    lines: list[str] = []
    for name, plan in zip(("m4", "m5"), ours.plans, strict=True):
        lines += [f"Plan of {name}:", "", "```", plan, "```", ""]
    for title, rows in (
        ("Cycles of Engine::run", [*TOTALS, *SPANS]),
        ("Counts and memory", COUNTS),
        ("Always-live memory", ALWAYS_LIVE),
        ("Liveness", LIVENESS),
    ):
        lines += table(title, rows, ours.values)
    neighbours, steady = neighbour_table()
    lines += neighbours
    text = "\n".join(lines)
    print(text)
    write_section("validation.md", "matmul chain", text)
    return 0 if steady else 1


if __name__ == "__main__":
    sys.exit(main())
