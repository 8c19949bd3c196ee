"""What a program consists of: lowered programs, compute sets, vertices, debug contexts, and where figures come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from popvision.analysis.explain.explain import explain_program
from popvision.analysis.explain.report import explain_report
from popvision.analysis.programs.program_tree import programs_of, roots, tree_rows
from popvision.analysis.programs.table import FIELDS, program_columns
from popvision.analysis.programs.tiles import FIGURES, program_tiles
from popvision.analysis.report.tiles import target_of
from popvision.arrays import Int64Array
from popvision.formats.errors import AbsentError
from popvision.opened.asked import Asked, question

if TYPE_CHECKING:
    import pandas as pd

    from popvision.formats.profile.model import ComputeSetVertices

#: Column of `program_frame` -> column here.
COLUMNS = {
    "id": "program",
    "self": "self_cycles",
    "total": "total_cycles",
    "received": "received_bytes",
    "live": "live_bytes",
    "code": "code_bytes",
    "sent": "sent_bytes",
}

_UNITS = {
    "Estimate": "estimated_cycles",
    "Recorded": "recorded_cycles",
    "Received": "received_bytes",
    "Sent": "sent_bytes",
    "Exchange code": "exchange_code_bytes",
    "Control code": "control_code_bytes",
}


class ProgramQuestions(Asked):
    """Programs are lowered programs: their id is the row of `programs()` by "program", as the viewer shows it."""

    @question
    def programs(self, ipu: int | None = None) -> pd.DataFrame:
        """A row per lowered program by id, figures over all recorded runs, on one IPU or over all (cycles: of the IPU
        where they are most): program, type, name, self_cycles (its own steps), total_cycles (with all below and what
        it calls), executions, received_bytes, sent_bytes, live_bytes (most live while it runs), code_bytes, trips (of a
        Repeat), owner ("control" or "function"), compute_set, callee, debug_id (-1 where none).

        A figure that the report does not hold is missing (NA)."""
        import pandas as pd

        self._check_ipu(ipu)
        programs = programs_of(self.source)
        count = len(programs.type)
        figures = {
            COLUMNS.get(field, field): pd.arrays.IntegerArray(values, values < 0)
            for field, values in self._figures(ipu).items()
        }
        callee = np.full(count, -1, np.int64) if programs.callee is None else np.asarray(programs.callee, np.int64)
        return self._frame(
            {"program": np.arange(count), "type": programs.type, "name": programs.name}
            | figures
            | {
                "owner": programs.owner,
                "compute_set": np.asarray(programs.compute_set, np.int64),
                "callee": callee,
                "debug_id": np.asarray(programs.debug_id, np.int64),
            }
        )

    @question
    def tree(self, root: int | None = None, ipu: int | None = None) -> pd.DataFrame:
        """The program tree in the order one reads it, below one program or all of it: root, program, depth, rows
        (of its subtree, itself included), type, name, self_cycles, total_cycles, executions. A program that stands in
        several places has several rows."""
        import pandas as pd

        self._check_ipu(ipu)
        tops = [each.program for each in roots(self.source)] if root is None else [root]
        trees = [tree_rows(self.source, top) for top in tops]
        nothing = np.empty(0, np.int64)
        program, depth, size = (
            np.concatenate([nothing, *(getattr(tree, name) for tree in trees)]) for name in ("program", "depth", "size")
        )
        known, programs = self._figures(ipu), programs_of(self.source)
        ids = program.tolist()
        columns: dict[str, Any] = {
            "root": np.repeat(np.asarray(tops, np.int64), [len(tree.program) for tree in trees]),
            "program": program,
            "depth": depth,
            "rows": size,
            "type": [programs.type[each] for each in ids],
            "name": [programs.name[each] for each in ids],
        }
        for field, name in (("self", "self_cycles"), ("total", "total_cycles"), ("executions", "executions")):
            values = known[field][program]
            columns[name] = pd.arrays.IntegerArray(values, values < 0)
        return self._frame(columns)

    @question
    def program_tiles(self, program: int) -> pd.DataFrame:
        """A row per tile with what the report holds of one program there: tile, ipu, estimated_cycles and
        recorded_cycles (its last step), received_bytes, sent_bytes, exchange_code_bytes, control_code_bytes."""
        table = program_tiles(self.source, program)
        names = {"Tile": "tile", "IPU": "ipu"} | {name: _UNITS[name] for name in FIGURES}
        return self._labelled(table.rename(columns=names), program=program)

    @question
    def compute_sets(self) -> pd.DataFrame:
        """A row per compute set: compute_set, name, vertices (instances over all tiles), vertex_types (how many kinds),
        flops (floating point operations of one execution over all tiles, missing where not known), debug_id."""
        import pandas as pd

        found = self.source.reader.compute_sets()
        count = len(found.name)
        owner, _, _, instances = self.source.reader.compute_set_counts()
        vertices = np.zeros(count, np.int64)
        sums = {id(each): int(each.sum(dtype=np.int64)) for each in instances}
        np.add.at(vertices, owner, np.array([sums[id(each)] for each in instances], np.int64))
        pairs = set(self.source.reader.compute_set_types())
        kinds = np.bincount(np.array([a for a, _ in pairs], np.int64), minlength=count)
        flops = np.asarray(found.flops, np.int64)
        return self._frame(
            {
                "compute_set": np.arange(count),
                "name": found.name,
                "vertices": vertices,
                "vertex_types": kinds[:count],
                "flops": pd.arrays.IntegerArray(flops, flops < 0),
                "debug_id": np.asarray(found.debug_id, np.int64),
            }
        )

    @question
    def vertices(self, compute_set: int | None = None) -> pd.DataFrame:
        """A row per compute set, vertex type and IPU, of one compute set or of all: compute_set, compute_set_name,
        vertex_type (its name), kind, ipu, instances and tiles that have one, thread_cycles (estimates summed over
        instances: of worker threads, for supervisor and multi vertices of the tile), state_bytes of one instance,
        flops, provenance ("exact", "fitted" or "guess": where the estimate comes from)."""
        reader = self.source.reader
        sets, types = reader.compute_sets(), reader.vertex_types()
        self._check_compute_set(compute_set)
        rows = reader.compute_set_vertices(compute_set)
        kind = [each.vertex_type for each in rows]
        return self._frame(
            {
                "compute_set": [each.compute_set for each in rows],
                "compute_set_name": [sets.name[each.compute_set] for each in rows],
                "vertex_type": [types.name[each] for each in kind],
                "kind": [types.kind[each] for each in kind],
                "ipu": [each.ipu for each in rows],
                "instances": [int(each.count.sum()) for each in rows],
                "tiles": [int(np.count_nonzero(each.count)) for each in rows],
                "thread_cycles": [int(each.cycles.sum()) for each in rows],
                "state_bytes": np.asarray(types.state_bytes, np.int64)[kind],
                "flops": [each.flops for each in rows],
                "provenance": [each.provenance for each in rows],
            }
        )

    @question
    def vertices_by_tile(self, compute_set: int) -> pd.DataFrame:
        """Instances of each vertex type of one compute set: a row per tile of all IPUs (tile), a column per type."""
        self._check_compute_set(compute_set)
        target = target_of(self.source)
        rows, types = self.source.reader.compute_set_vertices(compute_set), self.source.reader.vertex_types()
        columns: dict[str, Any] = {"tile": np.arange(target.num_tiles)}
        for each in rows:
            whole = columns.setdefault(types.name[each.vertex_type], np.zeros(target.num_tiles, np.int64))
            _add_on_ipu(whole, each, target.tiles_per_ipu)
        return self._frame(columns, compute_set=compute_set)

    @question
    def vertex_types(self) -> pd.DataFrame:
        """A row per vertex type: vertex_type (its number), name, kind, state_bytes of one instance, code_bytes on a
        tile that holds it (missing where not known)."""
        import pandas as pd

        types = self.source.reader.vertex_types()
        code = np.asarray(types.code_bytes, np.int64)
        return self._frame(
            {
                "vertex_type": np.arange(len(types.name)),
                "name": types.name,
                "kind": types.kind,
                "state_bytes": np.asarray(types.state_bytes, np.int64),
                "code_bytes": pd.arrays.IntegerArray(code, code < 0),
            }
        )

    @question
    def debug_contexts(self) -> pd.DataFrame:
        """A row per debug context: debug_id, layer, name, file, line (0 = not known), parents (a list of ids),
        arguments (a dict). Empty without debug information of this run."""
        contexts = self.source.debug
        records = [contexts.record(each) for each in contexts]
        names = {"debug_id": "id"} | {name: name for name in ("layer", "name", "file", "line", "parents", "arguments")}
        return self._frame({name: [record[key] for record in records] for name, key in names.items()})

    @question
    def explain(self, program: int | None = None, tile: int | None = None) -> pd.DataFrame:
        """Where a figure comes from, a row per term: figure, figure_value, unit, term, sign (1 or -1; 0 = a fact that
        is not added), value, provenance ("exact", "fitted", "guess" or "report"), source (formula and publication).
        Of one program (its busiest tile, or the one given), or of the report's total cycles and memory."""
        if program is None and tile is not None:
            raise ValueError("a tile needs a program: explain(program, tile)")
        found = explain_report(self.source) if program is None else explain_program(self.source, program, tile)
        derivations = found if isinstance(found, list) else found.derivations
        rows = [(each, term) for each in derivations for term in each.terms]
        return self._frame(
            {
                "figure": [each.figure for each, _ in rows],
                "figure_value": [each.value for each, _ in rows],
                "unit": [each.unit for each, _ in rows],
                "term": [term.text for _, term in rows],
                "sign": [term.sign for _, term in rows],
                "value": [term.value for _, term in rows],
                "provenance": [term.provenance for _, term in rows],
                "source": [term.source for _, term in rows],
            }
        )

    def _figures(self, ipu: int | None) -> dict[str, Int64Array]:
        """Figures by program, -1 where not known: all of them in a report that has lost its runs, or never had the
        columns."""
        try:
            return program_columns(self.source, ipu)
        except AbsentError:
            return {field: np.full(len(programs_of(self.source).type), -1, np.int64) for field in FIELDS}

    def _check_ipu(self, ipu: int | None) -> None:
        if ipu is None:
            return
        count = target_of(self.source).num_ipus
        if not 0 <= ipu < count:
            raise ValueError(f"IPU {ipu} does not exist: this report has IPUs 0 to {count - 1}")

    def _check_compute_set(self, compute_set: int | None) -> None:
        count = len(self.source.reader.compute_sets().name)
        if compute_set is not None and not 0 <= compute_set < count:
            raise ValueError(f"compute set {compute_set} does not exist: this report has {count}")


def _add_on_ipu(whole: Any, part: ComputeSetVertices, tiles: int) -> None:
    first = part.ipu * tiles
    whole[first : first + len(part.count)] += part.count
