"""Like ProfileAnalyzer and poplar_explorer: a table of programs by class, memory over time as arrays."""

import numpy as np
import pva


class Bandwidth(pva.ProgramVisitor):
    """A visitor without an __init__, as in the tutorials."""

    moved = 0

    def visitStreamCopyMid(self, program):
        Bandwidth.moved += 1


def main(profile, debug):
    report = pva.openReport(profile)
    compilation = report.compilation
    table = {}
    for step in report.execution.steps:
        program = step.program
        kind = type(program).__name__
        if kind == "Program" and program.type == pva.Program.Type.Sync:
            kind = f"Sync {program.name}"
        row = table.setdefault(kind, [0, 0, 0])
        row[0] += 1
        row[1] += step.ipus[0].cycles
        row[2] += step.ipus[0].dataIn + step.ipus[0].dataOut
        program.accept(Bandwidth())
    always = sum(v.size for v in compilation.alwaysLiveVariables)
    over_time = np.array(always) + [step.notAlwaysLiveMemory.bytes for step in compilation.livenessProgramSteps]
    memory = np.array([tile.memory.total.includingGaps for tile in compilation.tiles], dtype=np.uint64)
    estimates = {}
    for program in compilation.programs:
        cycles = getattr(program, "estimatedCyclesByTile", None)
        if cycles:
            estimates[program._id] = max(cycles)
    control = [sum(p.controlCodeByTile) for p in compilation.programs if not p.children and p.controlCodeByTile]
    probes = [name for name in ("name", "cycles", "programs") if hasattr(report.execution.steps[0], name)]
    soft = getattr(report.execution.runs[0], "cyclesByIpu", None)
    return {
        "table": table,
        "moved": Bandwidth.moved,
        "peak": int(over_time.max()),
        "mean": float(memory.mean()),
        "estimates": sum(estimates.values()),
        "control": sum(control),
        "probes": probes,
        "soft": soft,
    }
