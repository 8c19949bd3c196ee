"""SQL functions over the arrays of a report. They read one array at a time and verify its checksum.

`array_json(id)` and `array_rows(id, ...)` give JSON text for json_each, so that a view expands only the arrays of rows
that a query reaches. A negative id ("zero or unknown on every tile") gives NULL. A cache holds 64 MB of arrays."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from popvision.analysis.report.figure import plain_values
from popvision.analysis.report.tile_knowledge import phases_of_tiles_unknown
from popvision.arrays import AnyArray
from popvision.formats.errors import FormatError, NotRecordedError
from popvision.formats.profile.array_reader import read_arrays
from popvision.formats.profile.arrays import widened
from popvision.formats.profile.model import BLOCK_KINDS, PHASE_OF_TYPE
from popvision.kept import BoundedCache
from popvision.questions import QUESTIONS

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

_CACHE_BYTES = 64 << 20


class ArrayFunctions:
    """The functions of one session. `problem` is the exception of a failed function, which SQLite does not pass on."""

    def __init__(self, source: ReportSource, arrays: sqlite3.Connection) -> None:
        self.problem: FormatError | NotRecordedError | None = None
        self._source = source
        self._db = arrays
        self._arrays: BoundedCache[int, AnyArray] = BoundedCache(_CACHE_BYTES)

    def add_to(self, db: sqlite3.Connection) -> None:
        """Register all functions with a connection."""
        for name, value in self._target_constants().items():
            db.create_function(name, 0, lambda value=value: value, deterministic=True)
        db.create_function("knows_tiles", 1, self._knows_tiles(), deterministic=True)
        db.create_function("phase_of", 1, PHASE_OF_TYPE.get, deterministic=True)
        db.create_function("block_kind", 1, BLOCK_KINDS.get, deterministic=True)
        functions: dict[str, tuple[int, Callable[..., Any]]] = {
            "array_json": (1, self._json),
            "array_rows": (-1, self._rows),
            "array_sum": (1, lambda id: self._figure(id, lambda values: int(values.sum(dtype=np.int64)))),
            "array_max": (1, lambda id: self._figure(id, lambda values: int(values.max(initial=0)))),
            "array_nonzero": (1, lambda id: self._figure(id, lambda values: int(np.count_nonzero(values)))),
            "array_length": (1, lambda id: self._figure(id, len)),
            "array_value": (2, self._value),
            "lowered_rows": (1, self._lowered_variables),
            "graph_variable_rows": (0, self._graph_variables),
            "live_range_rows": (0, self._live_ranges),
            "live_variable_rows": (1, self._live_variables),
            "operation_programs": (0, self._operation_programs),
            "physical_tile": (1, self._physical_tile),
            "question_rows": (1, self._question_rows),
        }
        for name, (count, function) in functions.items():
            db.create_function(name, count, self._recording_problems(function), deterministic=True)

    def _target_constants(self) -> dict[str, Any]:
        """Constants of the target by name of function; None (NULL) when the report lacks them."""
        try:
            target = self._source.reader.target()
        except (FormatError, NotRecordedError):
            return dict.fromkeys(("tiles_per_ipu", "bytes_per_tile", "num_replicas", "clock_hz", "always_live_bytes"))
        try:
            memory = self._source.reader.tile_memory()
        except (FormatError, NotRecordedError):
            memory = None
        replicas = max(target.num_replicas, 1)
        always = None if memory is None else int(np.sum(memory.always_live, dtype=np.int64)) // replicas
        return {
            "tiles_per_ipu": target.tiles_per_ipu,
            "bytes_per_tile": target.bytes_per_tile,
            "num_replicas": replicas,
            "clock_hz": target.clock_hz or None,
            "always_live_bytes": always,
        }

    def _knows_tiles(self) -> Callable[[Any], int]:
        """1 for types of programs, and phases, whose cycles on single tiles the report knows, else 0."""
        unknown = phases_of_tiles_unknown(self._source)
        return lambda name: int(PHASE_OF_TYPE.get(name, name) not in unknown)

    def _recording_problems(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any) -> Any:
            try:
                return function(*arguments)
            except (FormatError, NotRecordedError) as problem:
                self.problem = problem
                raise

        return called

    def _array(self, id: Any) -> AnyArray | None:
        if not isinstance(id, int) or id < 0:
            return None
        return self._arrays.get(id, lambda: read_arrays(self._db, [id])[0])

    def _json(self, id: Any) -> str | None:
        values = self._array(id)
        return None if values is None else json.dumps(values.tolist())

    def _rows(self, *ids: Any) -> str | None:
        columns = [self._array(id) for id in ids]
        sizes = [len(column) for column in columns if column is not None]
        if not sizes:
            return None
        size = min(sizes)
        lists = [[None] * size if column is None else column[:size].tolist() for column in columns]
        return json.dumps(list(zip(*lists, strict=True)))

    def _figure(self, id: Any, figure: Callable[[AnyArray], int]) -> int | None:
        values = self._array(id)
        return None if values is None else figure(widened(values))

    def _value(self, id: Any, at: Any) -> int | None:
        values = self._array(id)
        return int(values[at]) if values is not None and isinstance(at, int) and 0 <= at < len(values) else None

    def _physical_tile(self, tile: Any) -> int | None:
        target = self._source.reader.target()
        if target.physical_tile is None or not len(target.physical_tile) or not isinstance(tile, int):
            return None
        return int(target.physical_tile[tile % target.tiles_per_ipu])

    def _question_rows(self, name: Any) -> str | None:
        """The rows of a question with its defaults, a list each."""
        question = QUESTIONS.get(name)
        if question is None or not question.has_rows:
            return None
        columns = [plain_values(figure.values) for figure in question(self._source).table]
        return json.dumps(list(zip(*columns, strict=True)))

    def _lowered_variables(self, tile: Any) -> str | None:
        low = self._source.reader.lowered_tile(tile) if isinstance(tile, int) else None
        if low is None:
            return None
        columns = (low.bytes, low.address, low.category, low.region, low.variable, low.eq_class, low.name)
        return json.dumps(list(zip(*(np.asarray(each).tolist() for each in columns), strict=True)))

    def _graph_variables(self) -> str | None:
        from popvision.analysis.report.columns import stored_variables, variables

        known = variables(self._source) if self._source.reader.foreign else stored_variables(self._source)
        if known is None:
            return None
        rows = np.arange(len(known.name))
        owner = rows if known.part_of is None else known.part_of
        always = np.asarray(known.always_live, np.int64)
        columns = (known.bytes, always, np.where(always, -1, known.eq_class), known.debug_id, owner)
        return json.dumps(list(zip(known.name, *(np.asarray(each).tolist() for each in columns), strict=True)))

    def _live_ranges(self) -> str | None:
        classes = self._source.reader.eq_classes()
        if classes is None:
            return None
        offsets = np.asarray(classes.offsets, np.int64)
        count = offsets[1:] - offsets[:-1]
        owner = np.repeat(np.arange(len(count)), count)
        return json.dumps(list(zip(owner.tolist(), classes.starts.tolist(), classes.ends.tolist(), strict=True)))

    def _operation_programs(self) -> str:
        from popvision.analysis.operations.owners import owners

        table = owners(self._source)
        context = np.asarray(table.context, np.int64)[np.asarray(table.program, np.int64)]
        rows = np.flatnonzero(context >= 0)
        return json.dumps(np.stack([rows, context[rows]], axis=1).tolist())

    def _live_variables(self, index: Any) -> str | None:
        from popvision.analysis.liveness.curve import live_classes
        from popvision.analysis.report.columns import variables

        known = variables(self._source)
        alive = live_classes(self._source, int(index))
        rows = np.isin(np.asarray(known.eq_class, np.int64), alive) & ~np.asarray(known.always_live, bool)
        sizes = np.asarray(known.bytes, np.int64)
        return json.dumps([(row, known.name[row], int(sizes[row])) for row in np.flatnonzero(rows).tolist()])
