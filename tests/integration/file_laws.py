"""Laws that tie the other files of a folder, and the graph, to profile.pop."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from popvision.formats.serialized_graph import read_serialized_graph
from simulator.poplar import Graph
from tests.integration.plain_report import PlainReport


def check_debug_ids(report: PlainReport) -> None:
    """Every id that a table names is in debug.json, and so are all parents."""
    document = json.loads((report.folder / "debug.json").read_text())
    known = {context["id"] for context in document["contexts"]}
    assert len(known) == len(document["contexts"])
    text = json.dumps(document["contexts"], separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    assert zlib.crc32(text.encode()) == document["crc32"]
    assert document["runId"] == report.meta["runId"]
    for table in ("programs", "compute_sets", "variables"):
        used = {identity for (identity,) in report.rows(f"SELECT debug_id FROM {table}")} - {-1}
        assert used <= known, table
    assert {parent for context in document["contexts"] for parent in context["parents"]} <= known


def check_counts(report: PlainReport, graph: Graph) -> None:
    """Vertices, edges and compute sets as the graph has them."""
    counts = report.meta["counts"]
    ((sets,),) = report.rows("SELECT count(*) FROM compute_sets")
    vertices = sum(int(report.array(i).sum()) for (i,) in report.rows("SELECT count_array FROM compute_set_vertices"))
    lanes = sum(int(report.array(i, 1)[-1]) for (i,) in report.rows("SELECT offsets_array FROM vertex_lanes"))
    assert vertices == lanes == counts["num_vertices"] == graph.getNumVertices()
    assert counts["num_compute_sets"] == sets
    edges = 0
    for block in graph.store.settled_blocks:
        for name, columns in block.edges.items():
            if block.type.fields_by_name[name].kind == "vectors" and columns.row_offsets is not None:
                edges += len(columns.row_offsets) - 1
            elif block.type.fields_by_name[name].kind in ("vectors", "scalars"):
                edges += len(columns.starts) if columns.offsets is not None else len(block)
            else:
                edges += len(block)
    if not any(b.type.fields_by_name[n].kind == "scalars" for b in graph.store.settled_blocks for n in b.edges):
        assert counts["num_edges"] == edges


def check_regions(graph: Graph) -> None:
    """No region of an edge is empty or crosses from one variable into the next."""
    store = graph.store
    for block in store.settled_blocks:
        for name, edges in block.edges.items():
            assert (edges.lengths > 0).all(), (block.type.name, name)
            last = store.variable_of(edges.starts + edges.lengths - 1)
            assert np.array_equal(store.variable_of(edges.starts), last), (block.type.name, name)


def check_live_when_used(report: PlainReport, graph: Graph) -> int:
    """The bytes that a vertex reads or writes in place, on its own tile, are live there where its compute set runs; the
    parts of a variable count together. Returns the number of uses that were checked."""
    store, checked = graph.store, 0
    indices: dict[int, list[int]] = {}
    query = """SELECT p.compute_set, l.liveness_index FROM liveness l JOIN programs p ON p.id = l.program
               JOIN program_types t ON t.id = p.type WHERE t.name = 'OnTileExecute' AND p.name NOT LIKE '%Arrange-%'"""
    for compute_set, index in report.rows(query):
        indices.setdefault(compute_set, []).append(index)
    for block in store.settled_blocks:
        for edges in block.edges.values():
            if edges.offsets is not None or block.compute_set not in indices:
                continue  # several regions may be gathered into a buffer first
            variables = store.variable_of(edges.starts).tolist()
            for variable, start, size, tile in zip(
                variables, edges.starts.tolist(), edges.lengths.tolist(), block.tiles.tolist(), strict=True
            ):
                ends, tiles = store.mapping_of(variable)
                inside = start - store.variables.base[variable]
                first, last = np.searchsorted(ends, [inside, inside + size - 1], side="right")
                if (tiles[first : last + 1] == tile).all():
                    name = store.variables.name[variable]
                    live = live_bytes(report, variable, tile)[indices[block.compute_set]]
                    assert (live >= size * store.variables.type[variable].size).all(), name
                    checked += 1
    return checked


def live_bytes(report: PlainReport, variable: int, tile: int) -> Any:
    """Bytes on a tile, at each liveness index, of all parts of a variable."""
    rows = [part for part, owner, _, _ in report.parts if owner == variable]
    lowered = report.lowered[tile]
    total = np.zeros(len(report.live_matrix), np.int64)
    for at in np.flatnonzero(np.isin(lowered["variable"], rows)):
        class_ = lowered["eq_class"][at]
        total += lowered["bytes"][at] * (report.live_matrix[:, class_] if class_ >= 0 else 1)
    return total


def check_graph_file(report: PlainReport, graph: Graph) -> None:
    """serialized_graph.capnp says of variables, mapping and vertices what the graph says."""
    found, v = read_serialized_graph(report.folder / "serialized_graph.capnp"), graph.store.variables
    assert found.run_id == report.meta["runId"]
    assert found.variable_name == v.name
    assert found.variable_elements.tolist() == list(v.numel)
    assert found.variable_type == [t.name for t in v.type]
    assert found.variable_constant.tolist() == [int(c is not None) for c in v.constant]
    tile = np.full(graph.store.num_elements, -1, np.int64)
    for start, length, where in zip(found.mapping_start, found.mapping_length, found.mapping_tile, strict=True):
        assert (tile[start : start + length] == -1).all()
        tile[start : start + length] = where
    for number, base in enumerate(v.base):
        wanted = np.full(v.numel[number], -1, np.int64)
        mapping = graph.store.mapping_of(number)
        if mapping is not None:
            begin = 0
            for end, where in zip(*(column.tolist() for column in mapping), strict=True):
                wanted[begin:end] = where if where < report.tiles else -1
                begin = end
        mine = tile[base : base + v.numel[number]]
        assert np.array_equal(np.where(mine < report.tiles, mine, -1), wanted)
    blocks = graph.store.settled_blocks
    assert found.vertex_tile.tolist() == [t for b in blocks for t in b.tiles.tolist()]
    assert found.program_type == [report.types[p] for p in sorted(report.types)]
    offsets, below = found.program_child_offsets.tolist(), found.program_children.tolist()
    for program in report.types:
        assert below[offsets[program] : offsets[program + 1]] == report.children.get(program, [])


def check_archive(report: PlainReport) -> None:
    """Section sizes are the tile's bytes per category, in an archive read by hand."""
    wanted = np.zeros((report.tiles, len(report.categories)), np.int64)
    for category, _, _, ipu, identity in report.rows("SELECT * FROM memory_arrays"):
        wanted[ipu * report.per_ipu : (ipu + 1) * report.per_ipu, category] += report.array(identity)
    numbers = {f".{name}": number for number, name in report.categories.items()}
    found = np.zeros_like(wanted)
    for data in _members(report.folder / "archive.a"):
        sizes, tiles = _sections(data)
        for name, size in sizes.items():
            found[tiles, numbers[name]] += size
    assert np.array_equal(found, wanted)


