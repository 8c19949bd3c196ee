"""The lowered programs as trees: containment, roots, and programs that match a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.report.columns import programs_of
from popvision.analysis.report.nouns import with_noun
from popvision.arrays import BoolArray, Int64Array, UInt8Array
from popvision.formats.errors import FormatError
from popvision.formats.profile.model import PROGRAM_TYPES

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from popvision.formats.profile.model import Programs


__all__ = [
    "PROGRAM_TYPES",
    "Root",
    "TreeRows",
    "guessed_programs",
    "matching_programs",
    "matching_rows",
    "note",
    "root_of",
    "roots",
    "tree_rows",
    "type_indices",
]

#: Rows of one tree. A file whose shared bodies unfold into more is refused, so that it cannot fill memory.
MOST_ROWS = 4_000_000


@dataclass(frozen=True)
class Root:
    """A program that is nobody's child. `number` counts within its list, "control" or "function"."""

    program: int
    owner: str
    number: int
    name: str


@dataclass(frozen=True)
class TreeRows:
    """One tree in pre-order: row r shows `program[r]`, indented `depth[r]` deep; its descendants are the
    `size[r] - 1` rows after it."""

    program: Int64Array
    depth: Int64Array
    size: Int64Array


def roots(source: ReportSource) -> list[Root]:
    """Control programs and functions in the order of the file."""
    programs = programs_of(source)
    is_child = np.zeros(len(programs.type), bool)
    is_child[_children(programs)] = True
    numbers: dict[str, int] = {}
    roots_by_owner = []
    for program in np.flatnonzero(~is_child).tolist():
        owner = programs.owner[program]
        roots_by_owner.append(Root(program, owner, numbers.get(owner, 0), programs.name[program]))
        numbers[owner] = numbers.get(owner, 0) + 1
    return roots_by_owner


def tree_rows(source: ReportSource, root: int) -> TreeRows:
    """The tree below a program. Raises FormatError when programs contain each other or the tree is too large, and
    ValueError for a program that is not there."""
    return source.kept.recent(("tree_rows", root), lambda: _walk(programs_of(source), root))


def root_of(source: ReportSource, program: int) -> int:
    """The root of the first tree that shows a program. Raises ValueError for a program that is not there."""
    first_root = source.kept.once("first_roots", lambda: _first_roots(source))
    if not 0 <= program < len(first_root) or first_root[program] < 0:
        raise ValueError(f"there is no program {program}: ids go from 0 to {len(first_root) - 1}")
    return int(first_root[program])


def matching_rows(source: ReportSource, root: int, text: str) -> Int64Array:
    """Rows of a tree whose program matches (see `matching_programs`)."""
    rows = tree_rows(source, root)
    return np.flatnonzero(matching_programs(source, text)[rows.program]).astype(np.int64)


def matching_programs(source: ReportSource, text: str) -> BoolArray:
    """By program whether its type or name contains `text` (case aside), or its id is the number after "#"; none for
    blank text."""
    programs = programs_of(source)
    wanted = text.strip().lower()
    if not wanted:
        return np.zeros(len(programs.type), bool)
    if wanted.startswith("#") and wanted[1:].isdecimal():
        return np.equal(np.arange(len(programs.type)), int(wanted[1:]))
    texts = source.kept.once("program_texts", lambda: _search_texts(programs))
    hits: BoolArray = np.fromiter((wanted in each for each in texts), bool, len(texts))
    return hits


def type_indices(source: ReportSource) -> UInt8Array:
    """Each program's type as an index into PROGRAM_TYPES; types that are not known count as the last, "Unknown"."""
    index = {name: row for row, name in enumerate(PROGRAM_TYPES)}
    last = len(PROGRAM_TYPES) - 1
    types = programs_of(source).type
    return source.kept.once("type_indices", lambda: np.array([index.get(type_, last) for type_ in types], np.uint8))


