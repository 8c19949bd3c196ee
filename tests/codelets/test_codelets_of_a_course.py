"""Codelets in the manner of a course, with paths under __IPU__, templates and counters, equal their NumPy twins."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphs import Bench, model

from simulator.poplar import FLOAT, INT, UNSIGNED_INT

COURSE = Path(__file__).parent / "course"
N = 24
X = np.arange(N) * 5 % N * 1.0
LINKS = np.arange(3 * N) * 7 % N


def stencil(x: Any, links: Any) -> Any:
    return np.concatenate([x[:1], x[:-2] - 2 * x[1:-1] + x[2:], x[-1:]])


def ray_tracer(x: Any, links: Any) -> Any:
    square = (x / 4 - 1) ** 2 + (links[:N] % 4 / 2 - 1) ** 2
    return np.where(square > 4, 0, 1 / (4 - np.sqrt(np.maximum(4 - square, 0))))


def graph_network(x: Any, links: Any) -> Any:
    features = x.reshape(-1, 2)
    neighbours = links[: 3 * len(features)].reshape(-1, 3) % len(features)
    return np.maximum((features + features[neighbours].sum(1)) / 4, 5).ravel()


def random_walk(x: Any, links: Any) -> Any:
    places = x.copy()
    for i in range(len(x)):
        state = ((i + 7) * 2654435761 + 1) % 2**32
        for _ in range(64):
            state = (state ^ state << 13) % 2**32
            state ^= state >> 17
            state = (state ^ state << 5) % 2**32
            places[i] += 1 if state & 1 else -1
            if state & 15 == 0:
                break
    return places


TWINS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "stencil": ("Stencil<float>", stencil),
    "ray_tracer": ("RayTracer<float>", ray_tracer),
    "sort": ("Sort<float,true>", lambda x, links: np.sort(x)[::-1]),
    "graph_network": ("GraphLayer<float,Relu>", graph_network),
    "random_walk": ("RandomWalk<float,64>", random_walk),
    "timed": ("Timed<float>", lambda x, links: (x**2).sum() + np.arange(N)),
}


def results(device: Any, name: str, x: Any) -> tuple[Any, list[int]]:
    """What a codelet makes of x, and what its counters say."""
    bench = Bench(4, device)
    bench.graph.addCodelets(str(COURSE / f"{name}.cpp"))
    fields = {"in": bench.tensor("in", FLOAT, x), "links": bench.tensor("links", INT, LINKS)}
    fields |= {"out": bench.tensor("out", FLOAT, np.zeros(N)), "cycles": bench.tensor("cycles", UNSIGNED_INT, [0] * 6)}
    bench.vertex(TWINS[name][0], fields)
    out, cycles = bench.run(["out", "cycles"])
    return out, cycles.tolist()


@pytest.mark.parametrize("name", sorted(TWINS))
def test_hardware_and_models_give_what_numpy_does(device: Any, name: str, capsys: Any) -> None:
    timed, cycles = results(device, name, X)
    modelled, none = results(model(4), name, X)
    np.testing.assert_allclose(timed, TWINS[name][1](X, LINKS), rtol=1e-6)
    np.testing.assert_allclose(modelled, timed, rtol=1e-6)
    assert cycles[0] > 0
    assert none == [0] * 6
    assert capsys.readouterr().err == ""  # the path under __IPU__ is compiled


def test_each_file_of_the_course_is_tried() -> None:
    assert sorted(path.stem for path in COURSE.glob("*.cpp")) == sorted(TWINS)


def test_the_counter_follows_the_data(device: Any) -> None:
    """An insertion into a row that is sorted already moves nothing."""
    _, sorted_already = results(device, "sort", np.arange(N, 0, -1.0))
    _, reversed_row = results(device, "sort", np.arange(N * 1.0))
    assert reversed_row[0] - sorted_already[0] >= 6 * 4 * (N * (N - 1) // 2)


def test_assembly_costs_a_slot_a_bundle(device: Any) -> None:
    """Two to clear, one to load, two a pair of pairs, two at the end; and the counters before and after."""
    _, cycles = results(device, "timed", X)
    pairs = N // 2
    assert cycles[0] >= 6 * (2 + 1 + 2 * pairs + 2)
    assert cycles[0] <= 6 * (2 + 1 + 2 * pairs + 2 + 12)
