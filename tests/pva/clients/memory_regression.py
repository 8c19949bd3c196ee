"""Like the TensorFlow assertions and pva_utils: limits on memory and cycles, lists of compute sets, parameters."""

import fnmatch

import pva


def main(profile, debug):
    report = pva.openReport(profile)
    tiles, compilation = report.compilation.tiles, report.compilation
    names = [compute_set.name for compute_set in compilation.computeSets]
    allowed = ["layer/product*", "layer/relu*", "layer/twice*", "copy*"]
    unknown = [name for name in names if not any(fnmatch.fnmatch(name, each) for each in allowed)]
    total = [tile.memory.total.excludingGaps for tile in tiles]
    biggest = max(tiles, key=lambda tile: tile.memory.total.includingGaps).memory
    code = sum(tile.memory.category.vertexCode.total + tile.memory.category.controlCode.total for tile in tiles)
    exchange = sum(tile.memory.category.internalExchangeCode.total for tile in tiles)
    state = sum(tile.memory.category.vertexInstanceState.total for tile in tiles)
    parameters = sum(tile.memory.alwaysLiveBytes for tile in tiles) - code - exchange - state
    compute = 0
    for step in report.execution.runs[0].steps:
        if step.program.type.name == "Sync" and step.program.name == "External":
            continue
        if step.program.type in (pva.Program.Type.StreamCopyBegin, pva.Program.Type.StreamCopyEnd):
            continue
        compute += max(ipu.cycles for ipu in step.ipus)
    large = [s for s in report.execution.steps if "GlobalExchange" in s.program.type.name and s.ipus[0].dataOut > 1024]
    mids = sum(s.program.type == pva.pva_core.Program.Type.StreamCopyMid for s in report.execution.steps)
    return {
        "unknown": unknown,
        "max": max(total),
        "sum": sum(total),
        "gaps": biggest.total.includingGaps,
        "fits": all(t.memory.overflowed.includingGaps == 0 for t in tiles),
        "parameters": parameters,
        "cycles": report.execution.totalCycles.total,
        "compute": compute,
        "boundaries": len(large),
        "copies": mids,
        "runs": len(report.execution.runs),
        "longest": max(max(s.cyclesByTile) for s in report.execution.steps if s.cyclesByTile),
    }
