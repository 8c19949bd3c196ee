"""Debug records of library calls: which function was called, with what, from where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from simulator.base import overloads
from simulator.base.errors import poplar_error
from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.tensor import Tensor
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.programming.graph import Graph

#: The layer of all libraries together, as libpva's OperationAnalysis expects it.
LAYER = "poplibs"


def operation(graph: Graph, context: Context, library: str, api: str, **arguments: Any) -> DebugInfo:
    """Record a call of `api` ("matMul") of a library ("poplin"). Tensors are kept as type and shape. Give the result,
    or a pair of it and a name, as the context of what the call makes."""
    kept = {name: _described(value) for name, value in arguments.items()}
    return graph.addDebugInfo(context, LAYER, library=library, api=api, **kept)


def _described(value: Any) -> Any:
    if isinstance(value, Tensor):
        return f"{value.elementType()}{value.shape()}"
    return value if isinstance(value, (int, float, str, bool)) else str(value)


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


def addCodelets(graph: Graph) -> None:
    """Make a library's vertices known to a graph. Those of the simulator's libraries are known to every graph from the
    beginning, so that nothing changes and programs that do not call this run too.

    Raises poplar_error for anything but a graph."""
    if not isinstance(graph, Graph):
        raise poplar_error(f"addCodelets takes a graph, not {graph!r}.")
