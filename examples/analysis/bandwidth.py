"""Print the bytes and the bandwidth of each kind of step that moves data, on one IPU.

python examples/analysis/bandwidth.py REPORT_FOLDER [IPU [ROWS]]
"""

import sys
from collections import defaultdict

import popvision.pva as pva

Type = pva.Program.Type
MOVING = {Type.DoExchange, Type.GlobalExchange, Type.StreamCopyMid}


def main(folder: str, ipu: str = "0", rows: str = "20") -> None:
    report = pva.openReport(f"{folder}/profile.pop")
    if not report.execution.runs:
        print("Nothing ran in this report: run with autoReport.outputExecutionProfile.")
        return
    totals: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for step in report.execution.steps:
        if step.program.type in MOVING:
            on_ipu = step.ipus[int(ipu)]
            total = totals[step.program.type.name, step.program.name]
            for place, value in enumerate((1, on_ipu.dataIn, on_ipu.dataOut, on_ipu.cycles)):
                total[place] += value
    clock = report.compilation.target.clockFrequency
    print(f"{'steps':>6} {'bytes in':>12} {'bytes out':>12} {'cycles':>10} {'B/cycle':>8} {'GB/s':>8}  program")
    largest = sorted(totals.items(), key=lambda item: -sum(item[1][1:3]))
    for (kind, name), (steps, came, went, cycles) in largest[: int(rows)]:
        rate = max(came, went) / cycles if cycles else 0.0
        speed = rate * clock / 1e9
        print(f"{steps:>6} {came:>12,} {went:>12,} {cycles:>10,} {rate:>8.1f} {speed:>8.1f}  {kind} {name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
