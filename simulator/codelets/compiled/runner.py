"""The process that runs codelets: requests over pipes, results in shared memory, crashes as exceptions."""

from __future__ import annotations

import contextlib
import mmap
import os
import select
import signal
import struct
import subprocess
import time
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from simulator.arrays import AnyArray
from simulator.base.errors import (
    ErrorCode,
    ErrorInfo,
    ErrorLocation,
    application_runtime_error,
    invalid_option,
    poplar_error,
)
from simulator.codelets.float_state import current
from simulator.graph.vertices import CompiledClass
from simulator.machine.cycles.rounding import WORKERS

_REQUEST = struct.Struct("=8Q4I")
_REPLY = struct.Struct("=2Q")
_PRINTED = struct.Struct("=Q2I")
_POSITION = np.dtype([("vertex", "u8"), ("worker", "u4"), ("result", "u4")])

#: Seconds that one vertex (one worker of a MultiVertex) may take: `POPVISION_CODELET_SECONDS`, 0 = for ever.
SECONDS = 60.0

Printer = Callable[[int, int, str], None]
"""(vertex of the row, worker, text)"""
Place = Callable[[int], tuple[str, ErrorLocation | None]]
"""vertex of the row -> where it is, in words and for programs"""

_CODES = {
    signal.SIGSEGV: (ErrorCode.INVALID_ADDRESS, "it touched memory that is not there"),
    signal.SIGBUS: (ErrorCode.INVALID_ADDRESS, "it touched memory that is not there"),
    signal.SIGFPE: (ErrorCode.TRAP, "it divided an integer by zero, or overflowed doing so"),
    signal.SIGILL: (ErrorCode.INVALID_INSTRUCTION, "it ran an invalid instruction"),
    signal.SIGTRAP: (ErrorCode.TRAP, "it trapped"),
    signal.SIGABRT: (ErrorCode.TRAP, "it aborted"),
}
#: By the code of a floating-point signal (FPE_FLTDIV and so on).
_FLOAT = {
    3: (ErrorCode.FLOATING_POINT_DIVIDE_BY_ZERO, "it divided by zero"),
    4: (ErrorCode.FLOATING_POINT_OVERFLOW, "its arithmetic overflowed"),
    7: (ErrorCode.FLOATING_POINT_INVALID_OPERATION, "its arithmetic was invalid"),
}
#: The code that the process stores when its stack is full (runner.c).
_STACK_OVERFLOW = 1000
#: The one that it stores when a vertex other than a MultiVertex asks for its worker (runner.c).
_NO_WORKER = 1001


def seconds_allowed() -> float:
    """The time limit of one vertex. Raises invalid_option where the variable holds no number."""
    text = os.environ.get("POPVISION_CODELET_SECONDS", "")
    try:
        limit = float(text) if text else SECONDS
    except ValueError:
        limit = -1.0
    if not limit >= 0:
        raise invalid_option(f"POPVISION_CODELET_SECONDS is '{text}', but it must be a number of seconds from 0 on.")
    return limit


class SharedBytes:
    """Memory that the simulator and the process of the codelets both map: `size` bytes, zeros at first, freed with the
    last user."""

    def __init__(self, size: int) -> None:
        self.size = max(size, 1)
        self.descriptor = os.memfd_create("popvision")
        os.ftruncate(self.descriptor, self.size)
        self.memory: AnyArray = np.frombuffer(mmap.mmap(self.descriptor, self.size), np.uint8)
        weakref.finalize(self, os.close, self.descriptor)


