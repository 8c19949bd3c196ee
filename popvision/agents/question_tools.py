"""Tools for agents made from questions: a tool for each question whose answer has rows.

Its arguments are the question's parameters, and two that all share: rows whose texts contain a name, and a column to
order by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from popvision.agents.catalogue import Catalogue
from popvision.agents.tool import Argument, Tool
from popvision.answers.page import Page
from popvision.answers.question import question_answer
from popvision.questions import Question
from popvision.questions.parameters import Kind, Parameter

_NAME = Argument("name", "string", "Only rows with this text, any case.", "")
_ORDER = Argument("order", "string", "Column: its largest values first.", "")

#: Kind of a parameter -> JSON type. Lists of numbers and arrays of steps x tiles are no arguments and rows of a tool.
_JSON: dict[Kind, str] = {"integer": "integer", "text": "string", "report": "string"}


def question_tool(question: Question[Any, Any]) -> Tool:
    """The tool that asks a question."""
    about = " ".join(question.about.split())
    columns = ", ".join(question.columns.ids) if question.columns is not None else ""
    return Tool(
        question.name,
        f"{about} Columns: {columns}." if columns else about,
        _answer(question),
        (*(_argument(parameter) for parameter in question.parameters), _NAME, _ORDER),
    )


def _argument(parameter: Parameter) -> Argument:
    return Argument(
        parameter.name,
        _JSON[parameter.kind],
        parameter.about,
        None if parameter.is_required else parameter.default,
        choices=tuple(parameter.choices),
        low=0 if parameter.numbered is not None else parameter.low,
        required=parameter.is_required,
    )


def _answer(question: Question[Any, Any]) -> Callable[[Catalogue, dict[str, Any], Page], dict[str, Any]]:
    def answer(catalogue: Catalogue, arguments: dict[str, Any], page: Page) -> dict[str, Any]:
        asked = {
            parameter.name: catalogue.report(arguments[parameter.name])
            if parameter.kind == "report"
            else arguments[parameter.name]
            for parameter in question.parameters
        }
        source = catalogue.report(arguments["report"]).source
        return question_answer(question, source, page, asked, name=arguments["name"], order=arguments["order"])

    return answer
