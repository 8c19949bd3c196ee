"""Rows of the catalogue that a condition selects, sorted. A condition is SQL of a person: DuckDB runs it in a process
of its own (query/processes.py), which answers with the places of the rows; the rows are read here."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from popvision.catalogue.catalogue_file import catalogue_path, load_duckdb
from popvision.catalogue.places import FILE_NAME
from popvision.catalogue.report_row import FACTS
from popvision.formats.errors import FormatError
from popvision.query.answer import Limits
from popvision.query.duck import run_on_parquet
from popvision.query.processes import ask

if TYPE_CHECKING:
    import pandas as pd

#: Seconds that a condition may take where nobody says less, and rows that it may select.
_MOST_SECONDS, _MOST_ROWS = 60.0, 10_000_000


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
            columns = [name for name, *_ in db.execute("DESCRIBE FROM read_parquet(?)", [str(path)]).fetchall()]
            if columns[: len(FACTS)] != list(FACTS):
                raise FormatError(f"{path} is of another version; delete it and make it again.")
            if sort not in columns:
                raise FormatError(f"the catalogue has no column {sort!r} to sort by; columns are {', '.join(columns)}.")
            name, order = sort.replace('"', '""'), "DESC" if descending else "ASC"
            places, total = _places(path, where, f'ORDER BY "{name}" {order} NULLS LAST, report', limit, most_seconds)
            frame: pd.DataFrame = db.execute(_ROWS_AT, [places, str(path)]).df()
        except duckdb.Error as problem:
            said = " ".join(str(problem).split())[:300].rstrip(".")
            raise FormatError(f"{path} cannot be read ({said}); delete it and make it again.") from None
    return frame, total


#: Rows of the file by their places, in the order of these.
_ROWS_AT = """
SELECT rows.* EXCLUDE (file_row_number)
FROM (SELECT unnest(places) AS place, generate_subscripts(places, 1) AS number FROM (SELECT ?::BIGINT[] AS places))
JOIN read_parquet(?, file_row_number=true) AS rows ON rows.file_row_number = place
ORDER BY number
"""


def _places(path: Path, where: str, order: str, limit: int | None, most_seconds: float | None) -> tuple[list[int], int]:
    """Places in the file of the rows that the condition selects, and how many it selects without the limit. Conditions
    come from people: DuckDB runs them in a process that is killed with its limits."""
    condition = f" WHERE ({where}\n)" if where else ""
    end = "" if limit is None else f" LIMIT {int(limit)}"
    limits = Limits(seconds=most_seconds or _MOST_SECONDS, rows=_MOST_ROWS)
    run = (
        partial(ask, path, limits=limits, engine="parquet")
        if where
        else partial(run_on_parquet, str(path), limits=limits)
    )
    try:
        places = [int(place) for (place,) in run(f"SELECT rowid FROM rows{condition} {order}{end}").rows]
        total = len(places)
        if limit is not None and total >= limit:
            total = int(run(f"SELECT count(*) FROM rows{condition}").rows[0][0])
    except (FormatError, TypeError, ValueError) as problem:
        if not where:
            raise FormatError(f"{path} cannot be read ({problem}); delete it and make it again.") from None
        raise FormatError(
            f"the condition {where!r} cannot be used on {FILE_NAME}: {str(problem).rstrip('.')}."
        ) from None
    return places, total
