"""Channels of a trace differ in colour or pattern, for colour-blind readers too."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest

from webapp.system_analyser.timeline.channel_colours import PATTERNS, channel_colour, channel_pattern

Vector = npt.NDArray[np.float64]

#: Linear RGB as seen with normal vision and without red, green or blue cones: Machado, Oliveira and Fernandes 2009.
VISION = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}


def linear(colour: str) -> Vector:
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.asarray(np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4))


def oklab(rgb: Vector) -> Vector:
    cones = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    opponent = np.array(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    )
    return np.asarray(opponent @ np.cbrt(np.clip(cones @ rgb, 0, None)))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    ("vision", "least"), [("normal", 0.18), ("protanopia", 0.09), ("deuteranopia", 0.09), ("tritanopia", 0.075)]
)
def test_channels_of_one_pattern_differ_in_colour(theme: str, vision: str, least: float) -> None:
    seen = [oklab(VISION[vision] @ linear(channel_colour(index, theme))) for index in range(8)]
    assert min(np.linalg.norm(one - other) for one, other in combinations(seen, 2)) >= least


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_forty_eight_channels_differ(theme: str) -> None:
    looks = {(channel_colour(index, theme), channel_pattern(index)) for index in range(48)}
    assert len(looks) == 48 == 8 * PATTERNS
    assert all(channel_pattern(index) == 0 for index in range(8))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_labels_are_readable_on_every_colour(theme: str) -> None:
    ink = float(linear("#10131a") @ [0.2126, 0.7152, 0.0722])
    for index in range(8):
        luminance = float(linear(channel_colour(index, theme)) @ [0.2126, 0.7152, 0.0722])
        assert (luminance + 0.05) / (ink + 0.05) >= 4.5
