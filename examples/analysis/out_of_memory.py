"""Tell whether a program fits into its tiles, and if not, what takes the memory. The exit code is 1 where it does not
fit.

    python examples/analysis/out_of_memory.py REPORT_FOLDER
"""

import sys

import popvision.pva as pva

CATEGORIES = (
    "vertexCode",
    "vertexInstanceState",
    "vertexFieldData",
    "internalExchangeCode",
    "globalExchangeCode",
    "hostExchangeCode",
    "controlCode",
    "constant",
    "variable",
    "message",
    "globalMessage",
    "rearrangement",
    "outputEdge",
    "stack",
    "instrumentationResults",
)


def main(folder: str) -> int:
    compilation = pva.openReport(f"{folder}/profile.pop").compilation
    tiles = compilation.tiles
    limit = compilation.target.bytesPerTile
    used = [tile.memory.total.includingGaps for tile in tiles]
    over = [i for i, tile in enumerate(tiles) if tile.memory.overflowed.includingGaps > 0]
    worst = max(range(len(used)), key=used.__getitem__)
    print(f"Fullest tile: {worst}, {used[worst]:,} of {limit:,} bytes ({100 * used[worst] / limit:.1f} %)")
    if not over:
        print("The program fits.")
        return 0
    print(f"Out of memory on {len(over)} of {len(tiles)} tiles; by category on tile {worst}:")
    sizes = {name: getattr(tiles[worst].memory.category, name).total for name in CATEGORIES}
    for name, size in sorted(sizes.items(), key=lambda item: -item[1])[:6]:
        print(f"{size:>12,} {name}")
    print("Largest variables there:")
    variables = sorted(compilation.loweredVariables.forTile(worst), key=lambda variable: -variable.bytes)
    for variable in variables[:6]:
        print(f"{variable.bytes:>12,} {'always' if variable.alwaysLive else '      '} {variable.name}")
    if not variables:
        print("  (not recorded: compile with autoReport.outputLoweredVars)")
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
