"""The viewer's scripts and styles as one script and one style sheet, joined at start, and the script of Plotly.

The script runs the module MAIN of webapp/assets and all that it imports (webapp/shell/script_modules.py). Style
sheets stand in an order: files of webapp/assets itself, then the frame, what several views share, and the views, each
folder by name. An address holds the digest of its content, so that browsers keep it for good. Icons become data:
addresses in the style sheet, which the Content Security Policy allows for pictures.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

from flask import Flask, Response, request

from webapp.shell.script_modules import join_modules

#: The module that imports all others. The page loads shell/boot.js by itself, before everything else.
MAIN = "main.js"
#: Folders whose style sheets come before all others.
LEADING = ("shell", "shared")

#: The address that dash-renderer hands to dcc.Graph.
PLOT_SCRIPT = "/_dash-component-suites/plotly/package_data/plotly.min.js"

_VENDOR = Path(__file__).parents[1] / "vendor"
_PLOT_FILE = _VENDOR / "plotly-cartesian-3.7.0.min.js"
_GENERATORS = _VENDOR / "regenerator-runtime-0.13.11.js"

_URL = re.compile(r'url\("([\w./-]+\.svg)"\)')
_FOREVER = "private, max-age=31536000, immutable"


@dataclass(frozen=True)
class Joined:
    """Joined files: `path` is the address, `text` the content."""

    path: str
    text: bytes
    mimetype: str

    @cached_property
    def packed(self) -> bytes:
        """The content, compressed once."""
        return gzip.compress(self.text, 6, mtime=0)

    def response(self) -> Response:
        """The answer to the current request, compressed when the client accepts it."""
        if request.accept_encodings.quality("gzip") > 0:
            response = Response(self.packed, mimetype=self.mimetype, headers={"Content-Encoding": "gzip"})
        else:
            response = Response(self.text, mimetype=self.mimetype)
        response.headers["Vary"] = "Accept-Encoding"
        return response


def joined_assets(folder: Path) -> tuple[Joined, Joined]:
    """(script, style sheet) of a folder of assets. The script begins with the runtime of generators that Dash's scripts
    expect."""
    script = _text(_GENERATORS) + "\n;\n" + join_modules(folder, MAIN)
    style = "".join(_with_pictures(path) + "\n" for path in _style_sheets(folder))
    return _joined("script.js", script, "text/javascript"), _joined("style.css", style, "text/css")


def serve_joined(server: Flask, assets: tuple[Joined, ...]) -> None:
    """Serve the joined files at their addresses."""
    for each in assets:
        server.add_url_rule(each.path, f"joined_{each.path.rpartition('.')[2]}", _route(each))


def serve_plot_script(server: Flask) -> None:
    """Serve PLOT_SCRIPT. Its address has no version, so browsers check each time whether their copy is current."""
    script = Joined(PLOT_SCRIPT, _PLOT_FILE.read_bytes(), "text/javascript")
    mark = hashlib.blake2b(script.text, digest_size=8).hexdigest()
    threading.Thread(target=lambda: script.packed, daemon=True).start()

    def answer() -> Response:
        response = script.response()
        response.set_etag(mark + ("-gzip" if "Content-Encoding" in response.headers else ""))
        response.headers["Cache-Control"] = "no-cache"
        response.make_conditional(request)
        return response

    server.add_url_rule(PLOT_SCRIPT, "plot_script", answer)


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


def _style_sheets(folder: Path) -> list[Path]:
    """Files of the folder itself, of LEADING, then of the other folders by name."""

    def key(path: Path) -> tuple[int, tuple[str, ...], str]:
        parents = path.relative_to(folder).parent.parts
        rank = 0 if not parents else LEADING.index(parents[0]) + 1 if parents[0] in LEADING else len(LEADING) + 1
        return rank, parents, path.name

    return sorted(folder.rglob("*.css"), key=key)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _with_pictures(path: Path) -> str:
    """A style sheet with its pictures inlined."""
    return _URL.sub(lambda found: f'url("{_data_address(path.parent / found[1])}")', _text(path))


def _data_address(picture: Path) -> str:
    return "data:image/svg+xml," + quote(_text(picture).strip(), safe=" =:/'()")
