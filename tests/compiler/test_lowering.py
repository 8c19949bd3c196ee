"""Host programs become the published tree, with hand-computed figures."""

import numpy as np
import pytest

from simulator.compiler.compile import compile_graph
from simulator.poplar import FLOAT, Graph, SyncType, invalid_tile_mapping
from simulator.poplar.program import Call, Copy, Execute, PrintTensor, Repeat, Sequence, Sync, WriteUndef
from tests.compiler.tiny_graphs import Scale, Sum, model, tutorial3

STREAM_COPY = ["StreamCopyBegin", "StreamCopyMid", "StreamCopyEnd"]


def lines(executable, row=None):
    """(depth, type, name) of the control tree in order."""
    table = executable.lowered.table
    found = []

    def walk(at, depth):
        found.append((depth, table.type[at], table.name[at]))
        for child in table.children[at]:
            walk(child, depth + 1)

    walk(0 if row is None else row, 0)
    return found


def branch(executable, index=0):
    return [(t, n) for depth, t, n in lines(executable, executable.lowered.branches[index]) if depth]


def cycles_of(executable, name):
    table = executable.lowered.table
    return executable.lowered.cycles[table.name.index(name)].tolist()


def test_the_root_fetches_the_program_number_and_switches():
    tutorial = tutorial3(model())
    root = lines(compile_graph(tutorial.graph.store, model(), [tutorial.program]))
    heads = [t for depth, t, _ in root if depth == 1]
    assert heads == [*STREAM_COPY, "Sync", *STREAM_COPY, "Sync", "Sync", "DoExchange", "OnEveryTileSwitch"]
    assert root[10] == (1, "DoExchange", "copy0_switchControlBroadcast0/ExchangePre")
    assert [n for depth, t, n in root if depth == 2] == ["", "v2"]  # the program, then the host read


def test_tutorial_3_program_by_program():
    tutorial = tutorial3(model())
    executable = compile_graph(tutorial.graph.store, model(), [tutorial.program])
    assert branch(executable) == [
        ("Sync", "Internal"),
        ("DoExchange", "copy1_Copy_values_to_v1/ExchangePre"),
        ("OnTileExecute", "copy1_Copy_values_to_v1/OnTileCopy-0"),
        ("Sync", "Internal"),
        ("DoExchange", "cs2_sums/ExchangePre"),
        ("OnTileExecute", "sums/PreArrange-0"),
        ("OnTileExecute", "sums"),
    ]
    # Tile 0 receives three words from three tiles: three instructions for each after the first. Tile 1: one such word,
    # and one that it sends.
    assert cycles_of(executable, "cs2_sums/ExchangePre") == [66, 64, 61, 61]
    assert cycles_of(executable, "copy1_Copy_values_to_v1/ExchangePre") == [63, 61, 61, 61]
    # One vertex per tile on one of six contexts: 6 x (10 + 2 n).
    assert cycles_of(executable, "sums") == [6 * 18, 6 * 16, 6 * 14, 6 * 12]
    # Tiles 0 to 2 gather their own element beside what came: 72 cycles of a thread (published-numbers 7.3).
    assert cycles_of(executable, "sums/PreArrange-0") == [432, 432, 432, 0]


def test_rx_and_tx_of_tutorial_3():
    tutorial = tutorial3(model())
    compilation = compile_graph(tutorial.graph.store, model(), [tutorial.program]).compilation
    row = compilation.programs.name.index("cs2_sums/ExchangePre")
    figures = next(p for p in compilation.program_on_ipu if p.program == row)
    assert figures.rx.tolist() == [12, 8, 4, 0]
    assert figures.tx.tolist() == [0, 4, 4, 4]
    messages = next(m for m in compilation.messages if m.program == row)
    assert sorted(zip(messages.src.tolist(), messages.dst.tolist(), messages.bytes.tolist(), strict=True)) == [
        (1, 0, 4),
        (2, 0, 4),
        (2, 1, 4),
        (3, 0, 4),
        (3, 1, 4),
        (3, 2, 4),
    ]


def local_graph():
    graph = Graph(model())
    graph.addCodelets([Sum, Scale])
    a, b, c = (graph.addVariable(FLOAT, [8], name) for name in "abc")
    for tensor in (a, b, c):
        graph.setTileMapping(tensor, [[(2 * t, 2 * t + 2)] for t in range(4)])
    return graph, a, b, c


def test_local_work_needs_no_exchange_and_no_barrier():
    graph, a, b, _ = local_graph()
    cs = graph.addComputeSet("scale")
    for t in range(4):
        v = graph.addVertex(cs, "Scale", {"x": a.slice(2 * t, 2 * t + 2), "y": b.slice(2 * t, 2 * t + 2)})
        graph.setTileMapping(v, t)
    assert branch(compile_graph(graph.store, model(), [Execute(cs)])) == [("OnTileExecute", "scale")]


def copies_between_neighbours():
    graph, a, b, c = local_graph()
    return graph, Copy(a.slice(0, 2), b.slice(2, 4)), Copy(b.slice(2, 4), c.slice(4, 6))


EXCHANGE = ["Sync", "DoExchange"]


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_one_sync_serves_a_stream_copy_and_an_exchange_that_follows_it_at_any_depth(depth):
    """The stream copy ends with a sync, after which no tile does anything before the exchange of the copy."""
    graph, copy, _ = copies_between_neighbours()
    printed = graph.addVariable(FLOAT, [1], "printed")
    graph.setTileMapping(printed, 0)
    for _ in range(depth):
        copy = Sequence(copy)
    program = Sequence(PrintTensor("printed", printed), Sequence(), copy)
    types = [type_ for type_, _ in branch(compile_graph(graph.store, model(), [program]))]
    assert [t for t in types if t != "Sequence"] == [*STREAM_COPY, *EXCHANGE]
    program = Sequence(Sequence(PrintTensor("printed", printed)), copy)
    types = [type_ for type_, _ in branch(compile_graph(graph.store, model(), [program]))]
    assert [t for t in types if t != "Sequence"] == [*STREAM_COPY, *EXCHANGE]


