"""Every constant of the IPU Model that can be set from outside changes what it should, and reports say so."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from popvision.formats.profile import ProfileReader
from popvision.sweep.profiled_child import CONSTANTS as NAMES_OF_THE_COMMAND
from simulator.base.errors import graph_memory_allocation_error, invalid_machine_model
from simulator.engine.devices.what_if import CONSTANTS
from simulator.poplar import FLOAT, DeviceManager, Engine, Graph, IPUModel, TargetType
from simulator.poplar.program import Copy, Sequence
from simulator.poplibs import poplin, popops, poputil

SIZE = 4000


def report(folder: Path, ipus: int = 1) -> ProfileReader:
    """An addition of two tensors of which one lies shifted by half its tiles, and copies to elsewhere on a tile."""
    model = IPUModel()
    model.numIPUs = ipus
    model.tilesPerIPU = 32
    device = model.createDevice()
    graph, program = Graph(device), Sequence()
    a, b, c = (graph.addVariable(FLOAT, [SIZE], name) for name in "abc")
    poputil.mapTensorLinearly(graph, a)
    poputil.mapTensorLinearly(graph, c)
    tiles = graph.getTarget().getNumTiles()
    for part in range(tiles):
        low, high = part * SIZE // tiles, (part + 1) * SIZE // tiles
        graph.setTileMapping(b.slice(low, high), (part + tiles // 2) % tiles)
    total = popops.add(graph, a, b, program, "sum")
    program.add(Copy(total, c))
    program.add(Copy(c, graph.addDeviceToHostFIFO("out", FLOAT, SIZE)))
    with Engine(graph, program, {"autoReport.all": "true", "autoReport.directory": str(folder)}) as engine:
        engine.load(device)
        engine.connectStream("out", np.empty(SIZE, np.float32))
        engine.run(0)
    return ProfileReader(folder / "profile.pop")


def cycles(reader: ProfileReader, kind: str, column: int = -1) -> int:
    """Sum of the lengths of all steps of a kind."""
    types = reader.programs().type
    return sum(
        int(length)
        for program, length in zip(reader.steps().program, reader.steps_on_ipu(0).cycles, strict=True)
        if types[int(program)] == kind
    )


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> ProfileReader:
    return report(tmp_path_factory.mktemp("plain"))


def asked(monkeypatch: pytest.MonkeyPatch, folder: Path, text: str, ipus: int = 1) -> ProfileReader:
    monkeypatch.setenv("POPVISION_IPU_MODEL", text)
    return report(folder, ipus)


def test_the_command_knows_the_same_names() -> None:
    assert tuple(CONSTANTS) == NAMES_OF_THE_COMMAND
    model = IPUModel()
    assert all(hasattr(model, name) for name in CONSTANTS)


def test_machine_sizes(monkeypatch, tmp_path, plain) -> None:
    text = "tilesPerIPU=16, memoryBytesPerTile=300000, interleavedMemoryElementIndex=4, tileClockFrequency=1.5e9"
    target = asked(monkeypatch, tmp_path, text).target()
    assert (target.tiles_per_ipu, target.bytes_per_tile, target.clock_hz) == (16, 300_000, 1.5e9)
    assert target.region_split == 4 * 16384
    before = plain.target()
    assert (before.tiles_per_ipu, before.bytes_per_tile, before.clock_hz) == (32, 638_976, 1.33e9)


def test_a_faster_exchange_moves_words_in_less_time(monkeypatch, tmp_path, plain) -> None:
    reader = asked(monkeypatch, tmp_path, "exchangeBytesPerCycle=8")
    assert reader.target().exchange_bytes_per_cycle == 8
    moved = SIZE // 32 // 2
    assert cycles(plain, "DoExchange") - cycles(reader, "DoExchange") >= moved // 2
    assert cycles(plain, "OnTileExecute") == cycles(reader, "OnTileExecute")


def test_a_higher_clock_makes_the_host_slower_in_cycles(monkeypatch, tmp_path, plain) -> None:
    reader = asked(monkeypatch, tmp_path, "tileClockFrequency=2.66e9")
    mid = [cycles(each, "StreamCopyMid") for each in (plain, reader)]
    assert mid[1] > mid[0]
    assert pytest.approx(plain.target().host_bytes_per_cycle / reader.target().host_bytes_per_cycle) == 2.66e9 / 1.33e9


def test_local_copies_move_as_many_bytes_a_cycle(monkeypatch, tmp_path, plain) -> None:
    reader = asked(monkeypatch, tmp_path, "memcpyBytesPerCycle=1")
    assert cycles(reader, "OnTileExecute") > cycles(plain, "OnTileExecute")
    assert cycles(reader, "DoExchange") == cycles(plain, "DoExchange")


def test_sync_delays(monkeypatch, tmp_path, plain) -> None:
    longer = asked(monkeypatch, tmp_path / "a", "minIPUSyncDelay=200")
    syncs = plain.programs().type.count("Sync")
    assert cycles(longer, "Sync") == cycles(plain, "Sync") + 100 * syncs
    level = asked(monkeypatch, tmp_path / "b", "relativeSyncDelay=NO_DELAY,minIPUSyncDelay=100")
    assert level.target().relative_sync_delay is not None
    assert not np.any(level.target().relative_sync_delay)
    assert cycles(level, "Sync") <= cycles(plain, "Sync")


def test_syncs_between_ipus_and_their_number(monkeypatch, tmp_path) -> None:
    two = asked(monkeypatch, tmp_path / "a", "numIPUs=2")
    assert two.target().num_ipus == 2
    slower = asked(monkeypatch, tmp_path / "b", "globalSyncCycles=5000", ipus=2)
    assert "external" in slower.programs().sync_type
    assert slower.total_cycles() > two.total_cycles() + 4000


def test_code_and_stacks_have_sizes_when_compiled_for_the_ipu(monkeypatch, tmp_path, plain) -> None:
    reader = asked(monkeypatch, tmp_path, "compileIPUCode=true")
    held = {part.category for part in reader.category_memory()}
    assert {"stack", "controlCode", "internalExchangeCode"} <= held
    assert not {"stack", "controlCode"} & {part.category for part in plain.category_memory()}


def test_reports_say_what_was_changed_and_nothing_else(monkeypatch, tmp_path) -> None:
    reader = asked(monkeypatch, tmp_path, "exchangeBytesPerCycle=8,minIPUSyncDelay=100,relativeSyncDelay=NO_DELAY")
    assert reader.meta["whatIf"] == (
        "POPVISION_IPU_MODEL changed exchangeBytesPerCycle from 4 to 8. "
        "POPVISION_IPU_MODEL changed relativeSyncDelay from AUTO to NO_DELAY."
    )


def hardware(folder: Path, words: int) -> ProfileReader:
    """Simulated hardware: so many words go from tile 0 to tile 1, and one word of control to every tile."""
    device = DeviceManager().getDevices(TargetType.IPU, 1)[0]
    graph = Graph(device)
    here, there = (graph.addVariable(FLOAT, [words], name) for name in ("here", "there"))
    graph.setTileMapping(here, 0)
    graph.setTileMapping(there, 1)
    graph.setInitialValue(here, np.arange(words, dtype=np.float32))
    options = {"autoReport.all": "true", "autoReport.directory": str(folder), "debug.instrument": "true"}
    with Engine(graph, Copy(here, there), options) as engine:
        assert device.attach()
        try:
            engine.load(device)
            engine.run(0)
        finally:
            device.detach()
    return ProfileReader(folder / "profile.pop")


@pytest.mark.parametrize("rate", [0.5, 2, 2.5, 8, 16])
def test_simulated_hardware_exchanges_at_the_rate_that_is_set(monkeypatch, tmp_path, rate) -> None:
    fixed = cycles(hardware(tmp_path / "plain", 4000), "DoExchange") - 4000 - 1
    monkeypatch.setenv("POPVISION_IPU_MODEL", f"exchangeBytesPerCycle={rate}")
    reader = hardware(tmp_path / "set", 4000)
    assert cycles(reader, "DoExchange") == fixed + 4000 * 4 / rate + math.ceil(4 / rate)
    assert reader.meta["whatIf"] == f"POPVISION_IPU_MODEL changed exchangeBytesPerCycle from 4 to {rate}."


def test_simulated_hardware_has_the_memory_that_is_set(monkeypatch, tmp_path) -> None:
    """A variable of 500,000 bytes lies in interleaved memory, from 212,992 bytes on."""
    words = 500_000 // 4
    with pytest.raises(graph_memory_allocation_error, match="more than 638976 bytes, tile 0 needs 712992"):
        hardware(tmp_path / "a", words)
    monkeypatch.setenv("POPVISION_IPU_MODEL", "memoryBytesPerTile=720000")
    assert hardware(tmp_path / "b", words).target().bytes_per_tile == 720_000
    monkeypatch.setenv("POPVISION_IPU_MODEL", "memoryBytesPerTile=700000")
    with pytest.raises(graph_memory_allocation_error, match="1 of 1472 tiles need more than 700000 bytes"):
        hardware(tmp_path / "c", words)


@pytest.mark.parametrize(("rate", "inputs", "weights"), [(2.5, 6554, 1639), (0.25, 0, 0)])
def test_products_plan_with_the_rate_that_is_set(monkeypatch, rate, inputs, weights) -> None:
    """Rates below 1 and between whole numbers are planned with as they are."""
    monkeypatch.setenv("POPVISION_IPU_MODEL", f"exchangeBytesPerCycle={rate},tilesPerIPU=64")
    graph, text = Graph(IPUModel().createDevice()), StringIO()
    poplin.matMulReportPlan(text, graph, FLOAT, FLOAT, [256, 256], [256, 256])
    terms = dict(re.findall(r"^(.*): ([\d,]+) cycles$", text.getvalue(), re.MULTILINE))
    planned = [int(terms[f"{name} exchange"].replace(",", "")) for name in ("input", "weights", "reduce")]
    if inputs:
        assert planned[:2] == [inputs, weights]
    else:
        assert all(each > 0 and each % 16 == 0 for each in planned)  # whole words, 16 cycles each


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("speed=3", "POPVISION_IPU_MODEL names 'speed', which is not a constant that can be set; those are numIPUs, "),
        ("minIPUSyncDelay", "minIPUSyncDelay='' is not a whole number of cycles from 0"),
        ("minIPUSyncDelay=1.5", "minIPUSyncDelay='1.5' is not a whole number of cycles from 0"),
        ("minIPUSyncDelay=inf", "minIPUSyncDelay='inf' is not a whole number of cycles from 0"),
        ("tileClockFrequency=0", "tileClockFrequency='0' is not a positive number of hertz"),
        ("exchangeBytesPerCycle=nan", "exchangeBytesPerCycle='nan' is not a positive number of bytes"),
        ("tilesPerIPU=5000", "tilesPerIPU='5000' is not a whole number from 1 to the tiles of the chip"),
        ("compileIPUCode=maybe", "compileIPUCode='maybe' is not true or false"),
    ],
)
def test_wrong_names_and_values_are_one_sentence(monkeypatch, text, sentence) -> None:
    monkeypatch.setenv("POPVISION_IPU_MODEL", text)
    with pytest.raises(invalid_machine_model) as caught:
        IPUModel().createDevice()
    assert sentence in str(caught.value)


def test_the_command_hands_constants_to_the_program(tmp_path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import os; print(os.environ['POPVISION_IPU_MODEL'])")
    command = [sys.executable, "-m", "popvision", "run", "-d", str(tmp_path / "r"), "--no-trace"]
    given = [*command, "--set", "minIPUSyncDelay=90", "--set", "tilesPerIPU=8", str(program)]
    done = subprocess.run(given, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "minIPUSyncDelay=90,tilesPerIPU=8"
    for wrong in ("speed=3", "minIPUSyncDelay", "minIPUSyncDelay="):
        done = subprocess.run([*command, "--set", wrong, str(program)], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert f"--set {wrong} is not NAME=VALUE; NAME is one of numIPUs," in " ".join(done.stderr.split())
