"""`scopes.outside_compilation_scope`: operators of a device function that are to run on the host.

Programs here run on the device as a whole, so functions with such a scope are refused when they are to be compiled:
with the driver's words in pre-compilation, which refuses them on real systems too, else with a sentence of our own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn
from weakref import WeakSet

import tensorflow as tf

from simulator.base.errors import poplar_error
from simulator.frontends.session.connection import ConnectionType
from simulator.frontends.tensorflow.system import current

_NOT_PRE_COMPILED = (
    "IPU devices have been configured for pre-compilation, however the program contains `outside_compilation_scope` "
    "operations which cannot be safely pre-compiled."
)
_NOT_HERE = (
    "The program contains `outside_compilation_scope` operations, but programs run on the simulated IPU as a whole; "
    "compute these operations before or after it, in a function of the host."
)
_graphs: WeakSet[Any] = WeakSet()


@contextmanager
def outside_compilation_scope(name: str = "outside") -> Iterator[None]:
    """Operators within belong to the host; `name` begins their names.

    Raises poplar_error where no function is traced."""
    graph: Any = None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
    if getattr(graph, "outer_graph", None) is None:
        raise poplar_error("outside_compilation_scope is used in a function that is compiled for the IPU.")
    while getattr(graph, "outer_graph", None) is not None:
        _graphs.add(graph)
        graph = graph.outer_graph
    with tf.name_scope(name):
        yield


def has_host_operations(graph: Any) -> bool:
    """Whether the trace of a function, or of one that it was the first to call, has such a scope."""
    return graph in _graphs


def refuse_host_operations() -> NoReturn:
    """Raise tf.errors.FailedPreconditionError in pre-compilation, else tf.errors.UnimplementedError."""
    if current().connection.type is ConnectionType.PRE_COMPILE:
        raise tf.errors.FailedPreconditionError(None, None, _NOT_PRE_COMPILED)
    raise tf.errors.UnimplementedError(None, None, _NOT_HERE)
