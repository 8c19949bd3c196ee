"""Remote buffers and host functions: what programs reach beyond the IPU besides streams."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from simulator.base.errors import graph_object_creation_error
from simulator.base.types import Type
from simulator.graph.debug_context import as_context, record
from simulator.graph.objects import HostFunction, RemoteBuffer
from simulator.programming.vertices import VertexMethods

HostFunctionArgument = tuple[Type, int]
"""(type of the elements, their number)"""


class RemoteMethods(VertexMethods):
    HostFunctionArgument = HostFunctionArgument

    def addRemoteBuffer(
        self,
        handle: str,
        elementType: Type,
        numElements: int,
        repeats: int = 1,
        rearrangeOnHost: bool = False,
        optimiseMemory: bool = False,
    ) -> RemoteBuffer:
        """Memory outside the IPU of `repeats` rows of `numElements` elements, one in each replica; zeros when loaded.
        Copy programs read and write whole rows.

        Raises `graph_object_creation_error` for a handle in use, no elements, no rows or something that is no type."""
        what = f"Remote buffer '{named(handle, 'remote buffer')}'"
        if any(buffer.name == handle for buffer in self.store.remote_buffers):
            raise graph_object_creation_error(f"{what} exists already; give every remote buffer its own handle.")
        if not isinstance(elementType, Type):
            raise graph_object_creation_error(f"{what}: {elementType!r} is not an element type.")
        for name, value in (("numElements", numElements), ("repeats", repeats)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise graph_object_creation_error(f"{what}: {name}={value!r} must be a whole number of at least 1.")
        arguments = {"numElements": numElements, "repeats": repeats, "type": elementType.name}
        record(self.store, as_context(handle), "remoteBuffer", arguments=arguments)
        number, flags = len(self.store.remote_buffers), (bool(rearrangeOnHost), bool(optimiseMemory))
        buffer = RemoteBuffer(number, handle, elementType, int(numElements), int(repeats), *flags)
        self.store.remote_buffers.append(buffer)
        return buffer

    def addHostFunction(
        self, handle: str, inputs: Iterable[tuple[Type, int]], outputs: Iterable[tuple[Type, int]]
    ) -> HostFunction:
        """Code of the host that programs call by `Call(function, inputs, outputs)`. `inputs` and `outputs` are (type,
        elements) of each argument; `Engine.connectHostFunction` gives the code.

        Raises `graph_object_creation_error` for a handle in use and for arguments that are not such pairs."""
        named(handle, "host function")
        if any(function.name == handle for function in self.store.host_functions):
            raise graph_object_creation_error(f"Host function '{handle}' exists already; give each its own handle.")
        arguments = [_arguments(handle, kind, given) for kind, given in (("inputs", inputs), ("outputs", outputs))]
        record(self.store, as_context(handle), "hostFunction")
        function = HostFunction(len(self.store.host_functions), handle, *arguments)
        self.store.host_functions.append(function)
        return function


def named(handle: Any, what: str) -> str:
    """The handle; raises `graph_object_creation_error` for what is no string."""
    if not isinstance(handle, str):
        raise graph_object_creation_error(f"The handle of a {what} is a string, not {handle!r}.")
    return handle


def _arguments(handle: str, kind: str, given: Iterable[tuple[Type, int]]) -> tuple[tuple[Type, int], ...]:
    out = []
    for pair in given:
        fits = isinstance(pair, (tuple, list)) and len(pair) == 2 and isinstance(pair[0], Type)
        if not fits or isinstance(pair[1], bool) or not isinstance(pair[1], int | np.integer) or pair[1] < 1:
            raise graph_object_creation_error(
                f"Host function '{handle}': {kind} are pairs of a type and a number of elements, got {pair!r}."
            )
        out.append((pair[0], int(pair[1])))
    return tuple(out)
