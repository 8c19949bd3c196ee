"""A watched program: a thread that looks at its files and runs it when a save changed it; its state for a page.

Files are looked at every 50 ms (size, time, inode). A save that changes comments only moves the figures to their new
lines. What fails leaves the last figures in place, marked as old. Only three reports are kept: of the figures shown, of
those before, and of the pinned version.

`margin` gives a file's lines their figures and the change since an earlier version. Nothing is lost between two
versions: for each figure

    changes of lines + of lines that are no longer there + of other files + of what no line has = change of the total
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
import time
import tokenize
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from popvision.formats.errors import FormatError, NotRecordedError
from popvision.watch.compiled_program import SUFFIXES, CompiledRuns
from popvision.watch.limits import Limits
from popvision.watch.program_run import Ended, ProgramRuns
from popvision.watch.saved_source import Problem, same_lines, syntax_problem
from popvision.watch.version import NO_FIGURES, Figures, FileLines, Version, read_version

_NO_FILE = FileLines("", "", {})


def margin(version: Version, path: str, shown: str, bases: Mapping[str, Version | None]) -> dict[str, Any]:
    """JSON for a page: `lines` (number in the text `shown` -> figures, place in the report), `rest` (what stands beside
    no line), `changes` of each base version in the same form, None without that base.

    Figures are [cycles, live bytes, received bytes]; null = not recorded."""
    file = version.files.get(path, _NO_FILE)
    places = same_lines(file.text.split("\n"), shown.split("\n"))
    lines = {
        str(places[number]): [*line.figures, line.recorded, line.program, line.variable]
        for number, line in file.lines.items()
        if number in places
    }
    gone = _sum([line.figures for number, line in file.lines.items() if number not in places], version.total)
    changes = {name: None if base is None else _changes(version, base, path, places) for name, base in bases.items()}
    rest = {"gone": gone, **_rest(version, path), "total": version.total}
    return {"name": file.name, "lines": lines, "rest": rest, "changes": changes}


def _rest(version: Version, path: str) -> dict[str, Figures]:
    """Figures of the program's other files, and of what no line of its files accounts for."""
    others = [line.figures for other, file in version.files.items() if other != path for line in file.lines.values()]
    own = [line.figures for line in version.files.get(path, _NO_FILE).lines.values()]
    elsewhere, here = _sum(others, version.total), _sum(own, version.total)
    return {"others": elsewhere, "unattributed": _minus(_minus(version.total, elsewhere), here)}


def _changes(version: Version, base: Version, path: str, places: Mapping[int, int]) -> dict[str, Any]:
    file, old = version.files.get(path, _NO_FILE), base.files.get(path, _NO_FILE)
    known = _minus(version.total, base.total)  # None where either lacks the figure
    moved = same_lines(old.text.split("\n"), file.text.split("\n"))
    before = {moved[number]: line.figures for number, line in old.lines.items() if number in moved}
    lines: dict[str, Figures] = {}
    gone = [_minus(_zero(known), line.figures) for number, line in old.lines.items() if number not in moved]
    for number in sorted({*before, *file.lines}):
        now = file.lines[number].figures if number in file.lines else _zero(known)
        change = _minus(now, before.get(number, _zero(known)))
        if number in places:
            lines[str(places[number])] = change
        else:
            gone.append(change)
    rest_now, rest_then = _rest(version, path), _rest(base, path)
    rest = {name: _minus(rest_now[name], rest_then[name]) for name in rest_now}
    return {"lines": lines, "rest": {"gone": _sum(gone, known), **rest, "total": known}}


def _zero(like: Figures) -> Figures:
    return tuple(None if each is None else 0 for each in like)  # type: ignore[return-value]


def _minus(one: Figures, other: Figures) -> Figures:
    pairs = zip(one, other, strict=True)
    return tuple(None if a is None or b is None else a - b for a, b in pairs)  # type: ignore[return-value]


def _sum(rows: list[Figures], like: Figures) -> Figures:
    """The sum of each figure that is known in `like`."""
    if like == NO_FIGURES:
        return NO_FIGURES
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    sums = [sum(value or 0 for value in column) for column in columns]
    return tuple(None if each is None else value for each, value in zip(like, sums, strict=True))  # type: ignore[return-value]


_LOOK = 0.05

#: Seconds that a file may be missing before that is said: editors replace files.
_GONE_SECONDS = 1.0

#: Seconds that a file may be empty before that counts as a save: writing it anew empties it first.
_EMPTY_SECONDS = 0.5

