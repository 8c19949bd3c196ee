"""Ranks: the reports of one run of several processes side by side; who is slowest, fullest, last to begin, and where.

The page is offered for reports that name their rank or shared a folder. Its tables come by callbacks, because they
read every rank.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dash import ALL, Dash, Input, Output, State, html, no_update
from dash.development.base_component import Component

from popvision.analysis.execution.phases import PHASES
from popvision.analysis.ranks.rank_figures import StepsOfRanks, figures_by_rank, runs_of_ranks, steps_of_ranks
from popvision.analysis.ranks.rank_set import RankFacts, RankSet, rank_facts
from popvision.analysis.ranks.sentences import sentences
from popvision.analysis.report.not_recorded import FormatError, if_recorded
from webapp.base.formats import bytes_text, cycles_text, percent_text
from webapp.base.library import Library, UnknownKeyError
from webapp.base.view import View, ViewContext, page_key
from webapp.components import Column, data_table, empty_hint, loading, long_table, register_rows
from webapp.components.attributes import attributes
from webapp.components.download_link import table_links
from webapp.components.section import meter, section
from webapp.graph_analyser.summary.shares import PHASE_NAMES

if TYPE_CHECKING:
    import pandas as pd

_NO_RANK = (
    "This report is not one of several ranks: no launcher (srun -n 4, torchrun, mpirun) started its program several "
    "times, and no other process shared its folder; or its producer does not say so."
)

#: Runs up to which their table grows with them.
_FEW_RUNS = 6

_RUNS = (
    Column("run", "Run", "integer", "Recorded run, from 0", width=80),
    Column("name", "Program", path=True),
    Column("ranks", "Ranks", "integer", "Ranks that recorded this run", width=85),
    Column("begin_us", "Begin apart", "us", "Last less first begin over the ranks; host time, µs", width=125),
    Column("last", "Last to begin", "integer", "Rank", width=115),
    Column("end_us", "End apart", "us", "Last less first end over the ranks; host time, µs", width=115, hide=True),
    Column("least", "Least", "cycles", "Device cycles of the fastest rank", width=105),
    Column("median", "Median", "cycles", "Device cycles, median of the ranks", width=105),
    Column("most", "Most", "cycles", "Device cycles of the slowest rank", width=105),
    Column("slowest", "Slowest", "integer", "Rank; the lowest of several that take as long", width=95),
    Column("above_median", "Above median", "percent", "(Most - median) / median", width=120),
)

_STEPS = (
    Column("program", "Program", "integer", "Id in the program tree of the lowest rank", width=95),
    Column("type", "Type", width=140),
    Column("name", "Name", path=True),
    Column("fewest_executions", "Executions", "integer", "On the rank with the fewest, all recorded runs", width=110),
    Column("most_executions", "to", "integer", "On the rank with the most", width=80),
    Column("least", "Least", "cycles", "Cycles of its own steps on the fastest rank, all recorded runs", width=105),
    Column("median", "Median", "cycles", "Median of the ranks", width=105),
    Column("most", "Most", "cycles", "On the slowest rank", width=105),
    Column("span", "Span", "cycles", "Most - least", width=105),
    Column("above_median", "Above median", "percent", "(Most - median) / median", width=120),
    Column("slowest", "Slowest", "integer", "Rank; the lowest of several that take as long", width=95),
)


@dataclass(frozen=True)
class _Answers:
    """The tables of a set of ranks."""

    ranks: RankSet
    keys: dict[int, str]
    by_rank: pd.DataFrame
    by_run: pd.DataFrame
    steps: StepsOfRanks


def layout(context: ViewContext) -> Component:
    facts = _rank(context)
    assert facts is not None  # else `missing` has spoken
    engine = f", engine {facts.engine}" if facts.engine else ""
    head = f"{facts.what.title()} {facts.rank} of {facts.ranks} of {facts.run}{engine}"
    return html.Div(
        [
            section("ranks", "Ranks of one run", html.Div(loading(), id="ranks-sentences"), hint=head),
            section(
                "ranks-each",
                "Time and memory by rank",
                html.Div(id="ranks-bars"),
                hint="device cycles of all recorded runs by phase (mean of the tiles); fullest tile, gaps excluded",
            ),
            section("ranks-runs", "Runs", html.Div(id="ranks-runs"), hint="a row per recorded run of the lowest rank"),
            section(
                "ranks-steps",
                "Steps",
                [
                    html.Div(
                        long_table("rank_steps", context.key, {"of": context.key}, _STEPS, height=420, selectable=True)
                    ),
                    html.P(id="ranks-step", className="note"),
                ],
                hint="a row per program that ran; its cycles over the ranks, most apart first",
            ),
        ],
        className="page-of-facts",
    )


def register(app: Dash, library: Library) -> None:
    register_rows(app, library, "rank_steps", lambda _source, query: _of_page(library, query).steps.frame)
    register_rows(app, library, "rank_figures", lambda _source, query: _of_page(library, query).by_rank)

    @app.callback(
        Output("ranks-sentences", "children"),
        Output("ranks-bars", "children"),
        Output("ranks-runs", "children"),
        Input("ranks-sentences", "id"),
        State("url", "pathname"),
    )
    def fill(_: str, pathname: str | None) -> Any:
        key = page_key(pathname)
        try:
            found = _answers(library, key)
        except UnknownKeyError:
            return no_update
        if found is None:
            return empty_hint(_NO_RANK), [], []
        said = sentences(found.ranks.ranks, found.by_rank, found.by_run, found.steps)
        told = html.Ul([html.Li(each) for each in said], className="rank-sentences")
        return told, _bars(found, key), _runs(found)

    @app.callback(
        Output("ranks-step", "children"),
        Input({"rows": "rank_steps", "query": ALL}, "selectedRows"),
        State("url", "pathname"),
        prevent_initial_call=True,
    )
    def lead(rows: list[list[dict[str, Any]] | None], pathname: str | None) -> list[Any]:
        found = _answers(library, page_key(pathname))
        chosen = next((each[0] for each in rows if each), None)
        if found is None or chosen is None:
            return []
        low, slow = min(found.keys), int(chosen["slowest"])
        links: list[Any] = [_link(f"program {chosen['program']:,} on rank {low}", found.keys[low], chosen["program"])]
        if slow != low:
            links += [", ", html.A(f"the report of rank {slow}", **_to(found.keys[slow], "program_tree"))]
        return ["See ", *links]


def _link(text: str, key: str, program: int) -> Component:
    return html.A(text, **_to(key, f"program_tree?program={program}"))


def _to(key: str, page: str) -> dict[str, Any]:
    return {"href": f"/r/{key}/{page}", **attributes(data_nav="to")}


def _of_page(library: Library, query: Mapping[str, str]) -> _Answers:
    """The tables of the report that `of` names. Raises ValueError for one that is no rank."""
    found = _answers(library, query.get("of", ""))
    if found is None:
        raise ValueError(_NO_RANK)
    return found


def _exports(key: str) -> list[Component]:
    """Links to the figures of all ranks as CSV and JSON."""
    return table_links(f"/data/{key}/table/rank_figures", f"?of={key}", "rank_figures", "all figures of all ranks")


def _answers(library: Library, key: str) -> _Answers | None:
    """The tables, kept with the report of `key` until a file of a rank changes."""
    found = library.rank_set(key)
    if found is None:
        return None
    ranks, keys = found
    stamps = tuple(sorted((rank, library.stamp(each)) for rank, each in keys.items()))

    def read() -> _Answers:
        sources = {rank: source for rank, each in keys.items() if (source := _opened(library, each)) is not None}
        return _Answers(ranks, keys, figures_by_rank(sources), runs_of_ranks(sources), steps_of_ranks(sources))

    answers: _Answers = library.report(key).kept.recent(("ranks", stamps), read)
    return answers


def _opened(library: Library, key: str) -> Any:
    """The report; None where it can no longer be read."""
    try:
        return library.report(key)
    except (FormatError, UnknownKeyError):
        return None


def _bars(found: _Answers, key: str) -> Component:
    """A row per rank: its phases on the scale of the slowest one, and its fullest tile in its memory."""
    rows = found.by_rank.to_dict("records")
    longest = max((row["cycles"] for row in rows if _is_known(row["cycles"])), default=0)
    head = ["Rank", "Device cycles", "By phase", "Of the median", "Fullest tile", "Of its memory", "All tiles"]
    body = [_bar_row(row, longest, found.keys[int(row["rank"])]) for row in rows]
    legend = [
        html.Div([html.Span(className=f"swatch step-{PHASE_NAMES[phase][1]}"), PHASE_NAMES[phase][0]])
        for phase in PHASES
    ]
    known = [row for row in rows if _is_known(row["cycles"])]
    return html.Div(
        [
            html.Table(
                [html.Thead(html.Tr([html.Th(each, scope="col") for each in head])), html.Tbody(body)],
                className="rank-bars",
            ),
            html.Div([*legend, *_exports(key)], className="share-legend rank-legend"),
            *_comparison(known, found.keys),
        ]
    )


def _comparison(known: list[dict[Any, Any]], keys: Mapping[int, str]) -> list[Component]:
    """A link that compares the slowest rank with the fastest, where they differ."""
    slow, fast = (end(known, key=lambda row: row["cycles"], default=None) for end in (max, min))
    if slow is None or fast is None or slow["cycles"] == fast["cycles"]:
        return []
    text = f"Compare rank {slow['rank']}, the slowest, with rank {fast['rank']}, the fastest"
    return [html.P(html.A(text, **_to(keys[int(fast["rank"])], f"summary?vs={keys[int(slow['rank'])]}")))]


def _bar_row(row: Mapping[Any, Any], longest: float, key: str) -> Component:
    cycles = row["cycles"] if _is_known(row["cycles"]) else None
    parts = [(phase, row[f"{phase.replace(' ', '_')}_cycles"]) for phase in PHASES]
    shown = [_part(phase, value) for phase, value in parts if _is_known(value) and value > 0]
    if longest and cycles is not None:
        rest = longest - sum(value for _, value in parts if _is_known(value))
        shown.append(html.Div(style={"flexGrow": max(rest, 0)}))
    capacity = row["capacity"] if _is_known(row["capacity"]) else None
    used = row["fullest_used"] if _is_known(row["fullest_used"]) else None
    share = used / capacity if capacity and used is not None else None
    over = bool(_is_known(row["tiles_over"]) and row["tiles_over"])
    memory = bytes_text(used) if used is not None else "not recorded"
    return html.Tr(
        [
            html.Th(html.A(f"{row['rank']}", **_to(key, "overview"), title=str(row["report"])), scope="row"),
            html.Td("not recorded" if cycles is None else cycles_text(int(cycles)), className="number"),
            html.Td(html.Div(shown, className="share-bar small")),
            html.Td(_of_median(row["of_median"]), className="number", title="device cycles / median of the ranks - 1"),
            html.Td(
                ["does not fit" if over else memory],
                className="number bad" if over else "number",
                title="" if used is None else f"{int(used):,} B of {int(capacity or 0):,} B, gaps excluded",
            ),
            html.Td([] if share is None else meter(share, f"{percent_text(share)} of the memory of a tile")),
            html.Td(bytes_text(int(row["used"])) if _is_known(row["used"]) else "", className="number"),
        ]
    )


def _part(phase: str, value: float) -> Component:
    title, family, _ = PHASE_NAMES[phase]
    text = f"{title}: {value:,.0f} cycles, mean of the tiles"
    return html.Div(className=f"share-part step-{family}", style={"flexGrow": value}, title=text)


def _of_median(value: Any) -> str:
    return f"{100 * value:+.1f} %" if _is_known(value) else ""


def _runs(found: _Answers) -> Component:
    if not len(found.by_run):
        return empty_hint("No rank recorded a run.")
    height = 260 if len(found.by_run) > _FEW_RUNS else None
    return data_table("rank-runs", found.by_run, _RUNS, name="rank_runs", height=height)


def _is_known(value: Any) -> bool:
    return value is not None and value == value


def _rank(context: ViewContext) -> RankFacts | None:
    """The place of the report among those of its run."""
    if context.library is not None:
        return context.library.rank(context.key)
    return if_recorded(lambda: rank_facts(context.source.reader.meta))


def _missing(context: ViewContext) -> str:
    return "" if _rank(context) is not None else _NO_RANK


VIEW = View(
    "ranks",
    "Ranks",
    "ranks",
    layout,
    register,
    missing=_missing,
    offered=lambda context: not _missing(context),
)
