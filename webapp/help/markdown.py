"""A Markdown document as components and as sections of plain text, by one pass over its tokens.

The documents use headings, paragraphs, lists, tables, code, links and pictures; HTML in them is text. Links between
documents become links of the viewer, links to files that are not shipped become text.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from dash import html
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from webapp.components.attributes import attributes

_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")

_PLAIN: dict[str, Any] = {
    "paragraph": html.P,
    "bullet_list": html.Ul,
    "ordered_list": html.Ol,
    "list_item": html.Li,
    "blockquote": html.Blockquote,
    "strong": html.Strong,
    "em": html.Em,
    "thead": html.Thead,
    "tbody": html.Tbody,
    "tr": html.Tr,
    "th": html.Th,
    "td": html.Td,
}

#: Headings of a document stand below the heading of the page.
_HEADINGS = {"h1": html.H2, "h2": html.H3, "h3": html.H4}

_PUBLIC = ("http", "https")

#: Folders of documents, as links name them from one another.
_FOLDERS = ("", "docs", "measured", "..")


def slug_of(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def parsed(text: str) -> SyntaxTreeNode:
    """The tree of a document."""
    return SyntaxTreeNode(_MARKDOWN.parse(text))


def plain_text(node: SyntaxTreeNode) -> str:
    """The text of a node without marks."""
    if node.type in ("text", "code_inline", "fence", "code_block"):
        return node.content
    if node.type in ("softbreak", "hardbreak"):
        return " "
    between = " " if node.type in ("tr", "table", "tbody", "thead", "bullet_list", "ordered_list", "root") else ""
    return between.join(plain_text(each) for each in node.children)


def components(node: SyntaxTreeNode, names: frozenset[str]) -> list[Any]:
    """The children of a node as components; `names` are the documents that links may lead to."""
    return [part for each in node.children for part in _component(each, names)]


def _component(node: SyntaxTreeNode, names: frozenset[str]) -> Iterator[Any]:
    kind = node.type
    if kind == "inline":
        yield from components(node, names)
    elif kind == "text":
        yield node.content
    elif kind in ("softbreak", "hardbreak"):
        yield " "
    elif kind == "code_inline":
        yield html.Code(node.content)
    elif kind in ("fence", "code_block"):
        yield html.Pre(node.content, tabIndex="0")
    elif kind == "heading":
        more = attributes(data_section=slug_of(plain_text(node)))
        yield _HEADINGS.get(node.tag, html.H5)(components(node, names), tabIndex="-1", **more)
    elif kind == "table":
        yield html.Div(html.Table(components(node, names)), className="help-table")
    elif kind == "image":
        yield from _picture(node)
    elif kind == "link":
        yield from _link(node, names)
    elif kind in _PLAIN:
        yield _PLAIN[kind](components(node, names))
    else:
        yield plain_text(node)


def _picture(node: SyntaxTreeNode) -> Iterator[Any]:
    path, words = str(node.attrs.get("src", "")), plain_text(node)
    if re.fullmatch(r"images/[\w.-]+\.png", path):
        yield html.Img(src=f"/data/help/{path}", alt=words)
    else:
        yield words


def _link(node: SyntaxTreeNode, names: frozenset[str]) -> Iterator[Any]:
    """Within the documents `/help/NAME#section`, and another site in a tab of its own."""
    href, inside = str(node.attrs.get("href", "")), components(node, names)
    address = urlsplit(href)
    if address.scheme in _PUBLIC:
        yield html.A(inside, href=href, target="_blank", rel="noreferrer")
        return
    name = posixpath.splitext(posixpath.basename(address.path))[0]
    beside = posixpath.dirname(posixpath.normpath(address.path)) in _FOLDERS
    if not address.path:
        yield html.A(inside, href=f"#{address.fragment}", **attributes(data_help_link=""))
    elif beside and address.path.endswith(".md") and name in names:
        section = f"#{address.fragment}" if address.fragment else ""
        yield html.A(inside, href=f"/help/{name}{section}", **attributes(data_help_link=""))
    else:
        yield html.Span(inside, title=f"{href}, in the source")
