"""All tools, the most general first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from popvision.agents.catalogue import Catalogue
from popvision.agents.tool import Argument, Tool
from popvision.analysis.trace.kernels import KERNEL_QUESTIONS
from popvision.answers.insights import insights_answer
from popvision.answers.kernels import kernels_answer
from popvision.answers.liveness import SHOWN, liveness_answer
from popvision.answers.page import Page, page_of
from popvision.answers.question import question_answer
from popvision.answers.trace import trace_statistics_answer
from popvision.answers.tree import ORDERS, tree_answer
from popvision.formats.errors import FormatError
from popvision.opened.report import OpenedReport
from popvision.query import Limits, ask
from popvision.query.view import Column
from popvision.query.views import VIEWS
from popvision.questions import QUESTIONS, Question
from popvision.questions.parameters import Kind, Parameter

_NAME = Argument("name", "string", "Only rows whose name contains this text (any case).", "")
_IPU = Argument("ipu", "integer", "Figures of this IPU; all IPUs by default.", low=0, high=1e6)
_TILE = Argument("tile", "integer", "A tile, counted over all IPUs.", low=0, high=1e9)


def _rows(table: Any, page: Page, **facts: Any) -> dict[str, Any]:
    return {"provenance": table.attrs.get("provenance", "")} | facts | page_of(table, page)


def _list(catalogue: Catalogue, given: dict[str, Any], page: Page) -> dict[str, Any]:
    rows = [{"name": name, "kind": "report"} for name in catalogue.reports]
    rows += [{"name": name, "kind": "trace"} for name in catalogue.traces]
    return _page(rows, page)


def _page(rows: list[dict[str, Any]], page: Page) -> dict[str, Any]:
    shown = rows[page.offset : page.offset + page.limit]
    end = page.offset + len(shown)
    return {"total": len(rows), "offset": page.offset, "next_offset": end if end < len(rows) else None, "rows": shown}


def _summary(catalogue: Catalogue, given: dict[str, Any], page: Page) -> dict[str, Any]:
    report = catalogue.report(given["report"])
    return _rows(report.summary(), page, target=report.target(), facts=report.facts())


def _tree(catalogue: Catalogue, given: dict[str, Any], page: Page) -> dict[str, Any]:
    chosen = {key: given[key] for key in ("root", "depth", "name", "type", "ipu", "order")}
    return tree_answer(catalogue.report(given["report"]), page, **chosen)


def _liveness(catalogue: Catalogue, given: dict[str, Any], page: Page) -> dict[str, Any]:
    chosen = {key: given[key] for key in ("show", "index", "ipu", "tile", "name")}
    return liveness_answer(catalogue.report(given["report"]), page, **chosen)


def _insights(catalogue: Catalogue, given: dict[str, Any], page: Page) -> dict[str, Any]:
    answer = insights_answer(catalogue.report(given["report"]).source)
    return {key: value for key, value in answer.items() if key != "findings"} | _page(answer["findings"], page)


def _views(catalogue: Catalogue, given: dict[str, Any], page: Page) -> dict[str, Any]:
    rows = [
        {
            "view": each.name,
            "about": each.about,
            "fast_with": each.fast,
            "columns": {column.name: _meaning(column) for column in each.columns},
        }
        for each in VIEWS.values()
    ]
    return _page(rows, page)


def _meaning(column: Column) -> str:
    return f"{column.about} [{column.unit}]" if column.unit else column.about


def _query(catalogue: Catalogue, given: dict[str, Any], page: Page) -> dict[str, Any]:
    report: OpenedReport = catalogue.report(given["report"])
    limits = Limits(seconds=given["seconds"], rows=page.limit, skip=page.offset, text=4 << 20)
    answer = ask(report.source.reader.path, given["sql"], limits)
    end = page.offset + len(answer.rows)
    return {
        "columns": answer.columns,
        "offset": page.offset,
        "next_offset": end if answer.more else None,
        "verified": answer.verified,
        "rows": [list(row) for row in answer.rows],
    }


def _trace(catalogue: Catalogue, given: dict[str, Any], page: Page) -> dict[str, Any]:
    return trace_statistics_answer(catalogue.trace(given["report"]), page, name=given["name"])


def _kernels(catalogue: Catalogue, given: dict[str, Any], page: Page) -> dict[str, Any]:
    return kernels_answer([catalogue.trace(given["report"])], given["show"], page, name=given["name"])


_WRITTEN = {
    each.name: each
    for each in (
        Tool("list_reports", "Names of the reports and host traces on offer.", _list, subject=""),
        Tool(
            "summary",
            "The main figures: total device cycles (tile clock cycles, modelled) and seconds, fullest tile and its "
            "capacity (bytes), peak live bytes, shares of tile time by phase (0 to 1), longest program.",
            _summary,
        ),
        Tool(
            "tree",
            "Lowered programs as a tree with cycles over all recorded runs (self = own steps; total = with programs "
            "below and called), bytes moved, peak live bytes and code bytes.",
            _tree,
            (
                Argument("root", "integer", "Only the subtree of this program id."),
                Argument("depth", "integer", "Only programs down to this depth.", low=0, high=10_000),
                _NAME,
                Argument("type", "string", "Only this program type, for example OnTileExecute or DoExchange.", ""),
                _IPU,
                Argument(
                    "order",
                    "string",
                    "Order of rows: tree, or a figure, largest first.",
                    "tree",
                    choices=ORDERS,
                ),
            ),
        ),
        Tool(
            "liveness",
            "Live memory in bytes over the static order of the program: its peaks, and the variables live at the "
            "highest peak, at one liveness index, or always; or the curve. Covers a replica, an IPU or a tile.",
            _liveness,
            (
                Argument("show", "string", "What the rows list.", "peak", choices=SHOWN),
                Argument("index", "integer", "Liveness index, with show = index.", low=0, high=1e12),
                _IPU,
                _TILE,
                _NAME,
            ),
        ),
        Tool(
            "insights",
            "What costs time (cycles) or memory (bytes), largest first: each finding with an upper bound of what it "
            "could save and its formula, the places (programs, tiles, variables, source lines), and one change to try. "
            "Ask this first.",
            _insights,
            (),
        ),
        Tool("views", "Views for `query`: columns with meaning and [unit].", _views, subject=""),
        Tool(
            "query",
            "One read-only SQLite SELECT over the views of `views` and the tables of profile.pop. Add ORDER BY so "
            "that pages do not overlap.",
            _query,
            (
                Argument("sql", "string", "The SELECT.", required=True),
                Argument("seconds", "number", "Maximum time in seconds.", 10.0, low=0.1, high=60),
            ),
        ),
        Tool(
            "trace_statistics",
            "A host trace by label: count, total and self time and percentiles, microseconds of the host's clock.",
            _trace,
            (_NAME,),
            subject="trace",
        ),
        Tool(
            "trace_kernels",
            "Kernels of accelerators in a trace of PyTorch's profiler: what ran by stream and name, communication "
            "(nccl, rccl) and its overlap with compute, or idle time of streams by reason; microseconds, formulas.",
            _kernels,
            (
                Argument("show", "string", "What the rows list.", "kernels", choices=tuple(KERNEL_QUESTIONS)),
                _NAME,
            ),
            subject="trace",
        ),
    )
}


# ---- tools made from questions ----

_CONTAINED = Argument("name", "string", "Only rows with this text, any case.", "")
_ORDER = Argument("order", "string", "Column: its largest values first.", "")

#: Kind of a parameter -> JSON type. Lists of numbers and arrays of steps x tiles are no arguments and rows of a tool.
_JSON: dict[Kind, str] = {"integer": "integer", "text": "string", "report": "string"}


def question_tool(question: Question[Any, Any]) -> Tool:
    """The tool that asks a question."""
    about = " ".join(question.about.split())
    columns = ", ".join(question.columns.ids) if question.columns is not None else ""
    return Tool(
        question.name,
        f"{about} Columns: {columns}." if columns else about,
        _answer(question),
        (*(_argument(parameter) for parameter in question.parameters), _CONTAINED, _ORDER),
    )


def _argument(parameter: Parameter) -> Argument:
    return Argument(
        parameter.name,
        _JSON[parameter.kind],
        parameter.about,
        None if parameter.is_required else parameter.default,
        choices=tuple(parameter.choices),
        low=0 if parameter.numbered is not None else parameter.low,
        required=parameter.is_required,
    )


def _answer(question: Question[Any, Any]) -> Callable[[Catalogue, dict[str, Any], Page], dict[str, Any]]:
    def answer(catalogue: Catalogue, arguments: dict[str, Any], page: Page) -> dict[str, Any]:
        asked = {
            parameter.name: catalogue.report(arguments[parameter.name])
            if parameter.kind == "report"
            else arguments[parameter.name]
            for parameter in question.parameters
        }
        source = catalogue.report(arguments["report"]).source
        return question_answer(question, source, page, asked, name=arguments["name"], order=arguments["order"])

    return answer


#: Every tool by name: those above, which answer more than one question, and one for each other question with rows.
TOOLS: dict[str, Tool] = _WRITTEN | {
    name: question_tool(question) for name, question in QUESTIONS.items() if question.has_rows and name not in _WRITTEN
}


def find_tool(name: Any) -> Tool:
    """The tool of that name. Raises FormatError for an unknown name."""
    if name not in TOOLS:
        raise FormatError(f"there is no tool {str(name)[:60]!r}; the tools are {', '.join(TOOLS)}.")
    return TOOLS[name]
