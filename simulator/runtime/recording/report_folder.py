"""The report folder of an engine: which files, where, and writing them.

All engines of a process that write into one directory share a run_id, with the host trace if there is one, and the
debug files at its root. An engine with a name writes its profile into a sub-folder of that name; of those without,
the first uses the directory itself and the next ones `engine_1`, `engine_2` ... Only files that the options ask for
are overwritten. Of several ranks that one launcher started each has its own directory below the one that the options
name; of several other processes the first has that directory, each further one its own below it (`directory_claim`).
A forked child begins a report of its own with its first run.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import os
import re
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from popvision import pvti
from popvision.formats.archive import write_archive
from popvision.formats.debug_info import DebugInfo, write_debug_info
from popvision.formats.errors import FormatError
from popvision.formats.profile.model import Compilation, RunRecord, TileBlocks
from popvision.formats.profile.writer import ProfileWriter
from popvision.formats.serialized_graph import write_serialized_graph
from simulator.base.errors import poplar_error
from simulator.base.options.report import ARCHIVE_NAME, ReportSettings
from simulator.base.rank import rank_of
from simulator.base.text_output import warn
from simulator.compiler.compiled_graph import CompiledGraph
from simulator.compiler.serialized import serialized_graph
from simulator.runtime.recording.archive_images import archive_images
from simulator.runtime.recording.directory_claim import claimed
from simulator.runtime.recording.report_meta import fixed_second, new_id, report_meta
from simulator.runtime.recording.source_texts import source_texts

PROFILE_NAME, GRAPH_NAME = "profile.pop", "serialized_graph.capnp"
_NO_FURTHER_RUNS = "The report keeps the runs before this one; further runs are not recorded."


@dataclass
class _Directory:
    """The engines of this process that write into one report directory, and their debug records."""

    run_id: str = ""  #: "" before the first engine
    contexts: list[DebugInfo] = field(default_factory=list)
    unnamed: int = 0
    names: dict[str, int] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def folder_name(self, engine_name: str) -> str:
        """The sub-folder of the next engine of this name, "" for the directory itself."""
        with self.lock:
            if not engine_name:
                self.unnamed += 1
                return self._last("")
            name = _file_name(engine_name)
            self.names[name] = self.names.get(name, 0) + 1
            return self._last(engine_name)

    def _last(self, engine_name: str) -> str:
        """The sub-folder of the last engine of this name."""
        if not engine_name:
            return "" if self.unnamed == 1 else f"engine_{self.unnamed - 1}"
        name = _file_name(engine_name)
        further = self.names[name] - 1
        return f"{name}_{further}" if further else name

    def give_back(self, engine_name: str, folder_name: str) -> None:
        """Let the next engine of this name have this sub-folder, unless another one took the next already."""
        with self.lock:
            taken = self.names.get(_file_name(engine_name), 0) if engine_name else self.unnamed
            if not taken or folder_name != self._last(engine_name):
                return
            if engine_name:
                self.names[_file_name(engine_name)] -= 1
            else:
                self.unnamed -= 1

    def add_contexts(self, infos: Iterable[dict[str, Any]]) -> int:
        """Append one engine's debug records; returns the number added to their ids."""
        with self.lock:
            shift = len(self.contexts)
            self.contexts += debug_contexts(infos, shift)
            return shift


def _file_name(engine_name: str) -> str:
    return re.sub(r"[^\w.+-]+", "_", engine_name).strip(".") or "engine"


_directories: dict[Path, _Directory] = {}


def _forget() -> None:
    """In a forked child, whose directories are others."""
    _directories.clear()


os.register_at_fork(after_in_child=_forget)


