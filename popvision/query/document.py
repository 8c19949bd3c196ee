"""Write the list of views in docs/query.md from the views themselves.

`python -m popvision.query.document docs/query.md` replaces everything after the line "## Views"."""

from __future__ import annotations

import sys
from pathlib import Path

from popvision.query.view import View
from popvision.query.views import VIEWS

MARK = "## Views"


def views_text() -> str:
    """The heading, and a table per view."""
    return "\n".join([MARK, "", *(line for each in VIEWS.values() for line in _view_lines(each))])


def _view_lines(view: View) -> list[str]:
    fast = [f"Fast with `{view.fast}`." if " (" not in view.fast else f"Fast with {_as_code(view.fast)}.", ""]
    rows = [f"| `{each.name}` | {each.unit} | {each.about} |" for each in view.columns]
    head = [f"### {view.name}", "", view.about, ""]
    return [*head, *(fast if view.fast else []), "| column | unit | meaning |", "| --- | --- | --- |", *rows, ""]


def _as_code(text: str) -> str:
    condition, _, remark = text.partition(" (")
    return f"`{condition}` ({remark}"


def with_views(text: str) -> str:
    """The document with a new list of views."""
    return text[: text.index(MARK)] + views_text()


if __name__ == "__main__":
    document = Path(sys.argv[1])
    document.write_text(with_views(document.read_text(encoding="utf-8")), encoding="utf-8")
