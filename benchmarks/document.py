"""Write measured sections into docs/*.md, each between two marks."""

from __future__ import annotations

from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def write_section(file: str, name: str, text: str) -> None:
    """Replace the text between the marks of `name` in docs/`file`, or add the section at the end."""
    path = DOCS / file
    begin, end = f"<!-- {name} begin -->", f"<!-- {name} end -->"
    whole = path.read_text("utf-8")
    section = f"{begin}\n{text.rstrip()}\n{end}"
    if begin in whole and end in whole:
        whole = whole[: whole.index(begin)] + section + whole[whole.index(end) + len(end) :]
    else:
        whole = whole.rstrip("\n") + "\n\n" + section + "\n"
    path.write_text(whole, "utf-8")
