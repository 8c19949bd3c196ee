"""Matching of programs, variables, steps and other rows of two reports.

Rows match by debug identity first (identity.py: the chain of debug contexts and the name), then by name, then by order
(place in the tree, neighbours; tree_order.py). Rows that nothing tells apart stay unmatched and are listed. Results are
cached per pair of reports; docs/compare.md has the rules with their reasons.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.compare.align import align
from popvision.analysis.compare.identity import Identities, Vocabulary, stable_name
from popvision.analysis.compare.keyed import Pairing
from popvision.analysis.compare.tree_order import Tree, match_by_place
from popvision.analysis.report.columns import programs_of, stored_variables
from popvision.analysis.report.tiles import target_of
from popvision.arrays import BoolArray, Int64Array, IntegerArray, UInt8Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from popvision.formats.profile.model import Programs, Variables


#: What `Matching.how` counts.
HOW = ("debug identity", "name", "order")
_IDENTITY, _NAME, _ORDER = range(3)

#: Types whose programs carry no name of their own: "Internal" says what a sync is, not which.
_NAMELESS_TYPES = ("Sync", "SyncAns", "Sans")


@dataclass(frozen=True)
class Matching:
    """Row source[i] of one report is row target[i] of the other by rule HOW[how[i]]; ascending in `source`.
    The rest of either report stands in `only_source` and `only_target`, ascending."""

    source: Int64Array
    target: Int64Array
    how: UInt8Array
    only_source: Int64Array
    only_target: Int64Array

    def target_rows(self) -> Int64Array:
        """The target's row of each row of the source, -1 = none."""
        return _partners(self.source, self.target, len(self.source) + len(self.only_source))

    def source_rows(self) -> Int64Array:
        """The source's row of each row of the target, -1 = none."""
        return _partners(self.target, self.source, len(self.target) + len(self.only_target))


def match_programs(source: ReportSource, target: ReportSource) -> Matching:
    """Rows of programs. Raises FormatError when either report is damaged."""
    return source.kept.beside(target).once("programs", lambda: _programs(source, target))


def match_variables(source: ReportSource, target: ReportSource) -> Matching:
    """Rows of unlowered variables; a report without them has none."""
    return source.kept.beside(target).once("variables", lambda: _variables(source, target))


def match_compute_sets(source: ReportSource, target: ReportSource) -> Matching:
    """Rows of compute sets; a renamed one matches through the program that executes it."""
    return source.kept.beside(target).once("compute sets", lambda: _compute_sets(source, target))


def match_vertex_types(source: ReportSource, target: ReportSource) -> Matching:
    """Rows of vertex types, by name alone."""

    def read() -> Matching:
        words = Vocabulary()
        names = tuple(words.numbers(report.reader.vertex_types().name) for report in (source, target))
        pairing = Pairing(len(names[0]), len(names[1]))
        pairing.match_keys((names[0], names[1]), _NAME)
        return _finish(pairing)

    return source.kept.beside(target).once("vertex types", read)


def match_steps(source: ReportSource, target: ReportSource) -> Matching:
    """Execution steps: runs of the same program side by side, in them the steps of matched programs in order. `how`
    is how the programs were matched."""
    stamp = source.generation, target.generation
    return source.kept.beside(target).recent(("steps", stamp), lambda: _steps(source, target))


def match_runs(source: ReportSource, target: ReportSource) -> Int64Array:
    """The target's run of each run of the source, -1 = none: runs of the same program and name, in order."""
    keys = _run_keys(source, target)
    partner = np.full(len(keys[0]), -1, np.int64)
    rows, partners = align(keys[0], keys[1])
    partner[rows] = partners
    return partner


def match_tiles(source: ReportSource, target: ReportSource) -> Matching:
    """Global tile ids, counted as a name: tile 7 is tile 7. What only the larger machine has is unmatched."""

    def read() -> Matching:
        tiles = [np.arange(target_of(report).num_tiles) for report in (source, target)]
        pairing = Pairing(len(tiles[0]), len(tiles[1]))
        both = tiles[0][: min(len(tiles[0]), len(tiles[1]))]
        pairing.add(both, both, _NAME)
        return _finish(pairing)

    return source.kept.beside(target).once("tiles", read)


