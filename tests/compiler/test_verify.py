"""debug.verify finds faults planted into the passes; without it compilation does not look."""

from dataclasses import replace

import numpy as np
import pytest

from simulator.compiler.exchange import plan
from simulator.compiler.lowering import arrange, arrange_copies, exchange_plans
from simulator.compiler.memory import columns
from simulator.poplar import FLOAT, HALF, Engine, Graph, IPUModel, poplar_error
from simulator.poplar.program import Copy, Execute, Sequence
from simulator.poplibs import poplin, popops
from tests.compiler.tiny_graphs import Scale, Sum, model


def program(target=None):
    """Tile 0 sums what lies on tiles 0 and 1, the sum goes to tile 3 and is copied to tile 2. Two halves come to one
    word of tile 3 from two tiles."""
    graph = Graph(target or model(tiles=4))
    graph.addCodelets(Sum)
    graph.addCodelets(Scale)
    x, far, out, y = (graph.addVariable(FLOAT, [n], name) for n, name in ((8, "x"), (1, "far"), (1, "out"), (8, "y")))
    graph.setTileMapping(x[:4], 0)
    graph.setTileMapping(x[4:], 1)
    graph.setTileMapping(far, 3)
    graph.setTileMapping(out, 2)
    graph.setTileMapping(y, 0)
    sum_, scale = graph.addComputeSet("sum"), graph.addComputeSet("scale")
    for cs, kind, fields in ((sum_, "Sum", {"x": x, "out": far[0]}), (scale, "Scale", {"x": x, "y": y})):
        graph.setTileMapping(graph.addVertex(cs, kind, fields), 0)
    halves, joined = graph.addVariable(HALF, [2], "halves"), graph.addVariable(HALF, [2], "joined")
    graph.setTileMapping(halves[0], 1)
    graph.setTileMapping(halves[1], 2)
    graph.setTileMapping(joined, 3)
    graph.createHostWrite("halves", halves)
    graph.createHostRead("joined", joined)
    graph.createHostWrite("x", x)
    graph.createHostRead("out", out)
    graph.createHostRead("y", y)
    return graph, Sequence(Execute(sum_), Copy(far, out), Execute(scale), Copy(halves, joined))


def compiles(verify):
    coded = IPUModel()
    coded.tilesPerIPU, coded.compileIPUCode = 4, True
    graph, prog = program(coded.createDevice().getTarget())
    Engine(graph, prog, {"debug.verify": "true" if verify else "false"}).close()


def without_last_row(transfer):
    return replace(transfer, **{c: getattr(transfer, c)[:-1] for c in ("src", "dst", "start", "length", "item_bytes")})


def short_gather(monkeypatch):
    whole = arrange.arrange_compute_set

    def planted(*args):
        return [replace(a, before=without_last_row(a.before)) if len(a.before) else a for a in whole(*args)]

    monkeypatch.setattr(exchange_plans, "arrange_compute_set", planted)


def wrong_home(monkeypatch):
    whole = arrange.arrange_compute_set

    def planted(*args):
        return [replace(a, before=replace(a.before, src=np.full_like(a.before.src, 2))) for a in whole(*args)]

    monkeypatch.setattr(exchange_plans, "arrange_compute_set", planted)


def dropped_copy(monkeypatch):
    whole = exchange_plans.arrange_copy

    def planted(*args, **options):
        arranged = whole(*args, **options)
        rows = without_last_row(arranged.transfer)
        keep = np.arange(len(arranged.transfer)) < len(rows)
        landing = replace(arranged.landing, rows=arranged.landing.rows[keep])
        arrivals, sent = arranged.arrivals.take(keep), arranged.sent.take(keep)
        return replace(arranged, transfer=rows, arrivals=arrivals, sent=sent, landing=landing)

    monkeypatch.setattr(exchange_plans, "arrange_copy", planted)


def dropped_message(monkeypatch):
    whole = plan.exchange_figures

    def planted(transfer, tiles, time, arrivals=None):
        made = whole(transfer, tiles, time, arrivals)
        return made and replace(made, size=made.size // 2)

    monkeypatch.setattr(plan, "exchange_figures", planted)


def broken_words(monkeypatch):
    """Halves that must land go straight to their place."""
    whole = arrange_copies.landing_of

    def planted(*args):
        arrivals, landing = whole(*args)
        none = np.zeros(0, np.int64)
        return arrivals, replace(landing, rows=np.zeros_like(landing.rows), place=none)

    monkeypatch.setattr(arrange_copies, "landing_of", planted)


def too_fast(monkeypatch):
    whole = plan.exchange_figures

    def planted(transfer, tiles, time, arrivals=None):
        made = whole(transfer, tiles, time, arrivals)
        return made and replace(made, cycles=np.minimum(made.cycles, 60))

    monkeypatch.setattr(plan, "exchange_figures", planted)


def one_address(monkeypatch):
    whole = columns.lay_out
    monkeypatch.setattr(columns, "lay_out", lambda *args, **names: np.zeros_like(whole(*args, **names)))


def askew(monkeypatch):
    whole = columns.lay_out
    monkeypatch.setattr(columns, "lay_out", lambda *args, **names: whole(*args, **names) + 4)


@pytest.mark.parametrize(
    ("plant", "says"),
    [
        (short_gather, "does not bring elements 4 to 8 from tile 1 to tile 0"),
        (wrong_home, "moves element 4 between tiles 2 and 0, but it lies on tile 1"),
        (dropped_copy, "brings 0 bytes to tile 2 in place of 4"),
        (dropped_message, "gets messages of"),
        (broken_words, "writes 4 bytes of the word of element .* on tile 3"),
        (too_fast, "has too few cycles on tile"),
        (one_address, "two allocations that are live at the same time"),
        (askew, "not a multiple of 8"),
    ],
)
def test_a_planted_fault_ends_verified_compilation_only(plant, says, monkeypatch):
    plant(monkeypatch)
    compiles(verify=False)
    with pytest.raises(poplar_error, match=says):
        compiles(verify=True)


def test_sound_programs_pass():
    compiles(verify=True)
    graph = Graph(model(tiles=8))
    a, b = (graph.addVariable(FLOAT, [16, 24][::step], name) for step, name in ((1, "a"), (-1, "b")))
    for t in (a, b):
        tiles = [[(i * 48, (i + 1) * 48)] for i in range(8)]
        graph.setTileMapping(t, tiles)
        graph.createHostWrite(str(t.shape()), t)
    prog = Sequence()
    c = poplin.matMul(graph, a, b, prog, FLOAT, "c")
    popops.addInPlace(graph, c, c, prog, "twice")
    Engine(graph, prog, {"debug.verify": "true"}).close()
