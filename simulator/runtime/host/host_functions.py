"""Host functions that programs call, and the user's code connected to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from popvision import pvti
from simulator.arrays import AnyArray
from simulator.base.errors import stream_connection_error
from simulator.base.types import numpy_type
from simulator.graph.objects import HostFunction
from simulator.runtime.host.stream_callback import HostCallbackHandle

_channel = pvti.channel("Poplar Runtime")


class HostFunctions:
    """The code of the host functions of a graph, by handle and replica."""

    def __init__(self, functions: Mapping[str, HostFunction], replicas: int) -> None:
        self._functions = functions
        self._replicas = replicas
        self._code: dict[tuple[str, int], HostCallbackHandle] = {}

    def connect(self, handle: str, replica: int, code: Any) -> None:
        """Connect code to one replica's function. Raises stream_connection_error for an unknown handle or replica, and
        for an object that cannot be called."""
        if handle not in self._functions:
            names = ", ".join(self._functions) or "none"
            raise stream_connection_error(
                f"There is no host function '{handle}'; the host functions of this engine are: {names}."
            )
        whole = isinstance(replica, int | np.integer) and not isinstance(replica, bool)
        if not whole or not 0 <= replica < self._replicas:
            raise stream_connection_error(
                f"Host function '{handle}' has no replica {replica!r}; it has replicas 0 to {self._replicas - 1}."
            )
        self._code[handle, int(replica)] = HostCallbackHandle(code, f"Host function '{handle}'")

    def call(self, handle: str, replica: int, inputs: Sequence[AnyArray]) -> list[AnyArray]:
        """Call the function with the values that the device sent; returns those that go back, zeros where the code
        wrote nothing. The code may use the arrays during the call only."""
        function = self._functions[handle]
        code = self._code.get((handle, replica))
        if code is None:
            which = f" in replica {replica}" if self._replicas > 1 else ""
            raise stream_connection_error(
                f"Host function '{handle}' is called by the program but not connected{which}; call "
                "Engine.connectHostFunction before run."
            )
        given = [np.array(values).reshape(-1) for values in inputs]
        for values in given:
            values.flags.writeable = False
        made = [np.zeros(count, numpy_type(type_)) for type_, count in function.outputs]
        with pvti.Tracepoint(_channel, f"HostFunction {handle}"):
            code(given, made)
        return made
