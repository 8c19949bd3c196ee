"""The derivation of exchange and host steps: its additions make up the figure of the tile that it names."""

import numpy as np
import pytest

from popvision.formats.profile import ProfileReader
from popvision.formats.profile.model import PROVENANCE
from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Copy, Sequence


@pytest.mark.parametrize("goal", ["cycles", "memory", "balanced"])
def test_terms_of_every_exchange_and_host_step_add_up(goal, tmp_path):
    """Two copies: a transposition that scatters words, and one long message over the chip."""
    device = IPUModel().createDevice()
    graph = Graph(device)
    a, b = graph.addVariable(FLOAT, [64, 64], "a"), graph.addVariable(FLOAT, [64, 64], "b")
    c = graph.addVariable(FLOAT, [4096], "c")
    for line in range(64):
        graph.setTileMapping(a[line], 3 * line)
        graph.setTileMapping(b[line], 5 * line)
    graph.setTileMapping(c, 1471)
    stream = graph.addHostToDeviceFIFO("in", FLOAT, 4096)
    program = Sequence(Copy(stream, a.flatten()), Copy(a, b.transpose()), Copy(b.flatten(), c))
    options = {
        "autoReport.all": "true",
        "autoReport.directory": str(tmp_path),
        "opt.internalExchangeOptimisationTarget": goal,
    }
    with Engine(graph, program, options) as engine:
        engine.connectStream("in", np.zeros(4096, np.float32))
        engine.load(device)
        engine.run(0)
    reader = ProfileReader(tmp_path / "profile.pop")
    programs, seen = reader.programs(), []
    for row, kind in enumerate(programs.type):
        terms = reader.cost_terms(f"program:{row}")
        figures = reader.program_on_ipu(row, 0)
        if kind not in ("DoExchange", "StreamCopyMid", "StreamCopyEnd") or figures is None or figures.cycles is None:
            continue
        seen.append(kind)
        assert all(t.source.split(":")[0] in PROVENANCE for t in terms), terms
        tile = next(int(t.value) for t in terms if t.term == "tile")
        assert figures.cycles[tile] == figures.cycles.max()
        assert sum(t.value for t in terms if t.term.startswith("+ ")) == figures.cycles[tile], (goal, terms)
    assert seen.count("DoExchange") == 3
    assert seen.count("StreamCopyMid") == seen.count("StreamCopyEnd") == 3
