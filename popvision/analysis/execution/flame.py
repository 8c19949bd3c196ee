"""Flame graph over time: stacked bars for the levels of the slash-separated debug names of recorded steps.

"m4/Conv_1/Convolve" is a bar "Convolve" on the third level, under "Conv_1", under "m4". Neighbouring steps that share
a prefix share its bar; every execution keeps its own leaf. Slashes within braces
belong to names of variables: "Copy_{a/b,c}_to_d" is one level. The three steps of a stream copy are leaves Begin, Mid
and End under one bar per copy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.execution.overlap import Lane, lane_timeline, lanes
from popvision.analysis.execution.timeline import RunBars, Timeline, program_labels, timeline
from popvision.arrays import BoolArray, Int32Array, Int64Array, UInt8Array
from popvision.formats.profile.model import PROGRAM_TYPES

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


#: `kind` of a bar that groups others; a leaf's kind is its type, an index into PROGRAM_TYPES.
GROUP = 255
#: `kind` of the bar over the steps of one stream copy.
STREAM_COPY = 254
#: `kind` of an engine run.
RUN = 253

#: Names nested deeper than this share the last level, joined by slashes.
MOST_LEVELS = 24

_COMPUTE_SET = re.compile(r"^cs\d+_(?=.)")
_STREAM_PARTS = {"StreamCopyBegin": "Begin", "StreamCopyMid": "Mid", "StreamCopyEnd": "End"}
_STREAM_TYPES = np.array([name in _STREAM_PARTS for name in PROGRAM_TYPES])
_BARRIERS = np.isin(PROGRAM_TYPES, ["Sync", "SyncAns", "Sans"])
_STREAM_BEGIN = PROGRAM_TYPES.index("StreamCopyBegin")


@dataclass(frozen=True)
class Level:
    """Bars of one level, in time order and never overlapping: bar b takes cycles [begin[b], end[b]) and covers steps
    first[b] to last[b] inclusive."""

    begin: Int64Array
    end: Int64Array
    first: Int32Array
    last: Int32Array
    name: Int32Array  #: row of Flame.names
    kind: UInt8Array


@dataclass(frozen=True)
class Flame:
    """Levels from the outermost down. Flat view: one level, every step a leaf. Where I/O overlaps (`overlap`), the
    levels of the I/O lane follow those of the first."""

    names: list[str]
    levels: list[Level]
    lanes: tuple[int, ...] = (0,)  #: the level with which each lane begins


def flame(source: ReportSource, ipu: int) -> Flame:
    """Nested bars of one IPU, worked out once per opened report. Raises what `timeline` raises."""
    steps, apart = timeline(source, ipu), lanes(source, ipu)
    labels = program_labels(source)
    return source.kept.recent(("flame", ipu), lambda: _in_lanes(steps, apart, lambda each: make_flame(each, labels)))


def flat(source: ReportSource, ipu: int) -> Flame:
    """One level with a bar per step, named by the full debug name. Raises what `timeline` raises."""
    steps, apart = timeline(source, ipu), lanes(source, ipu)
    labels = program_labels(source)
    return source.kept.recent(("flat", ipu), lambda: _in_lanes(steps, apart, lambda each: make_flat(each, labels)))


def _in_lanes(steps: Timeline, apart: list[Lane], make: Callable[[Timeline], Flame]) -> Flame:
    """The levels of each lane below each other; steps of a lane get their numbers back."""
    if len(apart) == 1:
        return make(steps)
    names: list[str] = []
    levels: list[Level] = []
    begins = []
    for lane in apart:
        part = make(lane_timeline(steps, lane))
        rows = lane.steps.astype(np.int32)
        begins.append(len(levels))
        levels += [
            replace(each, first=rows[each.first], last=rows[each.last], name=each.name + np.int32(len(names)))
            for each in part.levels
        ]
        names += part.names
    return Flame(names, levels, tuple(begins))


def make_flat(steps: Timeline, labels: Sequence[str]) -> Flame:
    """The flat level, from columns."""
    each = np.arange(len(steps), dtype=np.int32)
    level = Level(steps.begin, steps.end, each, each, steps.program.astype(np.int32), steps.type)
    return Flame(list(labels), [level])


def run_level(runs: RunBars) -> Level:
    """The runs as a level of bars; `name` is the row of `runs.name`."""
    rows = np.arange(len(runs.name), dtype=np.int32)
    kind = np.full(len(rows), RUN, np.uint8)
    return Level(runs.begin, runs.end, runs.first.astype(np.int32), runs.last.astype(np.int32), rows, kind)


def make_flame(steps: Timeline, labels: Sequence[str]) -> Flame:
    """The nested levels, from columns."""
    ran, row = np.unique(steps.program, return_inverse=True)
    types = np.zeros(len(ran), np.uint8)
    types[row] = steps.type
    texts = [labels[program] for program in ran.tolist()]
    names, key, kind = _name_table(texts, types)
    nameless = (_BARRIERS[types] & np.array(["/" not in text for text in texts], bool))[row]
    before, after, shared = _neighbours(nameless, steps.run)
    levels = []
    for depth in range(key.shape[1]):
        keys, kinds = key[row, depth], kind[row, depth]
        above = shared
        shared = above & (keys[before] == keys[after]) & (kinds[before] == GROUP) & (kinds[after] == GROUP)
        shared &= keys[before] >= 0
        leaf = above & ~shared
        keys[nameless & above] = -1
        keys[leaf], kinds[leaf] = key[row[leaf], 0], steps.type[leaf]
        keys[shared], kinds[shared] = keys[before[shared]], GROUP
        levels.append(_level(keys, kinds, steps))
    return Flame(names, levels)


def _neighbours(nameless: BoolArray, run: Int64Array) -> tuple[Int64Array, Int64Array, BoolArray]:
    """For every step the nearest named one before and after it, and which nameless steps have both in their run."""
    count = len(nameless)
    each = np.arange(count, dtype=np.int64)
    before = np.maximum.accumulate(np.where(nameless, -1, each))
    after = np.minimum.accumulate(np.where(nameless, count, each)[::-1])[::-1]
    between = nameless & (before >= 0) & (after < count)
    before, after = np.where(between, before, 0), np.where(between, after, 0)
    between &= (run[before] == run) & (run[after] == run)
    return before, after, between


def _name_table(labels: list[str], types: UInt8Array) -> tuple[list[str], Int32Array, UInt8Array]:
    """Names of all distinct prefixes; per program and level the prefix (-1 = not that deep) and its kind."""
    paths = [name_path(label, PROGRAM_TYPES[kind]) for label, kind in zip(labels, types.tolist(), strict=True)]
    depth = max((len(path) for path in paths), default=1)
    key = np.full((len(paths), depth), -1, np.int32)
    kinds = np.full((len(paths), depth), GROUP, np.uint8)
    ids: dict[tuple[int, str], int] = {}
    for row, path in enumerate(paths):
        parent = -1
        for level, name in enumerate(path):
            parent = key[row, level] = ids.setdefault((int(parent), name), len(ids))
        kinds[row, len(path) - 1] = types[row]
        if _STREAM_TYPES[types[row]]:
            kinds[row, len(path) - 2] = STREAM_COPY
    return [name for _, name in ids], key, kinds


def split_name(name: str) -> list[str]:
    """A name's parts between slashes that lie outside all pairs of braces. A brace without its partner is a letter."""
    if "{" not in name:
        return name.split("/")
    depth = 0
    parts: list[str] = []
    begin = 0
    paired = _paired_braces(name)
    for at, letter in enumerate(name):
        if at in paired:
            depth += 1 if letter == "{" else -1
        elif letter == "/" and not depth:
            parts.append(name[begin:at])
            begin = at + 1
    return [*parts, name[begin:]]


