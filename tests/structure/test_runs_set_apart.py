"""Modules of analysis that read what steps cost know of the runs that happen once per attachment.

Such runs are in no figure of all runs and in no share (popvision/analysis/execution/once.py). A module that reads the
lengths of steps, or the report's total, takes them from there or leaves them out by `once.py`; those below do not add
up cycles over all runs."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2] / "popvision" / "analysis"

#: module below popvision/analysis -> why it needs no once.py
WITHOUT = {
    "execution/once.py": "is where they are set apart",
    "execution/timeline.py": "shows when a step happens",
    "execution/waits.py": "tells how long each step waits",
    "exchange/programs.py": "bytes per cycle of each copy, in no share of the report's cycles",
    "exchange/tiles.py": "cycles of one step by tile",
    "explain/cycles.py": "the length of one step",
    "programs/details.py": "cycles of one step by tile",
    "programs/program_tree.py": "tiles of one step",
    "summary/profile_summary.py": "Poplar's text, which names each run",
}
_READS = re.compile(r"steps_on_ipu\(|total_cycles\(\)")
_KNOWS = "from popvision.analysis.execution.once import"


def forgetful(texts: dict[str, str]) -> set[str]:
    """Modules, by name their text, that read lengths of steps and do not know of runs that are set apart."""
    return {name for name, text in texts.items() if _READS.search(text) and _KNOWS not in text}


def test_modules_that_add_up_cycles_know_of_runs_set_apart() -> None:
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in ROOT.rglob("*.py")}
    assert forgetful(texts) == set(WITHOUT)


def test_a_forgetful_module_is_noticed() -> None:
    text = "total = source.reader.total_cycles()\n"
    assert forgetful({"new.py": text, "other.py": f"{_KNOWS} counted\n{text}"}) == {"new.py"}
