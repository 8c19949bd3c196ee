"""PopTorch's log lines on standard error: `[HH:MM:SS.mmm] [poptorch::python] [warning] message`.

`logger` writes those of PopTorch's Python, `device_logger` those of its C++ part ("poptorch:cpp"), which tell of
devices and compilation. POPTORCH_LOG_LEVEL chooses what is written.
"""

from __future__ import annotations

import logging
import sys
from datetime import datetime

from simulator.frontends.poptorch import environment

TRACE = 5  #: below logging.DEBUG

#: name -> (PopTorch's number, Python's level)
_LEVELS = {
    "TRACE": (0, TRACE),
    "TRACE_ALL": (0, TRACE),
    "DEBUG": (1, logging.DEBUG),
    "DEBUG_IR": (1, logging.DEBUG),
    "INFO": (2, logging.INFO),
    "WARN": (3, logging.WARNING),
    "ERR": (4, logging.ERROR),
    "OFF": (6, logging.CRITICAL + 1),
}
_DOCUMENTED = ("TRACE", "DEBUG", "INFO", "WARN", "ERR", "OFF")

logger = logging.getLogger("poptorch::python")
device_logger = logging.getLogger("poptorch:cpp")


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        clock = datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        level = "trace" if record.levelno == TRACE else record.levelname.lower()
        return f"[{clock}.{int(record.msecs):03d}] [{record.name}] [{level}] {record.getMessage()}"


class _StandardError(logging.Handler):
    """Writes to what sys.stderr is when a line is written."""

    def emit(self, record: logging.LogRecord) -> None:
        sys.stderr.write(self.format(record) + "\n")
        sys.stderr.flush()


def setLogLevel(level: str | int) -> None:
    """Choose what is written, by name or PopTorch's number (0 for TRACE to 6 for OFF). Raises ValueError."""
    if isinstance(level, int):
        names = [name for name in _DOCUMENTED if _LEVELS[name][0] == level]
        if not names:
            raise ValueError(f"Invalid log level integer {level}; it is one of 0, 1, 2, 3, 4, 6.")
        level = names[0]
    if level not in _LEVELS:
        listed = f"{', '.join(_DOCUMENTED[:-1])} and {_DOCUMENTED[-1]}"
        raise ValueError(f"Unknown log level: {level}. Valid values are {listed}")
    for each in (logger, device_logger):
        each.setLevel(_LEVELS[level][1])


def _prepare() -> None:
    handler = _StandardError()
    handler.setFormatter(_Lines())
    for each in (logger, device_logger):
        if not each.handlers:
            each.addHandler(handler)
        each.propagate = False
    setLogLevel(environment.log_level())


_prepare()
