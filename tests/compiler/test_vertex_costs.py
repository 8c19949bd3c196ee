"""Published vertex cycles of programs that run: the estimator columns on the IPU Model, hardware within 16."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from popvision.formats.profile.reader import ProfileReader
from simulator.base.target import Target
from simulator.engine.devices.device import Device
from simulator.poplar import FLOAT, HALF, UNSIGNED_SHORT, Engine, Graph
from simulator.poplar.program import Execute, Sequence
from simulator.poplibs import popops
from simulator.poplibs.poplin.partials.partial_vertices import convolve_vertex
from simulator.poplibs.poplin.planning.methods import Method
from tests.compiler.tiny_graphs import hardware, model

PROFILE = {"autoReport.outputGraphProfile": "true", "autoReport.outputExecutionProfile": "true"}
#: hardware reports what its counters read, and reading one twice takes 45 cycles; published figures are net
COUNTER_CYCLES = {"model": 0, "hardware": 45}
TARGETS = {"model": model, "hardware": hardware}

AMP_ROWS = [16, 32, 48, 64, 96, 128, 144, 192, 256, 512, 1024, 2048]
AMP_ESTIMATES = [353, 425, 473, 545, 665, 809, 857, 1049, 1313, 2345, 4385, 8489]
AMP_MEASURED = [402, 461.35, 524, 584, 716, 845.3, 908, 1100, 1352, 2381.3, 4424, 8525.3]


def _run(graph: Graph, program: Any, target: Target, folder: Path) -> ProfileReader:
    with Engine(graph, program, {"autoReport.directory": str(folder), **PROFILE}) as engine:
        device = Device(target)
        device.attach()
        engine.load(device)
        engine.run()
        device.detach()
    return ProfileReader(folder / "profile.pop")


def cycles_of(graph: Graph, program: Any, target: Target, folder: Path) -> tuple[int, ProfileReader]:
    """Cycles on tile 0 of the only step that computes."""
    reader = _run(graph, program, target, folder)
    steps = reader.steps()
    types = [reader.programs().type[row] for row in steps.program]
    [step] = [i for i, type_ in enumerate(types) if type_ == "OnTileExecute"]
    counted = int(reader.array(int(reader.steps_on_ipu(0).cycles_array[step]))[0])
    return counted - COUNTER_CYCLES["hardware" if reader.target().type == "Ipu" else "model"], reader


def _amp(target: Target, rows: int) -> tuple[Graph, Execute]:
    graph = Graph(target)
    cs = graph.addComputeSet("conv")
    shapes = {"in": (HALF, [rows * 16]), "weights": (HALF, [256]), "out": (HALF, [rows * 16])}
    tensors = {name: graph.addVariable(type_, shape, name) for name, (type_, shape) in shapes.items()}
    worklists = graph.addVariable(UNSIGNED_SHORT, [18], "worklists")
    for tensor in (*tensors.values(), worklists):
        graph.setTileMapping(tensor, 0)
    values = {"numInGroups": 1, "numOutGroupsM1": 0, "numConvGroupsM1": 0}
    values |= {"transformedInStride": 16, "outChansPerGroup": 16, "transformedOutStride": 16}
    edges: dict[str, Any] = {name: [tensor] for name, tensor in tensors.items()}
    amp = convolve_vertex(Method("AMP", "half", 1, 16, 16, 16), "half", True)  # weights at 16 bytes a cycle
    vertex = graph.addVertex(cs, amp, edges | {"worklists": worklists} | values)
    graph.setTileMapping(vertex, 0)
    return graph, Execute(cs)


AMP = list(zip(AMP_ROWS, AMP_ESTIMATES, AMP_MEASURED, strict=True))


@pytest.mark.parametrize(("rows", "estimate", "measured"), AMP)
def test_amp_on_both_targets(rows: int, estimate: int, measured: float, tmp_path: Path) -> None:
    target = model(2)
    assert cycles_of(*_amp(target, rows), target, tmp_path / "model")[0] == estimate
    target = hardware(2)
    ours = cycles_of(*_amp(target, rows), target, tmp_path / "hardware")[0]
    assert abs(ours - measured) <= 16
    if rows % 6 == 0:
        assert (estimate, ours) == (281 + 4 * rows, 332 + 4 * rows)


def _elementwise(target: Target, n: int, kind: str) -> tuple[Graph, Sequence]:
    graph, program = Graph(target), Sequence()
    a, b = graph.addVariable(FLOAT, [n], "a"), graph.addVariable(FLOAT, [n], "b")
    scale = graph.addVariable(FLOAT, [], "scale")
    for tensor in (a, b, scale):
        graph.setTileMapping(tensor, 0)
    if kind == "add":
        popops.add(graph, a, b, program, "sum")
    else:
        popops.scaledAddTo(graph, a, b, scale, program, "sum")
    return graph, program


@pytest.mark.parametrize(
    ("kind", "n", "estimate", "measured"),
    [
        ("add", 10, 203, 285),
        ("add", 1024, 1733, 1815),
        ("scaled", 64, 279, 330),
        ("scaled", 128, 369, 422),
        ("scaled", 256, 567, 620),
        ("scaled", 512, 945, 998),
    ],
)
def test_element_wise_on_both_targets(kind: str, n: int, estimate: int, measured: int, tmp_path: Path) -> None:
    target = model(2)
    assert cycles_of(*_elementwise(target, n, kind), target, tmp_path / "model")[0] == estimate
    target = hardware(2)
    ours = cycles_of(*_elementwise(target, n, kind), target, tmp_path / "hardware")[0]
    assert abs(ours - measured) <= 2


def additions(reader: ProfileReader, compute_set: int) -> float:
    """What the derivation of a compute set adds up to."""
    terms = reader.cost_terms(f"computeSet:{compute_set}")
    assert [t.term for t in terms].count("tile") == 1
    return sum(t.value for t in terms if t.term.startswith("+ "))


@pytest.mark.parametrize("kind", ["model", "hardware"])
def test_cost_terms_add_up_to_the_wall_cycles_of_the_busiest_tile(kind: str, tmp_path: Path) -> None:
    """Worker vertices of several sizes and types, MultiVertices and supervisor vertices in one compute set."""
    target = TARGETS[kind](4)
    graph, program = Graph(target), Sequence()
    rng = np.random.default_rng(4)
    x = graph.addVariable(FLOAT, [40, 37], "x")
    for row in range(40):
        graph.setTileMapping(x.slice(row, row + 1, 0), int(rng.integers(0, 4)))
    y = graph.clone(x)
    out = popops.add(graph, x, y, program, "sum")
    popops.scaledAddTo(graph, out, x, 0.5, program, "scaled")
    popops.reduce(graph, out, [0], popops.Operation.ADD, program, "total")
    reader = _run(graph, program, target, tmp_path)
    programs = reader.programs()
    seen = 0
    for row, compute_set in enumerate(programs.compute_set.tolist()):
        on_ipu = reader.program_on_ipu(row, 0)
        if compute_set >= 0 and on_ipu is not None and on_ipu.cycles is not None and on_ipu.cycles.max() > 0:
            assert additions(reader, compute_set) == on_ipu.cycles.max()
            seen += 1
    assert seen >= 3


def test_every_term_says_its_class_and_source(tmp_path: Path) -> None:
    target = hardware(2)
    reader = cycles_of(*_elementwise(target, 64, "scaled"), target, tmp_path)[1]
    terms = reader.cost_terms("computeSet:0")
    assert all(t.source.partition(": ")[0] in ("exact", "fitted", "guess") for t in terms)
    facts = {t.term: t.value for t in terms}
    name = "popops::ScaledAddSupervisor<float,float,float,false,false>"
    assert facts[f"{name}: elements of A"] == 64
    assert facts[f"+ tile cycles of {name}, 1 vertex"] == 279
    assert facts[f"+ launch of {name}"] == 53
