"""The exceptions of the file formats."""

from __future__ import annotations


class FormatError(RuntimeError):
    """A file cannot be read or written. The message is one sentence: which file, what is wrong, what to do."""


class NotRecordedError(LookupError):
    """The report lacks what a question needs: one sentence saying what, and which option records it."""


class AbsentError(FormatError, NotRecordedError):
    """A table or column that a question needs is not in the file, or cannot be believed."""


class LostError(AbsentError):
    """A table or an array of the file is damaged: nothing of it is shown."""
