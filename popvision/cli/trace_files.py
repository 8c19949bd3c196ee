"""The traces that `popvision trace` is asked about, and the clock that they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from popvision.cli.console import progress
from popvision.cli.paging import echo_lost
from popvision.formats.errors import FormatError

if TYPE_CHECKING:
    from popvision.analysis.trace.source import TraceSource
    from popvision.opened.trace import OpenedTrace

PATHS = click.argument("paths", metavar="PATH...", type=click.Path(path_type=Path), nargs=-1, required=True)

#: Key of the traces that a command has opened, in the context of click.
_OPENED = "popvision.opened_traces"

#: Key of whether it was said that imports are not kept.
_SAID = "popvision.imports_are_not_kept"

#: Traces of a folder that a sentence names.
_NAMED = 5


def clock_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add --align, --label, --channel and --occurrence to a command, which gets them as a `clock`."""

    @click.option(
        "--align",
        type=click.Choice(["absolute", "first", "event"]),
        default="absolute",
        show_default=True,
        help="How several files come onto one clock.",
    )
    @click.option("--label", default="", help="Label of the event that coincides, for --align event.")
    @click.option("--channel", default="", help="Its channel; any by default.")
    @click.option("--occurrence", type=click.IntRange(0), default=0, show_default=True, help="Its number by begin.")
    @wraps(command)
    def with_clock(*, align: str, label: str, channel: str, occurrence: int, **given: Any) -> None:
        from popvision.answers.several_traces import Clock

        if align != "event" and (label or channel or occurrence):
            raise click.UsageError("--label, --channel and --occurrence choose the event of --align event.")
        command(clock=Clock(align, label, channel, occurrence), **given)

    return with_clock


def no_cache_option(command: Callable[..., None]) -> Callable[..., None]:
    """Add --no-cache to a command, which then imports traces of other tools anew, and keeps none."""

    @click.option("--no-cache", is_flag=True, help="Import traces of other tools anew, and keep no import.")
    @wraps(command)
    def chosen(*, no_cache: bool, **given: Any) -> None:
        if not no_cache:
            command(**given)
            return
        from popvision.formats.foreign_traces.kept_imports import without_kept_imports

        with without_kept_imports():
            command(**given)

    return chosen


def strict_option(command: Callable[..., None]) -> Callable[..., None]:
    """Add --strict to a command, which then ends with code 1 where a trace that it opened lost something."""

    @click.option("--strict", is_flag=True, help="Exit with code 1 where something of a trace is lost or left out.")
    @no_cache_option
    @wraps(command)
    def checked(*, strict: bool, **given: Any) -> None:
        command(**given)
        opened: list[OpenedTrace] = click.get_current_context().meta.get(_OPENED, [])
        if strict and any(trace.lost for trace in opened):
            raise click.exceptions.Exit(1)

    return checked


def open_traces(paths: tuple[Path, ...]) -> list[OpenedTrace]:
    """The traces at some paths; of a folder all that it holds of one run. Raises FormatError for a file named twice."""
    files = [file for path in paths for file in (_of_one_run(path) if path.is_dir() else [path])]
    seen: set[Path] = set()
    for file in files:
        if file.resolve() in seen:
            raise FormatError(f"{file} is named twice; name each trace once.")
        seen.add(file.resolve())
    return [_opened(file) for file in files]


def open_trace(path: Path) -> OpenedTrace:
    """The trace at a path; of a folder its only one."""
    if not path.is_dir():
        return _opened(path)
    traces = _held(path)
    if len(traces) != 1:
        shown = "; `popvision view FILE FILE` shows several in one timeline" if traces else ""
        raise FormatError(f"{path} holds {_listed(path, traces)}; name one .pvti{shown}.")
    return _opened(traces[0])


def _of_one_run(folder: Path) -> list[Path]:
    from popvision.formats.pvti.reader import TraceReader

    traces = _held(folder)
    if not traces:
        raise FormatError(f"{folder} holds no host trace; name a .pvti.")
    if len(traces) > 1:
        runs = {TraceReader(trace, salvage=True).meta.get("run_id", "") for trace in traces}
        if len(runs) > 1 or "" in runs:
            raise FormatError(
                f"{folder} holds {_listed(folder, traces)}, which do not say that one run wrote them; "
                "name the files that you mean."
            )
    return traces


def _held(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.pvti"))


def _listed(folder: Path, traces: list[Path]) -> str:
    held = ", ".join(str(each.relative_to(folder)) for each in traces[:_NAMED]) or "none"
    more = ", ..." if len(traces) > _NAMED else ""
    return f"{len(traces)} host traces ({held}{more})"


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Show that a trace is read; how much of it, where it is that of another tool, whose import takes a while."""
    from popvision.formats.foreign_traces.packed import telling

    with progress(f"Reading {path}") as say, telling(say):
        yield


def _opened(path: Path) -> OpenedTrace:
    from popvision.opened.trace import OpenedTrace

    with reading(path):
        trace = OpenedTrace(path)
    _say_not_kept(trace.source)
    echo_lost(trace.path, trace.source.lost, "popvision trace info", state=trace.source.loss_state)
    click.get_current_context().meta.setdefault(_OPENED, []).append(trace)
    return trace


def _say_not_kept(source: TraceSource) -> None:
    """Say on stderr, once for a command, why imports of other tools' traces are not kept."""
    meta = click.get_current_context().meta
    if source.cache_problem and not meta.get(_SAID):
        meta[_SAID] = True
        click.echo(f"popvision: {source.cache_problem}", err=True)
