"""The export of a view over HTTP: `/data/<key>/<view>/export.html?<selection>[&confidential=1][&html_theme=dark]`."""

from __future__ import annotations

from dash import Dash
from flask import Response, request

from webapp.base.comparison import target_of_page
from webapp.base.library import Library
from webapp.documents.export import ExportError, export_document, export_trace, file_name
from webapp.system_analyser.timeline.device_rows import reports_of_files

_OPTIONS = ("confidential", "html_theme")


def register(app: Dash, library: Library) -> None:
    """The one route."""

    def respond(key: str, view: str) -> Response:
        confidential = request.args.get("confidential") == "1"
        params = {name: value for name, value in request.args.items() if name not in _OPTIONS}
        theme = request.args.get("html_theme", "both")
        try:
            if view == "timeline":
                trace = library.trace(key)
                reports = reports_of_files(library, key, trace)
                page = export_trace(trace, params, confidential=confidential, theme=theme, reports=reports)
                name = file_name(trace, view, confidential)
            else:
                report = library.report(key)
                target = target_of_page(library, params)
                page = export_document(report, view, params, target=target, confidential=confidential, theme=theme)
                name = file_name(report, view, confidential)
        except ExportError as problem:
            return Response(str(problem), status=404, mimetype="text/plain")
        response = Response(page, mimetype="text/html")
        response.headers["Content-Disposition"] = f"attachment; filename={name}"
        return response

    app.server.add_url_rule("/data/<key>/<view>/export.html", "export-document", respond)
