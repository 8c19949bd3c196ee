"""ProfileReader: profile.pop as the columns of `model`.

Every call opens the file, reads and closes it again; scalar tables are kept in memory until the file changes. What
one call returns belongs to one state of the file, also while a program is still appending runs.
"""

from __future__ import annotations

from popvision.formats.profile.memory_questions import MemoryQuestions
from popvision.formats.profile.program_questions import ProgramQuestions
from popvision.formats.profile.run_questions import RunQuestions


class ProfileReader(ProgramQuestions, MemoryQuestions, RunQuestions):
    """A profile.pop opened for reading. All methods raise FormatError, nothing else. Safe to share between threads.

    A foreign SQLite database opens as far as its tables are known: `missing` names the rest, which reads as empty."""