class ReportFolder:
    """Writes the reports of one engine. Nothing is on disk before `write_compilation`.

    Options that name a place where nothing can be written are refused, before the program runs. A write that fails
    for another reason, as on a full disk, must not end the program: one line says what is lost, and nothing more is
    written.

    `option_facts` is what the profile says about the engine's options."""

    def __init__(self, settings: ReportSettings, engine_name: str, option_facts: Mapping[str, Any]) -> None:
        self._settings = settings
        self._option_facts = option_facts
        self._engine_name = engine_name
        self._rank = rank_of(os.environ)
        self._root = settings.directory if self._rank is None else self._rank.folder(settings.directory)
        self._directory = _Directory()
        self.folder = self._root
        self._executable: CompiledGraph | None = None
        self._since_us: int | None = None  #: when this process got the folder
        self._process = os.getpid()
        self._writer: ProfileWriter | None = None
        self._waiting: list[RunRecord | Sequence[TileBlocks]] = []
        self._failed = False

    @property
    def profile_path(self) -> Path:
        return self.folder / PROFILE_NAME

    def write_compilation(self, executable: CompiledGraph) -> None:
        """Write what compilation knows, making the folders that get a file. Raises poplar_error where options name a
        place that cannot be written; then no empty folder is left."""
        missing = [path for path in (self._root, *self._root.parents) if not path.exists()]
        root, self._executable = self._root, executable
        try:
            if self._settings.writes_report:
                _make(root)
                claim = claimed(root)
                self._root, self._since_us = claim.folder, claim.since_us
            self._directory = _directories.setdefault(self._root.absolute(), _Directory())
            #: An engine that writes no report into the directory takes no sub-folder from the others.
            name = self._directory.folder_name(self._engine_name) if self._settings.writes_report else ""
            self.folder = self._root / name
            missing = [self.folder, self._root, *missing] if self.folder != root else missing
            with self._directory.lock:
                self._write_compilation(executable)
        except poplar_error:
            for path in missing:
                with contextlib.suppress(OSError):  # it was not made, or it holds a file
                    path.rmdir()
            self.give_back()
            raise

    def give_back(self) -> None:
        """Let the next engine of this name write in place of this one's files, which are closed or were not written."""
        if self._settings.writes_report:
            self._directory.give_back(self._engine_name, "" if self.folder == self._root else self.folder.name)

    def _write_compilation(self, executable: CompiledGraph) -> None:
        settings, archive = self._settings, self._archive_path
        profile = settings.writes_profile
        if settings.output_debug_info:
            _make(self._root)
        if profile or settings.output_serialized_graph or archive == self.folder / ARCHIVE_NAME:
            _make(self.folder)
        shift = self._directory.add_contexts(executable.debug_infos)
        compilation = _shifted(executable.compilation, shift)
        run_id = (
            self._directory.run_id or pvti.runId() or new_id(compilation, executable.debug_infos, self._option_facts)
        )
        self._directory.run_id = run_id
        try:
            if settings.output_debug_info:
                contexts = self._directory.contexts
                write_debug_info(self._root, contexts, run_id, sources=source_texts(contexts))
            if settings.output_serialized_graph:
                graph = serialized_graph(executable)
                write_serialized_graph(self.folder / GRAPH_NAME, replace(graph, run_id=run_id))
            if archive is not None and _fits_elf(compilation):
                images = archive_images(compilation, settings.linker_threads, settings.all_symbols)
                write_archive(archive, images, run_id)
            if profile:
                self._open_profile(compilation, executable)
        except FormatError as error:
            if not _is_of_the_disk(error):
                fix = "Give autoReport.directory or target.saveArchive another path."
                raise poplar_error(f"{_sentence(error)} {fix}") from None
            self._fail(error, "There is no report of this engine.")

    @property
    def _archive_path(self) -> Path | None:
        """Where target.saveArchive says, else beside the profile if the archive is one of the reports."""
        if self._settings.archive is None and self._settings.output_archive:
            return self.folder / ARCHIVE_NAME
        return self._settings.archive

    def _open_profile(self, compilation: Compilation, executable: CompiledGraph) -> None:
        if not self._settings.output_lowered_vars:
            compilation = replace(compilation, lowered=())
        if not self._settings.output_graph_profile:
            compilation = without_memory(compilation)
        meta = report_meta(
            self._option_facts, self._engine_name, self._directory.run_id, executable, self._rank, self._since_us
        )
        writer = ProfileWriter(self.profile_path)
        writer.write_compilation(replace(compilation, meta=meta))
        self._writer = writer

    @property
    def graph_profile_path(self) -> str:
        """Of the profile with the compilation in it, "" where the options ask for none or it could not be written."""
        return str(self.profile_path) if self._settings.output_graph_profile and not self._failed else ""

    def begins_in_child(self) -> bool:
        """Before a run: whether this is a forked child, which begins a report of its own now."""
        if not self._is_inherited():
            return False
        self._process = os.getpid()
        self._root = self._settings.directory if self._rank is None else self._rank.folder(self._settings.directory)
        if self._executable is not None and not self._failed:
            try:
                self.write_compilation(self._executable)
            except poplar_error as error:
                self._failed = True
                warn(f"{error} There is no report of this process.")
        return True

    def _is_inherited(self) -> bool:
        """Whether this is a forked child, whose parent writes the report. The child must not touch its database: the
        connection is kept for ever, since closing it would disturb the parent's."""
        if self._process == os.getpid():
            return False
        if self._writer is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._writer))
            self._writer = None
        self._waiting = []
        return True

    def set_option_facts(self, facts: Mapping[str, Any]) -> None:
        """Say other things about the engine's options, in the profile too: an engine has its own runtime options."""
        if facts != self._option_facts and not self._is_inherited():
            self._writing(lambda writer: writer.update_meta(facts))
        self._option_facts = facts

    def discard_runs(self) -> None:
        """Remove the runs recorded so far from the profile, and those that wait for the end."""
        self._waiting = []
        if not self._is_inherited():
            self._writing(lambda writer: writer.discard_runs())

    def _writing(self, write: Callable[[ProfileWriter], None]) -> None:
        try:
            if self._writer is not None and not self._failed:
                write(self._writer)
        except FormatError as error:
            self._fail(error, _NO_FURTHER_RUNS)

    def append_run(self, record: RunRecord) -> None:
        """Add a recorded run: now, or when the engine ends, as autoReport.streamAtEachRun says."""
        if not self._settings.output_execution_profile:
            self.append_blocks(record.blocks)
        else:
            second = fixed_second(os.environ)
            if second is not None:
                record = replace(record, host_start_us=second * 10**6, host_end_us=second * 10**6)
            self._store(record)

    def append_blocks(self, blocks: Sequence[TileBlocks]) -> None:
        """Add the blocks of a run whose steps are not recorded, likewise."""
        if blocks:
            self._store(blocks)

    def _store(self, record: RunRecord | Sequence[TileBlocks]) -> None:
        if self._writer is None or self._failed:
            return
        if not self._settings.stream_at_each_run:
            self._waiting.append(record)
            return
        self._writing(lambda writer: _write(writer, record))

    def close(self) -> None:
        """Write the runs that wait for the end, and finish the file. Idempotent."""
        if self._is_inherited():
            return
        for record in self._waiting:
            self._writing(functools.partial(_write, record=record))
        self._waiting = []
        writer, self._writer, self._executable = self._writer, None, None
        if writer is not None:
            writer.close()

    def _fail(self, error: FormatError, lost: str) -> None:
        self._failed = True
        warn(f"{_sentence(error)} {lost}")


