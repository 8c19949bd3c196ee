"""Variables of graph mode: a session gives their values to each run of the device and takes new ones from it.

The device keeps its copies; a value is sent where the session's is another one than the device has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from simulator.arrays import AnyArray
from simulator.frontends.tensorflow.device_variables import Holder


class SessionVariables:
    """The variables of one program, by the identity of their handles."""

    def __init__(self) -> None:
        self._given: dict[int, AnyArray] = {}  #: the session's values for the run at hand
        self._on_device: dict[int, AnyArray] = {}
        self._writer: Holder | None = None  #: the program, after a run that wrote variables

    def give(self, values: Mapping[int, AnyArray]) -> None:
        """The session's values for the next run."""
        self._given = dict(values)
        self._writer = None

    def newest(self, handles: Sequence[int]) -> list[AnyArray]:
        """Values after the run; those given where the device did not run."""
        if self._writer is not None and handles:
            fetched = self._writer.fetch()
            for one in handles:
                value = np.array(fetched[one]).astype(self._given[one].dtype)
                self._given[one] = self._on_device[one] = value
        return [self._given[one] for one in handles]

    def register(self, handle: Any, dtype: Any) -> None:
        """Values come with each run."""

    def stale(self, holder: Holder, handles: Iterable[int]) -> list[int]:
        return [one for one in handles if not self._is_on_device(one)]

    def _is_on_device(self, handle: int) -> bool:
        there = self._on_device.get(handle)
        return there is not None and there.tobytes() == self._given[handle].tobytes()

    def host_value(self, handle: int) -> AnyArray:
        return self._given[handle]

    def note_sent(self, holder: Holder, handles: Iterable[int]) -> None:
        self._on_device.update({one: self._given[one] for one in handles})

    def note_run(self, holder: Holder, written: Iterable[int]) -> None:
        self._writer = holder
        for one in written:
            self._on_device.pop(one, None)

    def leave(self, holder: Holder) -> None:
        self._on_device.clear()
