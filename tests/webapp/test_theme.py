"""Colours of both themes: contrast by WCAG 2.2, step types apart also without colour vision."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from popvision.analysis.programs.program_tree import PROGRAM_TYPES
from webapp.base.theme import (
    STEP_FAMILY,
    THEMES,
    TOKENS_FILE,
    diverging_scale,
    figure_template,
    sequential_scale,
    step_style,
    tokens,
)

FAMILIES = ("compute", "exchange", "global", "host", "wait", "sync", "control", "group", "other", "run")

#: Families that stand side by side in plots: those of steps that take time.
TIMED = ("compute", "exchange", "global", "host", "wait", "sync")

#: Linear-RGB matrices of full protanopia, deuteranopia and tritanopia (Machado, Oliveira, Fernandes 2009, severity 1).
BLINDNESS = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def linear(colour: str) -> np.ndarray:
    channels = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """WCAG's ratio of relative luminances."""
    dark, light = sorted(float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (one, other))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", THEMES)
def test_text_can_be_read(theme: str) -> None:
    values = tokens(theme)
    for surface in ("surface", "canvas", "raised", "sunken", "hover"):
        assert contrast(values["ink"], values[surface]) >= 7
        assert contrast(values["muted"], values[surface]) >= 4.5
    for name, surface in itertools.product(
        ("muted", "faint", "accent", "good", "warn", "bad"),
        ("surface", "canvas", "raised", "sunken", "hover", "chosen"),
    ):
        assert contrast(values[name], values[surface]) >= 4.5, (name, surface)
    assert contrast(values["bad"], values["bad-surface"]) >= 4.5
    assert contrast(values["warn"], values["warn-surface"]) >= 4.5
    assert contrast(values["accent-ink"], values["accent"]) >= 4.5
    assert contrast(values["ink"], values["chosen"]) >= 7


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("family", FAMILIES)
def test_steps_stand_out_and_their_labels_can_be_read(theme: str, family: str) -> None:
    values = tokens(theme)
    assert contrast(values[f"step-{family}-edge"], values["surface"]) >= 3
    assert contrast(values[f"step-{family}-ink"], values[f"step-{family}-fill"]) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_no_two_timed_steps_share_a_pattern(theme: str) -> None:
    patterns = [tokens(theme)[f"step-{family}-pattern"] for family in TIMED]
    assert len(set(patterns)) == len(TIMED)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("kind", BLINDNESS)
def test_compute_exchange_and_sync_differ_without_full_colour_vision(theme: str, kind: str) -> None:
    """The three large shares of any trace keep a distance in linear light, pattern aside."""
    seen = {
        family: np.array(BLINDNESS[kind]) @ linear(tokens(theme)[f"step-{family}-fill"])
        for family in ("compute", "exchange", "sync")
    }
    for one, other in itertools.combinations(seen, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > 0.15, (one, other)


def test_both_themes_name_the_same_tokens() -> None:
    assert set(tokens("light")) == set(tokens("dark"))


def test_every_program_type_has_a_style() -> None:
    assert set(STEP_FAMILY) == set(PROGRAM_TYPES)
    for theme, program_type in itertools.product(THEMES, PROGRAM_TYPES):
        assert re.fullmatch(r"#[0-9a-f]{6}", step_style(program_type, theme).fill)


def test_figures_take_their_colours_from_the_style_sheet() -> None:
    for theme in THEMES:
        layout = figure_template(theme)["layout"]
        css = TOKENS_FILE.read_text("utf-8")
        assert all(colour in css for colour in layout["colorway"])
        assert layout["font"]["color"] == tokens(theme)["ink"]


def test_style_sheets_take_colours_where_a_colour_stands() -> None:
    """A size where a colour belongs makes a declaration void: the element is drawn without it."""
    sizes = set(re.findall(r"--([\w-]+):\s*[\d.]+(?:px|ms|%)", TOKENS_FILE.read_text("utf-8")))
    assert {"text", "text-sm"} <= sizes
    wrong = []
    for sheet in sorted(TOKENS_FILE.parents[1].rglob("*.css")):
        for declaration in re.findall(
            r"[\w-]*(?:color|background)[\w-]*:[^;}]*|color-mix\([^;}]*", sheet.read_text("utf-8")
        ):
            wrong += [
                (sheet.name, declaration) for name in re.findall(r"var\(--([\w-]+)", declaration) if name in sizes
            ]
    assert wrong == []


def test_an_unknown_theme_is_named() -> None:
    with pytest.raises(ValueError, match="'sepia'"):
        tokens("sepia")


@pytest.mark.parametrize("theme", THEMES)
def test_differences_can_be_read_and_told_apart(theme: str) -> None:
    values = tokens(theme)
    for name in ("diff-more", "diff-less"):
        for surface in ("surface", "raised", "hover", "chosen", f"{name}-surface"):
            assert contrast(values[name], values[surface]) >= 4.5, (name, surface)
    for matrix in BLINDNESS.values():
        more, less = (np.array(matrix) @ linear(values[name]) for name in ("diff-more", "diff-less"))
        assert np.linalg.norm(more - less) > 0.15


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("kind", [None, *BLINDNESS])
def test_a_sequential_scale_is_ordered_by_lightness_alone(theme: str, kind: str | None) -> None:
    stops = [colour for _, colour in sequential_scale(theme)]
    seen = [lightness(colour, kind) for colour in stops]
    steps = np.diff(seen) * (-1 if theme == "light" else 1)
    assert min(steps) > 6  # of 100: each stop is visibly stronger than the one before
    assert contrast(stops[-1], tokens(theme)["surface"]) >= 7


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("kind", [None, *BLINDNESS])
def test_both_arms_of_a_diverging_scale_leave_the_middle_alike(theme: str, kind: str | None) -> None:
    seen = [lightness(colour, kind) for _, colour in diverging_scale(theme)]
    away = np.abs(np.array(seen) - seen[3])
    assert (np.diff(away[:4]) < -6).all()
    assert (np.diff(away[3:]) > 6).all()
    assert abs(away[0] - away[6]) < 12
    matrix = np.eye(3) if kind is None else np.array(BLINDNESS[kind])
    ends = [matrix @ linear(diverging_scale(theme)[at][1]) for at in (1, 5)]
    assert np.linalg.norm(ends[0] - ends[1]) > 0.15


def lightness(colour: str, kind: str | None) -> float:
    """L* of CIELAB, of the colour as it is seen with a kind of colour blindness."""
    light = linear(colour) if kind is None else np.array(BLINDNESS[kind]) @ linear(colour)
    y = float(np.clip(light, 0, 1) @ [0.2126, 0.7152, 0.0722])
    return 116 * float(np.cbrt(y)) - 16 if y > 0.008856 else 903.3 * y
