"""Show the memory of every tile: a plot where matplotlib is installed, else bars of text.

python examples/analysis/tile_plot.py REPORT_FOLDER [PICTURE.png]
"""

import sys

import popvision.pva as pva

WIDTH, LINES = 60, 32


def main(folder: str, picture: str = "MemoryByTilePlot.png") -> None:
    report = pva.openReport(f"{folder}/profile.pop")
    with_gaps = [tile.memory.total.includingGaps for tile in report.compilation.tiles]
    without = [tile.memory.total.excludingGaps for tile in report.compilation.tiles]
    print(f"{len(with_gaps)} tiles, {sum(with_gaps):,} bytes with gaps, {sum(without):,} without")
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        print_bars(with_gaps)
        return
    plt.plot(with_gaps, label="including gaps")
    plt.plot(without, label="excluding gaps")
    plt.xlabel("Tiles")
    plt.ylabel("Bytes")
    plt.legend()
    plt.savefig(picture)
    print(f"Plot saved to {picture}.")


def print_bars(bytes_by_tile: list[int]) -> None:
    """Print a bar for the fullest tile of each range of tiles."""
    each = -(-len(bytes_by_tile) // LINES)
    most = max(bytes_by_tile, default=0) or 1
    for first in range(0, len(bytes_by_tile), each):
        stretch = bytes_by_tile[first : first + each]
        last = first + len(stretch) - 1
        print(f"{first:>6} -{last:>6} {max(stretch):>9,} {'#' * round(WIDTH * max(stretch) / most)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
