"""All views, in the order of docs/query.md."""

from __future__ import annotations

from popvision.query.execution_views import EXECUTION
from popvision.query.memory_views import MEMORY
from popvision.query.program_views import PROGRAMS
from popvision.query.view import View

#: View by name. No view has the name of a table of the file (formats/profile/schema.py): tables stay readable.
VIEWS: dict[str, View] = {each.name: each for each in (*MEMORY, *PROGRAMS, *EXECUTION)}
