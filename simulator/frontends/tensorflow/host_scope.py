"""`scopes.outside_compilation_scope`: operators of a device function that run on the host, in the middle of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from simulator.base.errors import poplar_error
from simulator.frontends.tensorflow.capture.host_parts import is_marked_for_host, marked_for_host


@contextmanager
def outside_compilation_scope(name: str = "outside") -> Iterator[None]:
    """Operators within run on the host; `name` begins their names. What they take of the device is sent to them, and
    what the device takes of them is sent back.

    Raises poplar_error where no function is traced, ValueError within another such scope."""
    graph: Any = None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
    if getattr(graph, "outer_graph", None) is None:
        raise poplar_error("outside_compilation_scope is used in a function that is compiled for the IPU.")
    if is_marked_for_host(graph):
        raise ValueError("Illegal nesting of outside_compilation_scope")
    with marked_for_host(graph), tf.name_scope(name):
        yield
