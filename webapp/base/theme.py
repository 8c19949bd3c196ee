"""The tokens of assets/shared/tokens.css for Python: figures and canvases draw with the values of the style sheet."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

THEMES = ("light", "dark")
TOKENS_FILE = Path(__file__).parents[1] / "assets" / "shared" / "tokens.css"

#: Evenly spaced colours of a scale.
SCALE_STOPS = 7

_BLOCK = re.compile(r"(?P<selector>[^{}]+)\{(?P<body>[^{}]*)\}")
_DECLARATION = re.compile(r"--(?P<name>[\w-]+):\s*(?P<value>[^;]+);")

#: Family of the tokens `--step-<family>-*` of each program type.
STEP_FAMILY = {
    "OnTileExecute": "compute",
    "DoExchange": "exchange",
    "GlobalExchange": "global",
    "CrossReplicaCopy": "global",
    "StreamCopyBegin": "wait",
    "StreamCopyMid": "host",
    "StreamCopyEnd": "sync",
    "Sync": "sync",
    "Sans": "sync",
    "SyncAns": "sync",
    "WriteUndef": "other",
    "Block": "group",
    "AbortOnCondition": "other",
    "Abort": "other",
    "AssumeEqualAcrossReplicas": "other",
    "SetLocalConsensusFromVar": "other",
    "SetLocalConsensus": "other",
    "GetGlobalConsensus": "other",
    "Sequence": "control",
    "Repeat": "control",
    "RepeatWhile": "control",
    "If": "control",
    "Switch": "control",
    "OnEveryTileSwitch": "control",
    "Call": "control",
    "Unknown": "other",
}


@dataclass(frozen=True)
class StepStyle:
    """The style of a family of steps: colours as #rrggbb, and a `pattern` that distinguishes it without colour."""

    family: str
    fill: str
    edge: str
    ink: str
    pattern: str


@cache
def tokens(theme: str) -> dict[str, str]:
    """All tokens of a theme ("light" or "dark") by name without the leading dashes, including shared ones. Raises
    ValueError for another theme."""
    if theme not in THEMES:
        raise ValueError(f"unknown theme {theme!r}: use one of {', '.join(THEMES)}")
    css = re.sub(r"/\*.*?\*/", "", TOKENS_FILE.read_text("utf-8"), flags=re.DOTALL)
    values: dict[str, str] = {}
    for block in _BLOCK.finditer(css):
        selector = block["selector"].strip()
        if selector == ":root" or f'data-theme="{theme}"' in selector:
            values.update({each["name"]: each["value"].strip() for each in _DECLARATION.finditer(block["body"])})
    return values


@cache
def step_style(program_type: str, theme: str) -> StepStyle:
    """The style of a program type; unknown types have the style "other"."""
    family = STEP_FAMILY.get(program_type, "other")
    values = tokens(theme)
    return StepStyle(family, *(values[f"step-{family}-{part}"] for part in ("fill", "edge", "ink", "pattern")))


def sequential_scale(theme: str) -> list[list[Any]]:
    """A Plotly colorscale from low (near the page colour) to high: [[0, "#rrggbb"], ... [1, "#rrggbb"]]."""
    return _scale("seq", theme)


def diverging_scale(theme: str) -> list[list[Any]]:
    """A Plotly colorscale for differences: less (blue), equal in the middle, more (orange)."""
    return _scale("div", theme)


@cache
def _scale(kind: str, theme: str) -> list[list[Any]]:
    values = tokens(theme)
    last = SCALE_STOPS - 1
    return [[index / last, values[f"scale-{kind}-{index}"]] for index in range(SCALE_STOPS)]


@cache
def figure_template(theme: str) -> dict[str, Any]:
    """A Plotly layout template with the fonts, grid and series colours of a theme."""
    values = tokens(theme)
    axis = {
        "gridcolor": values["grid"],
        "griddash": "dot",
        "linecolor": values["line-strong"],
        "zerolinecolor": values["line-strong"],
        "tickcolor": values["line-strong"],
        "tickfont": {"color": values["axis"], "size": 11},
        "title": {"font": {"color": values["axis"], "size": 12}, "standoff": 8},
        "automargin": True,
        "ticks": "outside",
        "ticklen": 4,
    }
    return {
        "layout": {
            "font": {"family": values["font"], "size": 12, "color": values["ink"]},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "colorway": [values[f"series-{index}"] for index in range(1, 7)],
            "margin": {"l": 56, "r": 16, "t": 12, "b": 40},
            "xaxis": axis,
            "yaxis": axis,
            "hoverlabel": {
                "bgcolor": values["raised"],
                "bordercolor": values["line-strong"],
                "font": {"color": values["ink"], "family": values["font"], "size": 12},
            },
            "legend": {"orientation": "h", "x": 0.5, "xanchor": "center", "y": -0.2, "font": {"size": 11}},
            "separators": ".,",
        }
    }
