"""How much the matmul chain depends on each constant without a public source: the effect of a 10 % larger value."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from simulator.machine.unsourced import UNSOURCED, Unsourced

#: number of processes at once
AT_ONCE = 2


def section() -> list[str]:
    """The table of constants without a published source."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        base, *changed = pool.map(_figures, [None, *UNSOURCED])
    used = sum(after["figures"] != base["figures"] for after in changed)
    lines = [
        "### Constants without a published source",
        "",
        f"{len(UNSOURCED)} constants are fitted to published figures or guessed (`simulator/machine/unsourced.py`); "
        f"{used} of them affect the chain. Sensitivity: the relative change of the chain's total cycles and of its "
        "memory excluding gaps when the constant is 10 % larger (whole numbers: by at least 1), on the IPU Model and "
        "on simulated hardware, where code and launches count. 0 = no change.",
        "",
        "| constant | value | class | fitted to, or why | cycles, model | memory, model | cycles, hardware "
        "| memory, hardware |",
        "|---|---:|---|---|---:|---:|---:|---:|",
    ]
    for constant, after in zip(UNSOURCED, changed, strict=True):
        shifts = [_percent(new, old) for new, old in zip(after["figures"], base["figures"], strict=True)]
        title = f"`{constant.module}.{constant.name}`"
        value = f"{after['before'][0]:g}"
        lines.append(f"| {title} | {value} | {constant.kind} | {constant.why} | {' | '.join(shifts)} |")
    return [*lines, ""]


def _figures(constant: Unsourced | None) -> dict[str, list[float]]:
    """Figures of the chain in a process of its own, in which the constant is larger from the start."""
    which = [] if constant is None else [constant.module, constant.name]
    command = [sys.executable, "-m", "benchmarks.validation.larger_constant", *which]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def _percent(new: float, old: float) -> str:
    return f"{100 * (new / old - 1):+.2f} %" if new != old else "0"
