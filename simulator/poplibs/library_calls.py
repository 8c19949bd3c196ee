"""The calls of library functions: their debug records, the forms of their arguments, addCodelets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from simulator.base import overloads
from simulator.base.errors import poplar_error
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.tensor import Tensor
from simulator.poplibs.poputil.exceptions import poplibs_error

#: the debug layer of all libraries, as libpva's OperationAnalysis expects it
LAYER = "poplibs"


def operation(graph: Graph, context: Context, library: str, api: str, **arguments: Any) -> DebugInfo:
    """Record a call of `api` ("matMul") of a library ("poplin"), with tensors as type and shape. The result, or a pair
    of it and a name, is the context of all that the call makes."""
    described = {name: _described(value) for name, value in arguments.items()}
    return graph.addDebugInfo(context, LAYER, library=library, api=api, **described)


def _described(value: Any) -> Any:
    if isinstance(value, Tensor):
        return f"{value.elementType()}{value.shape()}"
    return value if isinstance(value, (int, float, str, bool)) else str(value)


#: a number, but not a truth value
NUMBER = Real
#: the class of a parameter that accepts anything
ANYTHING = object

Form = Sequence[overloads.Parameter]


def Parameter(name: str, kind: Any = ANYTHING, default: Any = overloads.REQUIRED) -> overloads.Parameter:
    """A parameter that accepts instances of a class (or of classes), and its default."""

    def accepts(value: Any) -> bool:
        if value is default:
            return True
        return isinstance(value, kind) and not (kind is NUMBER and isinstance(value, bool))

    return overloads.Parameter(name, accepts, default)


def match(api: str, forms: Sequence[Form], arguments: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """The value of each parameter of the first form that fits, without those of other forms. Raises `poplibs_error`,
    naming the forms, when none fits."""
    return overloads.Overloads(api, poplibs_error, tuple(map(tuple, forms))).choose(arguments, named)[1]


def addCodelets(graph: Graph) -> None:
    """Add a library's vertices to a graph. Every graph has the vertices of the simulator's libraries from the start, so
    this changes nothing, and programs without the call run too.

    Raises poplar_error for anything but a graph."""
    if not isinstance(graph, Graph):
        raise poplar_error(f"addCodelets takes a graph, not {graph!r}.")
