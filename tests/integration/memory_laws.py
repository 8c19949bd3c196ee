"""Laws of memory, liveness and traffic, on a report read with plain SQL."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.integration.plain_report import PlainReport

CODE = {"controlCode", "vertexCode", "internalExchangeCode", "hostExchangeCode", "globalExchangeCode"}


def check_totals(report: PlainReport) -> None:
    """Bytes of every tile, four ways."""
    total, excluding, always, _, overflowed = report.tile_memory.T
    n = len(report.categories)
    by_category = np.zeros((report.tiles, n), np.int64)
    for tile, category, size in report.rows("SELECT tile, category, sum(size_bytes) FROM vars_info GROUP BY 1, 2"):
        by_category[tile, category] = size
    arrays = np.zeros((report.tiles, n), np.int64)
    over = np.zeros(report.tiles, np.int64)
    query = "SELECT category, region, ipu, bytes_array FROM memory_arrays"
    for category, region, ipu, identity in report.rows(query):
        part = slice(ipu * report.per_ipu, (ipu + 1) * report.per_ipu)
        arrays[part, category] += report.array(identity)
        if report.regions[region] == "overflowed":
            over[part] += report.array(identity)
    assert np.array_equal(arrays.sum(axis=1), excluding)
    assert np.array_equal(over, overflowed)
    assert (by_category >= arrays).all()
    assert (excluding <= total).all()
    for tile, column in report.lowered.items():
        own = np.bincount(column["category"], column["bytes"], n).astype(np.int64)
        assert np.array_equal(own, by_category[tile])
        assert column["bytes"][column["eq_class"] < 0].sum() == always[tile]
        assert (column["address"] + column["bytes"]).max(initial=0) == total[tile]
    assert {t for t in range(report.tiles) if by_category[t].any()} <= set(report.lowered)


def check_rows_of_variables(report: PlainReport) -> None:
    """vars_info has one row per (tile, category, name), and each is the allocations of that name."""
    strings = dict(report.rows("SELECT id, string FROM vars_string_table"))
    found: dict[tuple[int, int, str], int] = {}
    for tile, category, name, size in report.rows("SELECT tile, category, name, size_bytes FROM vars_info"):
        found[tile, category, strings[name]] = found.get((tile, category, strings[name]), 0) + size
    wanted: dict[tuple[int, int, str], int] = {}
    of_variable: dict[int, int] = {}
    for tile, column in report.lowered.items():
        columns = (column[name].tolist() for name in ("category", "name", "variable", "bytes"))
        for category, name, variable, size in zip(*columns, strict=True):
            key = (tile, category, strings[name])
            wanted[key] = wanted.get(key, 0) + size
            of_variable[variable] = of_variable.get(variable, 0) + size
    assert found == wanted
    whole: dict[int, int] = {}
    for part, variable, size, _ in report.parts:
        assert of_variable.get(part, 0) == size
        whole[variable] = whole.get(variable, 0) + size
    assert whole == dict(report.rows("SELECT id, bytes FROM variables"))


def check_overlap_rule(report: PlainReport, tiles: list[int]) -> None:
    """memory_arrays byte by byte: each used byte counts for the first allocation by address, overlapped where two or
    more cover it."""
    split, capacity = report.target["region_split"], report.target["bytes_per_tile"]
    names = {name: number for number, name in report.regions.items()}
    wanted: dict[tuple[int, int, int, int], int] = {}
    for tile in tiles:
        column = report.lowered.get(tile)
        if column is None:
            continue
        size = int((column["address"] + column["bytes"]).max(initial=0))
        covers, owner = np.zeros(size, np.int64), np.full(size, -1)
        for row in np.argsort(column["address"], kind="stable").tolist():
            part = slice(column["address"][row], column["address"][row] + column["bytes"][row])
            covers[part] += 1
            owner[part] = np.where(owner[part] < 0, row, owner[part])
        at = np.arange(size)
        region = np.where(at >= capacity, names["overflowed"], names["nonInterleaved"])
        region = np.where((at >= split) & (at < capacity), names["interleaved"], region)
        used = covers > 0
        keys = np.stack([column["category"][owner[used]], region[used], covers[used] > 1])
        for (category, where, twice), count in zip(*_counted(keys), strict=True):
            wanted[tile, category, where, twice] = count
        lie = np.minimum(column["address"], size - 1)
        assert np.array_equal(column["region"], region[lie])
    found = {}
    for category, where, twice, ipu, identity in report.rows("SELECT * FROM memory_arrays"):
        for tile in tiles:
            if tile // report.per_ipu == ipu and report.array(identity)[tile % report.per_ipu]:
                found[tile, category, where, twice] = int(report.array(identity)[tile % report.per_ipu])
    assert found == wanted


def _counted(keys: Any) -> tuple[list[Any], list[int]]:
    found, counts = np.unique(keys, axis=1, return_counts=True)
    return [tuple(column) for column in found.T.tolist()], counts.tolist()


def check_addresses(report: PlainReport) -> None:
    """What is live together lies apart; eight-byte alignment; code only where code can run."""
    overlap = report.live_matrix.T @ report.live_matrix > 0
    split = report.target["region_split"]
    code = [number for number, name in report.categories.items() if name in CODE]
    total = report.tile_memory[:, 0]
    for tile, column in report.lowered.items():
        begin, end, live = column["address"], column["address"] + column["bytes"], column["eq_class"]
        for part in np.flatnonzero(begin % 8):  # a part of a variable begins where the one before it ends
            assert ((end == begin[part]) & (column["name"] == column["name"][part])).any()
        assert (column["bytes"] > 0).all()
        assert (np.diff(begin) >= 0).all()
        always = live < 0
        together = overlap[np.ix_(live, live)] if len(overlap) else np.ones((len(live), len(live)), bool)
        together = together | always[:, None] | always[None]
        shared = (begin[:, None] < end[None]) & (begin[None] < end[:, None])
        np.fill_diagonal(shared, False)
        assert not (together & shared).any(), f"tile {tile}"
        mine = np.isin(column["category"], code)
        if total[tile] <= report.target["bytes_per_tile"]:
            assert (end[mine] <= split).all()


def check_liveness(report: PlainReport) -> None:
    """Curves are sums over what is live, the first over the tiles of a replica; a tile's peak is the largest sum of its
    own."""
    replicas = report.target["num_replicas"]
    live = report.live_matrix
    by_class = np.zeros((len(report.classes), report.tiles), np.int64)
    for tile, column in report.lowered.items():
        mine = column["eq_class"] >= 0
        np.add.at(by_class[:, tile], column["eq_class"][mine], column["bytes"][mine])
    by_tile = live @ by_class
    curve = [size for (size,) in report.rows("SELECT bytes FROM liveness ORDER BY liveness_index")]
    assert by_tile.sum(axis=1).tolist() == [replicas * size for size in curve]
    assert np.array_equal(by_tile.max(axis=0, initial=0), report.tile_memory[:, 3])
    for ipu, identity in report.rows("SELECT ipu, bytes_array FROM liveness_by_ipu"):
        part = by_tile[:, ipu * report.per_ipu : (ipu + 1) * report.per_ipu].sum(axis=1)
        assert np.array_equal(part, report.array(identity, len(part)))
    by_variable = np.zeros(len(curve), np.int64)
    always_live = dict(report.rows("SELECT id, always_live FROM variables"))
    for _, variable, size, number in report.parts:
        assert bool(always_live[variable]) == (number < 0 and size > 0) or size == 0
        if number >= 0:
            by_variable += size * live[:, number]
    assert by_variable.tolist() == [replicas * size for size in curve]
    ((always_sum,),) = report.rows("SELECT coalesce(sum(bytes), 0) FROM variables WHERE always_live = 1")
    assert always_sum == report.tile_memory[:, 2].sum()


def check_messages(report: PlainReport) -> None:
    """What tiles receive is what messages carry; what they send is that, a multicast once: sendings tell them apart."""
    programs: dict[int, Any] = {}
    for program, src, dst, size in report.rows("SELECT program, src_array, dst_array, bytes_array FROM messages"):
        columns = [report.array(i, 0) for i in (src, dst, size)]
        programs.setdefault(program, []).append(columns)
    for program, parts in programs.items():
        src, dst, size = (np.concatenate(column) for column in zip(*parts, strict=True))
        assert (src != dst).all()
        assert (size > 0).all()
        rows = report.rows("SELECT ipu, rx_array, tx_array FROM program_by_ipu WHERE program = ?", program)
        rx, tx = np.zeros(report.tiles, np.int64), np.zeros(report.tiles, np.int64)
        for ipu, received, sent in rows:
            part = slice(ipu * report.per_ipu, (ipu + 1) * report.per_ipu)
            rx[part], tx[part] = report.array(received), report.array(sent)
        assert np.array_equal(np.bincount(dst, size, report.tiles).astype(np.int64), rx)
        carried = np.bincount(src, size, report.tiles).astype(np.int64)
        once, by_all = np.zeros(report.tiles, np.int64), np.zeros(report.tiles, np.int64)
        for ids in report.rows(
            "SELECT src_array, receivers_array, bytes_array FROM sendings WHERE program = ?", program
        ):
            sender, receivers, sent_bytes = (report.array(i, 0) for i in ids)
            assert (receivers <= np.bincount(src, minlength=report.tiles)[sender]).all()
            np.add.at(once, sender, sent_bytes)
            np.add.at(by_all, sender, sent_bytes * receivers)
        assert np.array_equal(once, tx)
        assert np.array_equal(by_all, carried)
        largest = np.zeros(report.tiles, np.int64)
        np.maximum.at(largest, src, size)
        assert (tx >= largest).all()
        assert ((tx > 0) == (carried > 0)).all()


def check_code(report: PlainReport) -> None:
    """Code of programs adds up to its categories."""
    sums = dict.fromkeys(("internalExchangeCode", "globalExchangeCode", "hostExchangeCode", "controlCode"), 0)
    kinds = {"DoExchange": "internalExchangeCode", "GlobalExchange": "globalExchangeCode"}
    query = "SELECT program, exchange_code_array, control_code_array FROM program_by_ipu"
    for program, exchange, control in report.rows(query):
        sums[kinds.get(report.types[program], "hostExchangeCode")] += report.array(exchange).sum()
        sums["controlCode"] += report.array(control).sum()
    found = dict.fromkeys(sums, 0)
    for category, size in report.rows(
        "SELECT c.name, v.size_bytes FROM vars_info v JOIN var_categories c ON c.id = v.category"
    ):
        if category in found:
            found[category] += size
    assert sums == found
