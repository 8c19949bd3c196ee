"""Find where to cut a program into stages for several IPUs, from the lifetimes of its lowered variables.

Cuts lie between operations. A stage needs the memory of each variable that is live during one of its steps, including
variables that it only passes on. The best cuts are those with the smallest largest stage. The variables of a stage need
not all be live at once, so its size is an upper bound.

    python examples/analysis/pipeline_split.py REPORT_FOLDER [STAGES]
"""

import sys
from collections import defaultdict

import numpy as np

import popvision.pva as pva


def lifetimes(report) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """(first step, end, bytes) of each temporary variable, and the bytes of those that are live at every step."""
    by_class: dict[int, int] = defaultdict(int)
    classes = {}
    for variable in report.compilation.loweredVariables.allBriefVars:
        by_class[variable.equivalenceClass.id] += variable.bytes
        classes[variable.equivalenceClass.id] = variable.equivalenceClass
    always, rows = 0, []
    every_step = [(0, len(report.compilation.livenessProgramSteps))]
    for number, size in by_class.items():
        steps = classes[number].steps
        if steps == every_step:
            always += size
        else:
            rows.append((steps[0].start, steps[-1].end, size))
    first, end, size = np.array(rows, np.int64).reshape(-1, 3).T
    return first, end, size, always


def boundaries(report) -> dict[int, str]:
    """The step after each operation, and the operation's name."""
    operations = [op for op in pva.OperationAnalysis(report).operations if op.programs()]
    spans = sorted((op.firstStepIndex, op.lastStepIndex + 1, op.name) for op in operations)
    found, reach = {}, 0
    for (_, end, name), following in zip(spans, [*spans[1:], None], strict=True):
        reach = max(reach, end)
        if following is not None and following[0] >= reach:
            found[reach] = name
    return found


def best_cuts(cuts: list[int], steps: int, stages: int, need) -> list[int]:
    """The cuts whose largest stage is smallest, by dynamic programming over the boundaries."""
    places = [0, *cuts, steps]
    best = {j: (need(0, places[j]), []) for j in range(1, len(places))}
    for _ in range(1, stages):
        best = {
            j: min(
                ((max(best[i][0], need(places[i], places[j])), [*best[i][1], places[i]]) for i in best if i < j),
                default=best[j],
                key=lambda found: found[0],
            )
            for j in best
        }
    return best[len(places) - 1][1]


def main(folder: str, stages: str = "2") -> None:
    report = pva.openReport(f"{folder}/profile.pop", f"{folder}/debug.cbor")
    if not report.compilation.loweredVariables.allBriefVars:
        print("The report has no lowered variables: compile with autoReport.outputLoweredVars.")
        return
    first, end, size, always = lifetimes(report)
    names, steps = boundaries(report), len(report.compilation.livenessProgramSteps)

    def need(begin: int, stop: int) -> int:
        return int(size[(first < stop) & (end > begin)].sum())

    cuts = best_cuts(sorted(names), steps, int(stages), need)
    capacity = report.compilation.target.bytesPerIPU
    print(f"{len(names)} places to cut; {always:,} B always live are to be divided among the stages by hand")
    for number, (begin, stop) in enumerate(zip([0, *cuts], [*cuts, steps], strict=True)):
        share = 100 * need(begin, stop) / capacity
        after = f", cut after {names[stop]}" if stop in names else ""
        print(f"stage {number}: steps {begin}-{stop - 1}, {need(begin, stop):,} B ({share:.1f} % of an IPU){after}")


if __name__ == "__main__":
    main(*sys.argv[1:])
