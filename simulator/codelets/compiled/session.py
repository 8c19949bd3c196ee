"""The process of a program of codelets: started when first needed, again after a crash, with its shared segments."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import numpy as np

from simulator.arrays import AnyArray
from simulator.base.types import QUARTER
from simulator.codelets.compiled.linking import Program
from simulator.codelets.compiled.rows import ALIGNMENT, Pointers, Rows
from simulator.codelets.compiled.runner import Place, Printer, Runner, SharedBytes, seconds_allowed
from simulator.graph.vertices import CompiledClass, FieldSpec, metadata_field
from simulator.machine.cycles.rounding import WORKERS


class Session:
    """`arena`: the segment of the elements that edges lead to, None if vertices are only run one by one. `limit`:
    seconds that a vertex may take, None = `runner.seconds_allowed`."""

    def __init__(self, program: Program, arena: SharedBytes | None = None, limit: float | None = None) -> None:
        self._path = program.path()
        self.counts, self.timed = program.counts, program.timed
        self.lock = threading.Lock()
        self._limit = limit
        self._segments = [SharedBytes(1) if arena is None else arena]
        self._waiting = 0  #: bytes of the segment to come
        self._single = 0  #: number of the segment for single vertices, 0 = none yet
        self._runner: Runner | None = None
        self.starts = 0  #: how often a process was started; addresses hold for one start
        self.agreed = True  #: whether the last vertex of `run_one` returned true
        self.parts = 0  #: of issue slots that it counted

    def reserve(self, size: int) -> tuple[int, int]:
        """(segment, offset) of `size` bytes, which are allocated with the next run."""
        begin = self._waiting
        self._waiting += -(-size // ALIGNMENT) * ALIGNMENT
        return len(self._segments), begin

    def ready(self) -> Runner:
        """The process, with all segments."""
        self._settle()
        if self._runner is None or not self._runner.close.alive:
            limit = seconds_allowed() if self._limit is None else self._limit
            self._runner = Runner(self._path, self._segments, limit, quiet=self._limit is not None)
            self.starts += 1
        return self._runner

    def memory(self, segment: int) -> AnyArray:
        return self._segments[segment].memory

    def close(self) -> None:
        """End the process; it starts again when it is needed."""
        if self._runner is not None:
            self._runner.close()

    def _settle(self) -> None:
        """Make the segment that was reserved."""
        if self._waiting:
            self._segments.append(SharedBytes(self._waiting))
            self._waiting = 0
            self.close()

    # One vertex on arrays that lie anywhere

    def run_one(
        self,
        class_: CompiledClass,
        given: SimpleNamespace,
        place: Place,
        printer: Printer,
        workers: tuple[int, int] = (0, WORKERS),
        *,
        tile: int = 0,
        begin: int = 0,
        counted: bool = False,
    ) -> AnyArray:
        """Run one vertex of a tile, which begins at tile cycle `begin`, on copies of the arrays of `given`, and copy
        back what it wrote. Returns the counters, empty unless `counted`."""
        copies, pointers, values = _Copies(), {}, {}
        tile_at, begin_at = copies.add(np.array([tile], np.uint32), False), copies.add(np.array([begin]), False)
        parts = np.zeros(1, np.uint64)
        parts_at = copies.add(parts, True) if self.counts else 0
        for field in class_.layout.fields:
            spec: FieldSpec = field.spec
            value: Any = getattr(given, field.spec.name, None)
            if spec.kind == "value":
                if value is not None:  # state that is not set is zero
                    values[spec.name] = [value] if field.vector else value
                continue
            arrays: list[AnyArray] = value if isinstance(value, list) else [value]
            pointers[spec.name] = _pointers(arrays, [copies.add(a, spec.direction != "in") for a in arrays], spec.kind)
            if spec.type is QUARTER:
                hidden = metadata_field(spec.name)
                byte = np.asarray(getattr(given, hidden))
                pointers[hidden] = _pointers([byte], [copies.add(byte, False)], "scalar")
        rows = Rows(class_.layout, 1, pointers, values)
        number = self._room(rows.bytes + copies.size + self._counter_bytes(counted))
        runner = self.ready()
        memory, base = self._segments[number].memory, runner.bases[number]
        rows.fill(memory, base, 0, base + rows.bytes)
        copies.fill(memory[rows.bytes :])
        counters = rows.bytes + copies.size if counted else 0
        at, own = base + counters if counted else 0, base + rows.bytes
        slots = own + parts_at if self.counts else 0
        self.agreed = runner.run(
            class_, base, (0, 1), place, printer, workers, at, own + tile_at, own + begin_at, slots
        )
        copies.back(memory[rows.bytes :])
        self.parts = int(parts[0])
        return memory[counters : counters + 8 * runner.counters].view(np.uint64).copy() if counted else np.empty(0)

    def _counter_bytes(self, counted: bool) -> int:
        return 8 * self.ready().counters + ALIGNMENT if counted else 0

    def _room(self, size: int) -> int:
        """The number of a segment of at least `size` bytes for one vertex."""
        if self._single == 0:
            self._settle()
            self._single = len(self._segments)
            self._segments.append(SharedBytes(2 * size))
            self.close()
        elif self._segments[self._single].size < size:
            self._segments[self._single] = SharedBytes(2 * size)
            self.close()
        return self._single


def _pointers(arrays: list[AnyArray], offsets: list[int], kind: str) -> Pointers:
    n = len(arrays)
    return Pointers(
        np.array(offsets, np.int64),
        np.array([a.size for a in arrays], np.int64),
        np.ones(n, np.bool_),
        np.array([0, n], np.int64) if kind in ("scalars", "vectors") else None,
    )


class _Copies:
    """Copies of arrays, one behind the other; `size`: bytes of all."""

    def __init__(self) -> None:
        self.size = 0
        self._parts: list[tuple[AnyArray, int, bool]] = []  #: (array, where its copy begins, whether it is written)

    def add(self, array: AnyArray, written: bool) -> int:
        """Where the copy of an array will begin."""
        begin = self.size
        self._parts.append((array, begin, written))
        self.size += -(-max(array.nbytes, 1) // ALIGNMENT) * ALIGNMENT
        return begin

    def fill(self, memory: AnyArray) -> None:
        for array, begin, _ in self._parts:
            memory[begin : begin + array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)

    def back(self, memory: AnyArray) -> None:
        """Copy back what may have been written."""
        for array, begin, written in self._parts:
            if written and array.size:
                array[...] = memory[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
