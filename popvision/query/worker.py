"""`python -m popvision.query.worker`: answers queries, a line of JSON each, in a process that may be killed.

    {"report", "sql", "seconds", "rows", "skip", "text"}   ->   {"columns", "rows", "more"} or {"problem"}

Its memory is bounded twice: SQLite's heap, and the data of the process. It ends with its stdin."""

from __future__ import annotations

import json
import os
import resource

from popvision.analysis.report.source import ReportSource
from popvision.formats.errors import FormatError, NotRecordedError
from popvision.query.answer import Limits
from popvision.query.run import run_query

#: Bytes of SQLite's heap, and of all data of the process.
HEAP, DATA = 512 << 20, 1536 << 20


def answer(order: dict[str, object]) -> dict[str, object]:
    """The answer to one order."""
    limits = Limits(
        seconds=float(str(order["seconds"])),
        rows=int(str(order["rows"])),
        skip=int(str(order["skip"])),
        text=int(str(order["text"])),
        heap=HEAP,
    )
    try:
        return vars(run_query(ReportSource(str(order["report"])), str(order["sql"]), limits))
    except (FormatError, NotRecordedError) as problem:
        return {"problem": str(problem)}
    except MemoryError:
        return {"problem": "The query needs too much memory; narrow it with WHERE or LIMIT."}
    except OSError as problem:
        return {"problem": f"The report cannot be read: {problem.strerror}."}


def main() -> None:
    """Serve orders until stdin ends."""
    orders, answers = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    empty = os.open(os.devnull, os.O_RDWR)
    os.dup2(empty, 0)
    os.dup2(empty, 1)
    resource.setrlimit(resource.RLIMIT_DATA, (DATA, DATA))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in orders:
        answers.write(json.dumps(answer(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
