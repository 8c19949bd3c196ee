"""A document as one HTML file without requests: its policy allows one inline script and one style sheet."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from html import escape
from itertools import takewhile
from pathlib import Path
from typing import Any

from popvision.analysis.execution.raster import CLASSES
from webapp.base.formats import bytes_text, percent_text
from webapp.base.theme import tokens
from webapp.documents.charts import curves_svg, picture_svg
from webapp.documents.confidential import Names
from webapp.documents.document import NAME_KINDS, Curves, Document, Drawing, Facts, Field, Note, Picture, Table

_HERE = Path(__file__).parent
_TOKENS = (
    "font",
    "mono",
    "page",
    "surface",
    "ink",
    "muted",
    "line",
    "line-strong",
    "accent",
    "bad",
    "bad-surface",
    "grid",
    "diff-more",
    "diff-less",
    *(f"series-{index}" for index in range(1, 7)),
)

#: Bytes of an exported file in UTF-8, within the limits of mail programs and issue trackers.
MOST_BYTES = 8_000_000

#: Bytes reserved for the head, the notes and the list of losses.
_RESERVED = 256_000

#: Characters of a name; a longer name is cut in the middle.
MOST_CHARACTERS = 240


#: Losses of a damaged report that are listed.
_MOST_LOST = 100


class Room:
    """The bytes left for the blocks of a file."""

    def __init__(self, size: int = MOST_BYTES) -> None:
        self.size = size
        self._left = size - min(_RESERVED, size // 2)
        self.is_cut = False

    def take(self, text: str) -> bool:
        """Whether the text fits; if so, its bytes are used up."""
        size = len(text.encode("utf-8", "replace"))
        if size > self._left:
            self.is_cut = True
            return False
        self._left -= size
        return True


def write_page(document: Document, names: Names, theme: str = "both", most: int = MOST_BYTES) -> str:
    """The HTML text. `theme`: "light", "dark", or "both" (follows the system, with a button). Blocks beyond `most`
    bytes are omitted and named."""
    style, script = _style(theme), (_HERE / "document.js").read_text("utf-8")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    title = f"{document.title} – {safe_text(document.report)}"
    button = '<button type="button" id="theme">Light or dark</button>' if theme == "both" else ""
    facts = "".join(
        f"<span><b>{_text(label)}</b> <bdi>{_text(value)}</bdi></span>" for label, value in document.provenance
    )
    return "".join(
        [
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{_text(title)}</title><style>{style}</style></head><body><header>{button}",
            f"<h1>{_text(document.title)} <bdi>{_text(document.report)}</bdi></h1>",
            f'<p class="provenance">{facts}</p></header><main>',
            _lost(document),
            *_blocks(document, names, Room(most)),
            f"</main><script>{script}</script></body></html>",
        ]
    )


def safe_text(text: str) -> str:
    """The text with visible control characters, cut in the middle when very long; it is safe to escape."""
    shown = "".join(chr(0x2400 + ord(c)) if ord(c) < 32 else "\ufffd" if _is_odd(c) else c for c in text)
    if len(shown) <= MOST_CHARACTERS:
        return shown
    half = MOST_CHARACTERS // 2
    return f"{shown[:half]} … {shown[-half:]} ({len(shown):,} characters)"


def _is_odd(character: str) -> bool:
    code = ord(character)
    return 0x7F <= code < 0xA0 or 0xD800 <= code <= 0xDFFF


def _text(text: Any) -> str:
    return escape(safe_text(str(text)))


def _lost(document: Document) -> str:
    if not document.lost:
        return ""
    rows = "".join(f"<li>{_text(each)}</li>" for each in document.lost[:_MOST_LOST])
    if len(document.lost) > _MOST_LOST:
        rows += f"<li>and {len(document.lost) - _MOST_LOST:,} more</li>"
    head = f"<b>{_text(document.damage)}</b> Lost:"
    return f'<div class="lost">{head}<ul>{rows}</ul></div>'


def _blocks(document: Document, names: Names, room: Room) -> list[str]:
    """The blocks that fit, preceded by a note when some are omitted."""
    parts: list[str] = []
    for block in document.blocks:
        if isinstance(block, Table):
            parts.append(_table(block, names, room))
            continue
        text = _block(block)
        left_out = f"Omitted: {getattr(block, 'title', '') or 'a part of this view'}."
        parts.append(text if room.take(text) else f'<p class="note">{_text(left_out)}</p>')
    if not room.is_cut:
        return parts
    note = f"An exported file has at most {room.size / 1e6:g} MB: notes below name the omitted parts."
    return [f'<p class="lost" role="note">{note}</p>', *parts]


def _block(block: Facts | Curves | Picture | Drawing | Note) -> str:
    if isinstance(block, Facts):
        return _facts(block)
    if isinstance(block, Curves):
        return _curves(block)
    if isinstance(block, Picture):
        return _picture(block)
    if isinstance(block, Drawing):
        return f"<section><h2>{_text(block.title)}</h2>{_key(block.lines)}{block.svg}</section>"
    assert isinstance(block, Note)
    return f'<p class="note">{_text(block.text)}</p>'


def _facts(facts: Facts) -> str:
    head = f"<h2>{_text(facts.title)}</h2>" if facts.title else ""
    cells = "".join(
        f"<div><dt>{_text(label)}</dt><dd>{_text(value)}<small>{_text(exact)}</small></dd></div>"
        for label, value, exact in facts.rows
    )
    return f'<section>{head}<dl class="facts">{cells}</dl></section>'


def _curves(curves: Curves) -> str:
    drawing, decimated = curves_svg(curves)
    note = '<p class="note">The plot shows minima and maxima only.</p>' if decimated else ""
    return f"<section><h2>{_text(curves.title)}</h2>{_key(curves.names, curves.series)}{drawing}{note}</section>"


def _key(names: Sequence[str], series: Sequence[int] = ()) -> str:
    """The colours of lines, of which there are six, by default one after the other."""
    numbers = series or [at % 6 + 1 for at in range(len(names))]
    items = (
        f'<span><i class="key series-{number}"></i>{_text(name)}</span>'
        for name, number in zip(names, numbers, strict=True)
    )
    return f'<p class="legend">{"".join(items)}</p>' if names else ""


def _picture(picture: Picture) -> str:
    key = "".join(f'<span><i class="key step-{name}"></i>{_text(text)}</span>' for name, text in picture.legend)
    note = f'<p class="note">{_text(picture.note)}</p>' if picture.note else ""
    return f'<section><h2>{_text(picture.title)}</h2><p class="legend">{key}</p>{picture_svg(picture)}{note}</section>'


_SHOWN: dict[str, Callable[[Any], str]] = {
    "integer": lambda value: f"{int(value):,}",
    "cycles": lambda value: f"{int(value):,}",
    "bytes": bytes_text,
    "percent": percent_text,
    "decimal": lambda value: f"{float(value):,.3f}",
}


def _table(table: Table, names: Names, room: Room) -> str:
    head = "".join(
        f'<th scope="col" class="{"number" if each.kind in _SHOWN else "words"}">'
        f'<button type="button"{_explained(each)}>{_text(each.title)}</button></th>'
        for each in table.fields
    )
    lines = ("".join(_cell(row.get(each.name), each.kind, names) for each in table.fields) for row in table.rows)
    rows = list(takewhile(room.take, (f"<tr>{line}</tr>" for line in lines)))
    body, total = "".join(rows), max(table.total, len(table.rows))
    note = f" <small>the first {len(rows):,} of {total:,} rows</small>" if len(rows) < total else ""
    return (
        f"<section><h2>{_text(table.title)}{note}</h2>"
        f'<div class="scroll" tabindex="0" role="region" aria-label="{_text(table.title)}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></section>"
    )


def _explained(field: Field) -> str:
    return f' title="{_text(field.help)}"' if field.help else ""


def _cell(value: Any, kind: str, names: Names) -> str:
    if kind not in _SHOWN:
        text = names.show(kind, value) if kind in NAME_KINDS else "" if value is None else str(value)
        start = '<td class="code">' if kind == "code" else "<td>"
        return f"{start}<bdi>{_text(text)}</bdi></td>"
    if value is None or value != value:  # NaN and pandas' NA are unknown
        return '<td class="number">–</td>'
    exact = f' title="{int(value):,} B"' if kind == "bytes" else ""
    return f'<td class="number" data-value="{float(value)!r}"{exact}>{_text(_SHOWN[kind](value))}</td>'


def _style(theme: str) -> str:
    pictures = "".join(f"--picture-{name}:{tokens('light')[f'step-{name}-fill']};" for name in CLASSES)
    base = f":root{{{pictures}}}" + (_HERE / "document.css").read_text("utf-8")
    if theme != "both":
        return f":root{{{_variables(theme)}color-scheme:{theme}}}{base}"
    dark = f"{_variables('dark')}color-scheme:dark"
    return (
        f":root{{{_variables('light')}color-scheme:light}}"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}"
        f":root[data-theme=dark]{{{dark}}}{base}"
    )


def _variables(theme: str) -> str:
    values = tokens(theme)
    return "".join(f"--{name}:{values[name]};" for name in _TOKENS if name in values)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
