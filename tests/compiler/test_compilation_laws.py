"""Laws of a compilation: bytes by tile, category, variable and liveness index add up to the same totals."""

import numpy as np
import pytest

from popvision.formats.profile.model import CATEGORIES
from simulator.base.options.compile import CompileSettings
from simulator.compiler.compile import compile_graph
from simulator.poplar import FLOAT, HALF, Graph
from simulator.poplar.program import Copy, Execute, Repeat, Sequence
from tests.compiler.tiny_graphs import Scale, Sum, hardware, model, tutorial3

SETTINGS = CompileSettings(compute_level="tile", external_exchange=True, flops=True)


def random_program(target, seed):
    """Variables of two types spread at random, copies, local and remote compute sets, a loop."""
    rng = np.random.default_rng(seed)
    tiles = target.getNumTiles()
    graph = Graph(target)
    graph.addCodelets([Sum, Scale])
    tensors = []
    for number in range(6):
        tensor = graph.addVariable(FLOAT, [64], f"t{number}")
        for begin in range(0, 64, 8):
            graph.setTileMapping(tensor.slice(begin, begin + 8), int(rng.integers(tiles)))
        tensors.append(tensor)
    half = graph.addVariable(HALF, [32], "half")
    graph.setTileMapping(half, tiles - 1)
    other = graph.addVariable(HALF, [32], "other")
    graph.setTileMapping(other, 0)
    parts = [Copy(half, other)]
    for step in range(4):
        source, target_tensor = tensors[step], tensors[step + 1]
        cs = graph.addComputeSet(f"step{step}")
        for begin in range(0, 64, 16):
            edges = {"x": source.slice(begin, begin + 16), "y": target_tensor.slice(begin, begin + 16)}
            graph.setTileMapping(graph.addVertex(cs, "Scale", edges), int(rng.integers(tiles)))
        parts.append(Execute(cs))
    parts.append(Repeat(3, Sequence(Copy(tensors[4], tensors[5]), Copy(tensors[5], tensors[0]))))
    return graph, Sequence(parts)


@pytest.fixture(params=["model", "hardware", "two ipus"])
def compilation(request):
    target = {"model": model(), "hardware": hardware(), "two ipus": model(tiles=3, ipus=2)}[request.param]
    graph, program = random_program(target, 5)
    return compile_graph(graph.store, target, [program], SETTINGS).compilation


def test_categories_and_regions_add_up_to_the_tiles_total(compilation):
    total = np.zeros(compilation.target.num_tiles, np.int64)
    over = np.zeros_like(total)
    for row in compilation.category_memory:
        first = row.ipu * compilation.target.tiles_per_ipu
        part = slice(first, first + compilation.target.tiles_per_ipu)
        total[part] += row.bytes
        over[part] += row.bytes if row.region == "overflowed" else 0
    assert np.array_equal(total, compilation.tile_memory.excluding_gaps)
    assert np.array_equal(over, compilation.tile_memory.overflowed)
    assert (compilation.tile_memory.including_gaps >= compilation.tile_memory.excluding_gaps).all()


def test_variables_rows_and_allocations_agree(compilation):
    tile, category, name, size = compilation.vars_info
    lowered = sum(int(t.bytes.sum()) for t in compilation.lowered)
    assert size.sum() == lowered == compilation.variables.bytes.sum()
    always = compilation.variables.bytes[compilation.variables.always_live].sum()
    assert compilation.tile_memory.always_live.sum() == always
    for t in compilation.lowered:
        mine = tile == t.tile
        assert size[mine].sum() == t.bytes.sum()
        by_name = {
            (CATEGORIES[c], compilation.lowered_names[n]): b
            for c, n, b in zip(category[mine], name[mine], size[mine], strict=True)
        }
        rows = {}
        for c, n, b in zip(t.category, t.name, t.bytes, strict=True):
            key = (CATEGORIES[c], compilation.lowered_names[n])
            rows[key] = rows.get(key, 0) + b
        assert by_name == rows


def test_liveness_equals_sums_over_allocations(compilation):
    live = compilation.liveness
    classes = compilation.eq_classes
    tiles = compilation.target.num_tiles
    by_tile = np.zeros((len(live.program), tiles), np.int64)
    for t in compilation.lowered:
        for number, size in zip(t.eq_class.tolist(), t.bytes.tolist(), strict=True):
            if number >= 0:
                for row in range(classes.offsets[number], classes.offsets[number + 1]):
                    by_tile[classes.starts[row] : classes.ends[row], t.tile] += size
    assert np.array_equal(by_tile.max(axis=0), compilation.tile_memory.not_always_live)
    assert np.array_equal(by_tile.sum(axis=1), live.bytes)
    per = compilation.target.tiles_per_ipu
    for ipu, column in enumerate(live.bytes_by_ipu):
        assert np.array_equal(by_tile[:, ipu * per : (ipu + 1) * per].sum(axis=1), column)


def test_no_two_allocations_live_together_share_an_address(compilation):
    classes = compilation.eq_classes
    for t in compilation.lowered:
        for i in range(len(t.bytes)):
            for j in range(i):
                a, b = t.eq_class[i], t.eq_class[j]
                shared = min(t.address[i] + t.bytes[i], t.address[j] + t.bytes[j]) > max(t.address[i], t.address[j])
                if shared:
                    assert a >= 0
                    assert b >= 0
                    assert not _overlap(classes, a, b)


