"""The page of constants without a published source: the effect of a 10 % larger value on the sample programs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks.sensitivity.reasons import DERIVED, REMAINING
from benchmarks.sensitivity.samples import SAMPLES, Figures
from simulator.machine.unsourced import UNSOURCED, Unsourced

#: number of processes at once
AT_ONCE = 2

_HEAD = """# Constants without a published source

{count} constants of the simulator's costs are fitted to published figures or guessed
(`simulator/machine/unsourced.py`); the others are published or follow from published ones by arithmetic, but for twelve
that count the instructions of a stated sequence (`simulator/machine/code_bytes.py`). These sequences are assumed, and
were written down to give the bytes that had been fitted or guessed: they can no longer be tuned one by one, but they
are no evidence. Cost terms of a report call them fitted or guess. `python -m benchmarks.sensitivity` writes this page.

Each constant in turn is made 10 % larger (a whole number by at least 1, which is more than 10 % of a small one), and
five sample programs are compiled and run again. A cell is the relative change in percent; an empty cell is no change.
Rows are sorted by their largest effect. {used} constants change a figure of a sample.
"""


def text(constants: Sequence[Unsourced] = UNSOURCED) -> str:
    """The page for these constants, in Markdown."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        base, *changed = pool.map(_run, [None, *constants])
    rows = list(zip(constants, changed, strict=True))
    used = sum(after["figures"] != base["figures"] for after in changed)
    lines = [_HEAD.format(count=len(constants), used=used)]
    lines += ["## The programs", "", *_programs(base["figures"]), "## Cycles", "", *_cycles(rows, base["figures"])]
    lines += ["## Bytes excluding gaps", "", *_bytes(rows, base["figures"])]
    return "\n".join([*lines, *reasons(constants)]) + "\n"


def reasons(constants: Sequence[Unsourced]) -> list[str]:
    """Why these constants remain, and what the others follow from."""
    lines = ["## Why these remain", "", "| constant | why nothing replaces it |", "|---|---|"]
    lines += [f"| `{title(entry)}` | {REMAINING[title(entry)]} |" for entry in constants]
    lines += ["", "## What follows from something else", "", "| figure | value | follows from |", "|---|---:|---|"]
    return [*lines, *(f"| `{name}` | {value} | {source} |" for name, value, source in DERIVED)]


def _programs(base: dict[str, list[int]]) -> list[str]:
    """The figures of the samples as they are."""
    lines = [
        "The scripts of `examples/` that made the sample reports. Simulated hardware has the same number of tiles;",
        "code, stacks and launches count there.",
        "",
        "| program | tiles per IPU | cycles, model | cycles, hardware | bytes, model | bytes, hardware |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for sample, (command, tiles) in SAMPLES.items():
        figures = " | ".join(f"{value:,}" for value in base[sample])
        lines.append(f"| {sample}: `{' '.join(command)}` | {tiles or 'its own'} | {figures} |")
    return [*lines, ""]


def _cycles(rows: Sequence[tuple[Unsourced, dict[str, Any]]], base: dict[str, list[int]]) -> list[str]:
    columns = [(Figures._fields.index(f"{kind}_cycles"), kind) for kind in ("model", "hardware")]
    return _table(rows, base, columns)


def _bytes(rows: Sequence[tuple[Unsourced, dict[str, Any]]], base: dict[str, list[int]]) -> list[str]:
    columns = [(Figures._fields.index(f"{kind}_bytes"), kind) for kind in ("model", "hardware")]
    return _table(rows, base, columns)


def _table(
    rows: Sequence[tuple[Unsourced, dict[str, Any]]], base: dict[str, list[int]], columns: Sequence[tuple[int, str]]
) -> list[str]:
    """A row for each constant, largest effect first; a column for each sample and kind of device."""
    titles = [f"{sample.replace('_', ' ')}, {kind}" for sample in SAMPLES for _, kind in columns]
    lines = [f"| constant | value | class | {' | '.join(titles)} |", "|---|---:|---|" + "---:|" * len(titles)]
    effects = []
    for entry, after in rows:
        shifts = [
            100 * (after["figures"][sample][column] / base[sample][column] - 1)
            for sample in SAMPLES
            for column, _ in columns
        ]
        effects.append((entry, after["before"][0], shifts))
    for entry, value, shifts in sorted(effects, key=lambda row: -max(map(abs, row[2]))):
        cells = " | ".join(f"{shift:+.2f}" if shift else "" for shift in shifts)
        lines.append(f"| `{title(entry)}` | {value:g} | {entry.kind} | {cells} |")
    return [*lines, ""]


def title(constant: Unsourced) -> str:
    """The name of a constant below `simulator.machine`, or below `simulator`."""
    return f"{constant.module.removeprefix('machine.')}.{constant.name}"


def _run(constant: Unsourced | None) -> dict[str, Any]:
    """Figures of the samples in a process of its own, in which the constant is larger from the start."""
    which = [] if constant is None else [constant.module, constant.name]
    command = [sys.executable, "-m", "benchmarks.sensitivity.larger_constant", *which]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found
