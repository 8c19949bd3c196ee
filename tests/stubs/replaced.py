"""Put something else in the place of a body: a no-op, or one that notes the call."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

from tests.stubs.surface import Body, body_of


def stub(body: Body) -> None:
    """From now on the body's calls do nothing and return None."""
    known = body.attribute
    if inspect.isclass(known):  # a nested class: what makes it gives nothing
        setattr(body.owner, body.name, staticmethod(lambda *args, **names: None))
        return
    original = body_of(known)

    @functools.wraps(original)
    def silent(*args: Any, **names: Any) -> Any:
        return None if body.matches(args, names) else original(*args, **names)

    _put(body, known, silent)


def watch(bodies: Sequence[Body], note: Callable[[str], None]) -> None:
    """From now on each call of these bodies, which share owner and name, tells `note` the key of the one meant."""
    known = bodies[0].attribute
    if inspect.isclass(known):
        return
    original = body_of(known)

    @functools.wraps(original)
    def noting(*args: Any, **names: Any) -> Any:
        for body in bodies:
            if body.matches(args, names):
                note(body.key)
        return original(*args, **names)

    _put(bodies[0], known, noting)


def _put(body: Body, known: Any, function: Callable[..., Any]) -> None:
    if inspect.ismodule(body.owner):
        for module in list(sys.modules.values()):  # names that other modules have imported already
            for name, value in list(vars(module).items()) if inspect.ismodule(module) else ():
                if value is known:
                    setattr(module, name, function)
    elif isinstance(known, property):
        setattr(body.owner, body.name, property(function, known.fset, known.fdel))
    elif isinstance(known, staticmethod | classmethod):
        setattr(body.owner, body.name, type(known)(function))
    else:
        setattr(body.owner, body.name, function)
