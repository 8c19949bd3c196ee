"""The catalogue's file: Parquet, written by DuckDB, a row per report.

A refresh lists the folder and looks at time and size of each report's files; it reads only reports that are new or have
changed, some 45 ms each, and drops rows of those that are gone. A long refresh saves its rows every 30 s, so that an
interrupted one is not lost. places.py says where reports and file lie; of a bucket the file's local copy."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from popvision.catalogue.places import FILE_NAME, place_of
from popvision.catalogue.report_row import AXIS, FACTS, METRIC_NAMES
from popvision.formats.errors import FormatError
from popvision.formats.replacing import replacing

if TYPE_CHECKING:
    import pandas as pd

_SAVE_SECONDS = 30.0


@dataclass(frozen=True)
class Refreshed:
    """What a refresh did: reports in the catalogue, of them read anew; rows removed; a note, "" when all is well."""

    reports: int
    read: int
    removed: int
    note: str


def refresh(folder: str | Path, on_read: Callable[[int, int], None] | None = None) -> Refreshed:
    """Bring the catalogue of `folder`, or of an address such as "s3://bucket/runs", up to date. `on_read` is called
    with (reports read, reports to read).

    Raises FormatError when DuckDB is missing, or the folder holds no report or cannot be written."""
    import pandas as pd

    place = place_of(folder)
    root = place.root
    reports, note = place.reports()
    if not reports:
        raise FormatError(note or f"{place.name} holds no report.")
    place.read_file()
    old = _read_or_start(root)
    signatures = dict(zip(old["report"], old["signature"], strict=True))
    stale = [name for name, now in reports.items() if not now or signatures.get(name) != now]
    kept = old[old["report"].isin(reports.keys() - set(stale))]
    rows: list[dict[str, Any]] = []
    saved = time.monotonic()
    for name in stale:
        rows.append(place.row(name))
        if on_read is not None:
            on_read(len(rows), len(stale))
        if time.monotonic() - saved > _SAVE_SECONDS:
            write_rows(root, join_rows(kept, rows))
            saved = time.monotonic()
    removed = len(set(signatures) - reports.keys())
    if stale or removed or not (root / FILE_NAME).exists():
        write_rows(root, join_rows(kept, rows) if rows else pd.DataFrame(kept))
        note = " ".join(filter(None, (note, place.write_file())))
    return Refreshed(len(reports), len(stale), removed, note)


def catalogue_path(folder: str | Path) -> Path:
    """The file of the catalogue of `folder`, of an address its local copy. Raises FormatError when there is none."""
    place = place_of(folder)
    path = place.root / FILE_NAME
    if not path.is_file():
        raise FormatError(f"{place.name} has no catalogue: make it with popvision catalogue {place.name}.")
    return path


def read_catalogue(folder: str | Path) -> pd.DataFrame:
    """All rows. Raises FormatError when there is no catalogue, or it cannot be read."""
    path = catalogue_path(folder)
    duckdb = load_duckdb()
    try:
        with duckdb.connect(":memory:") as db:
            frame: pd.DataFrame = db.execute("SELECT * FROM read_parquet(?)", [str(path)]).df()
    except duckdb.Error as problem:
        said = " ".join(str(problem).split())[:200].rstrip(".")
        raise FormatError(f"{path} cannot be read ({said}); delete it and make it again.") from None
    if list(frame.columns[: len(FACTS)]) != list(FACTS):
        raise FormatError(f"{path} is of another version; delete it and make it again.")
    return frame


def load_duckdb() -> Any:
    """The module. Raises FormatError when it is not installed."""
    try:
        return importlib.import_module("duckdb")
    except ImportError:
        raise FormatError("Catalogues need DuckDB: pip install 'popvision[sql]'.") from None


def _read_or_start(root: Path) -> pd.DataFrame:
    """The rows as they are; none where the file is missing or of no use, since it can always be made again."""
    import pandas as pd

    load_duckdb()
    try:
        return read_catalogue(root)
    except FormatError:
        return pd.DataFrame(columns=list(FACTS))


def join_rows(kept: pd.DataFrame, rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """The rows kept and new ones (`report_row.read_row`), with every column of the catalogue, in order."""
    import pandas as pd

    new = pd.DataFrame(list(rows))
    columns = dict.fromkeys([*FACTS, *kept.columns, *new.columns])
    axes = sorted(name for name in columns if name.startswith(AXIS))
    both = pd.concat([part for part in (kept, new) if len(part)], ignore_index=True) if len(kept) else new
    frame = both.reindex(columns=[*FACTS, *axes, *METRIC_NAMES]).sort_values("report", ignore_index=True)
    for name in axes:
        frame[name] = _one_type(frame[name])
    for name in ("tile_memory", "commit_time_s", *METRIC_NAMES):
        frame[name] = frame[name].astype("float64")
    return frame


def _one_type(column: pd.Series[Any]) -> pd.Series[Any]:
    """Numbers if all values are, else texts."""
    values = column.dropna()
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        return column.astype("float64")
    return column.map(lambda value: None if value is None or value != value else str(value)).astype("object")


def write_rows(root: Path, frame: pd.DataFrame) -> None:
    """Replace the file of the catalogue. Raises FormatError when it cannot be written."""
    duckdb = load_duckdb()
    try:
        with replacing(root / FILE_NAME) as path, duckdb.connect(":memory:") as db:
            db.register("rows", frame)
            name = str(path).replace("'", "''")
            db.execute(f"COPY rows TO '{name}' (FORMAT parquet, COMPRESSION zstd)")
    except (duckdb.Error, OSError) as problem:
        said = " ".join(str(problem).split())[:200].rstrip(".")
        raise FormatError(f"the catalogue of {root} cannot be written: {said}.") from None
