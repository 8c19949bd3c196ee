"""Sentences of the interface are short: at most 20 words, and one relative clause."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

WEBAPP = Path(__file__).parents[2] / "webapp"

MOST_WORDS = 20
_RELATIVE = re.compile(r"\b(that|which|who|whose|whom)\b")
_END = re.compile(r"(?<=[.!?;:])\s+")

#: Modules whose long texts are no sentences of a page: the page itself, and an error about its scripts.
_NO_SENTENCES = ("index_page.py", "script_modules.py")


def _texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The strings of a module with their lines, values of f-strings as one word each; no docstrings."""
    left_out: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            left_out.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            left_out.update(map(id, node.values))
            yield (
                node.lineno,
                "".join(str(part.value) if isinstance(part, ast.Constant) else "0" for part in node.values),
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield node.lineno, node.value


def long_sentences(text: str) -> list[str]:
    """The sentences of a text with over MOST_WORDS words, or with two relative clauses."""
    return [
        sentence
        for sentence in _END.split(text)
        if len(sentence.split()) > MOST_WORDS or len(_RELATIVE.findall(sentence)) > 1
    ]


def _is_no_sentence(text: str) -> bool:
    """Formulas, and lines of a program or a configuration."""
    return "\n" in text or " = " in text


def test_no_sentence_is_long() -> None:
    found = []
    for path in sorted(WEBAPP.rglob("*.py")):
        if path.name in _NO_SENTENCES:
            continue
        for line, text in _texts(ast.parse(path.read_text("utf-8"))):
            if not _is_no_sentence(text):
                found += [f"{path.relative_to(WEBAPP)}:{line}: {each}" for each in long_sentences(text)]
    assert found == []


def test_no_sentence_of_a_script_is_long() -> None:
    found = []
    for path in sorted((WEBAPP / "assets").rglob("*.js")):
        code = re.sub(r"/\*.*?\*/", "", path.read_text("utf-8"), flags=re.DOTALL)
        joined = re.sub(r'"\s*\+\s*"', "", code)
        for text in re.findall(r'"([^"\n]*)"', joined):
            found += [f"{path.relative_to(WEBAPP)}: {each}" for each in long_sentences(text)]
    assert found == []


def test_a_long_sentence_and_two_clauses_are_seen() -> None:
    words = "word " * MOST_WORDS
    assert long_sentences(f"{words.strip()}. {words}more.") == [f"{words}more."]
    assert long_sentences("The tile that waits for the tile which is late.") != []
    assert long_sentences("The tile that waits is late. So is the one that follows.") == []
