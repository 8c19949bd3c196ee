"""Writes a Compilation as rows of the tables of profile.pop."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from popvision.arrays import AnyArray
from popvision.formats.errors import FormatError
from popvision.formats.profile.array_store import ArrayStore
from popvision.formats.profile.model import (
    CATEGORIES,
    PROGRAM_FIGURES,
    PROGRAM_TYPES,
    REGIONS,
    Compilation,
    LoweredTile,
    Target,
    Variables,
)
from popvision.formats.profile.table_writer import write_columns, write_rows

#: Stores an array and gives its id.
AddArray = Callable[[AnyArray | None], int]

_TARGET_ARRAYS = ("relative_sync_delay", "physical_tile")


def write_compilation_rows(db: sqlite3.Connection, store: ArrayStore, compilation: Compilation) -> None:
    """Fills every table that is known when compilation ends, but for `meta`. Raises FormatError for columns that do
    not fit together."""

    def add(values: AnyArray | None) -> int:
        return store.add(db, values)

    _write_fixed(db)
    _write_programs(db, add, compilation)
    _write_compute_sets(db, add, compilation)
    _write_memory(db, add, compilation)
    _write_variables(db, add, compilation)
    _write_lowered(db, add, compilation)
    terms = compilation.cost_terms
    write_rows(db, "cost_terms", ((i, t.object, t.term, float(t.value), t.source) for i, t in enumerate(terms)))
    store.flush(db)


def target_facts(db: sqlite3.Connection, store: ArrayStore, target: Target) -> dict[str, Any]:
    """The target as JSON-able facts; its two per-tile columns are array ids."""
    facts = {field.name: getattr(target, field.name) for field in fields(target)}
    for name in _TARGET_ARRAYS:
        facts[name] = store.add(db, facts[name])
    return facts


def _write_fixed(db: sqlite3.Connection) -> None:
    tables = (("program_types", PROGRAM_TYPES), ("var_categories", CATEGORIES), ("var_regions", REGIONS))
    for table, names in tables:
        write_columns(db, table, [np.arange(len(names)), names])


def _write_programs(db: sqlite3.Connection, add: AddArray, compilation: Compilation) -> None:
    p = compilation.programs
    n = len(p.type)
    columns: list[Any] = [
        np.arange(n),
        program_type_codes(p.type),
        p.name,
        p.owner,
        p.compute_set,
        p.repeat_count,
        p.debug_id,
    ]
    write_columns(db, "programs", [*columns, p.sync_type])
    counts = np.diff(p.child_offsets)
    if len(counts) != n or (n and (int(p.child_offsets[0]) != 0 or (counts < 0).any())):
        raise FormatError(f"programs need {n + 1} ascending child offsets from 0, got {len(p.child_offsets)}.")
    parents = np.repeat(np.arange(n), counts)
    position = np.arange(len(parents)) - np.repeat(np.asarray(p.child_offsets)[:-1], counts)
    write_columns(db, "program_children", [parents, position, p.children])
    callee = np.full(n, -1) if p.callee is None else np.asarray(p.callee)
    if len(callee) != n:
        raise FormatError(f"programs need a callee each, got {len(callee)} for {n} programs.")
    calls = np.flatnonzero(callee >= 0)
    write_columns(db, "program_calls", [calls, callee[calls]])
    rows = (
        (x.program, x.ipu, add(x.cycles), add(x.rx), add(x.tx), add(x.exchange_code), add(x.control_code))
        for x in compilation.program_on_ipu
    )
    write_rows(db, "program_by_ipu", rows)
    _write_known_figures(db, add, compilation)
    messages = ((m.program, m.ipu, add(m.src), add(m.dst), add(m.bytes)) for m in compilation.messages)
    write_rows(db, "messages", messages)
    sendings = ((s.program, s.ipu, add(s.src), add(s.receivers), add(s.bytes)) for s in compilation.sendings)
    write_rows(db, "sendings", sendings)
    write_rows(db, "program_variables", ((x.program, add(x.variables)) for x in compilation.program_variables))


def _write_known_figures(db: sqlite3.Connection, add: AddArray, compilation: Compilation) -> None:
    unknown = sorted(set(compilation.known_figures) - set(PROGRAM_FIGURES))
    if unknown:
        raise FormatError(f"unknown figure {unknown[0]!r} of programs; known are: {', '.join(PROGRAM_FIGURES)}.")
    for figure, programs in compilation.known_figures.items():
        ids, count = np.asarray(programs, np.int64), len(compilation.programs.type)
        if len(ids) and not (int(ids[0]) >= 0 and int(ids[-1]) < count and (np.diff(ids) > 0).all()):
            raise FormatError(f"known figure {figure!r} needs ascending programs from 0 to {count - 1}.")
    write_rows(db, "known_figures", ((name, add(programs)) for name, programs in compilation.known_figures.items()))


def program_type_codes(types: list[str]) -> list[int]:
    """Rows of PROGRAM_TYPES; FormatError for a name that is not one."""
    codes = {name: code for code, name in enumerate(PROGRAM_TYPES)}
    try:
        return [codes[name] for name in types]
    except KeyError as error:
        raise FormatError(f"unknown program type {error}; known are: {', '.join(PROGRAM_TYPES)}.") from None


def _write_compute_sets(db: sqlite3.Connection, add: AddArray, compilation: Compilation) -> None:
    c, v = compilation.compute_sets, compilation.vertex_types
    write_columns(db, "compute_sets", [np.arange(len(c.name)), c.name, c.debug_id, c.flops])
    write_columns(db, "vertex_types", [np.arange(len(v.name)), v.name, v.kind, v.state_bytes, v.code_bytes])
    vertices = (
        (x.compute_set, x.vertex_type, x.ipu, add(x.count), add(x.cycles), x.provenance, x.flops)
        for x in compilation.compute_set_vertices
    )
    write_rows(db, "compute_set_vertices", vertices)
    copies = (
        (x.compute_set, x.type, x.ipu, x.state_bytes, add(x.count), add(x.cycles)) for x in compilation.copy_vertices
    )
    write_rows(db, "copy_vertices", copies)
    lanes = (
        (x.compute_set, x.ipu, add(x.tile_offsets), add(x.vertex_type), add(x.thread_cycles), add(x.worker))
        for x in compilation.vertex_lanes
    )
    write_rows(db, "vertex_lanes", lanes)


def _write_memory(db: sqlite3.Connection, add: AddArray, compilation: Compilation) -> None:
    m = compilation.tile_memory
    totals: list[Any] = [[]] * 6
    if m is not None:
        tiles = np.arange(len(m.including_gaps))
        totals = [tiles, m.including_gaps, m.excluding_gaps, m.always_live, m.not_always_live, m.overflowed]
    write_columns(db, "memory_by_tile", totals)
    rows = (
        (_index(CATEGORIES, x.category), _index(REGIONS, x.region), int(x.overlapped), x.ipu, add(x.bytes))
        for x in compilation.category_memory
    )
    write_rows(db, "memory_arrays", rows)


def _index(names: tuple[str, ...], name: str) -> int:
    if name not in names:
        raise FormatError(f"unknown memory category or region {name!r}; known are: {', '.join(names)}.")
    return names.index(name)


def _write_variables(db: sqlite3.Connection, add: AddArray, compilation: Compilation) -> None:
    v, classes, live = compilation.variables, compilation.eq_classes, compilation.liveness
    columns: list[Any] = [[]] * 6
    parts: list[Any] = [[]] * 4
    if v is not None:
        columns, parts = _variable_rows(v, always_live_class(compilation))
    write_columns(db, "variables", columns)
    write_columns(db, "variable_parts", parts)
    ranges = []
    if classes is not None:  # the class of always-live variables follows the others
        indices = [len(live.program)] if live is not None and len(live.program) else []
        offsets = np.append(classes.offsets, classes.offsets[-1] + len(indices))
        starts, ends = np.append(classes.starts, [0] * len(indices)), np.append(classes.ends, indices)
        ranges = [(0, *(add(np.asarray(column, np.int64)) for column in (offsets, starts, ends)))]
    write_rows(db, "eq_classes", ranges)
    points: list[Any] = [[]] * 3
    if live is not None:
        points = [np.arange(len(live.program)), live.program, live.bytes]
    write_columns(db, "liveness", points)
    by_ipu = [] if live is None else live.bytes_by_ipu
    write_rows(db, "liveness_by_ipu", [(ipu, add(values)) for ipu, values in enumerate(by_ipu)])


def always_live_class(compilation: Compilation) -> int:
    """Number of the class of always-live variables in the file: the last one; -1 where it has no classes."""
    return -1 if compilation.eq_classes is None else len(compilation.eq_classes.offsets) - 1


def _variable_rows(v: Variables, always_live: int) -> tuple[list[Any], list[Any]]:
    """Columns of `variables` and of `variable_parts`."""
    rows = np.arange(len(v.name))
    owner = rows if v.part_of is None else np.asarray(v.part_of, np.int64)
    count = int((owner == rows).sum()) if len(owner) == len(rows) else -1
    if count < 0 or not (owner[:count] == rows[:count]).all() or (owner[count:] < 0).any() or (owner >= count).any():
        raise FormatError("parts of variables need to follow all variables and to name one of them.")
    always = np.asarray(v.always_live, bool)
    eq_class = np.where(always, always_live, v.eq_class)
    parts = np.bincount(owner, minlength=count)
    size = np.zeros(count, np.int64)
    np.add.at(size, owner, np.asarray(v.bytes, np.int64))
    all_always = np.bincount(owner, weights=always, minlength=count) == parts
    only_class = np.where(parts == 1, eq_class[:count], np.where(all_always, always_live, -1))
    variables = [rows[:count], v.name[:count], v.debug_id[:count], size, all_always.astype(np.int64), only_class]
    return variables, [rows, owner, v.bytes, eq_class]


def _write_lowered(db: sqlite3.Connection, add: AddArray, compilation: Compilation) -> None:
    names = compilation.lowered_names
    write_columns(db, "vars_string_table", [np.arange(len(names)), names])
    info: list[Any] = [[]] * 5
    if compilation.vars_info is not None:
        order = np.argsort(compilation.vars_info[0], kind="stable")
        info = [np.arange(len(order)), *(np.asarray(column)[order] for column in compilation.vars_info)]
    write_columns(db, "vars_info", info)
    always_live = always_live_class(compilation)

    def row(x: LoweredTile) -> tuple[int, ...]:
        eq_class = np.where(np.asarray(x.eq_class) < 0, always_live, x.eq_class)
        columns = (x.bytes, x.address, x.category, x.region, x.variable, eq_class, x.name)
        return (x.tile, len(x.bytes), x.first_id, *(add(column) for column in columns))

    write_rows(db, "lowered_by_tile", (row(tile) for tile in compilation.lowered))
