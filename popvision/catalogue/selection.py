"""Rows of the catalogue that a condition selects, sorted: by DuckDB, which reads the file once and then has no access
to others."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from popvision.catalogue.catalogue_file import catalogue_path, load_duckdb
from popvision.catalogue.places import FILE_NAME
from popvision.catalogue.report_row import FACTS
from popvision.formats.errors import FormatError

if TYPE_CHECKING:
    import pandas as pd


def select_reports(
    folder: str | Path, *, where: str = "", sort: str = "report", descending: bool = False, limit: int | None = None
) -> pd.DataFrame:
    """Rows for which the SQL condition `where` holds, such as "cycles > 1e6 AND \\"axis.tiles\\" = 64".

    Missing figures come last in either order. Raises FormatError for a condition or a column that cannot be used."""
    return select_page(folder, where=where, sort=sort, descending=descending, limit=limit)[0]


def select_page(
    folder: str | Path,
    *,
    where: str = "",
    sort: str = "report",
    descending: bool = False,
    limit: int | None = None,
    most_seconds: float | None = None,
) -> tuple[pd.DataFrame, int]:
    """As `select_reports`, and how many rows there are without the limit. A condition that takes more than
    `most_seconds` is given up: FormatError."""
    path = catalogue_path(folder)
    duckdb = load_duckdb()
    with duckdb.connect(":memory:", config={"memory_limit": "1GB", "temp_directory": ""}) as db:
        try:
            db.execute("CREATE TABLE rows AS SELECT * FROM read_parquet(?)", [str(path)])
            columns = [name for name, *_ in db.execute("DESCRIBE rows").fetchall()]
        except duckdb.Error as problem:
            raise FormatError(f"{path} cannot be read ({_sentence(problem)}); delete it and make it again.") from None
        if columns[: len(FACTS)] != list(FACTS):
            raise FormatError(f"{path} is of another version; delete it and make it again.")
        if sort not in columns:
            raise FormatError(f"the catalogue has no column {sort!r} to sort by; columns are {', '.join(columns)}.")
        db.execute("SET enable_external_access=false; SET lock_configuration=true")
        condition = f" WHERE ({where}\n)" if where else ""
        name, order = sort.replace('"', '""'), "DESC" if descending else "ASC"
        end = "" if limit is None else f" LIMIT {int(limit)}"
        statement = f'SELECT * FROM rows{condition} ORDER BY "{name}" {order} NULLS LAST, report{end}'
        clock = threading.Timer(most_seconds or 0.0, db.interrupt)
        if most_seconds is not None:
            clock.start()
        try:
            if len(db.extract_statements(statement)) != 1:
                raise FormatError(f"the condition {where!r} is more than one statement.")
            frame: pd.DataFrame = db.execute(statement).df()
            total = len(frame)
            if limit is not None and total >= limit:
                total = int(db.execute(f"SELECT count(*) FROM rows{condition}").fetchone()[0])
        except duckdb.InterruptException:
            raise FormatError(f"the condition {where!r} takes more than {most_seconds:g} s; ask for less.") from None
        except duckdb.Error as problem:
            raise FormatError(f"the condition {where!r} cannot be used on {FILE_NAME}: {_sentence(problem)}.") from None
        finally:
            clock.cancel()
    return frame, total


def _sentence(problem: Exception) -> str:
    return " ".join(str(problem).split())[:300].rstrip(".")
