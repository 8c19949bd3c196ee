"""What each table says in the place of its rows where it has none: what is missing, and what to do.

By the name of its files, digits left out. A filter that no row passes says so by itself (assets/shared/table.js).
"""

from __future__ import annotations

import re

from popvision.analysis.memory.capacity import NO_RUN

_NOTHING_LIVE = "Nothing is live here: select another liveness index in the curve, or another tile."
_NO_TRAFFIC = "No bytes move here: select another program in the tab Programs."
_NO_HOST_COPY = "This report has no copies to or from the host."
_NO_STEP = "No step of this IPU lies in the window: zoom out, or press 0 to see the whole run."
_NO_EVENT = "No event of the trace is here: zoom out, or show the hidden channels."

EMPTY_TABLES = {
    "blocks": "No block was recorded: set the profiler.blocks options and run the program again (docs/blocks.md).",
    "bytes-between-ipus": "Nothing moves between IPUs.",
    "calls": _NO_EVENT,
    "cost-terms": "The compute set has no cost terms: it has no vertices.",
    "device_waits": "No step of the device waited for the host in this window.",
    "difference": "No label has events in either trace here: zoom out.",
    "exchange-compared": "Neither report has a program that moves data.",
    "exchange-from": "The tile receives nothing in this program: select another tile, or another program.",
    "exchange-pairs": _NO_TRAFFIC,
    "exchange-programs": "This report has no program that moves data.",
    "exchange-to": "The tile sends nothing in this program: select another tile, or another program.",
    "fan-out": "No tile sends in this program.",
    "fan-out-compared": "No tile sends in this program.",
    "host-copies": _NO_HOST_COPY,
    "host-copies-compared": "Neither report has copies to or from the host.",
    "ipus-compared": "Nothing moves between IPUs in either report.",
    "line-programs": "No program belongs to this line: select a line with a figure beside it.",
    "line-variables": "No variable belongs to this line: select a line with a figure beside it.",
    "liveness-always": "No variable is always live here: choose All tiles, or another tile.",
    "liveness-cycles": _NOTHING_LIVE,
    "liveness-flops": _NOTHING_LIVE,
    "liveness-live": _NOTHING_LIVE,
    "liveness-parts": "The selected variable has no lowered parts in this report.",
    "liveness-steps": "The curve has no steps: the report holds no liveness.",
    "liveness-vertices": "No vertex is at this liveness index: select another one in the curve.",
    "longest": _NO_EVENT,
    "matches": "No event matches: change the text, or show the hidden channels.",
    "memory-compute-sets": "No compute set has vertices on the selected tiles: select others.",
    "memory-exchanges": "No exchange touches the selected tiles: select others.",
    "memory-lowered": "Nothing is allocated on this tile: select another.",
    "memory-peak": "Nothing is on this tile: select another.",
    "memory-sizes": "No variable lies on the selected tiles: select others.",
    "memory-tiles": "The report holds no memory of tiles: compile with autoReport.outputGraphProfile=true.",
    "memory-variables": "The report holds no variables: compile with autoReport.outputGraphProfile=true.",
    "memory-vertices": "No vertex lies on the selected tiles: select others.",
    "multicast": "No tile sends to several tiles in this program.",
    "multicast-compared": "No tile sends to several tiles in this program.",
    "operation-code": "The selected operations have no vertices, hence no vertex code.",
    "operation-flops": "The selected operations have no vertices, hence no operations on numbers.",
    "operation-programs": "The selected operations have no programs.",
    "operation-variables": "The selected operations have no variables.",
    "operations": "No operation has this name: clear the search, or choose another layer.",
    "options": "The report lists no options.",
    "pairs-compared": "No pair of tiles moves a different number of bytes.",
    "program-tiles": "The report holds no figures of tiles for this program.",
    "program-compared": "The report holds no figures of this program.",
    "programs": "No program matches: clear the search.",
    "rank_runs": "No rank recorded a run.",
    "rank_steps": "No step was recorded by every rank.",
    "related-programs": "No other program belongs to the same operation.",
    "runs": NO_RUN,
    "statistics": _NO_EVENT,
    "step-tiles": "No tile took part in this step.",
    "step-tiles-last": "No tile took part in this step.",
    "step-tiles-longest": "No tile took part in this step.",
    "step-tiles-source-target": "No tile took part in this step.",
    "steps-added-up": _NO_STEP,
    "steps-compared": "No step of either report lies in the window: zoom out, or press 0 to see the whole run.",
    "steps-in-window": _NO_STEP,
    "steps-of-both": "No step of either report lies in the window: zoom out, or press 0 to see the whole run.",
    "vertices": "The compute set has no vertices.",
    "vertices-on-workers": "No vertex ran on this tile in the step: select another tile.",
    "waits": "No tile waited for another: every sync was reached at the same time.",
    "workers-by-tile": "No vertex ran in this step: select another.",
}


def empty_sentence(name: str) -> str:
    """The sentence of the table of this name."""
    return EMPTY_TABLES.get(re.sub(r"-?\d+", "", name), "This table has no rows.")
