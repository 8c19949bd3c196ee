"""A small program run by the simulator, whose own file is what reports of it show as source."""

from __future__ import annotations

from pathlib import Path

from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Copy, Repeat, Sequence
from simulator.poplibs import popops, poputil

NAME = str(Path(__file__).resolve())


def run_program(folder: Path, size: int = 256, times: int = 3) -> Path:
    """Write the reports of `times` additions of two vectors into `folder`."""
    model = IPUModel()
    model.tilesPerIPU = 8
    device = model.createDevice()
    graph = Graph(device)
    a = graph.addVariable(FLOAT, [size], "a")  # line a
    b = graph.addVariable(FLOAT, [size], "b")  # line b
    poputil.mapTensorLinearly(graph, a)
    poputil.mapTensorLinearly(graph, b[size // 2 :])
    graph.setTileMapping(b[: size // 2], 7)
    graph.createHostWrite("a", a)  # line host
    body = Sequence()
    total = popops.add(graph, a, b, body, "sum")  # line add
    body.add(Copy(total, b))  # line copy
    main = Sequence([Repeat(times, body)])
    engine = Engine(graph, main, {"autoReport.all": "true", "autoReport.directory": str(folder)})
    engine.load(device)
    engine.run(0)
    engine.run(0)
    engine.close()
    return folder


def line_of(mark: str) -> int:
    """The line that ends in the comment `# line <mark>`."""
    text = Path(NAME).read_text().splitlines()
    return next(number for number, line in enumerate(text, start=1) if line.endswith(f"# line {mark}"))
