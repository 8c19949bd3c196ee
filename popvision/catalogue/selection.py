"""Rows of the catalogue that a condition selects, sorted: by DuckDB, without access to other files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from popvision.catalogue.catalogue_file import FILE_NAME, load_duckdb, read_catalogue
from popvision.formats.errors import FormatError

if TYPE_CHECKING:
    import pandas as pd


def select_reports(
    folder: str | Path, *, where: str = "", sort: str = "report", descending: bool = False, limit: int | None = None
) -> pd.DataFrame:
    """Rows for which the SQL condition `where` holds, such as "cycles > 1e6 AND \\"axis.tiles\\" = 64".

    Missing figures come last in either order. Raises FormatError for a condition or a column that cannot be used."""
    frame = read_catalogue(folder)
    if sort not in frame.columns:
        raise FormatError(f"the catalogue has no column {sort!r} to sort by; columns are {', '.join(frame.columns)}.")
    if where:
        frame = _where(frame, where)
    frame = frame.sort_values(
        [sort, "report"] if sort != "report" else ["report"], ascending=not descending, kind="stable"
    )
    return frame.head(limit) if limit is not None else frame


def _where(frame: pd.DataFrame, condition: str) -> pd.DataFrame:
    duckdb = load_duckdb()
    statement = f"SELECT * FROM rows WHERE ({condition}\n)"
    config = {"enable_external_access": "false", "memory_limit": "1GB", "temp_directory": ""}
    with duckdb.connect(":memory:", config=config) as db:
        try:
            if len(db.extract_statements(statement)) != 1:
                raise FormatError(f"the condition {condition!r} is more than one statement.")
            db.register("rows", frame)
            db.execute("SET lock_configuration=true")
            selected: pd.DataFrame = db.execute(statement).df()
        except duckdb.Error as problem:
            said = " ".join(str(problem).split())[:300].rstrip(".")
            raise FormatError(f"the condition {condition!r} cannot be used on {FILE_NAME}: {said}.") from None
    return selected
