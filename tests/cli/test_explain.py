"""`popvision explain`: derivations add up to the figures of the report, or say what is unexplained."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from popvision.analysis.explain.explain import explain_program
from popvision.analysis.explain.report import explain_report
from popvision.analysis.report.source import ReportSource
from popvision.formats.profile import ProfileReader
from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Call, Copy, Repeat, Sequence
from simulator.poplibs import poplin, popops, poputil
from tests.cli.called import popvision
from tests.reports import write_tiny


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A product, a loop and a function called twice, on 16 tiles, with streams."""
    path = tmp_path_factory.mktemp("explained")
    model = IPUModel()
    model.tilesPerIPU = 16
    model.compileIPUCode = True
    device = model.createDevice()
    graph, body, program = Graph(device), Sequence(), Sequence()
    a, b, c = (graph.addVariable(FLOAT, [64, 64], name) for name in "abc")
    for tensor in (a, b, c):
        poputil.mapTensorLinearly(graph, tensor, 64, 2)
    popops.addInPlace(graph, c, c, body, "twice")
    product = poplin.matMul(graph, a, b, program, "product")
    program.add(Copy(product, c))
    program.add(Repeat(3, body))
    function = graph.addFunction(body)
    program.add(Call(function))
    program.add(Call(function))
    program.add(Copy(c, graph.addDeviceToHostFIFO("out", FLOAT, 64 * 64)))
    with Engine(graph, program, {"autoReport.all": "true", "autoReport.directory": str(path)}) as engine:
        engine.load(device)
        engine.connectStream("out", np.empty(64 * 64, np.float32))
        engine.run(0)
    return path


def explained(*arguments: object) -> subprocess.CompletedProcess[str]:
    return popvision("explain", *arguments)


def programs(folder: Path, *kinds: str) -> list[int]:
    types = ProfileReader(folder / "profile.pop").programs().type
    return [i for i, type_ in enumerate(types) if type_ in kinds]


def test_terms_of_every_busiest_tile_add_up_to_the_estimate_in_the_report(folder: Path) -> None:
    reader, source, seen = ProfileReader(folder / "profile.pop"), ReportSource(folder), 0
    for program in programs(folder, "OnTileExecute", "DoExchange", "StreamCopyMid", "StreamCopyEnd"):
        stored = reader.program_on_ipu(program, 0)
        if stored is None or stored.cycles is None:
            continue
        first = explain_program(source, program).derivations[0]
        assert first.figure.startswith("cycles of one execution on tile ")
        assert first.value == first.sum == int(np.max(stored.cycles)), program
        assert all(term.source and term.provenance in ("exact", "fitted", "guess") for term in first.terms)
        seen += 1
    assert seen >= 8


def test_another_tile_gets_what_its_columns_say_and_no_other_tile_s_terms(folder: Path) -> None:
    reader, source = ProfileReader(folder / "profile.pop"), ReportSource(folder)
    busy = 0
    for program in programs(folder, "OnTileExecute"):
        stored = reader.program_on_ipu(program, 0)
        assert stored is not None
        assert stored.cycles is not None
        for tile in range(0, 16, 3):
            first = explain_program(source, program, tile).derivations[0]
            assert first.value == stored.cycles[tile]
            if first.sum is not None:
                assert first.sum == stored.cycles[tile] or any("unexplained" in note for note in first.notes)
                busy += 1
    assert busy > 6
    exchange = programs(folder, "DoExchange")[-1]
    named = next(int(t.value) for t in reader.cost_terms(f"program:{exchange}") if t.term == "tile")
    other = explain_program(source, exchange, (named + 1) % 16).derivations[0]
    assert not any(term.sign for term in other.terms)
    assert f"stores terms only for tile {named}" in other.notes[0]


def test_totals_of_the_report_are_made_of_programs_and_categories(folder: Path) -> None:
    reader = ProfileReader(folder / "profile.pop")
    parts = {part.figure: part for part in explain_report(ReportSource(folder))}
    total = parts["total cycles of all recorded runs, IPU 0"]
    assert total.value == total.sum == reader.total_cycles()
    memory = reader.tile_memory()
    assert memory is not None
    bytes_ = parts["memory excluding gaps, all tiles"]
    assert bytes_.value == bytes_.sum == memory.excluding_gaps.sum()
    assert parts["stack, all tiles"].sum == 3168 * 16
    assert "published-numbers 6.2" in parts["stack, all tiles"].terms[0].source


def test_a_loop_and_the_calls_of_a_function(folder: Path) -> None:
    source = ReportSource(folder)
    (loop,) = programs(folder, "Repeat")
    part = next(p for p in explain_program(source, loop).derivations if p.figure.startswith("total cycles"))
    assert part.complete
    assert "entered 3 times" in part.terms[0].text
    calls = programs(folder, "Call")
    notes = [note for p in explain_program(source, calls[0]).derivations for note in p.notes]
    assert any("It calls program" in note for note in notes)


def test_the_command_prints_terms_with_their_sources(folder: Path) -> None:
    product = next(
        i
        for i in programs(folder, "OnTileExecute")
        if ProfileReader(folder / "profile.pop").programs().name[i].endswith("Convolve")
    )
    done = explained(folder, product)
    assert done.returncode == 0
    assert "published-numbers 7.5" in done.stdout
    assert "the figure" in done.stdout
    facts = json.loads(explained(folder, product, "--json").stdout)
    first: dict[str, Any] = facts["derivations"][0]
    assert first["complete"] is True
    assert first["sum"] == first["value"]
    assert facts["program"] == product


def test_wrong_questions_are_one_sentence(folder: Path, tmp_path: Path) -> None:
    for arguments, sentence in (
        ((folder, 99999), "there is no program 99999: ids go from 0 to"),
        ((folder, 1, "--tile", 99), "tile 99 does not exist: this report has tiles 0 to 15"),
        ((tmp_path / "nowhere", 1), "nowhere"),
    ):
        done = explained(*arguments)
        assert done.returncode == 1
        assert sentence in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
    assert explained(folder, "--tile", 3).returncode == 2


def test_a_report_without_terms_says_so(tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "report")
    reader = ProfileReader(path)
    silent = [
        i
        for i, kind in enumerate(reader.programs().type)
        if kind in ("OnTileExecute", "DoExchange")
        and not reader.cost_terms(f"program:{i}")
        and not reader.cost_terms(f"computeSet:{reader.programs().compute_set[i]}")
    ]
    assert silent
    done = explained(path, silent[0])
    assert done.returncode == 0
    assert "The report stores no terms for this program." in done.stdout
