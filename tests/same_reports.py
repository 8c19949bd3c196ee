"""What differs between two report folders, table by table and file by file."""

import sqlite3
from pathlib import Path

#: Named in docs/formats.md ("Two runs of one program"), and the checksums of their tables: facts about a run of the
#: program, not about the program.
OF_A_RUN = frozenset(
    {
        "meta.timestamp",
        "meta.reportId",
        "meta.runId",
        "meta.folderSince",
        "parts.crc32 of meta",
        "parts.crc32 of runs",
        "runs.host_start_us",
        "runs.host_end_us",
    }
)

#: The keys of `meta` among them.
META_OF_A_RUN = frozenset(name.removeprefix("meta.") for name in OF_A_RUN if name.startswith("meta."))


def differences(one, other):
    """Columns of profile.pop that differ, as "table.column" and "meta.key", and other files that do."""
    names = [{path.relative_to(folder) for path in folder.rglob("*") if path.is_file()} for folder in (one, other)]
    found = {f"file {name}" for name in names[0] ^ names[1]}
    for name in names[0] & names[1]:
        if name.name == "profile.pop":
            found |= _columns(one / name, other / name)
        elif (one / name).read_bytes() != (other / name).read_bytes():
            found.add(f"file {name}")
    return found


def _columns(one, other):
    tables, others = _tables(one), _tables(other)
    found = {f"table {name}" for name in tables.keys() ^ others.keys()}
    for name in tables.keys() & others.keys():
        (columns, rows), (_, other_rows) = tables[name], others[name]
        found |= {f"{name}.{key}" if name == "meta" else f"rows of {name}" for key in rows.keys() ^ other_rows.keys()}
        for key in rows.keys() & other_rows.keys():
            for column in columns:
                if rows[key][column] != other_rows[key][column]:
                    found.add(_named(name, column, key))
    return found


def _named(table, column, key):
    if table == "meta":
        return f"meta.{key}"
    return f"parts.{column} of {key}" if table == "parts" else f"{table}.{column}"


def _tables(path):
    """Columns of each table and its rows: by key in `meta` and `parts`, else by number."""
    found = {}
    with sqlite3.connect(f"file:{Path(path)}?mode=ro", uri=True) as database:
        for (name,) in database.execute("select name from sqlite_master where type = 'table'"):
            cursor = database.execute(f'select * from "{name}"')
            columns = [described[0] for described in cursor.description]
            rows = [dict(zip(columns, row, strict=True)) for row in cursor]
            keyed = {row[columns[0]]: row for row in rows} if name in ("meta", "parts") else dict(enumerate(rows))
            found[name] = columns, keyed
    database.close()
    return found
