"""`popvision ask`: any question to a report, a page of its rows; and how commands are made from questions.

A command below `ask` or `export` has an option for each parameter of its question."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from popvision.cli.console import make_table
from popvision.cli.paging import open_report, page_options, show

if TYPE_CHECKING:
    from rich.table import Table

    from popvision.questions import Question
    from popvision.questions.parameters import Parameter

#: A decorator of click.
Option = Callable[[Callable[..., Any]], Callable[..., Any]]


class QuestionGroup(click.Group):
    """A group with a command for each question with rows; `make` builds the command when it is used."""

    def __init__(self, *, make: Callable[[Question[Any, Any]], click.Command], **options: Any) -> None:
        super().__init__(**options)
        self._make = make

    def list_commands(self, ctx: click.Context) -> list[str]:
        from popvision.questions import QUESTIONS

        return [name for name, question in QUESTIONS.items() if question.has_rows]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from popvision.questions import QUESTIONS

        question = QUESTIONS.get(cmd_name)
        return self._make(question) if question is not None and question.has_rows else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(f"{args[0]!r} is not one of {', '.join(self.list_commands(ctx))}.", ctx)
        return super().resolve_command(ctx, args)


def question_command(question: Question[Any, Any], run: Callable[..., None], *options: Option) -> click.Command:
    """The command of a question: `run` gets `report`, `arguments` (of the question) and the values of `options`."""

    def called(report: Path, **values: Any) -> None:
        arguments = {parameter.name: values.pop(parameter.name) for parameter in question.parameters}
        with contextlib.ExitStack() as stack:
            for parameter in question.parameters:
                if parameter.kind == "report":
                    arguments[parameter.name] = stack.enter_context(open_report(arguments[parameter.name]))
            run(question, report, arguments, **values)

    decorated: Callable[..., Any] = called
    for option in reversed((*map(_option, question.parameters), *options)):
        decorated = option(decorated)
    decorated = click.argument("report", type=click.Path(path_type=Path))(decorated)
    columns = question.columns_text()
    text = f"{question.about}\n\n\b\n{columns}" if columns else question.about
    return click.command(name=question.name, help=text, short_help=question.about.split(". ")[0])(decorated)


def _option(parameter: Parameter) -> Option:
    kinds: dict[str, Any] = {"integer": int, "text": str, "report": click.Path(path_type=Path)}
    kind = click.Choice(parameter.choices) if parameter.choices else kinds[parameter.kind]
    shown = parameter.default not in (None, "") and not parameter.is_required
    default = {} if parameter.is_required else {"default": parameter.default}
    return click.option(
        f"--{parameter.name.replace('_', '-')}",
        parameter.name,
        type=kind,
        required=parameter.is_required,
        show_default=shown,
        help=parameter.about,
        **default,
    )


def _run(
    question: Question[Any, Any],
    report: Path,
    arguments: dict[str, Any],
    name: str,
    order: str,
    limit: int,
    offset: int,
    as_json: bool,
) -> None:
    from popvision.answers.page import Page
    from popvision.answers.question import question_answer

    with open_report(report) as opened:
        page = Page(offset, limit)
        show(question_answer(question, opened.source, page, arguments, name=name, order=order), as_json, _tables)


def _tables(answer: dict[str, Any]) -> Sequence[Table]:
    rows = answer["rows"]
    columns = list(rows[0]) if rows else []
    titles = [column.replace("_", " ") for column in columns]
    return [make_table(titles, [list(row.values()) for row in rows])] if rows else []


def _command(question: Question[Any, Any]) -> click.Command:
    return question_command(
        question,
        _run,
        click.option("--name", default="", help="Show only rows in which a text contains this one (any case)."),
        click.option("--order", default="", help="A column: show its largest values first."),
        page_options(),
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    )


command = QuestionGroup(
    name="ask",
    make=_command,
    help="Ask REPORT a question: popvision ask tiles REPORT. The --help of each question lists its columns.",
)
