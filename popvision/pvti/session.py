"""The trace of this process: its file, when it is written, and its behaviour at fork and exit."""

# ruff: noqa: PTH100, PTH118, PTH119  (typing and pathlib cost more to import than the rest of this package)

from __future__ import annotations

import os
import sys
import threading
import time

from popvision.pvti.clock import OFFSET_NS, fixed_second
from popvision.pvti.declarations import Declarations
from popvision.pvti.process_series import ProcessSeries
from popvision.pvti.recorder import LATE_NS, ThreadBuffer, local
from popvision.pvti.termination import at_termination, end_by_signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from popvision.formats.pvti.writer import TraceWriter
    from popvision.pvti.options import Options

VARIABLE = "PVTI_OPTIONS"
RUN_ID_VARIABLE = "POPVISION_RUN_ID"
"""All processes of a run share it; the first one that traces sets it."""

QUIET_NS = 40_000_000
TICK_S = 0.05
SYNC_NS = 200_000_000
_PROCESS = 1


class Session:
    """Recording state of the process. `recording` never becomes true again after the trace has ended."""

    def __init__(self, options: Options | None) -> None:
        self.recording = options is not None
        self.declarations = Declarations(self.recording)
        self.channels = options.channels if options else None
        self.clock_offset_ns = OFFSET_NS
        self.on_end: Callable[[], None] = lambda: None
        """Called when recording ends, to switch all channels off."""
        self.on_fork: Callable[[], None] = lambda: None
        """Called in a forked child, to declare the channels in use in its file."""
        self.path = ""
        self.run_id = ""
        self._limit_ns: int | None = None
        self._writer: TraceWriter | None = None
        self._flushing = self._closing = self._terminated = False
        self._written_ns = self._synced_ns = 0
        self._buffers: list[ThreadBuffer] = []
        self._meta: dict[str, object] = {}
        self._timer_stop: threading.Event | None = None
        self._has_process_series = options is not None and options.process
        self._process: ProcessSeries | None = None
        if options is not None:
            self._start(options)

    def _start(self, options: Options) -> None:
        # Imported here and not at the first event, which may be inside a signal handler.
        import atexit
        from sqlite3 import Error

        from popvision.formats.pvti.writer import TraceWriter

        self._new_writer = TraceWriter
        self._errors = (OSError, Error)
        self._directory = os.path.abspath(options.directory)
        self.path = self._new_path()
        if options.duration_s:
            self._limit_ns = time.perf_counter_ns() + int(options.duration_s * 1e9)
        self.run_id = os.environ.setdefault(RUN_ID_VARIABLE, _new_run_id())
        self._meta["run_id"] = self.run_id
        atexit.register(self.close)
        os.register_at_fork(before=self._before_fork, after_in_parent=self._after_fork, after_in_child=self._in_child)

    @property
    def lock(self) -> threading.RLock:
        """Guards the file and the queues of entries that wait for it."""
        return self.declarations.lock

    def set_meta(self, key: str, value: object) -> None:
        """Set a row of the table `meta`, in this file and in those of forked children."""
        with self.lock:
            self._meta[key] = value
            if self._writer is not None:
                self.declarations.declare("set_meta", key, value)

    def prepare(self) -> None:
        """Make the file if there is none yet, before the first event is timed."""
        if self._writer is None:
            with self.lock:
                if self.recording:
                    self._write([])
        if self.recording:
            at_termination(self._terminate)

    def new_buffer(self) -> ThreadBuffer:
        """The buffer of the calling thread."""
        buffer = ThreadBuffer(self.declarations.next_id())
        with self.lock:
            self._buffers.append(buffer)
        return buffer

    # -- writing

    def flush(self, buffer: ThreadBuffer) -> None:
        """Write the events of the calling thread and free its buffer."""
        with self.lock:
            if self.recording:
                self._write([buffer])
                buffer.reset()
            else:
                buffer.clear()

    def flush_all(self, quiet_for_ns: int = 0) -> None:
        """Write the events of threads whose last event is at least `quiet_for_ns` ago, and all declarations. Names
        alone make no file, so that a process which records nothing leaves none."""
        with self.lock:
            if self.recording:
                before = time.perf_counter_ns() - quiet_for_ns
                due = [buffer for buffer in self._buffers if 0 < buffer.waiting_since() <= before]
                waits = self.declarations.is_waiting if self._writer is not None else self.declarations.is_measured
                if due or waits:
                    self._write(due)
                self._buffers = [buffer for buffer in self._buffers if not buffer.is_over()]

    def write_if_late(self) -> None:
        """Write samples and histograms if the last write was longer ago than LATE_NS; otherwise the timer will."""
        if time.perf_counter_ns() - self._written_ns > LATE_NS:
            with self.lock:
                if self.recording:
                    self._write([])

    def write_thread_if_late(self) -> None:
        """Write the events of the calling thread if its last write was longer ago than LATE_NS. The timer asks a thread
        to do so, but may get no time on a busy machine."""
        buffer: ThreadBuffer | None = getattr(local, "buffer", None)
        now = time.perf_counter_ns()
        if buffer is not None and now - buffer.written_ns > LATE_NS and buffer.waiting_since():
            with self.lock:
                if self.recording:
                    self._write([buffer])
                    buffer.written_ns = now

    def _write(self, buffers: list[ThreadBuffer]) -> None:
        """Write in one transaction. Entries leave memory only after it, so that an interruption loses nothing."""
        if self._flushing:
            return
        self._flushing = True
        try:
            self._transact(self._open(), buffers)
        except self._errors as error:
            self._give_up(error)
        finally:
            self._flushing = False
            self._end_if_terminated()
        self._written_ns = time.perf_counter_ns()
        if self._is_past_duration():
            self._end()

    def _give_up(self, error: BaseException) -> None:
        print(f"PVTI: {self.path} cannot be written ({error}); tracing stops here.", file=sys.stderr)
        self._end()

    def _sync_if_due(self, now: int) -> None:
        """Let the disk have what was written since the last time, SYNC_NS ago or more. Only the timer waits for it, and
        holds no lock meanwhile."""
        writer, due = self._writer, self._synced_ns + SYNC_NS
        if writer is None or now < due or self._written_ns < self._synced_ns:
            return
        self._synced_ns = now
        try:
            writer.sync()
        except OSError as error:
            with self.lock:
                if self.recording:
                    self._give_up(error)

    def _transact(self, writer: TraceWriter, buffers: list[ThreadBuffer]) -> None:
        counts = self.declarations.count()
        taken = [(buffer, buffer.filled, len(buffer.overflow)) for buffer in buffers]
        with writer.transaction():
            self.declarations.write(writer, counts)
            for buffer, filled, overflow in taken:
                self._write_events(writer, buffer, filled, overflow)
        self.declarations.drop(counts)
        for buffer, filled, overflow in taken:
            buffer.written = filled
            del buffer.overflow[:overflow]

    def _write_events(self, writer: TraceWriter, buffer: ThreadBuffer, filled: int, overflow: int) -> None:
        name = buffer.name
        if name != buffer.declared_name:
            writer.set_thread(buffer.id, _PROCESS, buffer.tid, name)
            buffer.declared_name = name
        codes, times = buffer.codes[buffer.written : filled], buffer.times[buffer.written : filled]
        if overflow:
            events = sorted([*zip(times, codes, strict=True), *buffer.overflow[:overflow]], key=lambda event: event[0])
            codes, times = [code for _, code in events], [time for time, _ in events]
        while times and self._limit_ns is not None and times[-1] > self._limit_ns:
            del codes[-1], times[-1]
        if times:
            writer.add_events(buffer.id, codes, times)

    def _open(self) -> TraceWriter:
        if self._writer is None:
            meta = {"producer": "popvision.pvti", "command": " ".join(sys.argv), "pid": os.getpid(), **self._meta}
            self._writer = self._new_writer(self.path, meta, clock_offset_ns=self.clock_offset_ns)
            name = os.path.basename(sys.argv[0]) if sys.argv and sys.argv[0] else "python"
            self.declarations.declare_first("add_process", _PROCESS, os.getpid(), os.getppid(), name)
            _at_worker_exit(self.close)
            if self._has_process_series:
                self._process = ProcessSeries(self.declarations, self.clock_offset_ns)
            self._start_timer()
        return self._writer

    # -- ending

    def close(self) -> None:
        """Write the rest, end the trace and finalise its file; idempotent."""
        self._closing = True
        try:
            self._finish()
        finally:
            with self.lock:
                self._closing = False
            self._end_if_terminated()

    def _terminate(self) -> bool:
        """Close before a signal ends the process. False where the signal has interrupted a write, a fork or `close`:
        then the signal is sent again after it."""
        with self.lock:
            if self._flushing or self._closing:
                self._terminated = True
                return False
        self.close()
        return True

    def _end_if_terminated(self) -> None:
        if self._terminated:
            self._terminated = False
            end_by_signal()

    def _finish(self) -> None:
        with self.lock:
            if self.recording and self._process is not None:
                self._process.end()
            self.flush_all()
            writer, self._writer = self._writer, None
            self._end()
        if writer is None:
            return
        try:
            writer.close()
            from popvision.formats.pvti.finalise import finalise

            finalise(writer.path)
        except (*self._errors, ImportError, RuntimeError) as error:
            print(f"PVTI: {writer.path} was recorded but not finalised ({error}).", file=sys.stderr)

    def _end(self) -> None:
        self.recording = False
        self.declarations.close()
        if self._timer_stop is not None:
            self._timer_stop.set()
        self.on_end()

    def _is_past_duration(self) -> bool:
        return self._limit_ns is not None and time.perf_counter_ns() > self._limit_ns

    def _new_path(self) -> str:
        second = _fixed_second()
        moment, zone = (time.localtime(), "%Z") if second is None else (time.gmtime(second), "UTC")
        name = time.strftime(f"%a_%b_%d_%H:%M:%S_%Y_{zone}", moment) + f"_{os.getpid()}.pvti"
        return os.path.join(self._directory, name)

    # -- quiet threads, forks

    def _start_timer(self) -> None:
        stop = self._timer_stop = threading.Event()

        def run() -> None:
            while not stop.wait(TICK_S):
                with self.lock:
                    if self._process is not None:
                        self._process.sample_if_due()
                self.flush_all(QUIET_NS)
                now = time.perf_counter_ns()
                for buffer in self._buffers:
                    buffer.write_if_late(now)
                self._sync_if_due(now)
                if self._is_past_duration():
                    self._end()

        threading.Thread(target=run, name="pvti flush", daemon=True).start()

    def _before_fork(self) -> None:
        self.lock.acquire()
        self.flush_all()
        self._flushing = True  # no signal handler writes between
        if self._writer is not None:
            self._writer.release()

    def _after_fork(self) -> None:
        if self._writer is not None:
            self._writer.reopen()
        self._flushing = False
        self.lock.release()
        self._end_if_terminated()

    def _in_child(self) -> None:
        """Start a file for the child, with the same clock anchor; only the forking thread lives on."""
        self.declarations.start_new_file()
        self._writer = self._timer_stop = self._process = None
        self._synced_ns = 0
        self._flushing = self._closing = self._terminated = False
        self._buffers = []
        if not self.recording:
            return
        self.path = self._new_path()
        buffer: ThreadBuffer | None = getattr(local, "buffer", None)
        if buffer is not None:
            buffer.clear()
            # The recorder points into the parent's chunk; the next event starts a new one.
            vars(local).pop("send", None)
            buffer.tid = threading.get_native_id()
            buffer.declared_name = None
            self._buffers.append(buffer)
        self.on_fork()


def _new_run_id() -> str:
    """Random; with SOURCE_DATE_EPOCH it follows from that second and the command, as ids of reports do from theirs."""
    second = _fixed_second()
    if second is None:
        from uuid import uuid4

        return uuid4().hex
    from hashlib import sha256

    return sha256("\n".join([str(second), *sys.argv]).encode(errors="surrogateescape")).hexdigest()[:32]


def _fixed_second() -> int | None:
    """That of SOURCE_DATE_EPOCH; None for a value that is no second: a trace must not end the program."""
    try:
        return fixed_second(os.environ)
    except ValueError:
        return None


def _at_worker_exit(close: Callable[[], None]) -> None:
    """Close at the end of a multiprocessing worker: it leaves through os._exit, without atexit."""
    process = sys.modules.get("multiprocessing.process")
    if process is not None and process.parent_process() is not None:
        from multiprocessing.util import Finalize

        Finalize(None, close, exitpriority=-1000)


def _from_environment() -> Session:
    text = os.environ.get(VARIABLE, "")
    if not text.strip():
        return Session(None)
    from popvision.pvti.options import from_text

    return Session(from_text(text))


session = _from_environment()
