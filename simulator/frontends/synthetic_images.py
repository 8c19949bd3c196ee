"""Synthetic images of ten classes, 28 by 28 pixels, for programs that train on MNIST or Fashion-MNIST without having
them. The same seed gives the same images on every machine.

A class is a set of strokes. Some hundred variants of it are drawn (turned, sheared, scaled, bent, thick or thin); an
image is a variant, dimmed and covered by noise. So 60,000 images cost a few gathers and not 60,000 drawings. Some show
two classes at once, so that no network gets all of them right.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

SIDE = 28
_COUNTS = "POPVISION_SYNTHETIC_IMAGES"
_VARIANTS = 160
_NOISES = 512
#: share of images that show two classes
_AMBIGUOUS = 0.03

Point = tuple[float, float]


def _arc(x: float, y: float, width: float, height: float, begin: float, end: float, parts: int = 8) -> list[Point]:
    """Points on an ellipse, angles in degrees from the right, clockwise."""
    angles = np.radians(np.linspace(begin, end, parts + 1))
    return [(x + width * float(np.cos(angle)), y + height * float(np.sin(angle))) for angle in angles]


#: strokes of the digits: polygons in the square from -1 to 1, y downwards
DIGITS: tuple[tuple[Sequence[Point], ...], ...] = (
    (_arc(0, 0, 0.75, 0.85, 0, 360, 14),),
    ([(-0.25, -0.55), (0.05, -0.9), (0.05, 0.9)],),
    ([*_arc(0, -0.45, 0.6, 0.42, 190, 380), (-0.65, 0.85), (0.7, 0.85)],),
    ([(-0.6, -0.85), (0.5, -0.85), (-0.05, -0.2), *_arc(0, 0.3, 0.55, 0.52, 270, 510)],),
    ([(0.35, 0.9), (0.35, -0.9), (-0.75, 0.3), (0.75, 0.3)],),
    ([(0.65, -0.88), (-0.55, -0.88), (-0.55, -0.15), *_arc(-0.1, 0.35, 0.6, 0.5, 230, 490)],),
    ([(-0.1, -0.9), (-0.6, 0.0), (-0.65, 0.4)], _arc(-0.1, 0.45, 0.55, 0.42, 180, 540, 12)),
    ([(-0.7, -0.85), (0.7, -0.85), (-0.2, 0.9)],),
    (_arc(0, -0.45, 0.32, 0.4, 90, 450, 10), _arc(0, 0.43, 0.38, 0.45, 270, 630, 10)),
    (_arc(0.1, -0.42, 0.52, 0.42, 0, 360, 12), [(0.62, -0.42), (0.62, 0.9)]),
)

#: outlines and seams of Fashion-MNIST's classes, in its order
CLOTHES: tuple[tuple[Sequence[Point], ...], ...] = (
    (
        [
            (-0.35, -0.7),
            (-0.85, -0.4),
            (-0.7, -0.1),
            (-0.4, -0.25),
            (-0.4, 0.8),
            (0.4, 0.8),
            (0.4, -0.25),
            (0.7, -0.1),
            (0.85, -0.4),
            (0.35, -0.7),
            (-0.35, -0.7),
        ],
    ),
    ([(-0.35, -0.9), (0.35, -0.9), (0.45, 0.9), (0.12, 0.9), (0, -0.3), (-0.12, 0.9), (-0.45, 0.9), (-0.35, -0.9)],),
    (
        [
            (-0.3, -0.75),
            (-0.7, -0.5),
            (-0.85, 0.7),
            (-0.6, 0.7),
            (-0.45, -0.1),
            (-0.45, 0.8),
            (0.45, 0.8),
            (0.45, -0.1),
            (0.6, 0.7),
            (0.85, 0.7),
            (0.7, -0.5),
            (0.3, -0.75),
            (-0.3, -0.75),
        ],
    ),
    ([(-0.25, -0.9), (-0.3, -0.3), (-0.2, -0.1), (-0.55, 0.9), (0.55, 0.9), (0.2, -0.1), (0.3, -0.3), (0.25, -0.9)],),
    (
        [
            (-0.3, -0.8),
            (-0.7, -0.55),
            (-0.8, 0.75),
            (-0.5, 0.75),
            (-0.5, 0.9),
            (0.5, 0.9),
            (0.5, 0.75),
            (0.8, 0.75),
            (0.7, -0.55),
            (0.3, -0.8),
        ],
        [(0, -0.8), (0, 0.9)],
    ),
    ([(-0.9, 0.5), (0.9, 0.5)], [(-0.8, 0.5), (-0.1, -0.3), (0.3, 0.5)], [(0.5, 0.5), (0.8, 0.0)]),
    (
        [
            (-0.3, -0.75),
            (-0.75, -0.5),
            (-0.75, 0.2),
            (-0.45, 0.2),
            (-0.4, 0.8),
            (0.4, 0.8),
            (0.45, 0.2),
            (0.75, 0.2),
            (0.75, -0.5),
            (0.3, -0.75),
            (0, -0.45),
            (-0.3, -0.75),
        ],
        [(0, -0.45), (0, 0.8)],
    ),
    (
        [(-0.9, 0.45), (0.9, 0.45), (0.85, 0.15), (0.2, 0.05), (-0.3, -0.3), (-0.8, -0.3), (-0.9, 0.45)],
        [(-0.1, 0.1), (0.2, 0.05)],
    ),
    ([(-0.8, -0.15), (0.8, -0.15), (0.8, 0.75), (-0.8, 0.75), (-0.8, -0.15)], _arc(0, -0.15, 0.4, 0.55, 180, 360)),
    (
        [(-0.6, -0.85), (0.05, -0.85), (0.1, 0.0), (0.85, 0.35), (0.85, 0.75), (-0.65, 0.75), (-0.6, -0.85)],
        [(-0.6, -0.4), (0.05, -0.4)],
    ),
)


def image_counts() -> tuple[int, int]:
    """Images of the training and the test set: 60000 and 10000, or what POPVISION_SYNTHETIC_IMAGES says.

    Raises RuntimeError where it says something else than two numbers."""
    text = os.environ.get(_COUNTS, "60000,10000")
    parts = text.split(",")
    if len(parts) != 2 or not all(part.strip().isdecimal() for part in parts):
        raise RuntimeError(f"{_COUNTS} is {text!r}; it is two numbers, as 2000,500.")
    return int(parts[0]), int(parts[1])


def synthetic_images(strokes: Sequence[Sequence[Sequence[Point]]], count: int, seed: int) -> tuple[Any, Any]:
    """`count` images of classes in random order: (uint8 of shape (count, 28, 28), int64 labels). One image in
    `1 / _AMBIGUOUS` shows two classes at half strength and has the label of one of them."""
    drawings = [_variants(each, np.random.default_rng([7, index])) for index, each in enumerate(strokes)]
    variants = np.concatenate(drawings).astype(np.int16)
    random = np.random.default_rng([11, seed])
    labels = random.integers(0, len(strokes), count)
    chosen = labels * _VARIANTS + random.integers(0, _VARIANTS, count)
    other = np.where(random.random(count) < _AMBIGUOUS, random.integers(0, len(variants), count), chosen)
    noises = np.clip(np.random.default_rng(13).normal(0, 14, (_NOISES, SIDE, SIDE)), -50, 50).astype(np.int16)
    noise, light = random.integers(0, _NOISES, count), random.integers(230, 257, count, dtype=np.int16)
    images = np.empty((count, SIDE, SIDE), np.uint8)
    for begin in range(0, count, 4096):
        part = slice(begin, begin + 4096)
        # Sums of two bytes, then seven bits of each factor: all fit in 16 bits.
        drawn = variants[chosen[part]] + variants[other[part]]
        drawn = (drawn >> 2) * (light[part, None, None] >> 1) >> 6
        images[part] = np.clip(drawn + noises[noise[part]], 0, 255)
    return images, labels


def _variants(strokes: Sequence[Sequence[Point]], random: np.random.Generator) -> Any:
    """Drawings of one class: uint8 of shape (_VARIANTS, 28, 28)."""
    centres = (np.arange(SIDE) - (SIDE - 1) / 2) / (SIDE / 2 - 4.5)
    x, y = np.meshgrid(centres, centres)
    angle, shear, bend = (random.normal(0, width, (_VARIANTS, 1, 1)) for width in (0.06, 0.06, 0.03))
    wide, high = (random.uniform(0.95, 1.05, (_VARIANTS, 1, 1)) for _ in range(2))
    turned_x = (np.cos(angle) * x + np.sin(angle) * y) * wide + shear * y + bend * y * y
    turned_y = (np.cos(angle) * y - np.sin(angle) * x) * high
    nearest = np.full(turned_x.shape, np.inf)
    for points in strokes:
        for (ax, ay), (bx, by) in itertools.pairwise(points):
            dx, dy = bx - ax, by - ay
            along = np.clip(((turned_x - ax) * dx + (turned_y - ay) * dy) / (dx * dx + dy * dy), 0, 1)
            squared = (turned_x - ax - along * dx) ** 2 + (turned_y - ay - along * dy) ** 2
            np.minimum(nearest, squared, out=nearest)
    thickness = random.uniform(0.16, 0.22, (_VARIANTS, 1, 1))
    return (np.clip((thickness - np.sqrt(nearest)) / 0.12 + 0.5, 0, 1) * 255).astype(np.uint8)
