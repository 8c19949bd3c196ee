"""PopTorch's exceptions."""

from __future__ import annotations


class Error(RuntimeError):
    """Any failure of a model on the device. `message` is the text; `location` the operation that failed, or ""."""

    def __init__(self, message: str, location: str = "") -> None:
        super().__init__(message)
        self.message, self.location = message, location

    @property
    def type(self) -> str:
        """The class of the failure, as PopTorch reports it."""
        return type(self).__name__


class RecoverableError(Error):
    """The device must be reset; `recovery_action` says how."""

    def __init__(self, message: str, location: str = "", recovery_action: str = "IPU_RESET") -> None:
        super().__init__(message, location)
        self.recovery_action = recovery_action


class UnrecoverableError(Error):
    """The device is of no use any more."""


# Tracebacks name the module that programs import them from.
for _error in (Error, RecoverableError, UnrecoverableError):
    _error.__module__ = "poptorch.poptorch_core"


class OptionError(AssertionError, ValueError):
    """An option has a value that it cannot have. PopTorch asserts some of these and raises ValueError for others."""


class ConfigFileError(Exception):
    """A file for `Options.loadFromFile` cannot be read as lines of options."""
