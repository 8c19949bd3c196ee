"""The one exception of the file formats."""

from __future__ import annotations


class FormatError(RuntimeError):
    """A file cannot be read or written. The message is one sentence: which file, what is wrong, what to do."""
