"""Print code and cycles of each layer of a network: library operations summed by the program's layers.

An operation belongs to the nearest context above it that comes from the given software layer ("network" in
examples/layered_training.py, "onnx" or "poptorch" in frameworks). Without such a context it belongs to the first part
of its name.

    python examples/analysis/layers.py REPORT_FOLDER [SOFTWARE_LAYER]
"""

import json
import sys
from collections import Counter

import popvision.pva as pva


def layer_of(operation, wanted: str) -> str:
    """The name of the layer that an operation belongs to."""
    pending = [operation.debugContext]
    while pending:
        context = pending.pop(0)
        if json.loads(context.layer)["layer"] == wanted:
            return context.name
        pending += context.parents
    return operation.name.split("/")[0] or "(no name)"


def main(folder: str, software_layer: str = "network") -> None:
    report = pva.openReport(f"{folder}/profile.pop", f"{folder}/debug.cbor")
    code, cycles, operations = Counter(), Counter(), Counter()
    owner = {}
    for operation in pva.OperationAnalysis(report).operations:
        layer = layer_of(operation, software_layer)
        operations[layer] += 1
        for program in operation.programs():
            owner[program] = layer
            code[layer] += sum(program.controlCodeByTile)
            if program.type == pva.Program.Type.DoExchange:
                code[layer] += sum(program.codeBytesByTile)
    for step in report.execution.steps:
        cycles[owner.get(step.program, "(no operation)")] += max(ipu.cycles for ipu in step.ipus)
    total = sum(cycles.values()) or 1
    print(f"{'cycles':>12} {'':>7} {'code bytes':>12} {'operations':>11}  layer")
    for layer in sorted({*operations, *cycles}, key=lambda name: (-cycles[name], name)):
        share = 100 * cycles[layer] / total
        print(f"{cycles[layer]:>12,} {share:>5.1f} % {code[layer]:>12,} {operations[layer]:>11}  {layer}")


if __name__ == "__main__":
    main(*sys.argv[1:])