def _fits_elf(compilation: Compilation) -> bool:
    """Whether an archive of 32-bit ELF files can say what tiles hold; a line says so where it cannot."""
    tiles = compilation.tile_memory
    if tiles is None or int(tiles.including_gaps.max(initial=0)) < 2**32:
        return True
    most = int(tiles.including_gaps.argmax())
    warn(f"Tile {most} holds more than 4 GiB, which an ELF file cannot say: no archive is written.")
    return False


def _write(writer: ProfileWriter, record: RunRecord | Sequence[TileBlocks]) -> None:
    if isinstance(record, RunRecord):
        writer.append_run(record)
    else:
        writer.append_blocks(record)


def debug_contexts(infos: Iterable[dict[str, Any]], shift: int = 0) -> list[DebugInfo]:
    """A graph's debug records as debug files hold them, `shift` added to their ids."""
    return [_context(info, shift) for info in infos]


def without_memory(compilation: Compilation) -> Compilation:
    """The compilation without what only a graph profile shows. Lowered variables, if there are any, stay, with the
    variables and lifetimes that they refer to."""
    compilation = replace(compilation, tile_memory=None, category_memory=(), liveness=None, vars_info=None)
    if compilation.lowered:
        return compilation
    return replace(compilation, variables=None, eq_classes=None, lowered_names=[])


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        file = next(path for path in (folder, *folder.parents) if path.exists() and not path.is_dir())
        raise poplar_error(
            f"The report folder {folder} cannot be made: {file} is a file; give autoReport.directory another path."
        ) from None
    except OSError as error:
        raise poplar_error(
            f"The report folder {folder} cannot be made ({error.strerror or error}); "
            "give autoReport.directory another path."
        ) from None


def _shifted(compilation: Compilation, shift: int) -> Compilation:
    """The compilation with debug ids as in the directory's debug files."""
    if shift == 0:
        return compilation

    def moved(ids: Any) -> Any:
        return ids + shift * (ids >= 0)

    programs, compute_sets, variables = compilation.programs, compilation.compute_sets, compilation.variables
    return replace(
        compilation,
        programs=replace(programs, debug_id=moved(programs.debug_id)),
        compute_sets=replace(compute_sets, debug_id=moved(compute_sets.debug_id)),
        variables=None if variables is None else replace(variables, debug_id=moved(variables.debug_id)),
    )


def _context(info: dict[str, Any], shift: int) -> DebugInfo:
    parent = int(info["parentId"])
    return DebugInfo(
        id=int(info["id"]) + shift,
        parents=(parent + shift,) if parent >= 0 else (),
        layer=info["layer"],
        name=info["name"],
        arguments=_plain(info["arguments"] | {"category": info["category"]}),
        outputs=_plain(info["outputs"]),
        file=info["file"],
        line=info["line"],
    )


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Arguments as JSON values; other values as their text."""
    return {str(name): _json_value(value) for name, value in values.items()}


def _json_value(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_json_value(v) for v in value]
    if isinstance(value, dict):
        return _plain(value)
    return str(value)


def _sentence(error: Exception) -> str:
    text = str(error)
    return text[:1].upper() + text[1:]


def _is_of_the_disk(error: BaseException) -> bool:
    """Whether a write failed for what no other option would mend: the disk is full or broken."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
            return True
        if isinstance(cause, sqlite3.Error) and str(cause) in ("database or disk is full", "disk I/O error"):
            return True
        cause = cause.__context__
    return False
