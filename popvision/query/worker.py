"""`python -m popvision.query.worker HEAP`: answers queries, lines of JSON each, in a process that may be killed.

    {"report", "sql", "engine", "seconds", "rows", "skip", "text"}
    ->   {"begins"} when the report is open, {"rows"} for each thousand rows, then {"columns", "more", "verified"}
         or {"problem", "kind"}

Its memory is bounded twice: HEAP bytes for SQLite's heap, and twice that and half a gigabyte for all data. It ends with
its stdin."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator

from popvision.analysis.report.source import ReportSource
from popvision.query.answer import PROBLEMS, TOO_MUCH_MEMORY, Limits
from popvision.query.duck import run_duckdb, run_on_parquet
from popvision.query.run import run_query

#: Rows of a line.
_ROWS = 1_000


def parts(order: dict[str, object], heap: int) -> Iterator[dict[str, object]]:
    """The lines that answer an order."""
    limits = Limits(
        seconds=float(str(order["seconds"])),
        rows=int(str(order["rows"])),
        skip=int(str(order["skip"])),
        text=int(str(order["text"])),
        heap=heap,
    )
    path, sql, engine = (str(order[key]) for key in ("report", "sql", "engine"))
    try:
        source = None if engine == "parquet" else ReportSource(path)
        yield {"begins": True}
        if source is None:
            answer = run_on_parquet(path, sql, limits)
        else:
            answer = (run_duckdb if engine == "duckdb" else run_query)(source, sql, limits)
    except tuple(PROBLEMS.values()) as problem:
        kind = next(name for name, kind in PROBLEMS.items() if isinstance(problem, kind))
        yield {"problem": str(problem), "kind": kind}
    except MemoryError:
        yield {"problem": TOO_MUCH_MEMORY, "kind": "FormatError"}
    except OSError as problem:
        yield {"problem": f"The report cannot be read: {problem.strerror}.", "kind": "FormatError"}
    else:
        for first in range(0, len(answer.rows), _ROWS):
            yield {"rows": answer.rows[first : first + _ROWS]}
        yield {"columns": answer.columns, "more": answer.more, "verified": answer.verified}


def _bound_memory(heap: int) -> None:
    """Limit the data of this process; there is no such limit on Windows."""
    with contextlib.suppress(ImportError):
        import resource

        data = 2 * heap + (512 << 20)
        resource.setrlimit(resource.RLIMIT_DATA, (data, data))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    """Serve orders until stdin ends."""
    orders, answers = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    empty = os.open(os.devnull, os.O_RDWR)
    os.dup2(empty, 0)
    os.dup2(empty, 1)
    heap = int(sys.argv[1])
    _bound_memory(heap)
    for line in orders:
        for part in parts(json.loads(line), heap):
            answers.write(json.dumps(part) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
