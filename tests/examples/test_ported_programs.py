"""Programs ported from public ones: their output against numbers computed here."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., ModuleType]:
    """`example(name, *words)` runs an example's main in this process and folder and returns its module."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.chdir(tmp_path)

    def run(name: str, *words: str) -> ModuleType:
        module = importlib.import_module(name)
        monkeypatch.setattr(sys, "argv", [name, *words])
        assert not module.main()
        return module

    return run


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("words", [(), ("--hw",)], ids=["model", "hardware"])
def test_tutorial_4_prints_a_summary_of_two_products(example, words, capsys):
    example("tut4_profiling", *words)
    lines = printed(capsys)
    begin = ["Trying to attach to IPU", "Attached to IPU 0"] if words else []
    assert lines[: len(begin) + 2] == [*begin, "Running program", "Program complete"]
    text = "\n".join(lines)
    for wanted in ("Total cycles:", "OnTileExecute: m4/Conv_1/Convolve", "OnTileExecute: m5/Conv_1/Convolve"):
        assert wanted in text


@pytest.mark.parametrize("words", [("7", "50"), ("40", "9", "--ipu")])
def test_tutorial_5_sums_products_in_order(example, words, capsys):
    example("tut5_matrix_vector", *words)
    lines = printed(capsys)
    assert lines[0] == f"Multiplying matrix of size {words[0]}x{words[1]} by vector of size {words[1]}"
    assert lines[-1] == "Multiplication result OK"


