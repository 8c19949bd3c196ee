"""C++ programs give the numbers of their Python twins, function by function."""

from __future__ import annotations

import importlib

import pytest

from simulator import poplar
from tests.cpp.twins.results import Results, small_device

TWINS = ("slices", "elementwise", "convolutions", "layers", "recurrent", "sparse", "tools")


@pytest.mark.parametrize("program", TWINS)
def test_a_program_gives_the_numbers_of_its_twin(shell, program):
    printed = _numbers(shell.printed(program))
    device = small_device()
    results = Results(poplar.Graph(device))
    importlib.import_module(f"tests.cpp.twins.{program}").run(results)
    expected = results.values(device)
    assert printed.keys() == expected.keys()
    for name, values in expected.items():
        assert printed[name] == pytest.approx(values, rel=1e-6, nan_ok=True), name


def test_collectives_give_both_replicas_what_both_have(shell):
    first, second = [1.0, 2, 3, 4], [2.0, 3, 4, 5]
    total, copied = [3.0, 5, 7, 9], [-1.25, 0.5, -0.5, 1.25, 0.25, -0.75]
    assert _numbers(shell.printed("replicas")) == {
        "allGather": [*first, *second] * 2,
        "allReduce": total * 2,
        "allReduceInPlace": [1.5, 2.5, 3.5, 4.5, *total] * 2,
        "allToAll": [1, 2, 2, 3, 3, 4, 4, 5],
        "broadcast": first * 2,
        "groups": [*total, *first, *total, *second],
        "parts of groups": [*total[:2], *first * 3, *total[2:], *second * 3],
        "operators": [*total, 2, 3, *total, 4, 5],
        "operators with outputs": [6, 10, 14, 18] * 2,
        "reduceScatter": [2, 3, 4, 5],
        "replicatedAllGather": [*first, *second] * 2,
        "replicatedAllReduce": [2, 6, 12, 20] * 2,
        "replicatedAllReduceWithOutput": first * 2,
        "replicatedReduceScatter": total,
        "cloneToIpu": copied,
        "copyToIpu": copied,
        "createIpuCopy": copied,
    }


def test_a_convolutional_network_learns(shell):
    lines = [line.split() for line in shell.printed("digits").splitlines()]
    losses = [float(loss) for loss, _ in lines]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0] / 2
    assert lines[-1][1] == "4"


def _numbers(printed: str) -> dict[str, list[float]]:
    """Lines "name: v v v" by name."""
    lines = [line.partition(": ") for line in printed.splitlines()]
    return {name: [float(word) for word in words.split()] for name, _, words in lines}
