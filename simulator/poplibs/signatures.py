"""Forms of library functions: `simulator.base.overloads` by class of parameter, with PopLibs' exception."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from simulator.base import overloads
from simulator.poplibs.poputil.exceptions import poplibs_error

#: a number, but no truth value
NUMBER = Real
#: what a parameter without a class accepts
ANYTHING = object

Form = Sequence[overloads.Parameter]


def Parameter(name: str, kind: Any = ANYTHING, default: Any = overloads.REQUIRED) -> overloads.Parameter:
    """A parameter that takes a class (or classes), and its default by name too."""

    def accepts(value: Any) -> bool:
        if value is default:
            return True
        return isinstance(value, kind) and not (kind is NUMBER and isinstance(value, bool))

    return overloads.Parameter(name, accepts, default)


def match(api: str, forms: Sequence[Form], arguments: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """The value of every parameter of the first form that fits; a form's own parameters only. Raises `poplibs_error`,
    naming the forms, when none fits."""
    return overloads.Overloads(api, poplibs_error, tuple(map(tuple, forms))).choose(arguments, named)[1]
