"""One look at the memory page: the report, the one it is compared with, and what is chosen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from popvision.analysis.report.source import ReportSource
from webapp.comparison import KEY, target_of_page
from webapp.graph_analyser.memory.frames import table_frame
from webapp.graph_analyser.memory.state import MOST_COLUMNS, MemoryState
from webapp.library import Library

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class MemoryPage:
    """Report `key` of a library in a state; `vs` names the report compared with, "" = none."""

    library: Library
    key: str
    source: ReportSource
    state: MemoryState
    vs: str = ""

    @cached_property
    def target(self) -> ReportSource | None:
        return target_of_page(self.library, {KEY: self.vs})

    @cached_property
    def query(self) -> dict[str, str]:
        """What the tables depend on, as a query that `memory_frames` reads."""
        state = self.state
        query = {
            "tiles": ",".join(map(str, state.tiles[:MOST_COLUMNS])),
            "ipu": ",".join(map(str, state.ipus[:MOST_COLUMNS])),
            "replica": "all" if state.replica is None else str(state.replica),
            KEY: self.vs if self.target is not None else "",
        }
        return {name: value for name, value in query.items() if value}

    @property
    def query_text(self) -> str:
        return "?" + urlencode(self.query)

    def frame(self, tab: str) -> pd.DataFrame:
        """Rows of one of `memory_frames.TABLES`."""
        return table_frame(tab, self.library, self.source, self.query)

    def link(self, view: str, **selection: object) -> str:
        """Address of another view of this report with a selection, compared with the same report."""
        chosen = {**selection, **({KEY: self.vs} if self.vs else {})}
        return f"/r/{self.key}/{view}?{urlencode(chosen, safe=',')}"
