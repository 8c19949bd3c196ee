"""Like popliner: live bytes, code and cycles of each operation on the fullest tile, from lowered variables."""

import numpy as np
import pva


class Cost(pva.ProgramVisitor):
    """Adds up cycles and exchange code of programs on one tile."""

    def __init__(self, tile, num_tiles):
        super().__init__()
        self.tile, self.num_tiles = tile, num_tiles
        self.cycles, self.code, self.vertices = 0, 0, set()

    def visitOnTileExecute(self, program):
        cycles = program.computeset.estimatedCyclesByTile
        if list(cycles):
            self.cycles += max(list(cycles)[: self.num_tiles])
        for vertex in program.computeset.vertices:
            if vertex.countByTile[self.tile]:
                self.vertices.add((vertex.type.name, vertex.type.size))

    def visitDoExchange(self, program):
        if program.codeBytesByTile:
            self.code += program.codeBytesByTile[self.tile]
        if program.estimatedCyclesByTile:
            self.cycles += max(program.estimatedCyclesByTile)


def main(profile, debug):
    report = pva.openReport(profile, debug)
    compilation, target = report.compilation, report.compilation.target
    if not compilation.loweredVariables.allBriefVars:
        raise SystemExit("no lowered variables")
    steps = len(compilation.livenessProgramSteps)
    live = np.zeros((target.numTiles, steps), dtype=np.uint64)
    brief = {}
    for var in compilation.loweredVariables.allBriefVars:
        brief[var.id] = (var.equivalenceClass.id, var.bytes, var.tileId)
        for interval in var.equivalenceClass.steps:
            live[var.tileId, interval.start : interval.end] += np.uint64(var.bytes)
    tile = int(live.max(axis=1).argmax())
    analysis = pva.OperationAnalysis(report)
    rows = []
    for index in range(len(analysis.operations)):
        operation = analysis.operations[index]
        cost = Cost(tile, target.tilesPerIpu)
        programs = set(operation.programs())
        for program in programs - {p for p in programs if p.type == pva.Program.Type.Sync}:
            program.accept(cost)
        span = slice(operation.firstStepIndex, operation.lastStepIndex + 1)
        peak = int(live[tile, span].max()) if programs else 0
        used = [var._id for var in operation.vars if brief[var._id][2] == tile]
        rows.append(
            [operation.name, operation.debugContext.id, peak, cost.cycles, cost.code, len(cost.vertices), len(used)]
        )
    always = {}
    if hasattr(compilation, "alwaysLiveVariablesForTile") and callable(compilation.alwaysLiveVariablesForTile):
        for var in compilation.alwaysLiveVariablesForTile(tile):
            always[var] = var.size
    return {"tile": tile, "live": [int(n) for n in live[tile]], "rows": rows, "always": sum(always.values())}
