"""Allow only SQL that reads; refuse everything else before it runs."""

from __future__ import annotations

import re
import sqlite3

from popvision.formats.errors import FormatError

#: Reading, selecting, calling a function, recursion of WITH RECURSIVE.
_ALLOWED = {sqlite3.SQLITE_READ, sqlite3.SQLITE_SELECT, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}

#: Functions that reach beyond the database. One call of others may run for a minute without interruption: the process
#: of the query is killed then.
_FORBIDDEN = {"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"}

#: The beginning of a statement that only reads.
_READS = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/|\()*(select|with|values|explain)\b", re.IGNORECASE | re.DOTALL)

#: (limit, value): nothing can be attached, and no text, statement or pattern can fill the memory.
_LIMITS = (
    (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
    (sqlite3.SQLITE_LIMIT_LENGTH, 64 << 20),
    (sqlite3.SQLITE_LIMIT_SQL_LENGTH, 100_000),
    (sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1_000),
    (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 200),
)


def check_statement(sql: str) -> None:
    """Raise FormatError unless the text begins like a statement that reads."""
    if not sql.strip():
        raise FormatError("The query is empty; give a SELECT, such as 'select * from tiles limit 5'.")
    if not _READS.match(sql):
        word = sql.split()[0][:40]
        raise FormatError(f"Queries only read: {word!r} is not SELECT, WITH, VALUES or EXPLAIN.")


def lock(db: sqlite3.Connection, read: set[str]) -> None:
    """Restrict the connection to reading. `read` gets the name of each table that a statement reads."""
    for limit, value in _LIMITS:
        db.setlimit(limit, value)
    db.execute("PRAGMA query_only=ON")

    def authorise(action: int, first: str | None, second: str | None, *_where: str | None) -> int:
        if action == sqlite3.SQLITE_FUNCTION:
            return sqlite3.SQLITE_DENY if (second or "").lower() in _FORBIDDEN else sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ:
            read.add(first or "")
        return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY

    db.set_authorizer(authorise)
