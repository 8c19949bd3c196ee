"""python -m popvision.formats.generate OUT --intervals 20e6 --kind distinct|repeat ..."""

from __future__ import annotations

import time
from pathlib import Path

import click

from popvision.formats.errors import FormatError
from popvision.formats.generate.report import Size, generate


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--intervals", type=float, default=20e6, show_default=True, help="Non-zero (step, tile) cells.")
@click.option("--kind", type=click.Choice(["distinct", "repeat"]), default="distinct", show_default=True)
@click.option("--tiles", type=int, default=1_472, show_default=True, help="Tiles per IPU.")
@click.option("--ipus", type=int, default=1, show_default=True)
@click.option("--layers", type=int, default=8, show_default=True, help="Layers of the program; 30 leaves each.")
@click.option("--liveness-indices", type=int, default=0, help="0 = one per leaf program; up to 31,000 is usual.")
@click.option("--lowered-variables", type=float, default=0, help="Over all tiles; 0 = 100 per tile.")
@click.option("--compute-sets", type=int, default=0, help="At most so many; 0 = ten per layer.")
@click.option("--seed", type=int, default=1, show_default=True)
def main(
    out: Path,
    intervals: float,
    kind: str,
    tiles: int,
    ipus: int,
    layers: int,
    liveness_indices: int,
    lowered_variables: float,
    compute_sets: int,
    seed: int,
) -> None:
    """Write a seeded report to OUT: a folder, or a file that ends in .pop."""
    path = out if out.suffix == ".pop" else out / "profile.pop"
    began = time.perf_counter()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lowered = int(lowered_variables)
        size = Size(intervals, kind, tiles, ipus, layers, liveness_indices, lowered, seed, compute_sets=compute_sets)
        intervals = generate(path, size)
    except (FormatError, OSError) as error:
        raise click.ClickException(str(error)) from None
    seconds = time.perf_counter() - began
    click.echo(f"{path}: {intervals:,} intervals, {path.stat().st_size:,} bytes, {seconds:.1f} s")


if __name__ == "__main__":
    main()
