"""Like reptil: refuses files that are not reports, then gives shares of cycles, balances and peak liveness."""

import pva


def check(report):
    if not isinstance(report, pva.Report):
        raise ValueError("not a report")
    return report


def main(profile, debug):
    report = check(pva.openReport(profile))
    target, compilation, execution = report.compilation.target, report.compilation, report.execution
    always = sum(tile.memory.alwaysLiveBytes for tile in compilation.tiles)
    peak = max(compilation.livenessProgramSteps, key=lambda step: step.notAlwaysLiveMemory.bytes)
    share = (always + peak.notAlwaysLiveMemory.bytes * target.numReplicas) / target.totalMemory
    kinds = {}
    for step in execution.steps:
        name = step.program.type.name
        kinds[name] = kinds.get(name, 0) + step.ipus[0].cycles
    skew = [
        ipu.allCycles.cyclesFrom.max - ipu.allCycles.cyclesFrom.min
        for step in execution.runs[0].steps
        for ipu in step.ipus
    ]
    compute = [step.ipus[0] for step in execution.steps if step.program.type == pva.Program.Type.OnTileExecute]
    balance = sum(ipu.tileBalance for ipu in compute) / len(compute)
    active = sum(ipu.activeTileBalance for ipu in compute) / len(compute)
    vertices = 0
    for tile in compilation.tiles:
        for vertex in tile.memory.vertices:
            vertices += vertex.codeBytes > 0 and len(vertex.type.name) > 0
    run = execution.runs[0]
    return {
        "share": share,
        "kinds": kinds,
        "skew": max(skew),
        "balance": [balance, active],
        "types on tiles": vertices,
        "version": report.poplarVersion.string,
        "wall": run.microseconds.end - run.microseconds.start,
        "arch": target.architecture.name,
        "seconds": execution.totalCycles.total / target.clockFrequency,
    }
