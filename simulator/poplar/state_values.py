"""Values of simple vertex fields as the field's type holds them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from simulator.codelets.vertex_type import VertexType
from simulator.poplar.errors import overflow_error, type_error
from simulator.poplar.quarter import QuarterMetadata
from simulator.poplar.types import Type, numpy_type


def state_value(vertex_type: VertexType, field: str, value: Any) -> Any:
    """A number or an array of the field's type.

    Raises `type_error` for what are no numbers, `overflow_error` for numbers that an integer field cannot hold."""
    type_: Type | None = vertex_type.fields_by_name[field].type
    if isinstance(value, QuarterMetadata):
        value = value.getBinary()
    try:
        given = np.asarray(value)
        array = given if type_ is None else given.astype(numpy_type(type_))
    except (TypeError, ValueError, OverflowError):
        raise type_error(f"{value!r} is not a value for field '{field}' of {vertex_type.name}.") from None
    limits = None if type_ is None else _limits(type_)
    if limits is not None and given.size and not (limits[0] <= given.min() and given.max() <= limits[1]):
        raise overflow_error(
            f"{value!r:.60} does not fit field '{field}' of {vertex_type.name}: {type_} holds {limits[0]} to "
            f"{limits[1]}."
        )
    return array[()] if array.ndim == 0 else array


@cache
def _limits(type_: Type) -> tuple[int, int] | None:
    dtype = numpy_type(type_)
    if dtype.kind not in "iu":
        return None
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)
