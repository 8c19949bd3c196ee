"""The published exchange of three tiles (published-numbers 3 and 6.3): an unstructured halo on Mk1.

Workers receive 40, 36 and 40 bytes and send 32, 28 and 32; a word for both neighbours is sent once. The published
profile was taken on hardware, where exchanges have code; ours uses the Mk1 IPU Model that compiles for the IPU.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.validation.row import EXACT, REPORTED, Group, Row, percent, points, within
from popvision.analysis.report.source import ReportSource
from simulator.codelets.vertex import Input, Output, Vector, Vertex
from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Execute, Sequence

#: floats that each worker sends to its lower neighbour, to both, to the higher one
KINDS = {0: (2, 2, 4), 1: (3, 2, 2), 2: (3, 2, 3)}


class Halo(Vertex):
    own = Input(Vector(FLOAT))
    a = Input(Vector(FLOAT))
    b = Input(Vector(FLOAT))
    out = Output(FLOAT)

    def compute(self) -> None:
        self.out = self.own.sum() + self.a.sum() + self.b.sum()

    @classmethod
    def estimate(cls, sizes: Any, values: Any, target: Any) -> Any:
        return 20, 0


def build(graph: Graph) -> Sequence:
    """One compute set of three vertices; each reads its own floats and parts of the others'."""
    graph.addCodelets(Halo)
    data = {tile: graph.addVariable(FLOAT, [sum(parts)], f"worker{tile}") for tile, parts in KINDS.items()}
    lower = {t: data[t].slice(0, KINDS[t][0] + 2) for t in KINDS}
    higher = {t: data[t].slice(KINDS[t][0], sum(KINDS[t])) for t in KINDS}
    reads = {0: (lower[1], lower[2]), 1: (lower[0], higher[2]), 2: (higher[0], higher[1])}
    out = graph.addVariable(FLOAT, [3], "out")
    cs = graph.addComputeSet("updateBToA")
    for tile, (a, b) in reads.items():
        vertex = graph.addVertex(cs, "Halo", {"own": data[tile], "a": a, "b": b, "out": out[tile]})
        for part in (data[tile], out[tile]):
            graph.setTileMapping(part, tile)
        graph.setTileMapping(vertex, tile)
    graph.createHostRead("out", out)
    return Sequence(Execute(cs))


def groups(folder: Path) -> list[Group]:
    """Run it and compare the exchange."""
    model = IPUModel("ipu1")
    model.compileIPUCode = True
    device = model.createDevice()
    graph = Graph(device)
    with Engine(graph, build(graph), {"autoReport.all": "true", "autoReport.directory": str(folder)}) as engine:
        engine.load(device)
        engine.run(0)
    reader = ReportSource(folder).reader
    programs, steps, on_ipu = reader.programs(), reader.steps(), reader.steps_on_ipu(0)
    at = next(i for i, p in enumerate(steps.program) if programs.name[int(p)].endswith("updateBToA/ExchangePre"))
    program = int(steps.program[at])
    part = reader.program_on_ipu(program, 0)
    assert part is not None
    assert part.exchange_code is not None
    overlap = int(on_ipu.all_to_max[at - 1]) - int(on_ipu.active_from_min[at])
    source = "3 and 6.3"
    rows = [
        Row("bytes received", 116, int(on_ipu.data_in[at]), "B", source, EXACT),
        Row("bytes sent, a multicast once", 92, int(on_ipu.data_out[at]), "B", source, EXACT),
        Row("exchange", 70, int(on_ipu.cycles[at]), "cycles", source, within(10, 16, "cycles")),
        Row("exchange code", 140, int(part.exchange_code.sum()), "B", source, percent(10)),
        Row("tiles that take part", 3, int(on_ipu.active_tiles[at]), "", source, EXACT),
        Row("active-tile balance", 99.5, 100 * float(on_ipu.active_tile_balance[at]), "%", source, points(3)),
        Row("overlap with the step before", 1, overlap, "cycles", source, REPORTED),
    ]
    return [Group("Exchange of three tiles", (__doc__ or "").split("\n\n", 1)[1].strip(), rows)]
