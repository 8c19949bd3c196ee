"""Print what a program consists of, by a visitor that goes through every program once.

python examples/analysis/visitor.py REPORT_FOLDER
"""

import sys
from collections import Counter

import popvision.pva as pva


class Inventory(pva.ProgramVisitor):
    """Counts the programs that it visits."""

    def __init__(self) -> None:
        super().__init__()
        self.mixed: list[str] = []  # compute sets of more than one vertex type
        self.vertices: Counter[str] = Counter()
        self.exchange_code: dict[str, int] = {}  # bytes over all tiles
        self.host_copies: Counter[str] = Counter()

    def visitOnTileExecute(self, program):
        if len(program.computeset.vertices) > 1:
            self.mixed.append(program.name)
        for vertices in program.computeset.vertices:
            self.vertices[vertices.type.name] += sum(vertices.countByTile)

    def visitDoExchange(self, program):
        self.exchange_code[program.name] = sum(program.codeBytesByTile)

    def visitStreamCopyMid(self, program):
        self.host_copies[program.name or "control"] += 1


def main(folder: str) -> None:
    report = pva.openReport(f"{folder}/profile.pop")
    visitor = Inventory()
    for program in report.compilation.programs:
        program.accept(visitor)
    print(f"{len(report.compilation.programs)} programs, {len(visitor.mixed)} with more than one vertex type:")
    for name in visitor.mixed[:10]:
        print(f"  {name}")
    print("Vertices, counted at each program that runs them:")
    for name, count in visitor.vertices.most_common(10):
        print(f"  {count:>9,} {name}")
    print("Exchange code:")
    for name, size in sorted(visitor.exchange_code.items(), key=lambda item: -item[1])[:10]:
        print(f"  {size:>9,} B {name}")
    copies = ", ".join(f"{name} x{count}" for name, count in visitor.host_copies.items())
    print(f"Copies from and to the host: {copies or 'none'}")


if __name__ == "__main__":
    main(*sys.argv[1:])