class Runner:
    """A started process. `bases`: the address of each segment in it. `quiet`: hide its standard error. Closed with the
    last reference."""

    def __init__(self, program: Path, segments: Sequence[SharedBytes], limit: float, quiet: bool = False) -> None:
        self.limit = limit
        self._limited_by = "" if quiet else ", the limit of POPVISION_CODELET_SECONDS"
        self._control = SharedBytes(_POSITION.itemsize)
        self._position = self._control.memory.view(_POSITION)
        shared = [self._control, *segments]
        requests, self._requests = os.pipe()
        self._replies, replies = os.pipe()
        self._printed, printed = os.pipe()
        ends = [requests, replies, printed]
        described = [f"{segment.descriptor}:{segment.size}" for segment in shared]
        try:
            self._process = subprocess.Popen(
                [str(program), *map(str, ends), *described],
                pass_fds=[*ends, *(segment.descriptor for segment in shared)],
                stdin=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL if quiet else None,
            )
        finally:
            for end in ends:
                os.close(end)
        self.process_id = self._process.pid
        opened = [self._requests, self._replies, self._printed]
        self.close = weakref.finalize(self, _end, self._process, opened)
        self._read = 0  # bytes of prints taken
        self._greeted(len(shared))

    def _greeted(self, segments: int) -> None:
        count = self._number()
        if count != segments:
            raise poplar_error("The process of the codelets did not start; see its messages on standard error.")
        self.bases = [self._number() for _ in range(segments)][1:]
        entries, length = self._number(), self._number()
        names = self._whole(self._replies, length).decode().split("\0")[:entries]
        self.entries = {name: i for i, name in enumerate(names)}
        self.counters = self._number()

    def run(
        self,
        class_: CompiledClass,
        state: int,
        vertices: tuple[int, int],
        place: Place,
        printer: Printer,
        workers: tuple[int, int] = (0, WORKERS),
        counters: int = 0,
        tiles: int = 0,
        begins: int = 0,
        slots: int = 0,
    ) -> bool:
        """Run vertices [first, last) of a class, of the row at address `state`; whether all of them returned true.

        `counters`: an address that the counters of this run are copied to, 0 for none. `tiles`: where the numbers of
        the vertices' tiles are (4 bytes each), 0 = all on tile 0. `begins`: where the tile cycles are at which they
        begin (8 bytes each), 0 = all at 0. `slots`: where a counting program stores the parts of issue slots of each
        vertex (8 bytes each), 0 = nowhere. Raises application_runtime_error naming the vertex when the process dies or
        a vertex takes too long."""
        places = (self.entries[class_.entry], state, *vertices, counters, tiles, begins, slots)
        has_workers = class_.layout.kind == "multi"
        request = _REQUEST.pack(*places, *workers, current().word(), has_workers)
        try:
            os.write(self._requests, request)
        except BrokenPipeError:
            raise self._dead(place) from None
        try:
            return self._wait(place, printer)
        except BaseException:  # interrupted, or the stream failed: a late reply must not answer the next request
            self._process.kill()
            self.close()
            raise

    def _wait(self, place: Place, printer: Printer) -> bool:
        poll = select.poll()
        # Replies first: all output from before a reply has arrived when the reply has.
        poll.register(self._replies, select.POLLIN)
        poll.register(self._printed, select.POLLIN)
        before, since = None, time.monotonic()
        while True:
            # The position is read four times within the limit, as vertices may finish in between.
            events = poll.poll(self.limit * 250 if self.limit else None)
            ready = dict(events)
            if self._replies in ready:
                raw = self._partial(self._replies, _REPLY.size)
                if raw is None:
                    self._drain(printer)
                    raise self._dead(place)
                total, result = _REPLY.unpack(raw)
                while self._read < total:
                    self._take(printer)
                return bool(result)
            if ready.get(self._printed, 0) & select.POLLIN:
                self._take(printer)
            elif self._printed in ready:
                poll.unregister(self._printed)  # the process ends; the other pipe will end too
            elif not events:
                at = self._position[0].item()[:2]
                if at != before:
                    before, since = at, time.monotonic()
                elif time.monotonic() - since >= self.limit:
                    raise self._too_long(place)

    def _take(self, printer: Printer) -> None:
        vertex, worker, length = _PRINTED.unpack(self._whole(self._printed, _PRINTED.size))
        text = self._whole(self._printed, length)
        self._read += _PRINTED.size + length
        printer(vertex, worker, text.decode(errors="replace"))

    def _drain(self, printer: Printer) -> None:
        """Pass on the output from before the process died; an incomplete end is dropped."""
        with contextlib.suppress(poplar_error):
            while True:
                self._take(printer)

    def _dead(self, place: Place) -> application_runtime_error:
        code = self._process.wait()
        kind, why = ErrorCode.UNKNOWN, f"it ended the process with code {code}"
        if code < 0:
            known = _CODES.get(signal.Signals(-code))
            said = int(self._position[0]["result"])
            if -code == signal.SIGFPE:
                known = _FLOAT.get(said, known)
            elif -code == signal.SIGABRT and said == _NO_WORKER:
                known = (ErrorCode.TRAP, "it asked for its worker, which only a MultiVertex has a number of here")
            elif -code == signal.SIGSEGV and said == _STACK_OVERFLOW:
                known = (ErrorCode.INVALID_ADDRESS, "its stack overflowed")
            kind, why = known or (ErrorCode.UNKNOWN, f"signal {signal.Signals(-code).name} ended it")
            if known is not None:
                why += f" ({signal.Signals(-code).name})"
        return self._error(kind, "crashed", why, place)

    def _too_long(self, place: Place) -> application_runtime_error:
        self._process.kill()
        self._process.wait()
        why = f"it took longer than {self.limit:g} s" + self._limited_by
        return self._error(ErrorCode.UNKNOWN, "was ended", why, place)

    def _error(self, code: ErrorCode, what: str, why: str, place: Place) -> application_runtime_error:
        where, location = place(int(self._position[0]["vertex"]))
        worker = int(self._position[0]["worker"])
        if worker:
            where += f", worker {worker}"
        self.close()
        return application_runtime_error(f"{where} {what}: {why}.", [ErrorInfo(code, location)])

    # Reading pipes

    def _number(self) -> int:
        return int.from_bytes(self._whole(self._replies, 8), "little")

    def _whole(self, descriptor: int, size: int) -> bytes:
        data = self._partial(descriptor, size)
        if data is None:
            raise poplar_error("The process of the codelets ended before it answered.")
        return data

    def _partial(self, descriptor: int, size: int) -> bytes | None:
        """`size` bytes, None where the pipe ends first."""
        parts: list[bytes] = []
        while size:
            part = os.read(descriptor, size)
            if not part:
                return None
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def _end(process: subprocess.Popen[bytes], descriptors: Sequence[int]) -> None:
    """The process ends when its requests do, unless it is stuck in a vertex."""
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    try:
        process.wait(timeout=0.5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
