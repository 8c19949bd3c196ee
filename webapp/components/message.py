"""Sentences that stand where content is missing."""

from __future__ import annotations

from typing import Any

from dash import html
from dash.development.base_component import Component


def empty_hint(sentence: str) -> Component:
    """A quiet line in an empty tab or panel, such as "Select a tile to see its details"."""
    return html.Div(sentence, className="empty-hint")


def message_page(title: str, sentence: str, *more: Any) -> Component:
    """A whole page that says one thing, with links to go on."""
    return html.Section([html.H2(title), html.P(sentence), *[html.P(each) for each in more]], className="message-page")


def sentence(problem: Exception) -> str:
    """The message of an error as a sentence: a capital first, one full stop last."""
    text = str(problem)
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
