"""The Dash application: stores and callbacks of the frame, the views, and the checks of every request."""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, ctx, dcc, html, no_update, set_props
from dash.development.base_component import Component
from flask import Response
from werkzeug.exceptions import InternalServerError

from popvision.analysis.report.not_recorded import FormatError, NotRecordedError
from webapp.base import preferences
from webapp.base.access import Access
from webapp.base.library import Library, UnknownKeyError
from webapp.base.views import all_views
from webapp.catalogue import routes as catalogue_routes
from webapp.catalogue import what_if_routes
from webapp.catalogue.folders import CatalogueFolders
from webapp.components.frozen import frozen, managed_by
from webapp.components.page_parts import filled_page
from webapp.documents import routes as document_routes
from webapp.help import routes as help_routes
from webapp.picker import thumbnails
from webapp.shell import pages, shell_routes
from webapp.shell.asset_bundle import joined_assets, serve_joined, serve_plot_script
from webapp.shell.guards.callback_requests import check_callback_requests
from webapp.shell.index_page import ViewerApp, index_string
from webapp.shell.read_ahead import follow_pages
from webapp.shell.security import HostPolicy, protect
from webapp.shell.uploads import Uploads
from webapp.shell.uploads import routes as upload_routes
from webapp.watched import routes as watch_routes
from webapp.watched.program import WatchedProgram

_ASSETS = Path(__file__).parents[1] / "assets"


def create_app(
    library: Library,
    policy: HostPolicy | None = None,
    *,
    access: Access | None = None,
    uploads: Uploads | None = None,
    watched: WatchedProgram | None = None,
) -> Dash:
    """The viewer of a library. `policy` decides which Host headers are accepted (default: loopback names, any port),
    `access` requires a token, `uploads` accepts reports dropped on the first page, `watched` is shown at
    /watch."""
    with _uncollected():
        return _create_app(library, policy, access, uploads, watched)


@contextmanager
def _uncollected() -> Iterator[None]:
    """No garbage is collected meanwhile. Werkzeug parses Python for each route, and CPython before 3.11.8 counts the
    depth of all syntax trees in one place (python/cpython issue 106905): a finalizer or another thread that parses in
    the middle, as formatting a traceback does, makes `ast.parse` raise a SystemError."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _create_app(
    library: Library,
    policy: HostPolicy | None,
    access: Access | None,
    uploads: Uploads | None,
    watched: WatchedProgram | None,
) -> Dash:
    # Plotly reads sys.modules["pandas"] while it writes JSON. Import pandas now: with two requests at once it could be
    # half-imported.
    import_module("pandas")
    script, style = joined_assets(_ASSETS)
    app = ViewerApp(
        "popvision",
        title="PopVision",
        assets_folder=str(_ASSETS),
        include_assets_files=False,
        index_string=index_string(script.path, style.path),
        suppress_callback_exceptions=True,
        update_title="",
        add_log_handler=False,
        on_error=partial(_show_problem, library),
        meta_tags=[{"name": "viewport", "content": "width=device-width, initial-scale=1"}],
    )
    serve_joined(app.server, (script, style))
    serve_plot_script(app.server)
    app.layout = _frame()
    _register_frame(app, library, watched)
    for view in all_views():
        view.register(app, library)
    document_routes.register(app, library)
    help_routes.register(app.server)
    catalogues = CatalogueFolders()
    catalogue_routes.register(app.server, library, catalogues)
    what_if_routes.register(app.server, library, catalogues)
    _register_routes(app, library)
    if watched is not None:
        watch_routes.register(app.server, library, watched)
    if uploads is not None:
        library.takes_uploads = True
        upload_routes.register(app, uploads)
    protect(app.server, policy or HostPolicy(), app.csp_hashes(), access)
    check_callback_requests(app)
    follow_pages(app.server, library)
    preferences.follow_requests(app.server)
    return app


def _frame() -> Component:
    """The components that stay while pages change."""
    return html.Div(
        [
            html.A("Skip to content", href="#page", className="skip-link"),
            dcc.Location(id="url", refresh="callback-nav"),
            dcc.Store(id="visit"),
            dcc.Store(id="selection"),
            dcc.Store(id="select"),
            dcc.Store(id="theme"),
            html.Aside(id="nav", className="nav"),
            html.Div([html.Header(id="masthead"), html.Main(id="page", tabIndex="-1")], className="stage"),
            html.Div(id="notice", className="notice", role="alert"),
            html.Div(id="done", hidden=True),
            html.Div(id="growth", className="growth", role="status"),
            html.Div(id="progress-status", className="visually-hidden", role="status"),
        ],
        id="frame",
        className="frame",
    )


def _register_frame(app: Dash, library: Library, watched: WatchedProgram | None) -> None:
    app.clientside_callback(
        ClientsideFunction("popvision", "visit"),
        Output("visit", "data"),
        Output("selection", "data"),
        Output("theme", "data"),
        Input("url", "pathname"),
        Input("url", "search"),
    )
    app.clientside_callback(
        ClientsideFunction("popvision", "mergeSelection"),
        Output("done", "title"),
        Input("select", "data"),
        prevent_initial_call=True,
    )

    @app.callback(
        Output("nav", "children"),
        Output("masthead", "children"),
        Output("page", "children"),
        Input("visit", "data"),
        State("theme", "data"),
        prevent_initial_call=True,
    )
    def show_page(visit: dict[str, Any] | None, theme: str | None) -> tuple[Any, Any, Any]:
        parts = pages.show(library, visit or {}, theme or "light", watched, partial(filled_page, app))
        nav, masthead, page = (frozen(part, managed_by(app)) for part in parts)
        return nav, masthead, page


def _register_routes(app: Dash, library: Library) -> None:
    server = app.server
    server.register_error_handler(UnknownKeyError, lambda _problem: _sentence("This viewer has no such report.", 404))
    for kind in (FormatError, NotRecordedError):
        server.register_error_handler(kind, lambda problem: _sentence(library.without_paths(str(problem)), 422))
    server.register_error_handler(InternalServerError, lambda failure: _sentence(_failure(failure), 500))

    shell_routes.register(server, library)
    thumbnails.register(server, library)
    server.add_url_rule(
        "/data/<path:_rest>", "no_such_data", lambda _rest: _sentence("This viewer has no such data.", 404)
    )


def _sentence(text: str, status: int) -> Response:
    return Response(text, status=status, mimetype="text/plain")


def _failure(failure: InternalServerError) -> str:
    """One line in place of a page of HTML, since scripts show what a route answers."""
    problem = failure.original_exception
    return f"The viewer failed: {type(problem).__name__}: {problem}" if problem else "The viewer failed."


def _show_problem(library: Library, problem: Exception) -> Any:
    """Show the problem of a failed callback in the notice bar; the page stays unchanged."""
    if isinstance(problem, (FormatError, NotRecordedError)):
        set_props("notice", {"children": library.without_paths(str(problem))})
    elif isinstance(problem, UnknownKeyError):
        set_props("notice", {"children": "This report is no longer in the given folders. Go back to the list."})
    else:
        logging.getLogger("popvision.webapp").error("a callback failed", exc_info=problem)
        set_props("notice", {"children": f"The viewer failed: {type(problem).__name__}: {problem}"})
    return _unchanged(ctx.outputs_list)


def _unchanged(outputs: Any) -> Any:
    """No update for each output; those of a pattern are a list."""
    return [_unchanged(output) for output in outputs] if isinstance(outputs, list) else no_update
