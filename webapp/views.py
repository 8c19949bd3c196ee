"""The views, in menu order. Each module exports VIEW; one that is not part of this installation is left out."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec

from webapp.view import View

MODULES = (
    "webapp.graph_analyser.summary",
    "webapp.graph_analyser.memory",
    "webapp.graph_analyser.liveness",
    "webapp.graph_analyser.program_tree",
    "webapp.graph_analyser.source",
    "webapp.graph_analyser.operations",
    "webapp.graph_analyser.execution",
    "webapp.graph_analyser.exchange",
    "webapp.system_analyser.timeline",
)


@cache
def all_views() -> tuple[View, ...]:
    """Every installed view."""
    return tuple(import_module(name).VIEW for name in MODULES if find_spec(name) is not None)


def views_of(kind: str) -> tuple[View, ...]:
    """Views of "report" or "trace", in menu order; the first one opens by default."""
    return tuple(view for view in all_views() if view.kind == kind)


def find_view(kind: str, view_id: str) -> View | None:
    """The view with this id, the default for "", None when there is none."""
    views = views_of(kind)
    if not view_id:
        return views[0] if views else None
    return next((view for view in views if view.id == view_id), None)
