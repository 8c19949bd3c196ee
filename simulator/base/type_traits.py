"""TypeTraits: the type of raw host data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from simulator.arrays import AnyArray
from simulator.base.errors import type_error
from simulator.base.types import Type


@dataclass(frozen=True)
class TypeTraits:
    """The type of host values that are handed over as bytes; made by `TypeTraits.make`."""

    dtype: np.dtype[Any]

    @staticmethod
    def make(T: Any) -> TypeTraits:
        """The traits of a NumPy type, a Python number type, or an element type."""
        try:
            return TypeTraits(T.dtype if isinstance(T, Type) else np.dtype(T))
        except TypeError:
            raise type_error(f"{T!r} is not a type of host values; give a NumPy type or an element type.") from None

    @property
    def size(self) -> int:
        """Bytes of one value."""
        return self.dtype.itemsize

    @property
    def align(self) -> int:
        """Alignment in bytes."""
        return self.dtype.alignment

    @property
    def isFloat(self) -> bool:
        return bool(np.issubdtype(self.dtype, np.floating))

    @property
    def isSigned(self) -> bool:
        return self.isFloat or bool(np.issubdtype(self.dtype, np.signedinteger))

    def isSimpleType(self) -> bool:
        """True for numbers and truth values, which tensors can hold."""
        return self.dtype.kind in "biuf"

    def values(self, raw: Any) -> AnyArray:
        """The values that bytes (any buffer) hold; `type_error` where they are no whole number of them."""
        data = memoryview(raw).cast("B")
        if len(data) % self.size:
            raise type_error(f"{len(data)} bytes are no whole number of values of {self.size} bytes ({self.dtype}).")
        return np.frombuffer(data, self.dtype)