def _members(path: Path) -> list[bytes]:
    data, at, parts = path.read_bytes(), 8, []
    assert data[:8] == b"!<arch>\n"
    while at < len(data):
        size = int(data[at + 48 : at + 58])
        parts.append(data[at + 60 : at + 60 + size])
        at += 60 + size + size % 2
    return parts


def _sections(elf: bytes) -> tuple[dict[str, int], list[int]]:
    """(bytes of each NOBITS section, tiles) of an ELF32 object."""
    (table,), (entry, count, names) = struct.unpack_from("<I", elf, 32), struct.unpack_from("<3H", elf, 46)
    headers = [struct.unpack_from("<10I", elf, table + i * entry) for i in range(count)]

    def title(header: Any) -> str:
        begin = headers[names][4] + header[0]
        return elf[begin : elf.index(b"\0", begin)].decode()

    (comment,) = [h for h in headers if title(h) == ".comment"]
    lines = elf[comment[4] : comment[4] + comment[5]].decode().split("\n")
    (spelled,) = [line.removeprefix("tiles=") for line in lines if line.startswith("tiles=")]
    tiles: list[int] = []
    for part in spelled.split(","):
        first, _, last = part.partition("-")
        tiles += range(int(first), int(last or first) + 1)
    return {title(h): h[5] for h in headers if h[1] == 8}, tiles