def test_code_of_programs_adds_up_to_its_category(compilation):
    sums = {"internalExchangeCode": 0, "hostExchangeCode": 0, "globalExchangeCode": 0, "controlCode": 0}
    kinds = {"DoExchange": "internalExchangeCode", "GlobalExchange": "globalExchangeCode"}
    for p in compilation.program_on_ipu:
        kind = kinds.get(compilation.programs.type[p.program], "hostExchangeCode")
        sums[kind] += 0 if p.exchange_code is None else int(p.exchange_code.sum())
        sums["controlCode"] += 0 if p.control_code is None else int(p.control_code.sum())
    found = dict.fromkeys(sums, 0)
    for row in compilation.category_memory:
        if row.category in found:
            found[row.category] += int(row.bytes.sum())
    assert sums == found
    assert bool(found["controlCode"]) == (compilation.target.type == "Ipu")


def test_vertices_by_type_and_by_lane_agree(compilation):
    for row in compilation.compute_set_vertices:
        lanes = next(v for v in compilation.vertex_lanes if (v.compute_set, v.ipu) == (row.compute_set, row.ipu))
        mine = lanes.vertex_type == row.vertex_type
        tile = np.repeat(np.arange(len(row.count)), np.diff(lanes.tile_offsets))
        assert np.array_equal(np.bincount(tile[mine], minlength=len(row.count)), row.count)
        cycles = np.bincount(tile[mine], lanes.thread_cycles[mine], minlength=len(row.count))
        assert np.array_equal(cycles, row.cycles)
    assert sum(int(r.count.sum()) for r in compilation.compute_set_vertices) == compilation.num_vertices


def test_what_is_received_is_what_messages_carry(compilation):
    for row in {m.program for m in compilation.messages}:
        received = np.zeros(compilation.target.num_tiles, np.int64)
        for m in compilation.messages:
            if m.program == row:
                np.add.at(received, m.dst, m.bytes)
        figures = [p for p in compilation.program_on_ipu if p.program == row]
        per = compilation.target.tiles_per_ipu
        for p in figures:
            rx = np.zeros(per, np.int64) if p.rx is None else p.rx
            assert np.array_equal(received[p.ipu * per : (p.ipu + 1) * per], rx)


def test_counters_take_four_bytes_per_compute_set_and_tile():
    tutorial = tutorial3(model())
    settings = CompileSettings(compute_level="tile")
    compilation = compile_graph(tutorial.graph.store, model(), [tutorial.program], settings).compilation
    counters = [r for r in compilation.category_memory if r.category == "instrumentationResults"]
    # sums on 4 tiles, its gathering on tiles 0-2, the copy's local part on tile 0
    assert sum(int(r.bytes.sum()) for r in counters) == 4 * (4 + 3 + 1)


def test_one_tile_holds_all_counters_at_level_ipu():
    tutorial = tutorial3(model())
    settings = CompileSettings(compute_level="ipu", profiling_tile=2)
    compilation = compile_graph(tutorial.graph.store, model(), [tutorial.program], settings).compilation
    counters = [r.bytes for r in compilation.category_memory if r.category == "instrumentationResults"]
    assert [c.tolist() for c in counters] == [[0, 0, 4 * 3, 0]]


def test_hardware_pays_for_launching_and_the_model_does_not():
    for target, extra in ((model(), 0), (hardware(), 82)):
        tutorial = tutorial3(target)
        executable = compile_graph(tutorial.graph.store, target, [tutorial.program])
        table = executable.lowered.table
        cycles = executable.lowered.cycles[table.name.index("sums")]
        assert cycles.tolist() == [6 * 18 + extra, 6 * 16 + extra, 6 * 14 + extra, 6 * 12 + extra]


@pytest.mark.parametrize(
    ("level", "extra", "syncs"), [("tile", 45, 0), ("vertex", 45, 0), ("ipu", 45, 3), ("device", 45, 3)]
)
def test_hardware_pays_for_counting_and_the_model_does_not(level, extra, syncs):
    def compiled(target, settings):
        tutorial = tutorial3(target)
        return compile_graph(tutorial.graph.store, target, [tutorial.program], settings)

    plain, counted = compiled(hardware(), None), compiled(hardware(), CompileSettings(compute_level=level))
    row, same = (e.lowered.table.name.index("sums") for e in (plain, counted))
    difference = counted.lowered.cycles[same] - plain.lowered.cycles[row]
    assert difference.tolist() == [extra] * 4
    assert counted.lowered.table.type.count("Sync") - plain.lowered.table.type.count("Sync") == syncs - (syncs > 0)
    on_model, uncounted = compiled(model(), CompileSettings(compute_level=level)), compiled(model(), None)
    assert [c if c is None else c.tolist() for c in on_model.lowered.cycles] == [
        c if c is None else c.tolist() for c in uncounted.lowered.cycles
    ]


def test_flops_are_reported_when_asked_for():
    tutorial = tutorial3(model())
    compiled = compile_graph(tutorial.graph.store, model(), [tutorial.program], CompileSettings(flops=True))
    assert compiled.compilation.compute_sets.flops.tolist()[0] == 4 + 3 + 2 + 1
    plain = compile_graph(tutorial.graph.store, model(), [tutorial.program])
    assert plain.compilation.compute_sets.flops.tolist()[0] == -1


def test_compiling_twice_gives_the_same():
    def columns():
        graph, program = random_program(model(), 5)
        c = compile_graph(graph.store, model(), [program], SETTINGS).compilation
        return [c.programs.name, *(t.address.tolist() for t in c.lowered), c.variables.bytes.tolist()]

    assert columns() == columns()


def _overlap(classes, a, b):
    def spans(c):
        rows = range(classes.offsets[c], classes.offsets[c + 1])
        return [(classes.starts[r], classes.ends[r]) for r in rows]

    return any(s < y and x < e for s, e in spans(a) for x, y in spans(b))
