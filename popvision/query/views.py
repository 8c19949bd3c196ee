"""Every view, in the order in which docs/query.md lists them."""

from __future__ import annotations

from popvision.query.execution_views import EXECUTION
from popvision.query.memory_views import MEMORY
from popvision.query.program_views import PROGRAMS
from popvision.query.view import View

#: View by name. No name is that of a table of the file (formats/profile/schema.py): those stay as they are.
VIEWS: dict[str, View] = {each.name: each for each in (*MEMORY, *PROGRAMS, *EXECUTION)}