def test_a_loop_and_a_function_keep_the_sync_before_their_first_exchange():
    """Their second trip or call does not follow the sync before them."""
    graph, copy, then = copies_between_neighbours()
    function = graph.addFunction(Sequence(copy))
    program = Sequence(
        Sync(SyncType.INTERNAL), Repeat(2, Sequence(copy, then)), Sync(SyncType.INTERNAL), Call(function)
    )
    executable = compile_graph(graph.store, model(), [program])
    types = [type_ for type_, _ in branch(executable) if type_ != "Sequence"]
    assert types == ["Sync", "Repeat", *EXCHANGE, *EXCHANGE, "Sync", "Call"]
    body = executable.lowered.table.function_roots[0]
    assert [t for _, t, _ in lines(executable, body)] == ["Sequence", *EXCHANGE]


def test_a_remote_output_is_sent_after_the_compute_set():
    graph, a, b, _ = local_graph()
    cs = graph.addComputeSet("scale")
    v = graph.addVertex(cs, "Scale", {"x": a.slice(0, 2), "y": b.slice(2, 4)})
    graph.setTileMapping(v, 0)
    executable = compile_graph(graph.store, model(), [Execute(cs)])
    assert branch(executable) == [
        ("OnTileExecute", "scale"),
        ("Sync", "Internal"),
        ("DoExchange", "cs1_scale/ExchangePost"),
    ]
    assert cycles_of(executable, "cs1_scale/ExchangePost") == [62, 62, 0, 0]


def test_independent_neighbouring_copies_run_as_one_and_dependent_ones_do_not():
    graph, a, b, c = local_graph()
    merged = branch(compile_graph(graph.store, model(), [Sequence(Copy(a, b), Copy(a, c))]))
    assert merged == [("OnTileExecute", "copy1_Copy_a_to_{b,c}/OnTileCopy-0")]
    chained = branch(compile_graph(graph.store, model(), [Sequence(Copy(a, b), Copy(b, c))]))
    assert [n for _, n in chained] == ["copy1_Copy_a_to_b/OnTileCopy-0", "copy2_Copy_b_to_c/OnTileCopy-0"]


def test_repeat_call_print_undef_and_sync():
    graph, a, b, _ = local_graph()
    function = graph.addFunction(Copy(a, b))
    program = Sequence(
        WriteUndef(b), Repeat(5, Call(function)), Call(function), PrintTensor("b", b), Sync(SyncType.EXTERNAL)
    )
    executable = compile_graph(graph.store, model(), [program])
    assert branch(executable) == [
        ("WriteUndef", ""),
        ("Repeat", ""),
        ("Sequence", ""),
        ("Call", "function 0"),
        ("Call", "function 0"),
        *((part, "b") for part in STREAM_COPY),
        ("Sync", "Internal"),
        ("Sync", "External"),
    ]
    table = executable.lowered.table
    assert table.repeat_count[table.type.index("Repeat")] == 5
    root = executable.lowered.function_roots[0]
    assert (table.owner[root], table.owner[0]) == ("function", "control")
    assert [t for _, t, _ in lines(executable, root)] == ["Sequence", "OnTileExecute"]
    # Liveness follows both calls: the body's position occurs twice.
    assert (executable.compilation.liveness.program == root).sum() == 2


def test_code_of_an_exchange_is_counted_at_its_first_place_only():
    tutorial = tutorial3(model(compile_ipu_code=True))
    execute = tutorial.program.programs[1]
    program = Sequence(tutorial.program, execute)
    compilation = compile_graph(tutorial.graph.store, model(compile_ipu_code=True), [program]).compilation
    rows = [i for i, name in enumerate(compilation.programs.name) if name == "cs2_sums/ExchangePre"]
    assert len(rows) == 2
    code = [p.exchange_code is not None for p in compilation.program_on_ipu if p.program in rows]
    assert code == [True, False]


def test_elements_without_a_tile_are_named():
    graph = Graph(model())
    a, b = graph.addVariable(FLOAT, [4], "a"), graph.addVariable(FLOAT, [4], "weights")
    graph.setTileMapping(a, 0)
    graph.setTileMapping(b.slice(0, 3), 0)
    with pytest.raises(invalid_tile_mapping, match="Element 3 of 'weights'"):
        compile_graph(graph.store, model(), [Copy(a, b)])


def test_two_ipus_exchange_through_a_global_exchange_after_an_external_sync():
    target = model(tiles=2, ipus=2)
    graph = Graph(target)
    a, b = graph.addVariable(FLOAT, [4], "a"), graph.addVariable(FLOAT, [4], "b")
    graph.setTileMapping(a, 0)
    graph.setTileMapping(b, 3)
    executable = compile_graph(graph.store, target, [Copy(a, b)])
    assert branch(executable) == [
        ("OnTileExecute", "copy1_Copy_a_to_b/GlobalPre/OnTileCopy-0"),
        ("Sync", "External"),
        ("GlobalExchange", "copy1_Copy_a_to_b/GlobalPre"),
        ("Sync", "Internal"),
    ]
    assert (np.array(cycles_of(executable, "copy1_Copy_a_to_b/GlobalPre")) > 0).tolist() == [True, False, False, True]
