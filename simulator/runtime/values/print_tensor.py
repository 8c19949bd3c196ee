"""The text of PrintTensor: nested brackets, one row per line, aligned numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simulator.arrays import AnyArray
from simulator.graph.program import FloatFormat, PrintTensorFmt

_INDENT = "  "
_GAP = "..."

#: Auto uses fixed notation where the magnitudes of all finite values other than 0 are in this range.
_FIXED_MIN, _FIXED_MAX = 1e-4, 1e8


def tensor_text(title: str, values: AnyArray, form: PrintTensorFmt) -> str:
    """The text of one PrintTensor, without a final newline: `title: [1 2 3]`."""
    summarised = values.size > form.summariseThreshold
    shown = _edges(values, form.edgeItems) if summarised else values
    write = _writer(shown, form)
    texts = np.array([write(v) for v in shown.reshape(-1).tolist()], dtype=object)
    width = max((len(t) for t in texts), default=0)
    body = _block(texts.reshape(shown.shape), values.shape, form, width, 0, summarised)
    return f"{title}: {body}" if title else body


def _edges(values: AnyArray, edge: int) -> AnyArray:
    """The first and last `edge` entries of every dimension with more than twice as many."""
    for axis, n in enumerate(values.shape):
        if n > 2 * edge:
            keep = np.concatenate([np.arange(edge), np.arange(n - edge, n)])
            values = np.take(values, keep, axis)
    return values


def _writer(values: AnyArray, form: PrintTensorFmt) -> Callable[[Any], str]:
    if values.dtype == np.bool_:
        return lambda v: str(int(v))
    if values.dtype.kind in "iu":
        return str
    if form.floatFormat is FloatFormat.None_:
        return lambda v: f"{v:.{form.digits}g}"
    style = form.floatFormat
    if style is FloatFormat.Auto:
        size = np.abs(values[np.isfinite(values) & (values != 0)].astype(np.float64))
        fixed = size.size == 0 or (size.min() >= _FIXED_MIN and size.max() < _FIXED_MAX)
        style = FloatFormat.Fixed if fixed else FloatFormat.Scientific
    letter = "f" if style is FloatFormat.Fixed else "e"
    return lambda v: f"{v:.{form.digits}{letter}}"


def _block(
    texts: AnyArray, full: tuple[int, ...], form: PrintTensorFmt, width: int, depth: int, summarised: bool
) -> str:
    if texts.ndim == 0:
        return str(texts[()])
    cut = summarised and full[0] > 2 * form.edgeItems
    if texts.ndim == 1:
        return _row([str(t).rjust(width) for t in texts], form, depth, cut)
    rows = [_block(part, full[1:], form, width, depth + 1, summarised) for part in texts]
    if cut:
        rows.insert(form.edgeItems, _GAP)
    inner = "\n".join(_INDENT * (depth + 1) + row for row in rows)
    return f"{form.open}\n{inner}\n{_INDENT * depth}{form.close}"


def _row(numbers: list[str], form: PrintTensorFmt, depth: int, cut: bool) -> str:
    if cut:
        numbers.insert(form.edgeItems, _GAP)
    lines, line = [], ""
    room = max(form.maxLineWidth - len(_INDENT) * depth - len(form.open), 1)
    for number in numbers:
        longer = f"{line}{form.sep}{number}" if line else number
        if line and len(longer) > room:
            lines.append(line)
            longer = number
        line = longer
    lines.append(line)
    indent = _INDENT * depth + " " * len(form.open)
    return form.open + f"\n{indent}".join(lines) + form.close
