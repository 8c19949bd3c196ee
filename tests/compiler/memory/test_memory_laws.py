"""Laws of the compiler's memory on random programs: sums, alignment, instrumentation, derivations."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from popvision.formats.profile.model import CATEGORIES
from simulator.base.options.compile import CompileSettings
from simulator.compiler.compile import compile_graph
from simulator.poplar import FLOAT, Graph
from simulator.poplar.program import Call, Copy, Repeat, Sequence
from simulator.poplibs import popops, poputil
from tests.compiler.tiny_graphs import hardware, model

SIZES = st.integers(1, 200)
STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "scale", "copy", "reduce", "loop", "call"]), st.integers(0, 3), SIZES),
    min_size=1,
    max_size=5,
)
OWN = (
    "vertexInstanceState",
    "vertexFieldData",
    "stack",
    "controlCode",
    "vertexCode",
    "internalExchangeCode",
    "hostExchangeCode",
    "hostExchangePacketHeader",
    "controlId",
    "instrumentationResults",
    "copyDescriptor",
)


def built(target, sizes, steps):
    """A graph of four tensors and a program that works on them."""
    graph, program = Graph(target), Sequence()
    tensors = [graph.addVariable(FLOAT, [size], f"t{i}") for i, size in enumerate(sizes)]
    for i, tensor in enumerate(tensors):
        poputil.mapTensorLinearly(graph, tensor, 1 + 3 * i, 1)
        graph.createHostWrite(f"t{i}", tensor)
    for number, (kind, at, size) in enumerate(steps):
        tensor, body = tensors[at], Sequence()
        if kind == "copy":
            other = graph.addVariable(FLOAT, [tensor.numElements()], f"c{number}")
            graph.setTileMapping(other, size % graph.getTarget().getNumTiles())
            body.add(Copy(tensor, other))
            popops.addInPlace(graph, tensor, other, body, f"use{number}")
        elif kind == "scale":
            popops.scaledAddTo(graph, tensor, popops.add(graph, tensor, tensor, body), 0.5, body, f"scale{number}")
        elif kind == "reduce":
            matrix = tensor.reshape([1, tensor.numElements()])
            popops.reduce(graph, matrix, [1], popops.ReduceParams(popops.Operation.ADD), body)
        else:
            popops.addInPlace(graph, tensor, tensor, body, f"add{number}")
        program.add(Repeat(2, body) if kind == "loop" else Call(graph.addFunction(body)) if kind == "call" else body)
    return graph, program


@given(st.booleans(), st.lists(SIZES, min_size=4, max_size=4), STEPS)
def test_laws(on_hardware, sizes, steps):
    graph, program = built((hardware if on_hardware else model)(), sizes, steps)
    plain = compile_graph(graph.store, graph.getTarget(), [program]).compilation
    wanted = CompileSettings(compute_level="tile", external_exchange=True, control_flow=True)
    counted = compile_graph(graph.store, graph.getTarget(), [program], wanted).compilation
    for compilation in (plain, counted):
        check_derivations(compilation)
        check_alignment(compilation)
        check_parts(compilation)
    # Not of `excluding_gaps`: layout takes the first fit, so more allocations may lead to more shared addresses.
    for name in ("always_live", "not_always_live"):
        without, with_counters = (getattr(c.tile_memory, name) for c in (plain, counted))
        assert (with_counters >= without).all(), name


def check_derivations(compilation):
    """The additions of a category's cost terms give its bytes."""
    found = dict.fromkeys(CATEGORIES, 0)
    for row in compilation.category_memory:
        found[row.category] += int(row.bytes.sum())
    for category in OWN:
        terms = [t for t in compilation.cost_terms if t.object == f"category:{category}"]
        assert sum(t.value for t in terms) == found[category], category
        assert all(t.source.split(":")[0].split()[0] in ("exact", "fitted", "guess", "unknown") for t in terms)


def check_parts(compilation):
    """A tile holds at least what is live there at a time; variables of a report add up to what the tiles hold; and two
    things that share an address are never live at the same index."""
    memory, classes = compilation.tile_memory, compilation.eq_classes
    assert (memory.excluding_gaps >= memory.always_live + memory.not_always_live).all()
    assert compilation.variables.bytes.sum() == sum(tile.bytes.sum() for tile in compilation.lowered)
    named = np.flatnonzero(compilation.variables.debug_id >= 0)
    for tile in compilation.lowered:
        assert np.bincount(tile.variable, minlength=1 + named.max(initial=0))[named].max(initial=0) <= 1
    alive = np.zeros((len(classes.offsets), len(compilation.liveness.program)), np.bool_)
    for number in range(len(classes.offsets) - 1):
        for row in range(classes.offsets[number], classes.offsets[number + 1]):
            alive[number, classes.starts[row] : classes.ends[row]] = True
    alive[-1] = True  # class -1 is always live
    for tile in compilation.lowered:
        end = tile.address + tile.bytes
        meet = (tile.address[:, None] < end) & (tile.address < end[:, None]) & ~np.eye(len(end), dtype=np.bool_)
        for i, j in np.argwhere(np.triu(meet)).tolist():
            assert not (alive[tile.eq_class[i]] & alive[tile.eq_class[j]]).any()


def check_alignment(compilation):
    """Everything begins at a multiple of 8 bytes, parts of a variable where the one before ends; regions follow from
    addresses."""
    target = compilation.target
    for tile in compilation.lowered:
        order = np.lexsort((tile.address, tile.name))
        name, address, end = tile.name[order], tile.address[order], (tile.address + tile.bytes)[order]
        continues = np.zeros(len(order), np.bool_)
        continues[1:] = (name[1:] == name[:-1]) & (address[1:] == end[:-1]) & (tile.eq_class[order][1:] >= 0)
        assert (continues | (address % 8 == 0)).all()
        limits = [target.region_split, target.bytes_per_tile]
        assert np.array_equal(tile.region, np.searchsorted(limits, tile.address, side="right"))
