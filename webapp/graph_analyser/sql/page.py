"""SQL: an editor over the views of the report, the schema at hand, rows as a table or a plot that lead into the pages.

assets/sql/sql.js runs the queries. The URL holds the statement (`sql`), and the plot (`sql_plot`, `sql_x`, `sql_y`)."""

from __future__ import annotations

from dash import Dash, html
from dash.development.base_component import Component

from popvision.query.questions import QUESTIONS
from popvision.query.view import View
from popvision.query.views import VIEWS
from webapp.base.library import Library
from webapp.base.view import View as PageView
from webapp.base.view import ViewContext
from webapp.components import group, help_text, spacer, toolbar, view_shortcuts
from webapp.components.attributes import attributes
from webapp.components.sides import side_mark
from webapp.graph_analyser.sql import routes

_KEYS = (
    ("Ctrl Enter", "In the editor: run the statement"),
    ("Esc", "In the editor: cancel the query that runs"),
    ("Tab", "From the editor to the buttons and rows"),
)


def layout(context: ViewContext) -> Component:
    choices = [html.Option("Choose a question", value="")]
    choices += [html.Option(each.title, value=each.sql) for each in QUESTIONS]
    questions = html.Label(
        [
            html.Span("Prepared", className="field-label"),
            html.Select(choices, id="sql-question", className="select", **attributes(aria_label="Prepared question")),
        ],
        className="field",
    )
    about = help_text(
        "SQL over a report",
        "One SELECT (or WITH, VALUES, EXPLAIN) over the views on the right and the tables of profile.pop, in SQLite. "
        "Nothing can be written, and no file or address be opened.",
        f"Shown: {routes.SHOWN.rows:,} rows and {routes.SHOWN.seconds:g} s at most. Saved: {routes.SAVED.rows:,} rows. "
        "A query runs in a process of its own with 1.5 GiB; Cancel kills it.",
        "Columns named tile, step, program, compute_set, variable, liveness_index, context or debug_id lead to pages.",
    )
    bar = toolbar(
        questions,
        group(
            _button("sql-run", "Run", "Run the statement (Ctrl + Enter)"),
            _button("sql-cancel", "Cancel", "Cancel the query (Esc)", disabled=True),
            _button("sql-pin", "Pin", "Show the first rows of this statement on the Overview of every report"),
        ),
        group(about),
        side_mark("Queried: source", context.source.label) if context.targets else None,
        html.Span(id="sql-status", className="dim", role="status"),
        spacer(),
        html.Div([_button("sql-csv", "CSV", _SAVE), _button("sql-json", "JSON", _SAVE)], className="toolbar-group"),
    )
    editor = html.Textarea(
        id="sql-editor",
        className="sql-editor",
        spellCheck="false",
        rows=7,
        **attributes(aria_label="SQL statement", autoComplete="off"),
    )
    result = html.Section(
        [
            html.Div(id="sql-problem", className="sql-problem", role="alert", hidden=True),
            html.Div(id="sql-plot", className="sql-plot"),
            html.Div(
                _HINT, id="sql-rows", className="sql-rows", tabIndex="0", role="region", **attributes(aria_label="Rows")
            ),
        ],
        className="sql-result",
    )
    main = html.Div([editor, result], className="sql-main")
    schema = html.Aside(
        [html.H2("Views"), *map(_view, VIEWS.values())], className="sql-schema", **attributes(aria_label="Schema")
    )
    body = html.Div([main, schema], className="sql-body")
    return html.Div(
        [bar, body, view_shortcuts(_KEYS)], id="sql", className="sql-page", **attributes(data_key=context.key)
    )


_HINT = html.Div(
    "Rows appear here: choose a prepared question, or write a statement, then press Run or Ctrl + Enter.",
    className="empty-hint",
)

_SAVE = f"Run the statement and save up to {routes.SAVED.rows:,} rows"


def _view(view: View) -> Component:
    """A view with its columns; a press on a name inserts it."""
    rows = [
        html.Li(
            [_name(each.name), html.Span(f" {each.unit}" if each.unit else "", className="sql-unit")], title=each.about
        )
        for each in view.columns
    ]
    about = html.P(view.about + (f" Fast with {view.fast}." if view.fast else ""))
    return html.Details([html.Summary(view.name, title=view.about), about, _name(view.name), html.Ul(rows)])


def _name(name: str) -> Component:
    return html.Button(name, type="button", className="sql-name", **attributes(data_insert=name))


def _button(id: str, text: str, title: str, *, disabled: bool = False) -> Component:
    return html.Button(text, id=id, type="button", className="button", title=title, disabled=disabled)


def register(app: Dash, library: Library) -> None:
    """The routes; the page has no callbacks."""
    routes.register(app, library)


VIEW = PageView("sql", "SQL", "sql", layout, register)
