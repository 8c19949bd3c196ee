"""`POST /data/upload?name=report.zip` with the file as body answers {"href": ...} or one sentence."""

from __future__ import annotations

from dash import Dash
from flask import Response, jsonify, request

from webapp.base.views import views_of
from webapp.shell.uploads.store import Uploads
from webapp.shell.uploads.unpack import RefusedError

#: A header that pages of other sites cannot send without a CORS preflight.
HEADER = "X-Popvision"


def register(app: Dash, uploads: Uploads) -> None:
    """Add the route."""

    def respond() -> Response:
        if request.headers.get(HEADER) != "upload":
            return Response(f"An upload needs the header {HEADER}: upload.", status=403, mimetype="text/plain")
        name = request.args.get("name", "")[:200]
        try:
            entries = uploads.take(request.stream, name, request.content_length)
        except RefusedError as problem:
            text = f"{name[:80] or 'This file'} was not accepted: {problem}."
            return Response(text, status=422, mimetype="text/plain")
        first = next((each for each in entries if each.kind == "report"), entries[0])
        page = f"/{'r' if first.kind == 'report' else 't'}/{first.key}/{views_of(first.kind)[0].id}"
        return jsonify({"href": page if len(entries) == 1 else "/", "entries": len(entries)})

    app.server.add_url_rule("/data/upload", "upload", respond, methods=["POST"])
