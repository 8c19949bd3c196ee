"""Programs of vertices with known cycles, and what lightweight profiling recorded of them."""

from simulator.codelets.vertex import SupervisorVertex
from simulator.engine.devices.device import Device
from simulator.poplar import Engine, Graph
from simulator.poplar.program import Block, Execute, Repeat, Sequence


class Work(SupervisorVertex):
    """Takes as many cycles as `cycles` says."""

    cycles = 0

    def compute(self):
        pass

    @classmethod
    def estimate(cls, sizes, values, target):
        return cls.cycles


def work(cycles):
    return type(f"Work{cycles}", (Work,), {"cycles": cycles})


class Programs:
    """Makes programs for one target. `execute(name, cycles, tile)` is a compute set of one vertex."""

    def __init__(self, target):
        self.graph = Graph(target)
        self.target = target
        self._types = {}

    def execute(self, name, cycles, tile=0):
        if cycles not in self._types:
            self._types[cycles] = work(cycles)
            self.graph.addCodelets(self._types[cycles])
        cs = self.graph.addComputeSet(name)
        self.graph.setTileMapping(self.graph.addVertex(cs, f"Work{cycles}"), tile)
        return Execute(cs)

    def engine(self, program, options):
        """Loaded."""
        engine = Engine(self.graph, program, options)
        device = Device(self.target)
        device.attach()
        engine.load(device)
        return engine

    def report(self, program, options, runs=1):
        engine = self.engine(program, options)
        for _ in range(runs):
            engine.run()
        report = engine.getReport()
        engine.close()
        return report


def hundred(programs, cycles=100):
    """One operation a hundred times, as in the published example."""
    return Repeat(100, Sequence(programs.execute("operation", cycles)))


def stages(programs):
    """The published pipeline: two stages of two operations on an IPU each, five times."""
    tiles = programs.target.getTilesPerIPU()
    made = [
        Block(
            Sequence(*[Block(programs.execute(f"op{n}", 100 * n, ipu * tiles), f"op{n}") for n in (1, 2)]),
            f"stage{ipu + 1}",
        )
        for ipu in range(2)
    ]
    return Repeat(5, Sequence(*made))


def spans(report, tile=0):
    """(name, from, to) of the blocks of a tile."""
    return [(b.program and b.program.name, b.cyclesFrom, b.cyclesTo) for b in report.execution.blocks(tile)]


def counts(report, tile=0):
    """How many blocks there are of each kind: common, flush, stream copy, overflow."""
    blocks = report.execution.blocks(tile)
    kinds = ("isCommon", "isBlockFlush", "isStreamCopy", "isOverflow")
    return tuple(sum(getattr(block, kind) for block in blocks) for kind in kinds)
