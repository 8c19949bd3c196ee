"""Questions to a report, each defined once; whoever asks (frames, SQL, the command line, agents, pages) asks these.

`QUESTIONS` has them by name. A new question is a function with `@question(COLUMNS)` in the module of its subject; a new
column is a line in the declaration above it, and its values. What one question alone reads is imported in it: a process
that answers SQL declares all questions before it answers one.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from popvision.questions import (
    entire_report,
    exchange,
    execution,
    liveness,
    memory,
    operations,
    programs,
    source_lines,
    vertices,
)
from popvision.questions.question import Answer, NoSuchError, Question

__all__ = ["QUESTIONS", "Answer", "NoSuchError", "Question"]


def _questions(module: ModuleType) -> dict[str, Question[Any, Any]]:
    return {
        name: made
        for name, made in vars(module).items()
        if isinstance(made, Question) and made.__module__ == module.__name__
    }


#: Every question by name, by subject.
QUESTIONS: dict[str, Question[Any, Any]] = {
    name: made
    for module in (
        entire_report,
        memory,
        liveness,
        programs,
        vertices,
        operations,
        source_lines,
        exchange,
        execution,
    )
    for name, made in _questions(module).items()
}
