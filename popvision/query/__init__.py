"""Read-only SQL over a report: documented views (docs/query.md), time-boxed, in SQLite or DuckDB."""

from __future__ import annotations

from popvision.query.answer import Answer, Limits
from popvision.query.processes import ask
from popvision.query.view import View
from popvision.query.views import VIEWS

__all__ = ["VIEWS", "Answer", "Limits", "View", "ask"]
