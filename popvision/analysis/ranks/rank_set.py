"""Which reports are the ranks of one run: groups by the facts that each report holds about its rank.

The simulator writes `rank` into the facts of a report of a Slurm job step of several tasks: number, how many there are,
and a name of the step. Reports of one step and one engine are a set, wherever they lie below the folder that was given.
Processes without a launcher, as a loop of a shell starts them, have no ranks; those that shared a report folder
(`process_folders`) are numbered by when they came. Other reports belong to no set; what a damaged or foreign file says
is checked before it is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from popvision.analysis.ranks.process_folders import ProcessFacts, above_processes, numbered, process_facts
from popvision.analysis.summary.report_list import find, open_report
from popvision.formats.errors import FormatError, NotRecordedError

#: Ranks of one set that are looked at; Slurm's own limit is far higher, a damaged number too.
MOST_RANKS = 4096


@dataclass(frozen=True)
class RankFacts:
    """What a report says about its rank."""

    run: str  #: the same for all ranks of one job step
    rank: int
    ranks: int
    engine: str  #: name of the engine, "" without one
    what: Literal["rank", "process"] = "rank"

    @property
    def group(self) -> tuple[str, int, str]:
        """Equal for the reports of one set."""
        return self.run, self.ranks, self.engine


@dataclass(frozen=True)
class RankSet:
    """Reports of one engine on the ranks of one run, by rank; ranks without a report are in `missing`."""

    run: str
    engine: str
    ranks: int
    folders: dict[int, Path]

    @property
    def missing(self) -> list[int]:
        """Ranks of the run that have no report here."""
        return [rank for rank in range(self.ranks) if rank not in self.folders]


def rank_facts(meta: Mapping[str, Any]) -> RankFacts | None:
    """The rank in the facts of a report (`ProfileReader.meta`); None where there is none or it makes no sense."""
    facts = meta.get("rank")
    if not isinstance(facts, Mapping):
        return None
    run, rank, ranks = (facts.get(name) for name in ("run", "rank", "ranks"))
    whole = all(isinstance(each, int) and not isinstance(each, bool) for each in (rank, ranks))
    if not isinstance(run, str) or not run or not whole:
        return None
    assert isinstance(rank, int)
    assert isinstance(ranks, int)
    if not (2 <= ranks <= MOST_RANKS and 0 <= rank < ranks):
        return None
    return RankFacts(run, rank, ranks, str(meta.get("engineName", "")))


def facts_of(folder: Path) -> RankFacts | ProcessFacts | None:
    """What the report in a folder says of its rank, else of its process; None where it cannot be read or says
    nothing."""
    try:
        meta = open_report(folder).reader.meta
    except (FormatError, NotRecordedError, OSError):
        return None
    return rank_facts(meta) or process_facts(meta)


def find_rank_sets(folder: str | Path) -> tuple[list[RankSet], str]:
    """The sets below a folder, and a note ("" when all is well). A rank that has several reports under one name, as
    unnamed engines of one program do, is in as many sets: the first reports of all ranks, the second ones, and so on.

    `folder` may be that of one rank: then its neighbours count too."""
    root = Path(folder).resolve()
    facts_of_root = facts_of(root) if (root / "profile.pop").is_file() else None
    entries, note = find((above_ranks(root, facts_of_root) if facts_of_root else None) or root)
    reports = ranked((facts_of(entry.path), entry.path) for entry in entries if entry.kind == "report")
    rank_of_root = next((rank for rank, path in reports if path == root), None)
    if rank_of_root is not None:
        reports = [(rank, path) for rank, path in reports if rank and rank.group == rank_of_root.group]
    return group_ranks(reports), note


def ranked(reports: Iterable[tuple[RankFacts | ProcessFacts | None, Path]]) -> list[tuple[RankFacts | None, Path]]:
    """The reports with the ranks that they name, or that their processes are given."""
    reports = list(reports)
    places = numbered({path: facts for facts, path in reports if isinstance(facts, ProcessFacts)})

    def rank(facts: RankFacts | ProcessFacts | None, path: Path) -> RankFacts | None:
        if not isinstance(facts, ProcessFacts):
            return facts
        place = places.get(path)
        return None if place is None else RankFacts(place.run, place.number, place.processes, facts.engine, "process")

    return [(rank(facts, path), path) for facts, path in reports]


def group_ranks(reports: Iterable[tuple[RankFacts | None, Path]]) -> list[RankSet]:
    """The sets of these reports, in the order in which they are met; reports without a rank are left out."""
    found: dict[tuple[str, int, str], dict[int, list[Path]]] = {}
    for facts, path in reports:
        if facts is not None:
            found.setdefault(facts.group, {}).setdefault(facts.rank, []).append(path)
    return [each for (run, ranks, engine), folders in found.items() for each in _sets(run, ranks, engine, folders)]


def _sets(run: str, ranks: int, engine: str, folders: Mapping[int, list[Path]]) -> list[RankSet]:
    most = max(map(len, folders.values()))
    return [
        RankSet(run, engine, ranks, {rank: folders[rank][at] for rank in sorted(folders) if at < len(folders[rank])})
        for at in range(most)
    ]


def above_ranks(folder: Path, facts: RankFacts | ProcessFacts) -> Path | None:
    """The folder that holds the folders of all ranks: above the last rank_<number> of the path, else the parent. For
    a process that has no rank, the folder that it shared with others; None where it shared none."""
    if isinstance(facts, ProcessFacts):
        return above_processes(folder)
    for each in (folder, *folder.parents):
        if each.name.startswith("rank_"):
            return each.parent
    return folder.parent
