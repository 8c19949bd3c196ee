"""A folder of many reports: `python -m benchmarks.many_reports.catalogue [--reports 10000]`.

Hard links of the sample reports that are small, each with a point.json of its own, so that the disk holds them. Times
the first catalogue, a refresh of a changed hundredth, one where nothing changed, and the table that the command shows:
read, filtered and sorted. Writes its section of docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.document import write_section
from popvision.catalogue import FILE_NAME, refresh, select_reports

SAMPLE = Path(__file__).parents[2] / "sample_reports" / "matmul_chain"
_REPEATS = 7


def main() -> None:
    """Make the folder, time the catalogue, print and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reports", type=int, default=10_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        text = measure(Path(scratch), arguments.reports)
    print(text)
    if arguments.reports == 10_000:
        write_section("benchmarks.md", "catalogue", text)


def measure(root: Path, count: int) -> str:
    """The section of docs/benchmarks.md."""
    profile = root / "profile"
    profile.write_bytes((SAMPLE / "profile.pop").read_bytes())
    for number in range(count):
        folder = root / "points" / f"tiles={number % 100}-n={number}-{number:016x}"
        folder.mkdir(parents=True)
        os.link(profile, folder / "profile.pop")
        _write_point(folder, number, "")
    first = _seconds(lambda: refresh(root))
    unchanged = _seconds(lambda: refresh(root))
    for number in range(0, count, 100):
        _write_point(root / "points" / f"tiles={number % 100}-n={number}-{number:016x}", number, "changed")
    changed = _seconds(lambda: refresh(root))
    questions: dict[str, Callable[[], object]] = {
        "read all, sorted by cycles": lambda: select_reports(root, sort="cycles", descending=True, limit=50),
        "filtered by two figures and an axis, sorted by peak": lambda: select_reports(
            root, where='cycles > 1000 AND peak < 700000 AND "axis.tiles" < 50', sort="peak", limit=50
        ),
    }
    rows = [
        ("first catalogue", f"{first:.0f} s, {first / count * 1e3:.0f} ms a report"),
        ("refresh, a hundredth changed", f"{changed:.1f} s"),
        ("refresh, nothing changed", f"{unchanged:.2f} s"),
    ]
    for title, ask in questions.items():
        times = [_seconds(ask) for _ in range(_REPEATS)]
        rows.append((title, f"median {statistics.median(times) * 1e3:.0f} ms, worst {max(times) * 1e3:.0f} ms"))
    rows.append(("the file", f"{(root / FILE_NAME).stat().st_size / 1024:,.0f} KiB"))
    rows.append(("peak memory of the process", f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB"))
    table = "".join(f"| {title} | {value} |\n" for title, value in rows)
    return (
        f"## Catalogue of many reports\n\n`python -m benchmarks.many_reports.catalogue`: {count:,} reports, hard links "
        f"of the sample {SAMPLE.name}.\n\n| measure | value |\n| --- | --- |\n{table}"
    )


def _write_point(folder: Path, number: int, error: str) -> None:
    axes = {"tiles": number % 100, "arguments.n": number}
    document = {"digest": f"{number:016x}", "commit": "", "commit_time": 0, "axes": axes, "error": error}
    (folder / "point.json").write_text(json.dumps(document))


def _seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
