"""Values of simple vertex fields as the field's type holds them."""

from __future__ import annotations

from typing import Any

import numpy as np

from simulator.base.errors import type_error
from simulator.base.quarter import QuarterMetadata
from simulator.base.types import Type, check_range, numpy_type
from simulator.graph.vertices import VertexType


def state_value(vertex_type: VertexType, field: str, value: Any) -> Any:
    """A number or an array of the field's type.

    Raises `type_error` for what are no numbers, `overflow_error` for numbers that an integer field cannot hold."""
    type_: Type | None = vertex_type.fields_by_name[field].type
    if isinstance(value, QuarterMetadata):
        value = value.getBinary()
    try:
        given = np.asarray(value)
        if type_ is not None:
            check_range(type_, given, f"field '{field}' of {vertex_type.name}")
        array = given if type_ is None else given.astype(numpy_type(type_))
    except (TypeError, ValueError, OverflowError):
        raise type_error(f"{value!r} is not a value for field '{field}' of {vertex_type.name}.") from None
    return array[()] if array.ndim == 0 else array
