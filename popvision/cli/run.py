"""`popvision run prog.py ...`: run a program in a child process with all reports and the host trace on."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import click

from popvision.formats.errors import FormatError
from popvision.opened.printable import printable
from popvision.sweep.profiled_child import CONSTANTS, TARGETS, profiling_environment, program_command


class _Run(click.Command):
    """`--check` alone means `--check=torch`; click takes the next argument, the program, for its value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        with_value = {
            name
            for option in self.params
            if isinstance(option, click.Option) and not option.is_flag
            for name in option.opts
        }
        place = 0
        while place < len(args) and args[place].startswith("-"):
            if args[place] == "--check":
                args = [*args[:place], "--check=torch", *args[place + 1 :]]
            place += 2 if args[place] in with_value else 1
        return super().parse_args(ctx, args)


@click.command(
    name="run",
    cls=_Run,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option("-d", "--directory", default="./popvision_report", show_default=True, help="Folder for the reports.")
@click.option("--target", type=click.Choice(TARGETS), help="What-if: compile for this target.")
@click.option("--tiles", type=click.IntRange(min=1), help="What-if: use this many tiles per IPU.")
@click.option(
    "--set",
    "constants",
    multiple=True,
    metavar="NAME=VALUE",
    help=f"What-if: set a constant of the IPU Model; repeatable. Names: {', '.join(CONSTANTS)}.",
)
@click.option("--runs", type=click.IntRange(min=1), help="Record this many runs of each program (default 2).")
@click.option(
    "--check",
    type=click.Choice(("torch", "fail")),
    help="Compare the first step of each PyTorch model with eager torch and say so on stderr; with =fail a difference "
    "ends the program with exit code 4.",
)
@click.option("--no-trace", is_flag=True, help="Do not write the host trace (.pvti).")
@click.argument("program", type=click.Path(exists=True, dir_okay=False))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(
    directory: str,
    target: str | None,
    tiles: int | None,
    constants: tuple[str, ...],
    runs: int | None,
    check: str | None,
    no_trace: bool,
    program: str,
    arguments: tuple[str, ...],
) -> None:
    """Run PROGRAM with profiling on. Options set in POPLAR_ENGINE_OPTIONS take precedence. Exits with PROGRAM's exit
    code."""
    folder = Path(directory).absolute()  # the program may change its directory
    environment = profiling_environment(
        folder,
        runs=runs,
        trace=not no_trace,
        target=target,
        tiles=tiles,
        constants=_join_constants(os.environ.get("POPVISION_IPU_MODEL", ""), constants) if constants else "",
        options=_json_object("POPLAR_ENGINE_OPTIONS"),
        trace_options={} if no_trace else _json_object("PVTI_OPTIONS"),
    )
    if check is not None:
        environment["POPVISION_CHECK"] = check
    with _made(folder):
        before = _written(folder)
        code = _run(program_command(program, arguments), os.environ | environment, folder, before)
        click.echo(_ending(folder, directory, before, code, program), err=True)
    raise SystemExit(code)


@contextlib.contextmanager
def _made(folder: Path) -> Iterator[None]:
    """With a folder, made where it is missing; what was made and is empty in the end goes again. Raises FormatError
    where it cannot be made."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise FormatError(f"the report folder {folder} is a file; give another path with -d.") from None
    except OSError as error:
        raise FormatError(
            f"the report folder {folder} cannot be made ({error.strerror}); give another path with -d."
        ) from None
    try:
        yield
    finally:
        for path in missing:
            with contextlib.suppress(OSError):  # it holds a file, or the program removed it
                path.rmdir()


#: Seconds between two looks at the report folder and the file of progress while the program runs on a terminal.
_PAUSE = 0.5

#: Seconds between two lines that say what the program is doing: twice as long after each one.
_FIRST_LINE, _LONGEST_PAUSE = 1.0, 30.0

#: The variable that names the file in which the program says it (simulator.engine.progress).
_PROGRESS_FILE = "POPVISION_PROGRESS_FILE"

_Files = dict[Path, tuple[int, int]]


def _written(folder: Path) -> _Files:
    """Time and size of each report and trace in the folder and its sub-folders: of ranks, of engines, of engines of
    ranks."""
    files: _Files = {}
    for pattern in ("profile.pop", "*/profile.pop", "*/*/profile.pop", "*.pvti", "*/*.pvti"):
        for path in folder.glob(pattern):
            try:
                state = path.stat()
            except OSError:  # renamed since
                continue
            files[path] = (state.st_mtime_ns, state.st_size)
    return files


def _run(command: list[str], environment: dict[str, str], folder: Path, before: _Files) -> int:
    """The exit code of the program, 128 + N for signal N. On a terminal, lines on stderr say what it is doing."""
    if not sys.stderr.isatty():
        return _wait(command, environment, None)
    with tempfile.TemporaryDirectory(prefix="popvision-run-") as place:
        said = Path(place, "progress")
        return _wait(command, environment | {_PROGRESS_FILE: str(said)}, _Progress(folder, before, said))


def _wait(command: list[str], environment: dict[str, str], progress: _Progress | None) -> int:
    interrupts = 0
    with _Witness() as witness, _Signals(witness) as signals, subprocess.Popen(command, env=environment) as child:
        signals.pass_to(child)
        while True:
            try:
                code = child.wait(None if progress is None else _PAUSE)
                return code if code >= 0 else 128 - code
            except subprocess.TimeoutExpired:
                if progress is not None:
                    progress.look()
            except KeyboardInterrupt:  # the terminal sends it to the program too, which may save what it has
                interrupts += 1
                if interrupts > 1:
                    child.terminate()


class _Witness:
    """A process that does nothing in the group of this one and the program. A signal that ends it was sent to the whole
    group, as timeout(1) and a terminal do, so that the program has it too; its second one could disturb what the
    program does about the first."""

    _MOMENT = 0.2  #: seconds in which it ends
    _TOGETHER = 2.0  #: seconds in which a signal that comes again is the same: timeout sends it to process and group

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._seen: dict[int, float] = {}

    def __enter__(self) -> _Witness:
        self._begin()
        return self

    def __exit__(self, *error: object) -> None:
        self._end()

    def _begin(self) -> None:
        with contextlib.suppress(OSError):  # without it every signal is passed on
            self._process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def saw(self, number: int) -> bool:
        """Whether this signal, which this process has just got, was sent to the group."""
        now = time.monotonic()
        if now - self._seen.get(number, -self._TOGETHER) < self._TOGETHER:
            return True
        if self._process is None:
            return False
        try:
            ended_by = -self._process.wait(self._MOMENT)
        except subprocess.TimeoutExpired:
            return False
        self._seen[ended_by] = now
        self._end()
        self._begin()
        return ended_by == number


class _Signals:
    """Passes the signals that ask to end on to the program, which would go on alone and keep its IPU."""

    _ENDINGS = (signal.SIGTERM, signal.SIGHUP)

    def __init__(self, witness: _Witness) -> None:
        self._witness = witness
        self._child: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> _Signals:
        if threading.current_thread() is threading.main_thread():
            for number in self._ENDINGS:
                if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup; the program ignores it too
                    self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def pass_to(self, child: subprocess.Popen[bytes]) -> None:
        """Pass on what came before the program began, and what comes."""
        self._child = child
        for number in dict.fromkeys(self._early):
            child.send_signal(number)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._child is None:
            self._early.append(number)
        elif not (_is_in_this_group(self._child) and self._witness.saw(number)):
            self._child.send_signal(number)


def _is_in_this_group(child: subprocess.Popen[bytes]) -> bool:
    try:
        return os.getpgid(child.pid) == os.getpgrp()
    except ProcessLookupError:
        return False


class _Progress:
    """Lines about a program that runs: each report when it appears, which is at the end of a compilation, and what the
    program says of itself, less and less often."""

    def __init__(self, folder: Path, before: _Files, said: Path) -> None:
        self._folder, self._before, self._said = folder, before, said
        self._begin = time.monotonic()
        self._told = set[Path]()
        self._next, self._pause = _FIRST_LINE, _FIRST_LINE

    def look(self) -> None:
        """Write the lines that are due."""
        seconds = time.monotonic() - self._begin
        for path, state in _written(self._folder).items():
            if path.suffix == ".pop" and path not in self._told and self._before.get(path) != state:
                self._told.add(path)
                click.echo(f"compiled after {seconds:.1f} s: {path}; running", err=True)
                self._pause = _FIRST_LINE
                self._next = seconds + self._pause
        if seconds < self._next:
            return
        try:
            doing = self._said.read_text(encoding="utf-8").strip()
        except OSError:  # nothing was said yet
            return
        if doing:
            click.echo(f"{printable(doing)} ({seconds:.1f} s)", err=True)
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
            self._next = seconds + self._pause


def _ending(folder: Path, given: str, before: _Files, code: int, program: str) -> str:
    """Where the reports are; for a program that wrote none, that it did not. `given`: how the user spelled the
    folder."""
    if not folder.is_dir():
        ended = f" and ended with exit code {code}" if code else ""
        return f"The report folder {folder} was removed while {program} ran{ended}; there is no report."
    new = {path for path, state in _written(folder).items() if before.get(path) != state}
    failed = f"{program} ended with exit code {code}" if code else ""
    if any(path.suffix == ".pop" for path in new):
        where = f"Reports are in {folder.resolve()}; open them with: popvision view {given}"
        return f"{failed}. {where}" if failed else where
    what = f"{failed} before a report was written" if failed else f"{program} compiled no graph, so there is no report"
    if new:
        return f"{what}; its host trace is in {folder.resolve()}: popvision view {given}"
    return f"{what}."


def _join_constants(before: str, constants: tuple[str, ...]) -> str:
    """The value already in the variable, then these constants. Raises click.UsageError for an unknown name."""
    for each in constants:
        name, equals, value = each.partition("=")
        if name not in CONSTANTS or not equals or not value:
            raise click.UsageError(f"--set {each} is not NAME=VALUE; NAME is one of {', '.join(CONSTANTS)}.")
    return ",".join(filter(None, (before, *constants)))


def _json_object(variable: str) -> dict[str, object]:
    """The JSON object in an environment variable, {} when unset. Raises click.UsageError for anything else."""
    text = os.environ.get(variable, "")
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        raise click.UsageError(f"{variable} is not JSON ({error}); it must be an object of strings.") from None
    if not isinstance(value, dict):
        raise click.UsageError(f"{variable} must be a JSON object of strings, not {text!r}.")
    return value
