"""Plotly for lines, bars and heat maps at the address where Dash asks for all of Plotly (webapp/vendor/README.md)."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

from flask import Flask, Response, request

from webapp.asset_bundle import Joined

#: The address that dash-renderer hands to dcc.Graph.
PATH = "/_dash-component-suites/plotly/package_data/plotly.min.js"

_FILE = Path(__file__).with_name("vendor") / "plotly-cartesian-3.7.0.min.js"


def serve_plot_script(server: Flask) -> None:
    """Answer PATH; the address names no version, so browsers ask each time whether theirs is still the one."""
    script = Joined(PATH, _FILE.read_bytes(), "text/javascript")
    mark = hashlib.blake2b(script.text, digest_size=8).hexdigest()
    threading.Thread(target=lambda: script.packed, daemon=True).start()

    def answer() -> Response:
        response = script.response()
        response.set_etag(mark + ("-gzip" if "Content-Encoding" in response.headers else ""))
        response.headers["Cache-Control"] = "no-cache"
        response.make_conditional(request)
        return response

    server.add_url_rule(PATH, "plot_script", answer)
