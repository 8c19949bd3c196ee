"""Read-only SQL over a report: documented views (docs/query.md), time-boxed, in SQLite or DuckDB.

`popvision.query.views` lists the views; who only asks does without it, since it reads every question."""

from __future__ import annotations

from popvision.query.answer import Answer, Limits
from popvision.query.processes import ask

__all__ = ["Answer", "Limits", "ask"]
