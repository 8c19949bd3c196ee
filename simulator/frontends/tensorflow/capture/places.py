"""Where the user's program asked for an operator: the layer from the scopes of its name, the line from its traceback.

Keras and tf.GradientTape name a gradient after the operator that it belongs to, below "gradient_tape" or "gradients",
so that it goes to the layer of that operator.
"""

from __future__ import annotations

import re
import sysconfig
from pathlib import Path
from typing import Any

from simulator.frontends.captured import Frame, Place
from simulator.frontends.lowering.differentiation import IS_GRADIENT

_GRADIENT = re.compile(r"(?:^|/)(?:gradient_tape|gradients)(?:_\d+)?/")
_LIBRARY = (sysconfig.get_paths()["stdlib"], sysconfig.get_paths()["purelib"], sysconfig.get_paths()["platlib"])
_OWN = str(Path(__file__).absolute().parents[3])
_AUTOGRAPH = re.compile(r"__autograph_generated_file")


def place_of(op: Any, path: str, outer: Place) -> Place:
    """The place of an operator in a graph that was called below `path`; `outer` is the place of that call, for
    operators whose traceback is lost."""
    frames = _frames(op)
    own = frames[-1] if frames else None
    name = "/".join(part for part in (path, op.name) if part)
    is_gradient = bool(_GRADIENT.search(name))
    scopes = _GRADIENT.sub("/", name).strip("/").split("/")
    levels = -2 if is_gradient and len(scopes) > 1 else -1
    module = "/".join(scopes[:levels])
    return Place(
        module,
        own.file if own else outer.file,
        own.line if own else outer.line,
        frames if frames else outer.stack,
        {IS_GRADIENT: True} if is_gradient else {},
    )


def _frames(op: Any) -> tuple[Frame, ...]:
    """The calls in the user's own files, outermost first."""
    trace = getattr(op, "traceback", None) or ()
    frames = (Frame(str(one.filename), int(one.lineno or 0), str(one.name)) for one in trace)
    return tuple(frame for frame in frames if _is_users(frame.file))


def _is_users(file: str) -> bool:
    if file.startswith("<") or _AUTOGRAPH.search(file):
        return False
    return not str(Path(file).absolute()).startswith((*_LIBRARY, _OWN))


def described(op: Any, place: Place) -> str:
    """An operator in a sentence: its type, name and line."""
    where = f" ({place.file}:{place.line})" if place.file else ""
    return f"{op.type} '{op.name}'{where}"
