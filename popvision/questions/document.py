"""Write the list of questions in docs/open.md from the questions themselves.

`python -m popvision.questions.document docs/open.md` replaces everything after the line "## Questions"."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

from popvision.questions import QUESTIONS, Question

MARK = "## Questions"


def questions_text() -> str:
    """The heading, and for each question its parameters, what its rows are, and a table of its columns."""
    return "\n".join([MARK, "", *(line for question in QUESTIONS.values() for line in _question_lines(question))])


def with_questions(text: str) -> str:
    """The document with a new list of questions."""
    return text[: text.index(MARK)] + questions_text()


def _question_lines(question: Question[Any, Any]) -> list[str]:
    parts = [" ".join(part.split()) for part in (question.about, question.raises) if part]
    rows = [f"| `{column.id}` | {column.unit_words} | {column.meaning} |" for column in question.columns or ()]
    head = ["| column | unit | meaning |", "| --- | --- | --- |"] if rows else []
    table = [*head, *rows, ""] if rows else []
    return [f"### {question.name}({_parameters(question)})", "", " ".join(parts), "", *table]


def _parameters(question: Question[Any, Any]) -> str:
    shown = []
    for parameter in question.parameters:
        is_bare = parameter.default in (inspect.Parameter.empty, None)
        shown.append(parameter.name if is_bare else f"{parameter.name}={parameter.default!r}")
    return ", ".join(shown)


if __name__ == "__main__":
    document = Path(sys.argv[1])
    document.write_text(with_questions(document.read_text(encoding="utf-8")), encoding="utf-8")