def pairs_of(partner: Int64Array, count: int) -> Matching:
    """The matching with these partners in a target of `count` rows, -1 = none: by order."""
    rows = np.flatnonzero(partner >= 0)
    return Matching(
        source=rows,
        target=partner[rows],
        how=np.full(len(rows), _ORDER, np.uint8),
        only_source=np.flatnonzero(partner < 0),
        only_target=np.setdiff1d(np.arange(count), partner),
    )


def _partners(rows: Int64Array, partners: Int64Array, size: int) -> Int64Array:
    partner = np.full(size, -1, np.int64)
    partner[rows] = partners
    return partner


def _finish(pairing: Pairing) -> Matching:
    rows = np.flatnonzero(pairing.target_of >= 0)
    return Matching(
        source=rows,
        target=pairing.target_of[rows],
        how=pairing.how[rows],
        only_source=np.flatnonzero(pairing.target_of < 0),
        only_target=np.flatnonzero(pairing.source_of < 0),
    )


def _programs(source: ReportSource, target: ReportSource) -> Matching:
    words, types = Vocabulary(), Vocabulary()
    trees = [_tree(programs_of(report), types) for report in (source, target)]
    keys = [
        _Keys.of(report, (tree.programs.type, tree.programs.name), tree.programs.debug_id, words, tree.nameless)
        for report, tree in zip((source, target), trees, strict=True)
    ]
    context = tuple(np.where(tree.nameless, tree.type, -1) for tree in trees)
    pairing = _by_keys(keys, (context[0], context[1]))
    match_by_place(trees[0], trees[1], pairing, _ORDER)
    return _finish(pairing)


def _tree(programs: Programs, types: Vocabulary) -> Tree:
    type = types.numbers(programs.type)
    kinds = np.array([programs.type[row] in _NAMELESS_TYPES for row in np.unique(type, return_index=True)[1]], bool)
    blank = np.fromiter(map(len, programs.name), np.int64, len(type)) == 0
    return Tree(programs, type, blank | np.isin(type, np.unique(type)[kinds]))


def _variables(source: ReportSource, target: ReportSource) -> Matching:
    one, other = (stored_variables(report) for report in (source, target))
    if one is None or other is None:
        sizes = [0 if each is None else len(each.name) for each in (one, other)]
        return _finish(Pairing(sizes[0], sizes[1]))
    words = Vocabulary()
    both = ((source, one), (target, other))
    pairing = _by_keys([_Keys.of(report, (each.name,), each.debug_id, words) for report, each in both])
    match_between_neighbours(pairing, (_sizes(one, words), _sizes(other, words)), _ORDER)
    return _finish(pairing)


def _sizes(variables: Variables, words: Vocabulary) -> Int64Array:
    return words.numbers(list(zip(variables.bytes.tolist(), variables.always_live.tolist(), strict=True)))


def _compute_sets(source: ReportSource, target: ReportSource) -> Matching:
    words = Vocabulary()
    columns = [report.reader.compute_sets() for report in (source, target)]
    keys = [
        _Keys.of(report, (each.name,), each.debug_id, words)
        for report, each in zip((source, target), columns, strict=True)
    ]
    pairing = _by_keys(keys)
    programs = match_programs(source, target)
    executed = [np.asarray(programs_of(report).compute_set, np.int64) for report in (source, target)]
    rows, sets = executed[0][programs.source], executed[1][programs.target]
    both = np.flatnonzero((rows >= 0) & (sets >= 0))
    both = both[(pairing.target_of[rows[both]] < 0) & (pairing.source_of[sets[both]] < 0)]
    both = both[np.unique(rows[both], return_index=True)[1]]
    both = both[np.unique(sets[both], return_index=True)[1]]
    pairing.add(rows[both], sets[both], _ORDER)
    return _finish(pairing)


