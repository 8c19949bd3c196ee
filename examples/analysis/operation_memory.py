"""Print the memory of each library operation: its code, and the variables that its programs read and write.

python examples/analysis/operation_memory.py REPORT_FOLDER [ROWS]
"""

import sys

import popvision.pva as pva


def code_bytes(operation) -> int:
    """Exchange code of an operation over all tiles."""
    programs = operation.programs()
    exchanges = [p for p in programs if p.type == pva.Program.Type.DoExchange]
    return sum(sum(p.codeBytesByTile) for p in exchanges)


def main(folder: str, rows: str = "15") -> None:
    report = pva.openReport(f"{folder}/profile.pop", f"{folder}/debug.cbor")
    found = []
    for operation in pva.OperationAnalysis(report).operations:
        if not operation.programs():
            continue
        variables = sum(variable.bytes for variable in operation.vars)
        steps = f"{operation.firstStepIndex}-{operation.lastStepIndex}"
        found.append((variables, code_bytes(operation), len(operation.programs()), steps, operation.name))
    print(f"{'variables':>12} {'exchange code':>14} {'programs':>9} {'steps':>11}  operation")
    for variables, code, programs, steps, name in sorted(found, reverse=True)[: int(rows)]:
        print(f"{variables:>12,} {code:>14,} {programs:>9} {steps:>11}  {name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