def test_tutorial_5_says_which_result_is_wrong(example, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    module = importlib.import_module("tut5_matrix_vector")
    matrix, vector = np.float32([[1e8, 1, -1e8], [1, 2, 3]]), np.ones(3, np.float32)
    assert module.checkResult(matrix, vector, np.float32([0, 6])) == 0  # adding 1 to 1e8 changes nothing in float
    assert module.checkResult(matrix, vector, np.float32([1, 6])) == 1
    assert printed(capsys)[-1] == "ERROR: output 0: expected=0, actual=1"


def test_tutorial_5_refuses_more_rows_than_tiles(example):
    with pytest.raises(SystemExit, match="2000 rows need 2000 tiles, but the target has 1472; see tutorial 6"):
        example("tut5_matrix_vector", "2000", "2", "--ipu")


@pytest.mark.parametrize(("device", "split", "worst"), [("model-ipu1", 5, 64373), ("model-ipu2", 7, 53807)])
def test_tutorial_6_plans_as_published(example, device, split, worst, capsys):
    """Graphcore's page shows these costs for 10,000 rows of 1,000 columns."""
    module = example("tut6_matrix_vector_opt", "6", "5", "--device", device)
    assert "Multiplication result OK" in printed(capsys)
    graph = module.Graph(module.deviceOf(device))
    assert module.calcOptimalColAxisSplit(graph, 10_000, 1_000) == split
    assert printed(capsys)[-1] == f"Worst cost seen: {worst}"


def test_executables_are_saved_and_loaded(example, tmp_path, monkeypatch, capsys):
    module = example("save_and_load", "--model", "--exe-name", "saved", "--save-exe", "--profile")
    assert capsys.readouterr().err.splitlines() == ["Using IPU model", "Results match."]
    assert "Total cycles:" in (tmp_path / "profile.txt").read_text()
    monkeypatch.setattr(module, "buildGraphAndPrograms", None)
    example("save_and_load", "--model", "--exe-name", "saved", "--load-exe")
    assert capsys.readouterr().err.splitlines() == ["Using IPU model", "Results match."]
    with pytest.raises(FileNotFoundError):
        example("save_and_load", "--load-exe", "--exe-name", "missing")
    assert capsys.readouterr().err.splitlines()[1:] == ["Error: Failed to load executable 'missing.poplar'"]
    for words, error in (
        (["--save-exe"], "To save/load an executable you must set 'exe-name'"),
        (["--load-exe", "--profile", "--exe-name", "x"], "It is not possible to run profiling on a loaded executable."),
    ):
        with pytest.raises(SystemExit):
            example("save_and_load", *words)
        assert error in capsys.readouterr().err


def test_callbacks_fill_the_next_transfer_ahead(example, capsys):
    example("prefetch_callbacks")
    expected, ready, connected = [], False, 0
    for value in (1, 3, 3, 9, 9):
        if value != connected:
            expected.append("Set input callback")
            connected, ready = value, False
        expected.append("Running")
        for _ in range(5):
            expected += [] if ready else [f"fetch (value: {value})"]
            expected += [f"complete (value: {value})", f"prefetch (value: {value})"]
            ready = True
    assert printed(capsys) == expected


def test_two_ipus_take_turns_at_remote_rows(example, capsys):
    example("remote_buffers", "--elements", "3000")
    lines = printed(capsys)
    assert lines[:3] == [
        "Copy initial data to remote buffer:",
        "Running Program",
        "Copy final data from remote buffer and check:",
    ]
    found = [f"  remoteBuffer{buffer} row {row}: {100 * buffer + row + 1}" for row in range(4) for buffer in range(2)]
    assert lines[3:11] == found


@pytest.mark.parametrize(("iterations", "side", "tiles"), [(1, 4, 2), (3, 5, 8)])
def test_blocks_exchange_their_halos(example, iterations, side, tiles, capsys):
    example("halo_exchange", "-n", str(iterations), "-b", str(side), "--tiles", str(tiles))
    grid = np.kron(np.arange(1.0, tiles + 1).reshape(-1, 2), np.ones((side, side)))
    for _ in range(2 * iterations):
        padded = np.pad(grid, 1)
        grid = sum(padded[i : i + len(grid), j : j + 2 * side] for i in range(3) for j in range(3)) / 9
    lines = printed(capsys)
    assert lines[0].startswith(f"Using 1 IPUs for {side}x{side} blocks on each of {tiles} tiles")
    values = [float(word) for word in lines[-1].replace(",", "").split() if word[0].isdigit()]
    assert values == pytest.approx([grid.sum(), grid.min(), grid.max()], rel=1e-5)


def test_pi_is_what_the_same_points_give_in_numpy(example, capsys):
    example("monte_carlo_pi", "--iterations", "180000")
    workers = 1472 * 6
    state = (np.arange(1, workers + 1, dtype=np.uint64) * 2654435769).astype(np.uint32)
    hits = np.zeros(workers, np.int64)
    for _ in range(180_000 // workers):
        point = []
        for _ in range(2):
            for shift in (13, -17, 5):
                state ^= state << np.uint32(shift) if shift > 0 else state >> np.uint32(-shift)
            point.append((state >> np.uint32(8)).astype(np.float32) / np.float32(2**24))
        hits += point[0] * point[0] + point[1] * point[1] < 1
    points = 180_000 // workers * workers
    assert printed(capsys)[-4:] == [
        str(hits.max()),
        f"chunk_size = {workers} repeats = {180_000 // workers}",
        f"tests = {points}",
        f"pi = {4 * hits.sum() / points:.10g}",
    ]
    assert abs(4 * hits.sum() / points - np.pi) < 0.02


@pytest.mark.parametrize("ipus", ["1", "4"])
def test_triangles_are_counted(example, ipus, capsys):
    module = example("triangle_counting", "--scale", "5", "--degree", "6", "--ipus", ipus, "--tiles", "16")
    adjacency = module.kronecker(5, 6).astype(np.int64)
    triangles = np.trace(adjacency @ adjacency @ adjacency) // 6
    assert triangles > 50
    assert printed(capsys)[-1] == f"{triangles} triangles"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("tut5_matrix_vector 4 four", "numRows numCols"),
        ("tut6_matrix_vector_opt 4 0", "must be at least 1"),
        ("halo_exchange --tiles 3", "tiles a multiple of 2"),
        ("halo_exchange -b 0", "blocks have at least 1 cell"),
        ("monte_carlo_pi --iterations 10", "10 iterations are less than one for each of 8832 workers"),
        ("remote_buffers --elements 0", "--elements must be at least 1, not 0"),
        ("triangle_counting --scale 1", "--scale must be at least 2"),
        ("regression_demo some", "[-IPU] [epochs [percentage of the images, from 10]]"),
        ("save_and_load --save-exe", "you must set 'exe-name'"),
    ],
)
def test_bad_words_are_answered_in_a_sentence(words, said, monkeypatch, tmp_path, capsys):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", words.split())
    try:
        code = importlib.import_module(words.split()[0]).main()
    except SystemExit as ended:
        code = ended.code
    assert code in (1, 2)
    assert said in capsys.readouterr().err
