"""Laws of costs on random graphs and sizes: bytes conserved, bandwidths kept, cycles that grow with work and do not
jump, chips ordered as their constants demand, figures that depend on nothing else.

Laws of single exchanges and of the compiler's memory are in tests/compiler (test_exchange, test_memory_laws).
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from math import ceil
from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from simulator.base.target import Target
from simulator.compiler.compile import compile_graph
from simulator.compiler.compiled_graph import CompiledGraph
from simulator.machine.cycles import elementwise, scaled
from simulator.machine.targets import BOW, CHIPS, MK1, MK2, Chip
from simulator.poplar import FLOAT, HALF, Graph, TargetType
from simulator.poplar.program import Copy, Sequence
from simulator.poplibs import poplin, popops, poputil
from simulator.runtime.clock.device_clock import DeviceClock

TILES = 24
KINDS = st.lists(
    st.tuples(st.sampled_from(["add", "tanh", "reduce", "product", "copy"]), st.integers(1, 90), st.integers(1, 40)),
    min_size=1,
    max_size=4,
)


def target_of(chip: Chip, hardware: bool = False, tiles: int = TILES) -> Target:
    return Target(
        TargetType.IPU if hardware else TargetType.IPU_MODEL,
        chip,
        tiles_per_ipu=tiles,
        bytes_per_tile=chip.bytes_per_tile,
        clock_hz=chip.clock_hz,
        min_sync_delay=chip.min_ipu_sync_delay,
        interleaved_element=chip.region_split // chip.memory_element_bytes,
        compile_ipu_code=hardware,
    )


def compiled(target: Target, steps: list[tuple[str, int, int]]) -> CompiledGraph:
    graph, program = Graph(target), Sequence()
    for number, (kind, rows, columns) in enumerate(steps):
        a, b = (graph.addVariable(FLOAT, [rows, columns], f"{name}{number}") for name in "ab")
        poputil.mapTensorLinearly(graph, a, 1, 1)
        poputil.mapTensorLinearly(graph, b, 8, 4)
        if kind == "add":
            popops.add(graph, a, b, program, f"add{number}")
        elif kind == "tanh":
            popops.tanh(graph, a, program, f"tanh{number}")
        elif kind == "reduce":
            popops.reduce(graph, a, [0], popops.ReduceParams(popops.Operation.ADD), program, f"reduce{number}")
        elif kind == "copy":
            program.add(Copy(a, b))
        else:
            poplin.matMul(graph, a, b.dimShuffle([1, 0]), program, f"product{number}")
    return compile_graph(graph.store, target, [program])


def total_cycles(executable: CompiledGraph) -> int:
    """Cycles of one run."""
    lowered = executable.lowered
    clock = DeviceClock(lowered.table, lowered.cycles, lowered.function_roots, executable.machine)
    run = clock.run(lowered.branches[0])
    steps = [clock.patterns[pattern[0]] for pattern in run.segment.pattern]
    return max(
        int((base[0] + step.start.astype(np.int64) + step.cycles).max())
        for base, step in zip(run.segment.base, steps, strict=True)
    )


@given(KINDS, st.booleans())
def test_bytes_are_conserved_in_every_breakdown(steps: list[tuple[str, int, int]], hardware: bool) -> None:
    compilation = compiled(target_of(MK2, hardware), steps).compilation
    memory, live, variables = compilation.tile_memory, compilation.liveness, compilation.variables
    assert memory is not None
    assert live is not None
    assert variables is not None
    by_tile = np.zeros(TILES, np.int64)
    for part in compilation.category_memory:
        by_tile += part.bytes
    assert np.array_equal(by_tile, memory.excluding_gaps)
    assert (memory.including_gaps >= memory.excluding_gaps).all()
    assert (memory.excluding_gaps >= memory.always_live).all()
    assert variables.bytes[variables.always_live].sum() == memory.always_live.sum()
    assert np.array_equal(sum(live.bytes_by_ipu), live.bytes)
    # no index holds more than all tiles at their own peaks, and the greatest reaches the busiest tile's
    assert memory.not_always_live.max(initial=0) <= live.bytes.max(initial=0) <= memory.not_always_live.sum()


@given(KINDS, st.sampled_from([MK1, MK2]))
def test_a_tile_s_peak_is_its_maximum_over_indices(steps: list[tuple[str, int, int]], chip: Chip) -> None:
    """From the allocations of a tile and their ranges of indices, added up one by one."""
    compilation = compiled(target_of(chip), steps).compilation
    classes, memory, live = compilation.eq_classes, compilation.tile_memory, compilation.liveness
    assert classes is not None
    assert memory is not None
    assert live is not None
    for tile in compilation.lowered:
        height = np.zeros(len(live.program), np.int64)
        for size, number in zip(tile.bytes, tile.eq_class, strict=True):
            if number >= 0:
                for row in range(int(classes.offsets[number]), int(classes.offsets[number + 1])):
                    height[int(classes.starts[row]) : int(classes.ends[row])] += size
        assert height.max(initial=0) == memory.not_always_live[tile.tile]


@given(KINDS)
def test_nothing_exceeds_its_bandwidth(steps: list[tuple[str, int, int]]) -> None:
    """4 bytes a cycle and tile each way, 8 of what a pair receives together; no vertex more FLOPs than the AMP has."""
    executable = compiled(target_of(MK2), steps)
    for part in executable.compilation.program_on_ipu:
        if executable.compilation.programs.type[part.program] != "DoExchange" or part.cycles is None:
            continue
        for moved, rate in ((part.rx, 8), (part.tx, 4)):
            if moved is not None:
                assert (moved <= rate * part.cycles).all()
    for vertices in executable.compilation.compute_set_vertices:
        if vertices.flops > 0 and "Conv" in executable.compilation.vertex_types.name[vertices.vertex_type]:
            assert vertices.flops <= 2 * MK2.peak_float_macs * vertices.cycles.sum()


def one_step(kind: str, size: int, dtype: Any = FLOAT, chip: Chip = MK2) -> tuple[int, int]:
    """(cycles of the compute sets, largest number of elements on a tile) of one operation on `size` elements."""
    target = target_of(chip)
    graph, program = Graph(target), Sequence()
    tensor = graph.addVariable(dtype, [size], "tensor")
    poputil.mapTensorLinearly(graph, tensor, 1, 1)
    if kind == "add":
        popops.add(graph, tensor, tensor, program)
    elif kind == "tanh":
        popops.tanh(graph, tensor, program)
    else:
        popops.reduce(graph, tensor.reshape([size, 1]), [0], popops.ReduceParams(popops.Operation.ADD), program)
    lowered = compile_graph(graph.store, target, [program]).lowered
    busy = [
        int(c.max())
        for c, t in zip(lowered.cycles, lowered.table.type, strict=True)
        if t == "OnTileExecute" and c is not None
    ]
    return sum(busy), ceil(size / TILES)


@given(
    st.sampled_from(["add", "tanh"]), st.sampled_from([FLOAT, HALF]), st.integers(TILES, 40_000), st.integers(1, 3000)
)
def test_elementwise_cycles_grow_with_work(kind: str, dtype: Any, size: int, more: int) -> None:
    assert one_step(kind, size, dtype)[0] <= one_step(kind, size + more, dtype)[0]


@given(st.sampled_from(["add", "tanh", "reduce"]), st.integers(20_000, 200_000))
@example("reduce", 21_125)
def test_neighbouring_sizes_jump_only_where_a_count_is_rounded_up(kind: str, size: int) -> None:
    """More than 5 % only when a worker of the busiest tile gets another vector."""
    (before, share), (after, next_share) = one_step(kind, size), one_step(kind, size + 1)
    if ceil(ceil(share / 6) / 2) == ceil(ceil(next_share / 6) / 2):
        assert abs(after / before - 1) <= 0.05


@given(st.integers(16, 300), st.integers(16, 300), st.integers(16, 300), st.integers(0, 2))
def test_neighbouring_products_jump_only_with_their_plan(m: int, k: int, n: int, dimension: int) -> None:
    sizes = [[m, k, n], [m, k, n]]
    sizes[1][dimension] += 1
    graph = Graph(target_of(MK2))
    plans = [poplin.plan_of(graph, FLOAT, [a, b], [b, c]) for a, b, c in sizes]
    shares = [
        (
            p.method,
            p.swapped,
            p.field_split,
            p.in_split,
            p.out_split,
            ceil(ceil(p.field / p.field_split) / 6),
            ceil(p.in_groups / p.in_split),
            ceil(p.out_groups / p.out_split),
            p.field % p.in_split == 0,
        )  # whether every tile adds up whole rows of the partial sums
        for p in plans
    ]
    if shares[0] != shares[1]:
        return
    cycles = [sum(_product_cycles(*size)) for size in sizes]
    assert abs(cycles[1] / cycles[0] - 1) <= 0.05


def _product_cycles(m: int, k: int, n: int) -> list[int]:
    graph, program = Graph(target_of(MK2)), Sequence()
    left, right = graph.addVariable(FLOAT, [m, k]), graph.addVariable(FLOAT, [k, n])
    for tensor in (left, right):
        poputil.mapTensorLinearly(graph, tensor)
    poplin.matMul(graph, left, right, program, "product")
    lowered = compile_graph(graph.store, graph.getTarget(), [program]).lowered
    return [
        int(c.max())
        for c, name in zip(lowered.cycles, lowered.table.name, strict=True)
        if c is not None and name.endswith(("Convolve", "Reduce0"))
    ]


@given(KINDS)
def test_chips_are_ordered_as_their_constants_demand(steps: list[tuple[str, int, int]]) -> None:
    """Bow is Mk2 at a higher clock: equal cycles of what happens on it, less time. Formulas of element-wise vertices
    are those of all chips."""
    mk2, bow = (compiled(target_of(chip), steps) for chip in (MK2, BOW))
    for one, other in zip(mk2.lowered.cycles, bow.lowered.cycles, strict=True):
        if one is not None and not np.array_equal(one, other):
            assert (other >= one).all()  # the host link is as fast, in seconds
    assert total_cycles(bow) / BOW.clock_hz <= total_cycles(mk2) / MK2.clock_hz
    plain = [step for step in steps if step[0] in ("add", "tanh", "copy")]
    if plain:
        own = [compiled(target_of(chip), plain).compilation.compute_set_vertices for chip in CHIPS.values()]
        sums = [sum(int(part.cycles.sum()) for part in parts) for parts in own]
        assert len(set(sums)) == 1


@given(st.integers(1, 5000), st.integers(1, 500), st.sampled_from(["float", "half"]))
def test_formulas_grow_with_work_in_each_branch(size: int, more: int, dtype: str) -> None:
    """Within a branch: a scaled addition has one step per vector, whatever remains."""
    assert elementwise.binary_1d("ADD", dtype, size) <= elementwise.binary_1d("ADD", dtype, size + more)
    whole = 6 * 8 * ((size + 47) // 48)
    longer = whole + 48 * ((more + 47) // 48)
    assert scaled.scaled_add((dtype, dtype), whole) <= scaled.scaled_add((dtype, dtype), longer)


@given(KINDS, st.booleans())
def test_the_same_program_gives_the_same_figures(steps: list[tuple[str, int, int]], hardware: bool) -> None:
    one, other = (compiled(target_of(MK2, hardware), steps) for _ in range(2))
    assert total_cycles(one) == total_cycles(other)
    assert same(one.compilation, other.compilation)


def same(one: Any, other: Any) -> bool:
    """Equality through dataclasses, lists, dictionaries and arrays."""
    if is_dataclass(one):
        return type(one) is type(other) and all(same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    return bool(one == other)
