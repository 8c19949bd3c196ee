"""The reports and traces that the viewer may show: those in the given folders and below them.

A key in a URL is looked up in this list and never becomes part of a path. Sources are opened on first use and kept in
an LRU cache; a source is opened again when its file changes.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from popvision.analysis.ranks.process_folders import ProcessFacts
from popvision.analysis.ranks.rank_set import RankFacts, RankSet, above_ranks, facts_of, group_ranks, ranked
from popvision.analysis.summary import report_list
from popvision.analysis.summary.report_list import Card, ReportPath
from popvision.analysis.trace.growing_joint import GrowingJoin
from popvision.analysis.trace.joint import join_traces, marker_at
from popvision.kept import BoundedCache
from webapp.base.joint_key import JointKey, parse_joint_key

_Stamp = tuple[tuple[int, int, bool], ...]


#: A followed trace rests this long after it was opened, in seconds, and at least so many times the processor time that
#: took: however large a file that is read as a whole is, opening it again takes at most a sixth of one processor.
_SHORTEST_REST, _REST_PER_OPENING = 0.4, 6

#: A commit can be read a moment after its last byte was written: SQLite waits for the disk in between. What is read in
#: that moment is older than size and time of the journal say, so a journal is read once more when it has not been
#: written for so many seconds: a guess at what a slow disk takes.
_SETTLED = 2.0

#: Seconds after which a viewer that follows looks for new files again, and into reports that changed.
_LOOK_EVERY = 2.0


class UnknownKeyError(KeyError):
    """A key that is not in the list: the report was removed, or the address is invented."""


@dataclass(frozen=True)
class Entry:
    """One listed report or trace. `group` is the given folder that contains it."""

    key: str
    kind: str  #: "report" or "trace"
    path: Path
    group: str
    is_sample: bool = False
    more: tuple[Path, ...] = ()  #: the other files of a joint trace

    @property
    def paths(self) -> tuple[Path, ...]:
        """All its files."""
        return (self.path, *self.more)


@dataclass
class _Opened:
    stamp: _Stamp
    source: Any
    rests_until: float = 0.0  #: monotonic seconds; a followed trace is not opened again before


class Library:
    """Reports of `folders` (empty = the packaged samples), of which `capacity` stay open. Thread-safe.

    With `follows`, pages show what is added to traces while they are open; a trace that changes all the time is then
    opened again only after a rest."""

    def __init__(self, folders: Sequence[str | Path] = (), *, capacity: int = 6, follows: bool = False) -> None:
        self.follows = follows
        self.folders = [Path(each).expanduser().resolve() for each in folders]
        self.samples = report_list.samples_folder()
        self._lock = threading.RLock()
        self._entries: dict[str, Entry] = {}
        self._open: BoundedCache[str, _Opened] = BoundedCache(capacity, lambda _: 1)
        self._followed: BoundedCache[str, Any] = BoundedCache(capacity, lambda _: 1)
        self._looked: dict[str, tuple[float, str]] = {}  #: what was looked at -> moment, and what was seen
        self._cards: dict[str, tuple[_Stamp, Card]] = {}
        self._run_ids: dict[str, tuple[_Stamp, str]] = {}
        self._ranks: dict[str, tuple[_Stamp, RankFacts | ProcessFacts | None]] = {}
        self.notes: list[str] = []
        self._has_said = False  #: that imports are not kept
        self.takes_uploads = False  #: whether the first page accepts uploads
        self.scan()

    def scan(self) -> list[Entry]:
        """Search the folders again. Entries are in the order of the search, samples last."""
        entries: dict[str, Entry] = {}
        notes: list[str] = []
        for root in self.folders:
            self._scan_root(root, False, entries, notes)
        if self.samples is not None:
            self._scan_root(self.samples, True, entries, notes)
        with self._lock:
            self._entries, self.notes = entries, notes
            for key in self._open.all_keys():
                joint = parse_joint_key(key)
                if any(each not in entries for each in (joint.keys if joint else (key,))):
                    self._open.remove(key)
        return list(entries.values())

    def look(self, key: str = "") -> str:
        """A text that changes when entries come or go, or a listed report changes; with the `key` of a trace, when
        reports of its execution do. Searches the folders again, at most every other second. Raises UnknownKeyError."""
        now = time.monotonic()
        with self._lock:
            before = self._looked.get(key)
            if before is not None and now < before[0]:
                return before[1]
            self._looked[key] = now + _LOOK_EVERY, "" if before is None else before[1]
        begin = time.thread_time()
        self.scan()
        chosen = self.partners(key) if key else self.entries()
        # Of a trace that is recorded, size and time change all the time: the list shows neither.
        seen = [f"{each.key}.{'' if each.kind == 'trace' else self.stamp(each.key)}" for each in chosen]
        text = hashlib.blake2b("+".join(seen).encode(), digest_size=8).hexdigest()
        rest = max(_LOOK_EVERY, 20 * (time.thread_time() - begin))
        with self._lock:
            self._looked[key] = now + rest, text
        return text

    def add(self, folder: Path) -> list[Entry]:
        """Add a folder; its entries."""
        with self._lock:
            self.folders = [*self.folders, folder.resolve()]
        return [entry for entry in self.scan() if entry.group == str(folder.resolve())]

    def _scan_root(self, root: Path, is_sample: bool, entries: dict[str, Entry], notes: list[str]) -> None:
        reports, note = report_list.find(root)
        if note and not is_sample:
            notes.append(note)
        for each in reports:
            key = _key_of(each)
            entries.setdefault(key, Entry(key, each.kind, each.path, str(root), is_sample))

    def entries(self) -> list[Entry]:
        with self._lock:
            return list(self._entries.values())

    def entry(self, key: str) -> Entry:
        """The entry of a report, a trace, or several traces (webapp/base/joint_key.py). Raises UnknownKeyError."""
        joint = parse_joint_key(key)
        if joint is not None:
            return self._joint_entry(key, joint)
        found = self._entry(key)
        if found is None and self.follows:
            self.look()  # a file that was away may be there again
            found = self._entry(key)
        if found is None:
            raise UnknownKeyError(key)
        return found

    def _entry(self, key: str) -> Entry | None:
        with self._lock:
            return self._entries.get(key)

    def _joint_entry(self, key: str, joint: JointKey) -> Entry:
        parts = [self.entry(each) for each in joint.keys]
        if any(each.kind != "trace" for each in parts):
            raise UnknownKeyError(key)
        first, *rest = parts
        return Entry(key, "trace", first.path, first.group, first.is_sample, tuple(each.path for each in rest))

    def card(self, entry: Entry) -> Card:
        """The description of an entry in the list. Never raises for a damaged file: the card states the problem."""
        stamp = _stamp(entry)
        with self._lock:
            known = self._cards.get(entry.key)
        opened = self._open.peek(entry.key) if entry.kind == "trace" else None
        source = opened.source if opened is not None and opened.stamp == stamp else None
        is_waiting = known is not None and known[1].state == report_list.NOT_READ and source is not None
        if known is not None and known[0] == stamp and not is_waiting:
            return known[1]
        card = report_list.describe(ReportPath(entry.kind, entry.path), source)
        card = replace(card, problem=self.without_paths(card.problem))
        with self._lock:
            self._cards[entry.key] = (stamp, card)
        return card

    def without_paths(self, sentence: str) -> str:
        """The sentence with files named from the given folders down: pages show no path of the server."""
        roots = [*self.folders, *([] if self.samples is None else [self.samples])]
        for root in sorted(map(str, roots), key=len, reverse=True):
            folder, _, name = root.rpartition(os.sep)
            sentence = sentence.replace(f"{root}{os.sep}", "")
            if folder:
                sentence = sentence.replace(f"{folder}{os.sep}{name}", name)
        return sentence

    def partners(self, key: str) -> list[Entry]:
        """Of a report the host traces of the same execution, of a trace the reports: those with its run id. Of copies
        of an execution in several folders, those nearest to it. Raises UnknownKeyError."""
        joint = parse_joint_key(key)
        if joint is not None:
            return list(dict.fromkeys(each for part in joint.keys for each in self.partners(part)))
        entry = self.entry(key)
        run_id = self._run_id(entry)
        if not run_id:
            return []
        others = [each for each in self.entries() if each.kind != entry.kind and self._run_id(each) == run_id]
        shared = [len(os.path.commonpath([entry.path, each.path])) for each in others]
        return [each for each, length in zip(others, shared, strict=True) if length == max(shared)]

    def _run_id(self, entry: Entry) -> str:
        stamp = _stamp(entry)
        with self._lock:
            known = self._run_ids.get(entry.key)
        if known is not None and known[0] == stamp:
            return known[1]
        run_id = report_list.run_id_of(ReportPath(entry.kind, entry.path))
        with self._lock:
            self._run_ids[entry.key] = (stamp, run_id)
        return run_id

    def rank_set(self, key: str) -> tuple[RankSet, dict[int, str]] | None:
        """The ranks of the run that a report is of, and the keys of their reports by rank: those below the folder that
        holds the folders of the ranks. None for a report of no such run. Raises UnknownKeyError."""
        entry = self.entry(key)
        reports, keys = self._ranks_beside(entry)
        facts = next((facts for facts, path in reports if path == entry.path), None)
        if facts is None:
            return None
        group = facts.group
        for ranks in group_ranks(
            (other, path) for other, path in reports if other is not None and other.group == group
        ):
            if entry.path in ranks.folders.values():
                return ranks, {rank: keys[path] for rank, path in ranks.folders.items()}
        return None

    def rank(self, key: str) -> RankFacts | None:
        """The place of a report in such a set; None for a report of none. Raises UnknownKeyError."""
        entry = self.entry(key)
        facts = self._rank_of(entry)
        if facts is None or isinstance(facts, RankFacts):
            return facts
        return next((rank for rank, path in self._ranks_beside(entry)[0] if path == entry.path), None)

    def _ranks_beside(self, entry: Entry) -> tuple[list[tuple[RankFacts | None, Path]], dict[Path, str]]:
        """The reports where those of other ranks are, each with its rank, and their keys."""
        facts = self._rank_of(entry)
        above = None if facts is None else above_ranks(entry.path, facts)
        if above is None:
            return [], {}
        reports = [
            other for other in self.entries() if other.kind == "report" and above in (other.path, *other.path.parents)
        ]
        keys = {report.path: report.key for report in reports}
        return ranked((self._rank_of(report), report.path) for report in reports), keys

    def _rank_of(self, entry: Entry) -> RankFacts | ProcessFacts | None:
        stamp = _stamp(entry)
        with self._lock:
            known = self._ranks.get(entry.key)
        if known is not None and known[0] == stamp:
            return known[1]
        facts = facts_of(entry.path)
        with self._lock:
            self._ranks[entry.key] = (stamp, facts)
        return facts

    def report(self, key: str) -> Any:
        """The ReportSource of a key. Raises UnknownKeyError, or FormatError with one sentence."""
        return self._source(key, "report", report_list.open_report)

    def trace(self, key: str) -> Any:
        """The HostTrace of a key: a TraceSource, or the JointTrace of several. Raises UnknownKeyError, or FormatError
        with one sentence."""
        joint = parse_joint_key(key)
        if joint is None:
            source = self._source(key, "trace", self._follow(key) if self.follows else report_list.open_trace)
            self._say_not_kept(getattr(source, "cache_problem", ""))
            return source
        return self._source(key, "trace", lambda _: self._join(key, joint))

    def _say_not_kept(self, problem: str) -> None:
        """Say on stderr, once, why imports of other tools' traces are not kept."""
        if problem and not self._has_said:
            self._has_said = True
            print(f"popvision: {problem}", file=sys.stderr, flush=True)

    def _follow(self, key: str) -> Callable[[Path], Any]:
        """Reads what was added to a trace since it was last opened."""

        def opener(path: Path) -> Any:
            followed = self._followed.get(key, lambda: report_list.follow_trace(path))
            return followed.now()

        return opener

    def _join(self, key: str, joint: JointKey) -> Any:
        parts = [self.trace(each) for each in joint.keys]
        try:
            marker = None if joint.event is None else marker_at(parts, *joint.event)
        except IndexError:
            raise UnknownKeyError(key) from None
        if self.follows:
            return self._followed.get(key, GrowingJoin).join(parts, joint.mode, marker)
        return join_traces(parts, joint.mode, marker)

    def stamp(self, key: str) -> str:
        """A text that changes with the file and its journal, and once more when the journal is no longer written.
        Raises UnknownKeyError."""
        return "-".join(f"{size:x}.{moment:x}.{fresh:d}" for size, moment, fresh in _stamp(self.entry(key)))

    def written(self, key: str) -> str:
        """A text that changes with the file and its journal alone. Raises UnknownKeyError."""
        return "-".join(f"{size:x}.{moment:x}" for size, moment, _ in _stamp(self.entry(key)))

    def forget(self, key: str) -> None:
        """Close a source, so that the next use reads its files again."""
        joint = parse_joint_key(key)
        for part in joint.keys if joint else ():
            self.forget(part)
        with self._lock:
            self._open.remove(key)
            self._followed.remove(key)
            self._cards.pop(key, None)

    def _source(self, key: str, kind: str, opener: Callable[[Path], Any]) -> Any:
        entry = self.entry(key)
        if entry.kind != kind:
            raise UnknownKeyError(key)
        stamp = _stamp(entry)
        opened = self._open.peek(key)
        if opened is not None and opened.stamp != stamp and time.monotonic() >= opened.rests_until:
            self._open.remove(key)
        return self._open.get(key, lambda: self._opened(stamp, kind, lambda: opener(entry.path))).source

    def _opened(self, stamp: _Stamp, kind: str, opener: Callable[[], Any]) -> _Opened:
        begin = time.thread_time()
        source = opener()
        if not self.follows or kind != "trace":
            return _Opened(stamp, source)
        spent = time.thread_time() - begin
        # A reading of a trace that grows costs what is new: what the first one took says nothing of the next.
        rest = _SHORTEST_REST if source.is_growing else max(_SHORTEST_REST, _REST_PER_OPENING * spent)
        return _Opened(stamp, source, time.monotonic() + rest)


def _key_of(report: ReportPath) -> str:
    """A readable, stable key: a slug of the name and a digest of the full path. Only [a-z0-9-], never a path."""
    digest = hashlib.blake2b(
        f"{report.kind}:{report.path}".encode("utf-8", "surrogateescape"), digest_size=6
    ).hexdigest()
    slug = re.sub(r"[^a-z0-9]+", "-", report.path.stem.lower()).strip("-")[:32].strip("-")
    return f"{slug}-{digest}" if slug else digest


def _stamp(entry: Entry) -> _Stamp:
    """Size and time of the file and its journal, which change with every commit, hence with every generation, and
    whether the journal was written within the last `_SETTLED` seconds."""
    mains = [path / "profile.pop" if entry.kind == "report" else path for path in entry.paths]
    return tuple(each for main in mains for each in (_state(main), _state(main.with_name(main.name + "-wal"), True)))


def _state(path: Path, is_journal: bool = False) -> tuple[int, int, bool]:
    try:
        status = path.stat()
    except OSError:
        return -1, -1, False
    return status.st_size, status.st_mtime_ns, is_journal and time.time() - status.st_mtime < _SETTLED
