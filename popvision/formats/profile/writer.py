"""ProfileWriter: a compilation and its recorded runs, into profile.pop."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from popvision.formats.errors import FormatError
from popvision.formats.profile.array_store import ArrayStore
from popvision.formats.profile.compilation_rows import (
    always_live_class,
    program_type_codes,
    target_facts,
    write_compilation_rows,
)
from popvision.formats.profile.model import Compilation, RunRecord, Target, TileBlocks
from popvision.formats.profile.run_rows import write_block_rows, write_run_rows
from popvision.formats.profile.schema import APPLICATION_ID, CREATE_ARRAYS, CREATE_PARTS, FORMAT_VERSION, TABLES
from popvision.formats.profile.table_writer import write_rows
from popvision.formats.replacing import replacing, sync

#: Bytes. Arrays of one tile row (about 2.5 kB) pack into pages of 8 KiB, in pages of 4 KiB a third is lost.
_PAGE_SIZE = 8_192
_RESERVED = ("format", "formatVersion", "generation", "target", "counts", "alwaysLiveClass")


class ProfileWriter:
    """Writes one profile.pop. Nothing is on disk before `write_compilation`; each `append_run` is one transaction that
    waits for the disk, so a killed program, or a machine that loses its power, loses at most the run that was being
    appended. Safe to call from several threads.

    `max_page_count` limits the database to that many pages of 8 KiB (SQLite's PRAGMA of the same name).
    All methods raise FormatError; what was committed before stays readable."""

    def __init__(self, path: str | Path, *, max_page_count: int | None = None) -> None:
        self.path = Path(path)
        self._max_page_count = max_page_count
        self._db: sqlite3.Connection | None = None
        self._store = ArrayStore()
        self._meta: dict[str, Any] = {}
        self._compilation: Compilation | None = None
        self._closed = False
        self._runs = self._steps = 0
        self._lock = threading.RLock()

    def __enter__(self) -> ProfileWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def write_compilation(self, compilation: Compilation) -> None:
        """Writes under a temporary name, then renames to `path`, replacing what was there."""
        with self._lock:
            if self._compilation is not None or self._closed:
                raise FormatError(f"{self.path}: a ProfileWriter takes one compilation; open another one.")
            try:
                with replacing(self.path) as temporary:
                    self._write_temporary(temporary, compilation)
                    _fold_log(self.path)
                self._db = self._connect(self.path)
                self._db.execute("PRAGMA journal_mode=WAL")
                self._db.execute("PRAGMA synchronous=FULL")
            except (sqlite3.Error, OSError) as error:
                raise FormatError(f"cannot write {self.path}: {_reason(error)}.") from error
            self._compilation = compilation
            programs = compilation.programs
            self._program_codes = np.array(program_type_codes(programs.type), dtype=np.int64)
            self._compute_sets = np.asarray(programs.compute_set)

    def append_run(self, run: RunRecord) -> None:
        """Adds one recorded run; the generation grows by 1."""
        with self._lock:
            db, target = self._ready(run.name)
            if run.pattern.ndim == 2 and run.pattern.shape[1] != target.num_ipus:
                raise FormatError(f"run {run.name!r} covers {run.pattern.shape[1]} IPUs, the target {target.num_ipus}.")
            with self._transaction(db, f"cannot append run {self._runs} ({run.name!r}) to {self.path}"):
                write_run_rows(
                    db,
                    self._store,
                    run,
                    self._runs,
                    self._steps,
                    self._program_codes,
                    self._compute_sets,
                    target.tiles_per_ipu,
                )
                self._write_meta(db, self._meta["generation"] + 1)
            self._meta["generation"] += 1
            self._runs += 1
            self._steps += len(run.program)

    def append_blocks(self, blocks: Sequence[TileBlocks]) -> None:
        """Adds what lightweight profiling recorded of a run of which no steps are kept; the generation grows by 1."""
        with self._lock:
            db, _ = self._ready("")
            with self._transaction(db, f"cannot append the blocks of run {self._runs} to {self.path}"):
                write_block_rows(db, self._store, blocks, self._runs, len(self._program_codes))
                self._write_meta(db, self._meta["generation"] + 1)
            self._meta["generation"] += 1
            self._runs += 1

    def discard_runs(self) -> None:
        """Removes all runs and blocks; the next run is the first again. The generation grows by 1. Their arrays stay,
        for further runs of the same programs to share."""
        with self._lock:
            db, _ = self._ready("")
            with self._transaction(db, f"cannot discard the runs of {self.path}"):
                for table in TABLES.values():
                    if table.per_run:
                        db.execute(f"DELETE FROM {table.name}")
                        db.execute("DELETE FROM parts WHERE name = ? AND part >= 0", (table.name,))
                self._write_meta(db, self._meta["generation"] + 1)
            self._meta["generation"] += 1
            self._runs = self._steps = 0

    def update_meta(self, facts: Mapping[str, Any]) -> None:
        """Replaces facts of Compilation.meta; the generation grows by 1."""
        with self._lock:
            db, _ = self._ready("")
            self._check_free(facts)
            before = self._meta
            self._meta = {**before, **facts}
            try:
                with self._transaction(db, f"cannot write the facts of {self.path}"):
                    self._write_meta(db, before["generation"] + 1)
            except FormatError:
                self._meta = before
                raise
            self._meta["generation"] += 1

    def _ready(self, run: str) -> tuple[sqlite3.Connection, Target]:
        """The database and the target; raises FormatError where nothing can be appended."""
        if self._db is None or self._compilation is None:
            state = "is closed" if self._closed else "has no compilation yet: call write_compilation first"
            raise FormatError(f"cannot append run {run!r}: the writer of {self.path} {state}.")
        return self._db, self._compilation.target

    def close(self) -> None:
        """Folds the write-ahead log into the file and leaves one file, unless a reader holds it right now: then the
        log stays and the next program that opens the file for writing finishes the work. Idempotent."""
        with self._lock:
            db, self._db, self._closed = self._db, None, True
            if db is None:
                return
            try:
                db.execute("PRAGMA busy_timeout=0")
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                db.execute("PRAGMA journal_mode=DELETE").fetchall()
            except sqlite3.Error:
                pass  # a reader holds the file, or the disk is full: everything committed stays readable from the log
            finally:
                db.close()

    def _connect(self, path: Path) -> sqlite3.Connection:
        db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        db.execute(f"PRAGMA page_size={_PAGE_SIZE}")
        if self._max_page_count is not None:
            db.execute(f"PRAGMA max_page_count={int(self._max_page_count)}")
        return db

    def _write_temporary(self, path: Path, compilation: Compilation) -> None:
        path.unlink(missing_ok=True)
        db = self._connect(path)
        try:
            db.execute("PRAGMA journal_mode=OFF")
            db.execute("PRAGMA synchronous=OFF")
            db.execute(f"PRAGMA application_id={APPLICATION_ID}")
            with self._transaction(db, f"cannot write {self.path}"):
                for statement in (CREATE_ARRAYS, CREATE_PARTS, *(table.create for table in TABLES.values())):
                    db.execute(statement)
                write_compilation_rows(db, self._store, compilation)
                for table in TABLES.values():
                    if table.per_run:
                        write_rows(db, table.name, [], -1)
                self._meta = self._first_meta(db, compilation)
                self._store.flush(db)
                self._write_meta(db, 0)
        finally:
            db.close()

    def _first_meta(self, db: sqlite3.Connection, compilation: Compilation) -> dict[str, Any]:
        self._check_free(compilation.meta)
        return {
            "reportId": uuid.uuid4().hex,
            **compilation.meta,
            "format": "profile.pop",
            "formatVersion": ".".join(map(str, FORMAT_VERSION)),
            "generation": 0,
            "alwaysLiveClass": always_live_class(compilation),
            "target": target_facts(db, self._store, compilation.target),
            "counts": {
                "num_vertices": int(compilation.num_vertices),
                "num_edges": int(compilation.num_edges),
                "num_variables": int(compilation.num_variables),
                "num_compute_sets": len(compilation.compute_sets.name),
            },
        }

    @staticmethod
    def _check_free(facts: Mapping[str, Any]) -> None:
        taken = [name for name in _RESERVED if name in facts]
        if taken:
            raise FormatError(f"the facts {', '.join(taken)} are written by ProfileWriter; leave them out of meta.")

    def _write_meta(self, db: sqlite3.Connection, generation: int) -> None:
        facts = {**self._meta, "generation": generation}
        db.execute("DELETE FROM meta")
        try:
            write_rows(db, "meta", [(key, json.dumps(value, sort_keys=True)) for key, value in facts.items()])
        except (TypeError, ValueError) as error:
            raise FormatError(f"cannot write {self.path}: a fact in meta is not JSON: {error}.") from None

    @contextmanager
    def _transaction(self, db: sqlite3.Connection, doing: str) -> Iterator[None]:
        try:
            db.execute("BEGIN IMMEDIATE")
            yield
            db.execute("COMMIT")
        except BaseException as error:
            self._store.rollback()
            if db.in_transaction:
                db.execute("ROLLBACK")
            if isinstance(error, (sqlite3.Error, OverflowError, TypeError, ValueError)):
                raise FormatError(f"{doing}: {_reason(error)}.") from error
            raise
        self._store.commit()


def _fold_log(path: Path) -> None:
    """Leaves no log of the report that is replaced: it would be replayed into the new one. Its runs go into the old
    file first, which stays whole if the new one never comes."""
    logs = [path.with_name(path.name + suffix) for suffix in ("-wal", "-shm", "-journal")]
    if not any(log.exists() for log in logs):
        return
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path, timeout=0)) as old:
        old.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        old.execute("PRAGMA journal_mode=DELETE").fetchall()
    for log in logs:
        log.unlink(missing_ok=True)
    sync(path.parent)


def _reason(error: Exception) -> str:
    if isinstance(error, sqlite3.OperationalError) and "full" in str(error):
        return "the disk or the page limit of the database is full; free space, what was recorded before is kept"
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error).rstrip(".")
