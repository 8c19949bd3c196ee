"""The export of a view over HTTP: `/data/<key>/<view>/export.html?<selection>[&confidential=1][&html_theme=dark]`."""

from __future__ import annotations

from dash import Dash
from flask import Response, request

from webapp.documents.export import ExportError, export_document, file_name
from webapp.library import Library

_OPTIONS = ("confidential", "html_theme")


def register(app: Dash, library: Library) -> None:
    """The one route."""

    def respond(key: str, view: str) -> Response:
        source = library.report(key)
        confidential = request.args.get("confidential") == "1"
        params = {name: value for name, value in request.args.items() if name not in _OPTIONS}
        try:
            page = export_document(
                source, view, params, confidential=confidential, theme=request.args.get("html_theme", "both")
            )
        except ExportError as problem:
            return Response(str(problem), status=404, mimetype="text/plain")
        response = Response(page, mimetype="text/html")
        response.headers["Content-Disposition"] = f"attachment; filename={file_name(source, view, confidential)}"
        return response

    app.server.add_url_rule("/data/<key>/<view>/export.html", "export-document", respond)