def note(source: ReportSource, program: int) -> str:
    """What stands between a program's type and its name: trips of a Repeat, kind of a Sync, tiles of a Sans."""
    programs = programs_of(source)
    type_ = programs.type[program]
    if type_ == "Repeat":
        return f"× {int(programs.repeat_count[program]):,}"
    if type_ == "Sync" and programs.sync_type[program]:
        text = programs.sync_type[program].capitalize()
        return "" if text == programs.name[program] else text
    if type_ in ("Sans", "SyncAns"):
        return _tiles_note(source, program)
    return ""


def guessed_programs(source: ReportSource) -> BoolArray:
    """Which programs run a compute set whose cycles are partly a guess (model.PROVENANCE)."""

    def read() -> BoolArray:
        sets = [row for row, provenance in source.reader.compute_set_provenance() if provenance == "guess"]
        return np.isin(np.asarray(programs_of(source).compute_set), np.array(sets, np.int64))

    return source.kept.once("guessed_programs", read)


def _tiles_note(source: ReportSource, program: int) -> str:
    """Tiles that took part in the program's first step, all IPUs; "" when it never ran."""
    steps = source.kept.recent(("first_steps", source.generation), lambda: _first_steps(source))
    step = int(steps[program])
    if step < 0:
        return ""
    ipus = range(source.reader.target().num_ipus)
    tiles = sum(int(source.reader.steps_on_ipu(ipu).active_tiles[step]) for ipu in ipus)
    return with_noun(tiles, "tile")


def _first_steps(source: ReportSource) -> Int64Array:
    first = np.full(len(programs_of(source).type), -1, np.int64)
    program = np.asarray(source.reader.steps().program, np.int64)
    first[program[::-1]] = np.arange(len(program) - 1, -1, -1)
    return first


def _search_texts(programs: Programs) -> list[str]:
    return [f"{type_} ({name})".lower() for type_, name in zip(programs.type, programs.name, strict=True)]


def _children(programs: Programs) -> Int64Array:
    """All children in one array. Raises FormatError for ids that are not programs."""
    children = np.asarray(programs.children, np.int64)
    offsets = np.asarray(programs.child_offsets, np.int64)
    n = len(programs.type)
    if len(offsets) != n + 1 or np.any(np.diff(offsets) < 0) or offsets[-1] > len(children) or offsets[0] < 0:
        raise FormatError("The program tree is damaged: lists of children do not fit the programs.")
    if len(children) and (children.min() < 0 or children.max() >= n):
        raise FormatError("The program tree is damaged: a child is not a program.")
    return children


def _walk(programs: Programs, root: int) -> TreeRows:
    if not 0 <= root < len(programs.type):
        raise ValueError(f"there is no program {root}: ids go from 0 to {len(programs.type) - 1}")
    children = _children(programs).tolist()
    offsets = np.asarray(programs.child_offsets, np.int64).tolist()
    order: list[int] = []
    depths: list[int] = []
    sizes: list[int] = []
    path: list[int] = []  # rows above the current one
    on_path = {root}
    stack = [(root, 0)]
    while stack:
        program, depth = stack.pop()
        while len(path) > depth:
            closed = path.pop()
            sizes[closed] = len(order) - closed
            on_path.discard(order[closed])
        row = len(order)
        if row >= MOST_ROWS:
            raise FormatError(f"The program tree has more than {MOST_ROWS:,} rows.")
        order.append(program)
        depths.append(depth)
        sizes.append(0)
        path.append(row)
        on_path.add(program)
        below = children[offsets[program] : offsets[program + 1]]
        if any(child in on_path for child in below):
            raise FormatError(f"The program tree is damaged: program {program} contains itself.")
        stack.extend((child, depth + 1) for child in reversed(below))
    for closed in path:
        sizes[closed] = len(order) - closed
    return TreeRows(*(np.array(each, np.int64) for each in (order, depths, sizes)))


def _first_roots(source: ReportSource) -> Int64Array:
    first = np.full(len(programs_of(source).type), -1, np.int64)
    for root in roots(source):
        shown = tree_rows(source, root.program).program
        first[shown[first[shown] < 0]] = root.program
    return first
