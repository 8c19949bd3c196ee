"""Put something else in the place of a body: a no-op, or one that notes the call."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

from tests.stubs.overloads import forms_of, overload_of
from tests.stubs.surface import Body, body_of


def stub(body: Body) -> None:
    """From now on calls of this overload do nothing and return None."""
    original = body.function
    several = len(forms_of(original)) > 1

    @functools.wraps(original)
    def silent(*args: Any, **names: Any) -> Any:
        if several and overload_of(original, args, names) != body.overload:
            return original(*args, **names)
        return None

    _put(body, silent)


def watch(body: Body, note: Callable[[Any, str, int], None]) -> None:
    """From now on each call tells `note` (owner, name, overload)."""
    original = body.function
    several = len(forms_of(original)) > 1

    @functools.wraps(original)
    def noting(*args: Any, **names: Any) -> Any:
        note(body.owner, body.name, overload_of(original, args, names) if several else 0)
        return original(*args, **names)

    _put(body, noting)


def _put(body: Body, function: Callable[..., Any]) -> None:
    known = inspect.getattr_static(body.owner, body.name)
    if inspect.ismodule(body.owner):
        for module in list(sys.modules.values()):  # names that other modules have imported already
            for name, value in list(vars(module).items()) if inspect.ismodule(module) else ():
                if value is known:
                    setattr(module, name, function)
        return
    if isinstance(known, property):
        setattr(body.owner, body.name, property(function, known.fset, known.fdel))
    elif isinstance(known, staticmethod | classmethod):
        setattr(body.owner, body.name, type(known)(function))
    else:
        assert known is body_of(known)
        setattr(body.owner, body.name, function)
