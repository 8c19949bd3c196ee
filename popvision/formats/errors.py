"""The exceptions of the file formats."""

from __future__ import annotations


class FormatError(RuntimeError):
    """A file cannot be read or written. The message is one sentence: which file, what is wrong, what to do."""


class NotRecordedError(LookupError):
    """The report lacks data that a call needs. The message is one sentence: which data, which option records them."""


class AbsentError(FormatError, NotRecordedError):
    """A table or column that a call needs is missing from the file, or its values contradict the rest of it."""


class LostError(AbsentError):
    """A table or an array of the file is damaged: nothing of it is shown."""
