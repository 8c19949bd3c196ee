"""Like PopTorch's test of annotations: the line of the program that made each operation."""

import json

import pva


def layer_of(context, wanted):
    if json.loads(context.layer)["layer"] == wanted:
        return context
    assert context.parents, f"no {wanted} above"
    return layer_of(context.parents[0], wanted)


def main(profile, debug):
    report = pva.openReport(str(profile), str(debug))
    lines = {}
    for operation in pva.OperationAnalysis(report).operations:
        if not operation.name or operation.name == "Call":
            continue
        context = operation.replacedDebugContext[0] if operation.replacedDebugContext else operation.debugContext
        made = layer_of(context, "poplibs")
        data = json.loads(made.json)
        lines[operation.name] = [made.location.fileName.rsplit("/", 1)[-1], made.location.lineNumber, data["library"]]
    return lines
