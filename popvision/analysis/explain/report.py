"""Derivations of the report's two headline figures: total cycles by program, memory by category."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.execution.once import counted, set_apart
from popvision.analysis.explain.cycles import times
from popvision.analysis.explain.derivation import Derivation, from_report, stored
from popvision.analysis.programs.figures import figures
from popvision.analysis.report.columns import programs_of

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: programs listed by name
SHOWN = 30


def explain_report(source: ReportSource) -> list[Derivation]:
    """Total cycles, memory without gaps, and each category of memory whose terms the report stores."""
    return [*_cycles(source), *_memory(source)]


def _cycles(source: ReportSource) -> list[Derivation]:
    reader = source.reader
    total = counted(source).total_cycles
    if not len(reader.runs().name):
        return []
    ipus = range(reader.target().num_ipus)
    by_ipu = [np.asarray(figures(source, ipu).self_cycles, np.int64) for ipu in ipus]
    ipu = int(np.argmax([int(own.sum()) for own in by_ipu]))
    own, programs, count = by_ipu[ipu], programs_of(source), figures(source).executions
    order = np.argsort(-own, kind="stable")[: np.count_nonzero(own)]
    terms = []
    for program in order[:SHOWN].tolist():
        text = f"program {program}, {programs.type[program]} {programs.name[program]}".rstrip()
        terms.append(from_report(f"{text}, executed {times(int(count[program]))}", int(own[program]), 1))
    if len(order) > SHOWN:
        terms.append(from_report(f"{len(order) - SHOWN:,} further programs", int(own[order[SHOWN:]].sum()), 1))
    after = total - int(own.sum())
    if after:
        terms.append(from_report("from the last step of each run to its end", after, 1))
    apart = set_apart(source).sentence
    notes = [apart] if apart else []
    return [Derivation(f"total cycles of all recorded runs, IPU {ipu}", float(total), "cycles", terms, notes)]


def _memory(source: ReportSource) -> list[Derivation]:
    reader = source.reader
    memory = reader.tile_memory()
    if memory is None:
        return []
    sums: dict[str, int] = {}
    for part in reader.category_memory():
        sums[part.category] = sums.get(part.category, 0) + int(np.sum(part.bytes, dtype=np.int64))
    total = float(np.sum(memory.excluding_gaps, dtype=np.int64))
    terms = [from_report(name, size, 1) for name, size in sums.items()]
    out = [Derivation("memory excluding gaps, all tiles", total, "B", terms)]
    for name, size in sums.items():
        parts = [stored(term) for term in reader.cost_terms(f"category:{name}")]
        if parts:
            derivation = Derivation(f"{name}, all tiles", float(size), "B", parts)
            if not derivation.complete:
                derivation.notes.append("Bytes that share an address with another category count in that category.")
            out.append(derivation)
    return out
