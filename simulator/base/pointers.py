"""ctypes pointers, taken where Poplar takes `void *`."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from simulator.arrays import AnyArray

#: What ctypes takes for `void *`: pointers, and references to what byref was given.
_POINTERS = (ctypes.c_void_p, ctypes._Pointer, type(ctypes.byref(ctypes.c_byte())))


def address_of(pointer: Any) -> int | None:
    """The address in a ctypes pointer, 0 for a null one; None for other objects."""
    if not isinstance(pointer, _POINTERS):
        return None
    address: int | None = ctypes.cast(pointer, ctypes.c_void_p).value
    return address or 0


def bytes_at(address: int, size: int) -> AnyArray:
    """The `size` bytes from an address on, without a copy. The address must be one of this process's memory."""
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))
