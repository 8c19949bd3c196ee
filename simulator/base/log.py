"""The log that POPLAR_LOG_LEVEL turns on: one line per event, on POPLAR_LOG_DEST.

The variables are read once, when the first graph is compiled, engine made or device attached, so that a run without a
log costs one comparison. Lines look as Poplar's do: time, part, process and thread, the level's letter, a sentence.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import IntEnum
from pathlib import Path
from typing import TextIO

from simulator.base.errors import invalid_option

LEVEL_VARIABLE, DESTINATION_VARIABLE = "POPLAR_LOG_LEVEL", "POPLAR_LOG_DEST"


class Level(IntEnum):
    """A level shows the events of all before it."""

    OFF = 0
    ERR = 1  #: what a program fails with
    WARN = 2  #: what it loses, or asks for without effect
    INFO = 3  #: compilations, loads, runs
    DEBUG = 4  #: phases of a compilation, devices, options
    TRACE = 5  #: each stream that is connected and each tensor that is read or written


class Log:
    """Lines of a level and below, on a destination that stays open: stdout, stderr or the name of a file, to which they
    are appended. Raises invalid_option for a level there is not and for a file that cannot be written."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        name = environment.get(LEVEL_VARIABLE, "") or "OFF"
        if name not in Level.__members__:
            raise invalid_option(f"{LEVEL_VARIABLE} cannot be '{name}'; use {', '.join(Level.__members__)}.")
        self.level = Level[name]
        self._destination = environment.get(DESTINATION_VARIABLE, "") or "stderr"
        self._file = None if self.level is Level.OFF else _opened(self._destination)

    def write(self, level: Level, part: str, sentence: str) -> None:
        """Write a line, whole, where the level is on. A destination that can be written no more ends no program."""
        if level > self.level:
            return
        file = self._file or getattr(sys, self._destination)
        moment = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        thread = f"{os.getpid()}.{threading.get_native_id()}"
        try:
            file.write(f"{moment} PO:{part:<8} {thread} {level.name[0]}: {sentence}\n")
            file.flush()
        except (OSError, ValueError, AttributeError):  # full, closed, or no stream at all
            self.level = Level.OFF


def _opened(destination: str) -> TextIO | None:
    """The file, None for a stream of the process, which a program may replace meanwhile."""
    if destination in ("stdout", "stderr"):
        return None
    try:
        return Path(destination).expanduser().open("a", encoding="utf-8")
    except OSError as error:
        raise invalid_option(
            f"{DESTINATION_VARIABLE} cannot be '{destination}' ({error.strerror or error}); use stdout, stderr or the "
            "path of a file."
        ) from None


_log: Log | None = None


def log(level: Level, part: str, sentence: str) -> None:
    """Write a line to the process's log. Raises invalid_option where its variables are malformed, the first time."""
    if wants(level) and _log is not None:
        _log.write(level, part, sentence)


def wants(level: Level) -> bool:
    """Whether the log shows this level: for sentences that take time to make."""
    global _log
    if _log is None:
        _log = Log(os.environ)
    return level <= _log.level
