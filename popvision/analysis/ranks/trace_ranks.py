"""Traces of the ranks of one run, as PyTorch's profiler writes one for each: `distributedInfo` names the rank and how
many there are. Ranks of a trace are compared by host time, since it knows no device cycles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from popvision.analysis.ranks.rank_set import MOST_RANKS
from popvision.analysis.summary.report_list import find
from popvision.analysis.trace.source import TraceSource
from popvision.formats.errors import FormatError, NotRecordedError


@dataclass(frozen=True)
class TraceOfRank:
    """One trace. Times in ns since the epoch, or since the zero of the trace where it does not say."""

    rank: int
    ranks: int
    path: Path
    begin_ns: int
    end_ns: int


@dataclass(frozen=True)
class TraceSet:
    """Traces of the ranks of one run, by rank; ranks without one are in `missing`."""

    ranks: int
    traces: dict[int, TraceOfRank]

    @property
    def missing(self) -> list[int]:
        return [rank for rank in range(self.ranks) if rank not in self.traces]

    def sentences(self) -> list[str]:
        """Ranks without a trace, the rank that takes longest, and how far apart they begin."""
        found = sorted(self.traces.values(), key=lambda trace: trace.rank)
        told = []
        if self.missing:
            names = ", ".join(map(str, self.missing[:10])) + (" ..." if len(self.missing) > 10 else "")
            told.append(f"Of {self.ranks} ranks {len(found)} have a trace here; missing: {names}.")
        if len(found) < 2:
            return told
        long, short = (choose(found, key=lambda trace: trace.end_ns - trace.begin_ns) for choose in (max, min))
        told.append(
            f"Rank {long.rank} takes longest: {(long.end_ns - long.begin_ns) / 1e6:,.3f} ms of host time; rank "
            f"{short.rank} takes {(short.end_ns - short.begin_ns) / 1e6:,.3f} ms."
        )
        first, last = (choose(found, key=lambda trace: trace.begin_ns) for choose in (min, max))
        apart = (last.begin_ns - first.begin_ns) / 1e6
        told.append(f"Rank {first.rank} begins first, rank {last.rank} {apart:,.3f} ms after it.")
        return told


def find_trace_sets(folder: str | Path) -> list[TraceSet]:
    """The sets below a folder: of each folder and number of ranks, the first traces of all ranks, the second ones, and
    so on in the order of their names, as a profiler that writes several gives them."""
    entries, _ = find(Path(folder).resolve())
    return trace_sets(trace for entry in entries if entry.kind == "trace" for trace in _trace_of_rank(entry.path))


def trace_sets(traces: Iterable[TraceOfRank]) -> list[TraceSet]:
    """The sets of these traces."""
    groups: dict[tuple[Path, int], dict[int, list[TraceOfRank]]] = {}
    for trace in sorted(traces, key=lambda trace: trace.path):
        groups.setdefault((trace.path.parent, trace.ranks), {}).setdefault(trace.rank, []).append(trace)
    return [
        TraceSet(ranks, {rank: found[at] for rank, found in sorted(group.items()) if at < len(found)})
        for (_, ranks), group in groups.items()
        for at in range(max(map(len, group.values())))
    ]


def _trace_of_rank(path: Path) -> list[TraceOfRank]:
    """None or one: a trace that cannot be read, or names no rank, belongs to no set."""
    try:
        source = TraceSource(path)
    except (FormatError, NotRecordedError, OSError):
        return []
    rank, ranks = (source.meta.get(name, "") for name in ("rank", "ranks"))
    if not (rank.isdecimal() and ranks.isdecimal() and 2 <= int(ranks) <= MOST_RANKS and int(rank) < int(ranks)):
        return []
    return [TraceOfRank(int(rank), int(ranks), path, source.begin, source.end)]
