"""All views, in the order of docs/query.md: those over the tables of the file, and one for each other question."""

from __future__ import annotations

from typing import Any

from popvision.formats.profile.schema import TABLES
from popvision.query.execution_views import EXECUTION
from popvision.query.memory_views import MEMORY
from popvision.query.program_views import PROGRAMS
from popvision.query.view import Column, View
from popvision.questions import QUESTIONS, Question

#: Question -> the view that has its rows, where that is written over the tables of the file.
WRITTEN = {
    "memory_totals": "category_totals",
    "variables": "graph_variables",
    "liveness": "liveness_curve",
    "programs": "program_list",
    "compute_sets": "compute_set_list",
    "vertex_types": "vertices",
    "runs": "execution_runs",
    "steps": "execution_steps",
    "steps_on_ipu": "execution_steps",
    "messages": "exchange_messages",
    "blocks": "block_list",
    "explain": "cost_term_list",
}


#: View of before -> the view that has its rows.
RENAMED = {"operation_list": "operations"}


def _question_view(question: Question[Any, Any]) -> View:
    """The rows of a question with its defaults, by the SQL function `question_rows`."""
    columns = tuple(
        Column(column.id, f"j.value ->> {place}", column.unit_words, column.meaning)
        for place, column in enumerate(question.columns or ())
    )
    return View(question.name, question.about, columns, f"json_each(question_rows('{question.name}')) j")


def _views() -> dict[str, View]:
    written = {view.name: view for view in (*MEMORY, *PROGRAMS, *EXECUTION)}
    others = [
        question
        for name, question in QUESTIONS.items()
        if question.has_rows and name not in {*written, *WRITTEN, *TABLES}
    ]
    return written | {
        question.name: _question_view(question)
        for question in others
        if question.has_fixed_columns and not any(parameter.is_required for parameter in question.parameters)
    }


#: View by name. No view has the name of a table of the file (formats/profile/schema.py): tables stay readable.
VIEWS: dict[str, View] = _views()
