"""The viewer's scripts and styles as one script and one style sheet, joined when the server starts.

The files stay apart in webapp/assets: those of the folder itself first, then folder by folder, by name within each, as
Dash would load them one by one. An address holds the digest of what it answers, so a browser keeps the answer for good.
Icons stand in the style sheet as data: addresses (the policy allows these for pictures).
"""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

from flask import Flask, Response, request

#: A file that the page loads by itself, before everything else.
FIRST = "boot.js"

_URL = re.compile(r'url\("([\w./-]+\.svg)"\)')
_FOREVER = "private, max-age=31536000, immutable"


@dataclass(frozen=True)
class Joined:
    """Files joined: `path` is the address, `text` what it answers."""

    path: str
    text: bytes
    mimetype: str

    @cached_property
    def packed(self) -> bytes:
        """The same, compressed once."""
        return gzip.compress(self.text, 6, mtime=0)

    def response(self) -> Response:
        """An answer to this request, compressed for who takes it."""
        if request.accept_encodings.quality("gzip") > 0:
            response = Response(self.packed, mimetype=self.mimetype, headers={"Content-Encoding": "gzip"})
        else:
            response = Response(self.text, mimetype=self.mimetype)
        response.headers["Vary"] = "Accept-Encoding"
        return response


def joined_assets(folder: Path) -> tuple[Joined, Joined]:
    """(script, style sheet) of a folder of assets."""
    scripts = [path for path in _in_order(folder, ".js") if path.name != FIRST]
    script = "".join(f"/* {path.relative_to(folder).as_posix()} */\n{_text(path)}\n;\n" for path in scripts)
    style = "".join(_with_pictures(path) + "\n" for path in _in_order(folder, ".css"))
    return _joined("script.js", script, "text/javascript"), _joined("style.css", style, "text/css")


def serve_joined(server: Flask, assets: tuple[Joined, ...]) -> None:
    """Answer their addresses."""
    for each in assets:
        server.add_url_rule(each.path, f"joined_{each.path.rpartition('.')[2]}", _route(each))


def _route(joined: Joined) -> Callable[[], Response]:
    def answer() -> Response:
        response = joined.response()
        response.headers["Cache-Control"] = _FOREVER
        return response

    return answer


def _joined(name: str, text: str, mimetype: str) -> Joined:
    data = text.encode()
    digest = hashlib.blake2b(data, digest_size=8).hexdigest()
    return Joined(f"/assets/joined/{digest}/{name}", data, mimetype)


def _in_order(folder: Path, suffix: str) -> list[Path]:
    """Files by folder, then by name; of the folder itself first."""
    found = folder.rglob(f"*{suffix}")
    return sorted(found, key=lambda path: (path.relative_to(folder).parent.parts, path.name))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _with_pictures(path: Path) -> str:
    """A style sheet whose pictures stand in it."""
    return _URL.sub(lambda found: f'url("{_data_address(path.parent / found[1])}")', _text(path))


def _data_address(picture: Path) -> str:
    return "data:image/svg+xml," + quote(_text(picture).strip(), safe=" =:/'()")
