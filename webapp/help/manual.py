"""The documents that ship with popvision, read when first asked for, and a search over their sections.

Some 40 documents of 650 kB. The first search parses them all, within a second; each one then looks through the text of
all sections, some milliseconds. There is no index.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from markdown_it.tree import SyntaxTreeNode

from popvision.package_data import package_folder
from webapp.components.static_html import static_html
from webapp.help.markdown import components, parsed, plain_text, slug_of

#: Document that help opens with where a page has no chapter of its own.
FIRST = "questions"

#: Documents for readers of pages, whose sections come first in a search.
LEADING = ("viewer", "glossary", "questions")

#: Sections that a search answers, and characters of text around the words found.
MOST_FOUND = 40
_BEFORE, _AFTER = 40, 160


@dataclass(frozen=True)
class Section:
    """A heading with the text below it, up to the next heading. `slug` is its anchor."""

    heading: str
    slug: str
    text: str

    @cached_property
    def words(self) -> str:
        return f"{self.heading}\n{self.text}".lower()


@dataclass(frozen=True)
class Document:
    """One Markdown file; `name` is its stem."""

    name: str
    source: str

    @cached_property
    def tree(self) -> SyntaxTreeNode:
        return parsed(self.source)

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        return tuple(_sections(self.tree))

    @cached_property
    def title(self) -> str:
        """Its first heading."""
        found = re.search(r"^# (.+)$", self.source, re.MULTILINE)
        return self.name if found is None else plain_text(parsed(found[1])).strip()


@dataclass(frozen=True)
class Found:
    """A section that has all words of a search."""

    document: Document
    section: Section
    excerpt: str


class Manual:
    """The documents of a folder and of the folders in it, by name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        paths = sorted(folder.rglob("*.md"))
        self.documents = {path.stem: Document(path.stem, path.read_text(encoding="utf-8")) for path in paths}
        self.pictures = frozenset(path.name for path in folder.glob("images/*.png"))

    def html_of(self, name: str) -> str:
        """A document as HTML. Raises KeyError for a name that is no document's."""
        return static_html(components(self.documents[name].tree, frozenset(self.documents)))

    def search(self, text: str) -> list[Found]:
        """The sections with all words of `text`: those with all in their heading first, then those of LEADING with
        the words side by side, then by how often the words occur for their length."""
        words = text.lower().split()
        if not words:
            return []
        phrase = " ".join(words)
        found = [
            (_rank(document.name, section, words, phrase), document, section)
            for document in self.documents.values()
            for section in document.sections
            if all(word in section.words for word in words)
        ]
        found.sort(key=lambda each: (each[0], each[1].name))
        sought = [phrase, *words]
        return [Found(document, section, excerpt(section.text, sought)) for _, document, section in found[:MOST_FOUND]]


@cache
def manual() -> Manual:
    """The documents of this installation. Raises FileNotFoundError without them."""
    return Manual(package_folder("docs"))


def excerpt(text: str, sought: Sequence[str]) -> str:
    """The text around the first of the texts sought that occurs, or its beginning."""
    lower = text.lower()
    at = next((place for place in map(lower.find, sought) if place >= 0), 0)
    begin, end = max(0, at - _BEFORE), min(len(text), at + _AFTER)
    return ("… " if begin else "") + text[begin:end].strip() + (" …" if end < len(text) else "")


def _rank(name: str, section: Section, words: Sequence[str], phrase: str) -> tuple[bool, bool, float]:
    in_heading = all(word in section.heading.lower() for word in words)
    density = sum(section.words.count(word) for word in words) / (len(section.words) + 400)
    return not in_heading, not (name in LEADING and phrase in section.words), -density


def _sections(tree: SyntaxTreeNode) -> Iterator[Section]:
    heading, parts = "", list[str]()
    for node in tree.children:
        if node.type == "heading":
            if heading:
                yield Section(heading, slug_of(heading), _joined(parts))
            heading, parts = plain_text(node), []
        else:
            parts.append(plain_text(node))
    if heading:
        yield Section(heading, slug_of(heading), _joined(parts))


def _joined(parts: Sequence[str]) -> str:
    return re.sub(r"\s+", " ", " ".join(parts)).strip()