#: Largest source file that is watched, in bytes.
_MOST_SOURCE = 4 << 20

_Stamp = tuple[int, int, int]


class WatchedProgram:
    """Watches `program` from `start` to `close`. `state` and the actions may be called from any thread."""

    def __init__(
        self, program: Path, arguments: Sequence[str], limits: Limits, options: Mapping[str, object] | None = None
    ) -> None:
        """`options` are engine options that go before those of the watch. Raises FormatError for a file that cannot be
        read."""
        self.path = os.path.realpath(program)
        self.folder = Path(tempfile.mkdtemp(prefix="popvision-watch-")).resolve()
        own = {name: value for name, value in (options or {}).items() if name != "autoReport.directory"}
        self._is_compiled = program.suffix in SUFFIXES
        runs = CompiledRuns if self._is_compiled else ProgramRuns
        self._runs = runs(str(program), arguments, limits, own, self.folder / "imports")
        self._thread = threading.Thread(target=self._watch, name="watch", daemon=True)
        self._lock = threading.Lock()
        self._is_closed = False
        self._must_run = True
        self._was_cut = False
        self._stamps: dict[str, _Stamp | None] = {}
        self._texts: dict[str, str] = {}
        self._runs_begun = 0
        self._gone_since = 0.0
        # What the page shows; each change under the lock counts `_turn` up.
        self._turn = 1
        self._status = "running"
        self._problem: Problem | None = None
        self._output = ""
        self._seconds: float | None = None
        self._shown: Version | None = None
        self._before: Version | None = None
        self._pinned: Version | None = None
        try:
            self._texts[self.path] = _read(self.path)
            self._stamps[self.path] = _stamp(self.path)
        except OSError as error:
            self.close()
            raise FormatError(f"{program} cannot be read: {error.strerror}.") from None

    def start(self) -> None:
        """Run the program, and again after each save."""
        self._thread.start()

    def close(self) -> None:
        """End the program, if it runs, and remove the private folder."""
        self._is_closed = True
        if self._thread.is_alive():
            self._thread.join()
        self._runs.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run_again(self) -> None:
        """Run the program although nothing changed: it may read other files."""
        self._must_run = True

    def pin(self, is_pinned: bool) -> None:
        """Compare with the version shown now from here on, or with none."""
        with self._lock:
            self._pinned = self._shown if is_pinned else None
            self._turn += 1

    def state(self, known: int = -1, path: str = "") -> dict[str, Any]:
        """JSON of the page for one of the program's files (default: the program): {"turn"} alone when nothing changed
        since turn `known`. See `margin` for the figures; reports are paths."""
        with self._lock:
            turn, version, before, pinned = self._turn, self._shown, self._before, self._pinned
            problem, texts = self._problem, dict(self._texts)
            state: dict[str, Any] = {"status": self._status, "output": self._output, "seconds": self._seconds}
        if turn == known:
            return {"turn": turn}
        path = path if path in texts else self.path
        state |= {"turn": turn, "file": path, "files": list(texts), "text": texts[path].split("\n")}
        state["problem"] = None if problem is None else vars(problem)
        state |= {"pinned": None, "version": None}
        if version is not None:
            bases = {"before": before, "pinned": pinned}
            state |= {"figures": margin(version, path, texts[path], bases), "version": _facts(version)}
            state["pinned"] = None if pinned is None else _facts(pinned)
        return state

    # ---- the thread ----

    def _watch(self) -> None:
        with contextlib.suppress(OSError):  # root may: a program that forks without end must not starve its watcher
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), -10)
        while not self._is_closed:
            texts = self._read_saves()
            if texts != self._texts or self._must_run or self._was_cut:
                self._take_save(texts)
            time.sleep(_LOOK)

    def _set(self, **values: Any) -> None:
        with self._lock:
            for name, value in values.items():
                setattr(self, f"_{name}", value)
            self._turn += 1

    def _read_saves(self) -> dict[str, str]:
        """The texts of the files; only those with another stamp are read."""
        texts = dict(self._texts)
        for path, known in list(self._stamps.items()):
            try:
                stamp = _stamp(path)
                if stamp == known or (not stamp[0] and time.time() - stamp[1] / 1e9 < _EMPTY_SECONDS):
                    continue
                text = _read(path)
            except FileNotFoundError:
                self._tell_missing(path)
                continue
            except OSError as error:
                self._set(problem=Problem(f"{path} cannot be read: {error.strerror}."), status="failed")
                continue
            self._gone_since = 0.0
            self._stamps[path] = stamp
            texts[path] = text
        return texts

    def _tell_missing(self, path: str) -> None:
        self._gone_since = self._gone_since or time.monotonic()
        sentence = f"{path} is missing; it runs again when it is back."
        is_told = self._problem is not None and self._problem.sentence == sentence
        if time.monotonic() - self._gone_since > _GONE_SECONDS and not is_told:
            self._set(problem=Problem(sentence), status="failed")

    def _take_save(self, texts: dict[str, str]) -> None:
        problems = (syntax_problem(path, text) for path, text in texts.items())
        problem = None if self._is_compiled else next(filter(None, problems), None)
        must_run, self._must_run, self._was_cut = self._must_run, False, False
        if problem is not None:
            self._set(texts=texts, problem=problem, status="failed")
            return
        moved = None if must_run or self._shown is None else self._shown.with_texts(texts)
        if moved is not None:
            self._set(texts=texts, shown=moved, problem=None, status="current")
            return
        self._set(texts=texts, status="running")
        if not self._run():
            self._must_run, self._was_cut = self._must_run or must_run, True

    def _run(self) -> bool:
        """Whether the run ended by itself: a save cuts it short."""
        self._runs_begun += 1
        saved = max((stamp[1] for stamp in self._stamps.values() if stamp), default=0) / 1e9
        began = time.time()
        try:
            ended = self._runs.run(
                self.folder / f"run-{self._runs_begun}", lambda: self._is_closed or self._has_changed()
            )
        except OSError as error:  # no space, no more processes
            sentence = f"The program cannot be run: {error.strerror} ({error.filename or 'system'})."
            self._set(problem=Problem(sentence), status="failed")
            return True
        if ended is None:
            return False
        self._watch_files(ended.files)
        problem = ended.problem
        number = 1 if self._shown is None else self._shown.number + 1
        try:
            version = None if problem else read_version(number, saved, ended.folder, dict(self._texts))
        except (FormatError, NotRecordedError) as error:
            version, problem = None, Problem(str(error))
        if version is None:
            sentence = "The program ended well but compiled no graph: there are no figures."
            self._set(problem=problem or Problem(sentence), status="failed", output=ended.output)
        else:
            since = saved if number > 1 and 0 <= began - saved < 1 else began
            self._show(version, ended, time.time() - since)
        self._remove_old_reports()
        return True

    def _show(self, version: Version, ended: Ended, seconds: float) -> None:
        self._set(
            before=self._shown,
            shown=version,
            problem=None,
            status="current",
            output=ended.output,
            seconds=round(seconds, 3),
        )

    def _has_changed(self) -> bool:
        """Whether a file's stamp differs; what changed is read when the run has ended."""
        for path, known in self._stamps.items():
            with contextlib.suppress(OSError):
                if _stamp(path) != known:
                    return True
        return False

    def _watch_files(self, files: list[str]) -> None:
        """Watch the files that the program imported, as they are now."""
        texts = dict(self._texts)
        for path in files:
            if path in self._stamps:
                continue
            with contextlib.suppress(OSError):
                texts[path] = _read(path)
                self._stamps[path] = _stamp(path)
        if texts.keys() != self._texts.keys():
            self._set(texts=texts)

    def _remove_old_reports(self) -> None:
        with self._lock:
            shown = {each.report for each in (self._shown, self._before, self._pinned) if each is not None}
        for folder in self.folder.glob("run-*"):
            if not any(report == folder or folder in report.parents for report in shown):
                shutil.rmtree(folder, ignore_errors=True)


def _facts(version: Version) -> dict[str, Any]:
    return {
        "number": version.number,
        "saved": version.saved,
        "report": str(version.report),
        "others": [str(each) for each in version.others],
        "clock": version.clock_hz,
        "missing": list(version.missing),
    }


def _stamp(path: str) -> _Stamp:
    status = Path(path).stat()
    return status.st_size, status.st_mtime_ns, status.st_ino


def _read(path: str) -> str:
    """The text of a Python file in its own encoding. Raises OSError."""
    if Path(path).stat().st_size > _MOST_SOURCE:
        raise OSError(0, f"it is larger than {_MOST_SOURCE >> 20} MiB", path)
    try:
        with tokenize.open(path) as stream:
            return stream.read()
    except (SyntaxError, UnicodeDecodeError):  # compile says so
        return Path(path).read_bytes().decode(errors="replace")