@dataclass(frozen=True)
class _Keys:
    """What the rows of one report are called, as numbers; -1 = nothing."""

    identity: Int64Array
    lines: Int64Array
    name: Int64Array

    @classmethod
    def of(
        cls,
        report: ReportSource,
        named: tuple[list[str], ...],
        debug_ids: IntegerArray,
        words: Vocabulary,
        nameless: BoolArray | None = None,
    ) -> _Keys:
        names = words.numbers(list(zip(*named[:-1], map(stable_name, named[-1]), strict=True)))
        chain, lines = Identities(report, words).columns(debug_ids)
        known = np.flatnonzero(chain >= 0)
        identity = np.full(len(chain), -1, np.int64)
        identity[known] = words.numbers(list(zip(chain[known].tolist(), names[known].tolist(), strict=True)))
        return cls(identity, lines, names if nameless is None else np.where(nameless, -1, names))


def _by_keys(keys: list[_Keys], context: tuple[Int64Array, Int64Array] | None = None) -> Pairing:
    one, other = keys
    pairing = Pairing(len(one.name), len(other.name), context)
    pairing.match_keys((one.identity, other.identity), _IDENTITY, (one.lines, other.lines))
    pairing.match_keys((one.name, other.name), _NAME)
    return pairing


def _steps(source: ReportSource, target: ReportSource) -> Matching:
    programs = match_programs(source, target)
    partner = programs.target_rows()
    how = np.zeros(len(partner), np.uint8)
    how[programs.source] = programs.how
    rows, others = (np.asarray(report.reader.steps().program, np.int64) for report in (source, target))
    codes = np.where(partner[rows] >= 0, partner[rows], -1 - rows)
    pairing = Pairing(len(rows), len(others))
    for one, other in _runs(source, target):
        i, j = align(codes[one], others[other])
        pairing.add(one.start + i, other.start + j, 0)
    taken = np.flatnonzero(pairing.target_of >= 0)
    pairing.how[taken] = how[rows[taken]]
    return _finish(pairing)


def _run_keys(source: ReportSource, target: ReportSource) -> tuple[Int64Array, Int64Array]:
    words = Vocabulary()
    runs = [report.reader.runs() for report in (source, target)]
    one, other = (words.numbers(list(zip(each.program_index.tolist(), each.name, strict=True))) for each in runs)
    return one, other


def _runs(source: ReportSource, target: ReportSource) -> list[tuple[slice, slice]]:
    """Steps of the runs that belong together: of the same program and name, in order."""
    runs = [report.reader.runs() for report in (source, target)]
    keys = _run_keys(source, target)
    spans = [list(map(slice, each.first_step.tolist(), (each.first_step + each.n_steps).tolist())) for each in runs]
    i, j = align(keys[0], keys[1])
    return [(spans[0][a], spans[1][b]) for a, b in zip(i.tolist(), j.tolist(), strict=True)]


def match_between_neighbours(pairing: Pairing, kinds: tuple[Int64Array, Int64Array], how: int) -> None:
    """Matches free rows between the same matched neighbours when as many of the same kind are left on both sides."""
    size = len(pairing.source_of)
    partners = pairing.target_of, np.where(pairing.source_of >= 0, np.arange(size), -1)
    words = Vocabulary()
    places = [_places(each, kind, words) for each, kind in zip(partners, kinds, strict=True)]
    length = 1 + max(int(place.max(initial=0)) for place in places)
    counts = [np.bincount(place[place >= 0], minlength=length) for place in places]
    unclear = counts[0] != counts[1]
    one, other = (np.where((place >= 0) & ~unclear[place], place, -1) for place in places)
    pairing.match_keys((one, other), how)


def _places(partner: Int64Array, kinds: Int64Array, words: Vocabulary) -> Int64Array:
    """A number for (matched neighbour before, the one after, kind) of each free row, -1 for matched rows."""
    before, after = _last_seen(partner), _last_seen(partner[::-1])[::-1]
    free = np.flatnonzero(partner < 0)
    places = np.full(len(partner), -1, np.int64)
    places[free] = words.numbers(
        list(zip(before[free].tolist(), after[free].tolist(), kinds[free].tolist(), strict=True))
    )
    return places


def _last_seen(values: Int64Array) -> Int64Array:
    """The nearest value at or before each row that is not -1; -1 before the first."""
    if not len(values):
        return values
    places = np.where(values >= 0, np.arange(len(values)), 0)
    return np.asarray(values[np.maximum.accumulate(places)], np.int64)
