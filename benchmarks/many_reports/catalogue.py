"""A folder of many reports: `python -m benchmarks.many_reports.catalogue [--reports 10000]`.

Hard links of a small sample report, each with a point.json of its own. The first row is read, the others are copies of
it with figures of their own, so that only the hundredth of the reports that is then changed takes time to be read.
Times that refresh, one where nothing changed, the table that the command shows (read, filtered and sorted), and the
answers of the server to the viewer's page. Writes its section of docs/measured/benchmarks.md.
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
from typing import Any

import pandas as pd

from benchmarks.document import write_section
from popvision.catalogue import FILE_NAME, refresh, select_reports
from popvision.catalogue.catalogue_file import join_rows, write_rows
from popvision.catalogue.report_row import FACTS, METRIC_NAMES, read_row, signature_of
from webapp.base.library import Library
from webapp.shell.app import create_app

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
        write_section("catalogue", text)


def measure(root: Path, count: int) -> str:
    """The section of docs/measured/benchmarks.md."""
    profile = root / "profile"
    profile.write_bytes((SAMPLE / "profile.pop").read_bytes())
    for number in range(count):
        folder = root / "points" / f"tiles={number % 100}-n={number}-{number:016x}"
        folder.mkdir(parents=True)
        os.link(profile, folder / "profile.pop")
        _write_point(folder, number, "")
    folders = sorted((root / "points").iterdir())
    row = read_row(root, folders[0])
    write_rows(root, join_rows(pd.DataFrame(columns=list(FACTS)), [_copy(row, root, each) for each in folders]))
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
        (
            "refresh, a hundredth changed",
            f"{changed:.1f} s, {(changed - unchanged) / (count / 100) * 1e3:.0f} ms a changed report",
        ),
        ("refresh, nothing changed", f"{unchanged:.2f} s"),
    ]
    questions |= _page_questions(root)
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


def _page_questions(root: Path) -> dict[str, Callable[[], object]]:
    """What the viewer's page asks its server for."""
    client = create_app(Library([root])).server.test_client()
    while client.get("/data/catalogue/rows").get_json()["state"]["is_reading"]:
        time.sleep(0.1)

    def ask(address: str) -> Callable[[], object]:
        def get() -> None:
            assert client.get(f"/data/catalogue/{address}").status_code == 200

        return get

    return {
        "the page's first 100 rows": ask("rows"),
        "the page filtered and sorted": ask("rows?where=cycles>1000+AND+peak<700000&sort=cycles&down=1"),
        "the page's scatter of two figures": ask("points?x=cycles&y=peak_used"),
    }


def _copy(row: dict[str, Any], root: Path, folder: Path) -> dict[str, Any]:
    """The row of another report: its name, signature, coordinates and figures scaled by a number of its own."""
    number = int(folder.name.rpartition("-")[2], 16)
    figures = {name: value * (1 + number % 997 / 997) for name, value in row.items() if name in METRIC_NAMES and value}
    axes = {"axis.tiles": number % 100, "axis.arguments.n": number}
    return row | figures | axes | {"report": str(folder.relative_to(root)), "signature": signature_of(folder)}


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