def _paired_braces(name: str) -> set[int]:
    """Places of the braces that have a partner."""
    opened: list[int] = []
    paired: set[int] = set()
    for at, letter in enumerate(name):
        if letter == "{":
            opened.append(at)
        elif letter == "}" and opened:
            paired |= {opened.pop(), at}
    return paired


def name_path(label: str, type_name: str) -> list[str]:
    """The parts of a program's label, outermost first: what the levels of the flame view show."""
    parts = [part for part in split_name(_COMPUTE_SET.sub("", label)) if part] or [type_name]
    if type_name in _STREAM_PARTS:
        parts = ["StreamCopy"] if parts == [type_name] else parts
        parts.append(_STREAM_PARTS[type_name])
    if len(parts) > MOST_LEVELS:
        keep = MOST_LEVELS - 1 - (type_name in _STREAM_PARTS)
        tail = parts[-1:] if type_name in _STREAM_PARTS else []
        parts = [*parts[:keep], "/".join(parts[keep : len(parts) - len(tail)]), *tail]
    return parts


def _level(key: Int32Array, kind: UInt8Array, steps: Timeline) -> Level:
    """Merge neighbours: a bar ends where the prefix, the kind or the run changes, and every leaf is its own bar."""
    begins = np.ones(len(key), bool)
    begins[1:] = (key[1:] != key[:-1]) | (kind[1:] != kind[:-1]) | (steps.run[1:] != steps.run[:-1])
    begins |= kind < STREAM_COPY
    begins |= (kind == STREAM_COPY) & (steps.type == _STREAM_BEGIN)
    first = np.flatnonzero(begins).astype(np.int32)
    last = (np.append(first, np.int32(len(key)))[1:] - 1).astype(np.int32)
    present = key[first] >= 0
    first, last = first[present], last[present]
    return Level(steps.begin[first], steps.end[last], first, last, key[first], kind[first])
