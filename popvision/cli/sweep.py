"""`popvision sweep sweep.toml`: one program at many points of a grid, each point a report folder."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from popvision.cli.console import echo, make_table
from popvision.opened.printable import printable

if TYPE_CHECKING:
    from popvision.sweep import Outcome, Sweep
    from popvision.sweep.run import Progress, Runner

#: Exit code when points failed.
SOME_FAILED = 3

#: Seconds between two lines of progress that do not overwrite each other.
_LINE_SECONDS = 10.0


@click.command(name="sweep")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "-d", "--directory", type=click.Path(path_type=Path), help="Folder of the points; by default ./NAME of NAME.toml."
)
@click.option(
    "--at-once",
    type=click.IntRange(min=1),
    help="Points that run together; by default one per processor, thread of a Dask worker or place in Slurm.",
)
@click.option("--retry-failed", is_flag=True, help="Run points that failed again.")
@click.option(
    "--dask", metavar="ADDRESS", help="Run points on a Dask cluster, such as tcp://host:8786; 'local' starts one."
)
@click.option("--slurm", is_flag=True, help="Run points as a job array of Slurm.")
@click.option("--slurm-options", metavar="TEXT", help='Further options of sbatch, such as "--ipus=1 --mem=4G".')
@click.option("--list", "only_list", is_flag=True, help="Print the points and their states; run nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document in place of the text.")
def command(
    file: Path,
    directory: Path | None,
    at_once: int | None,
    retry_failed: bool,
    dask: str | None,
    slurm: bool,
    slurm_options: str | None,
    only_list: bool,
    as_json: bool,
) -> None:
    """Run the program of FILE (docs/sweeps.md) at every point of its grid that has not ended yet.

    Killed, it goes on at the next start. Exit codes: 0 all points are done, 1 bad input, 2 wrong usage, 3 points
    failed, 130 interrupted."""
    from popvision.sweep import read_sweep, run_sweep

    sweep = read_sweep(file)
    folder = directory or Path(file.stem)
    if only_list:
        _list(sweep, folder, as_json)
        return
    runner = _runner(dask, slurm, slurm_options)
    line = _ProgressLine()
    try:
        outcome = run_sweep(sweep, folder, at_once=at_once, retry_failed=retry_failed, on_end=line.show, runner=runner)
    except KeyboardInterrupt:
        line.close()
        click.echo("popvision: interrupted; the same command goes on where it stopped.", err=True)
        raise SystemExit(130) from None
    finally:
        line.close()
    if as_json:
        failures = [{"folder": str(path), "error": error} for path, error in outcome.failures]
        click.echo(json.dumps(vars(outcome) | {"folder": str(outcome.folder), "failures": failures}, indent=2))
    else:
        _print(outcome)
    raise SystemExit(SOME_FAILED if outcome.failures else 0)


def _runner(dask: str | None, slurm: bool, slurm_options: str | None) -> Runner | None:
    """Where the points run; None = here."""
    if dask and slurm:
        raise click.UsageError("--dask and --slurm exclude each other.")
    if slurm_options is not None and not slurm:
        raise click.UsageError("--slurm-options are those of --slurm: give it too.")
    if dask:
        from popvision.sweep.dask_cluster import DaskRunner

        return DaskRunner(dask)
    if slurm:
        from popvision.sweep.slurm_array import SlurmRunner

        return SlurmRunner(slurm_options or "")
    return None


def _print(outcome: Outcome) -> None:
    skipped = f" ({outcome.skipped:,} of them before)" if outcome.skipped else ""
    click.echo(f"{outcome.total:,} points: {outcome.done:,} done, {len(outcome.failures):,} failed{skipped}.")
    for path, error in outcome.failures[:20]:
        click.echo(printable(f"  {path.name}: {error}"))
    if len(outcome.failures) > 20:
        click.echo(f"  and {len(outcome.failures) - 20:,} more in {outcome.folder / 'failed'}")
    click.echo(f"Reports are in {outcome.folder / 'points'}; open them with: popvision view {outcome.folder}", err=True)


def _list(sweep: Sweep, folder: Path, as_json: bool) -> None:
    from popvision.sweep.sweep_folder import DONE, SweepFolder

    place = SweepFolder(folder)
    ended = place.ended()
    points = sweep.points(place.root / "commits")
    states = [
        "waiting" if path is None else "done" if path.parent.name == DONE else "failed"
        for path in (ended.get(point.digest) for point in points)
    ]
    if as_json:
        rows = [
            {"state": state, "digest": point.digest, "label": point.label, "axes": point.axes}
            for state, point in zip(states, points, strict=True)
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    table = [(state, *point.axes.values()) for state, point in zip(states, points, strict=True)]
    echo(make_table(("state", *sweep.grid), table))
    counts = ", ".join(f"{states.count(state):,} {state}" for state in ("done", "failed", "waiting"))
    click.echo(f"{len(points):,} points: {counts}.")


class _ProgressLine:
    """Progress on stderr: one line that is written over in a terminal, else a line every ten seconds at most."""

    def __init__(self) -> None:
        self._overwrites = sys.stderr.isatty()
        self._printed = time.monotonic()
        self._is_open = False

    def show(self, progress: Progress) -> None:
        """Print the counts as a point ends."""
        now = time.monotonic()
        if not self._overwrites and now - self._printed < _LINE_SECONDS:
            return
        self._printed = now
        text = progress_text(progress)
        click.echo(f"\r{text}\033[K" if self._overwrites else text, nl=not self._overwrites, err=True)
        self._is_open = self._overwrites

    def close(self) -> None:
        """End the line."""
        if self._is_open:
            click.echo(err=True)
        self._is_open = False


def progress_text(progress: Progress) -> str:
    """ "12 of 100 points: 11 done, 1 failed; about 4 min left"."""
    ended = progress.done + progress.failed
    seconds = progress.seconds_left
    left = "" if not seconds else f"; about {_duration(seconds)} left"
    return f"{ended:,} of {progress.total:,} points: {progress.done:,} done, {progress.failed:,} failed{left}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
