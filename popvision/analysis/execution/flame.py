"""Flame graph over time: stacked bars for the levels of the slash-separated debug names of recorded steps.

"m4/Conv_1/Convolve" is a bar "Convolve" under "Conv_1", under "m4". Neighbouring steps that share a prefix share its
bar; every execution keeps its own leaf. A group whose only child is a group shares a level with it: "m4/Conv_1". A step
whose name is also the prefix of others is a leaf of that group, named by its type.

What serves an operation lies in its bar: the lowered copy "copy2_Copy_a_to_m4/Conv_1/acts" is the group "Copy to acts"
under "m4", "Conv_1", the path of the variable that it writes, and a barrier is a leaf of the groups of the step after
it. Slashes within braces belong to names of variables. The three steps of a stream copy are leaves Begin, Mid and End
under one bar per copy.
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
_LOWERED_COPY = re.compile(r"^copy\d+_Copy_(?P<variables>.+?)(?P<part>/ExchangePre|/OnTileCopy-\d+)?$")
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
    after, shared = _served(nameless, steps.run)
    levels = []
    for depth in range(key.shape[1]):
        keys, kinds = key[row, depth], kind[row, depth]
        above = shared
        shared = above & (kinds[after] == GROUP) & (keys[after] >= 0)
        leaf = above & ~shared
        keys[nameless & above] = -1
        keys[leaf], kinds[leaf] = key[row[leaf], 0], steps.type[leaf]
        keys[shared], kinds[shared] = keys[after[shared]], GROUP
        levels.append(_level(keys, kinds, steps))
    return Flame(names, levels)


def _served(nameless: BoolArray, run: Int64Array) -> tuple[Int64Array, BoolArray]:
    """For every step the nearest named one after it, and which nameless steps have one in their run."""
    count = len(nameless)
    after = np.minimum.accumulate(np.where(nameless, count, np.arange(count, dtype=np.int64))[::-1])[::-1]
    serves = nameless & (after < count)
    after = np.where(serves, after, 0)
    serves &= run[after] == run
    return after, serves


def _name_table(labels: list[str], types: UInt8Array) -> tuple[list[str], Int32Array, UInt8Array]:
    """Names of all distinct prefixes; per program and level the prefix (-1 = not that deep) and its kind."""
    texts = [PROGRAM_TYPES[kind] for kind in types.tolist()]
    paths = _folded([name_path(label, text) for label, text in zip(labels, texts, strict=True)], texts)
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


def _folded(paths: list[list[str]], types: Sequence[str]) -> list[list[str]]:
    """The paths with a leaf of its own for a step whose path is a prefix of others, and with one level for a group and
    its only child where that is a group too. A bar of a stream copy stays a level of its own."""
    prefixes = {tuple(path[:depth]) for path in paths for depth in range(1, len(path))}
    ends = [[*path, kind] if tuple(path) in prefixes else path for path, kind in zip(paths, types, strict=True)]
    children: dict[tuple[str, ...], set[str]] = {}
    copies = {tuple(path[:-1]) for path, kind in zip(ends, types, strict=True) if kind in _STREAM_PARTS}
    for path in ends:
        for depth in range(1, len(path)):
            children.setdefault(tuple(path[:depth]), set()).add(path[depth])
    folded = []
    for path in ends:
        parts = [path[0]]
        for depth in range(1, len(path)):
            group, child = tuple(path[:depth]), tuple(path[: depth + 1])
            if len(children[group]) == 1 and child in children and child not in copies:
                parts[-1] += f"/{path[depth]}"
            else:
                parts.append(path[depth])
        folded.append(parts)
    return folded


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


def _copy_parts(label: str) -> list[str] | None:
    """The path of a lowered copy: that of the variables it writes, then "Copy to" their names, then its part.
    None for other labels, and where "_to_" within a variable's name leaves open what is written."""
    match = _LOWERED_COPY.match(label)
    if match is None:
        return None
    variables = match["variables"]
    paired = _paired_braces(variables)
    depths = np.cumsum([(1 if letter == "{" else -1) if at in paired else 0 for at, letter in enumerate(variables)])
    places = [at.start() for at in re.finditer("(?=_to_)", variables) if not depths[at.start()]]
    if len(places) != 1:
        return None
    written = variables[places[0] + len("_to_") :]
    names = written[1:-1].split(",") if written.startswith("{") and written.endswith("}") else [written]
    paths = [[part for part in split_name(name) if part] for name in names]
    if not all(paths):
        return None
    shared = 0
    while all(len(path) > shared + 1 and path[shared] == paths[0][shared] for path in paths):
        shared += 1
    group = "Copy to " + ", ".join("/".join(path[shared:]) for path in paths)
    return [*paths[0][:shared], group, *([match["part"][1:]] if match["part"] else [])]


def name_path(label: str, type_name: str) -> list[str]:
    """The parts of a program's label, outermost first: the levels of the flame view before they are folded."""
    parts = _copy_parts(label) or [part for part in split_name(_COMPUTE_SET.sub("", label)) if part] or [type_name]
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
