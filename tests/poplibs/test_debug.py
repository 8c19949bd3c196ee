"""Debug records: what a library makes belongs to its call, and the call to the user's line."""

from __future__ import annotations

from simulator.poplar import FLOAT
from simulator.poplar.program import Copy, Program, Sequence, WriteUndef
from simulator.poplibs import poplin, popops
from tests.poplibs.programs import linear, small_graph


def test_a_product_is_recorded_as_one_call() -> None:
    graph, program = small_graph(16), Sequence()
    a, b = linear(graph, FLOAT, [30, 40], "a"), linear(graph, FLOAT, [40, 20], "b")
    poplin.matMul(graph, a, b, program, "m4")
    infos = graph.store.debug_infos
    (call,) = [i for i in infos if i["arguments"].get("api") == "matMul"]
    assert (call["layer"], call["name"]) == ("poplibs", "m4")
    assert call["arguments"]["A"] == "float[30, 40]"
    assert call["file"] == __file__
    for name, id_ in zip(graph.store.compute_set_names, graph.store.compute_set_debug_ids, strict=True):
        assert name.startswith("m4/Conv_1/")
        inner = infos[infos[id_]["parentId"]]
        assert inner["name"] == "m4/Conv_1"
        assert "split field x in x out" in inner["arguments"]["plan"]
        assert inner["parentId"] == call["id"]


def test_unnamed_operations_still_have_names() -> None:
    graph, program = small_graph(), Sequence()
    a = linear(graph, FLOAT, [8])
    popops.add(graph, a, 1.0, program)
    popops.fill(graph, a, program, 0.0, "start")
    assert graph.store.compute_set_names == ["Op/Add", "start/Fill"]


def test_copies_of_an_operation_are_recorded_below_it() -> None:
    """Otherwise their cycles and exchanged bytes would belong to no operation."""
    graph, program = small_graph(16), Sequence()
    a, b = linear(graph, FLOAT, [30, 40], "a"), linear(graph, FLOAT, [40, 20], "b")
    out = linear(graph, FLOAT, [30, 20], "out")
    poplin.matMulWithOutput(graph, a, b, out, program, "m4")
    copies = [each for each in parts(program) if isinstance(each, Copy | WriteUndef)]
    assert len([each for each in copies if isinstance(each, Copy)]) > 1
    assert all(each.debug.getPathName().startswith("m4") and each.debug.parent for each in copies)


def parts(program: Program) -> list[Program]:
    inner = program.programs if isinstance(program, Sequence) else []
    return [program, *(part for each in inner for part in parts(each))]
