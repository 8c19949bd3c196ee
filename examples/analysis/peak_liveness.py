"""Print the step with the most live memory, and what is live there.

python examples/analysis/peak_liveness.py REPORT_FOLDER [ROWS]
"""

import sys

import popvision.pva as pva


def main(folder: str, rows: str = "15") -> None:
    compilation = pva.openReport(f"{folder}/profile.pop").compilation
    steps = compilation.livenessProgramSteps
    if not steps:
        print("The report has no liveness: compile with autoReport.outputGraphProfile.")
        return
    always = sum(variable.size for variable in compilation.alwaysLiveVariables)
    peak = max(range(len(steps)), key=lambda i: steps[i].notAlwaysLiveMemory.bytes)
    live = steps[peak].notAlwaysLiveMemory
    program = steps[peak].program
    print(f"Peak at step {peak} of {len(steps)}: {program.type.name} {program.name}")
    print(f"{always + live.bytes:,} B = {always:,} B always live + {live.bytes:,} B here")
    variables = [(v.size, "", v.name) for v in live.variables]
    variables += [(v.size, "always", v.name) for v in compilation.alwaysLiveVariables]
    for size, kind, name in sorted(variables, key=lambda row: (-row[0], row[2]))[: int(rows)]:
        print(f"{size:>12,} {100 * size / (always + live.bytes):5.1f} % {kind:>6} {name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
