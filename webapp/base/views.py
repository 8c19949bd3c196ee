"""The views in menu order. Each page module exports VIEW; modules that are not installed are skipped."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec

from webapp.base.view import View

MODULES = (
    "webapp.graph_analyser.overview.page",
    "webapp.graph_analyser.summary.page",
    "webapp.graph_analyser.memory.page",
    "webapp.graph_analyser.liveness.page",
    "webapp.graph_analyser.programs.page",
    "webapp.graph_analyser.source_code.page",
    "webapp.graph_analyser.operations.page",
    "webapp.graph_analyser.execution.page",
    "webapp.graph_analyser.exchange.page",
    "webapp.graph_analyser.sql.page",
    "webapp.graph_analyser.ranks.page",
    "webapp.system_analyser.timeline.page",
)


@cache
def all_views() -> tuple[View, ...]:
    """All installed views."""
    return tuple(import_module(name).VIEW for name in MODULES if find_spec(name) is not None)


def views_of(kind: str) -> tuple[View, ...]:
    """The views of "report" or "trace" in menu order; the first is the default."""
    return tuple(view for view in all_views() if view.kind == kind)


def find_view(kind: str, view_id: str) -> View | None:
    """The view with an id, the default for "", None for an unknown id."""
    views = views_of(kind)
    if not view_id:
        return views[0] if views else None
    return next((view for view in views if view.id == view_id), None)
