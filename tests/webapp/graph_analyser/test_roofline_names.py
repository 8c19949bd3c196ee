"""Names in the roofline cover no point and no other name, in a small and in a large window."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from webapp.graph_analyser.operations.roofline import NAMED_POINTS, names_beside

#: Width and height of the drawing in pixels, in a small and in a large window.
WINDOWS = ((850, 175), (1650, 420))


@pytest.mark.parametrize("seed", range(20))
def test_names_cover_nothing(seed: int) -> None:
    chance = np.random.default_rng(seed)
    x, y = chance.random(30), chance.random(30)
    radius = 4 + 12 * np.sort(chance.random(30))[::-1]
    names = [f"layer{number}/{'fwd' * int(chance.integers(1, 5))}" for number in range(30)]
    placed = names_beside((x, y), radius, names)
    shown = [at for at, text in enumerate(placed["text"]) if text]
    assert len(shown) >= 3
    assert max(shown) < NAMED_POINTS
    for width, height in WINDOWS:
        boxes = []
        for at in shown:
            words = placed["textposition"][at].split()
            half = 6 * len(names[at]) / 2
            away = radius[at] / 0.8 + 1
            side = {"right": 1, "left": -1, "center": 0}[words[1]]
            above = {"top": 1, "bottom": -1, "middle": 0}[words[0]]
            boxes.append((x[at] * width + side * (away + half), y[at] * height + above * (away + 7), half, 6))
        points = [(a * width, b * height, r * 0.9, r * 0.9) for a, b, r in zip(x, y, radius, strict=True)]
        for one, other in [*combinations(boxes, 2), *((box, point) for box in boxes for point in points)]:
            apart = abs(one[0] - other[0]) >= one[2] + other[2], abs(one[1] - other[1]) >= one[3] + other[3]
            assert any(apart), (one, other)


def test_names_keep_away_from_lines() -> None:
    middle = np.array([0.5])
    line = [(share, 0.5) for share in np.linspace(0, 1, 200)]
    placed = names_beside((middle, middle), np.array([5.0]), ["one"], line)
    assert placed == {"text": ["one"], "textposition": ["top center"]}
    assert names_beside((middle, middle), np.array([5.0]), ["one"])["textposition"] == ["middle right"]


def test_where_every_place_is_taken_there_is_no_name() -> None:
    around = np.linspace(0.45, 0.55, 9)
    x, y = (each.ravel() for each in np.meshgrid(around, around))
    placed = names_beside((x, y), np.full(81, 12.0), ["a name of many letters"] * 81)
    assert len([text for text in placed["text"] if text]) < NAMED_POINTS
