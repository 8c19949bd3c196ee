"""Memory constraints of codelets: `elem(*a) != elem(*b)`, `region(*a) != region(*b)`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from simulator.base.errors import memory_elem_constraints_error
from simulator.graph.vertices import FieldSpec

_CONSTRAINT = re.compile(
    r"\s*(elem|region)\s*\(\s*\*{0,2}\s*(\w+)\s*\)\s*!=\s*(elem|region)\s*\(\s*\*{0,2}\s*(\w+)\s*\)\s*"
)

Pairs = tuple[tuple[str, str], ...]


def constrained(
    vertex: str, constraints: Sequence[str], fields: tuple[FieldSpec, ...]
) -> tuple[tuple[FieldSpec, ...], Pairs]:
    """(the fields, pairs of them whose data must lie in different memory elements). Of two fields that must lie in
    different regions the second becomes interleaved, unless one of them is.

    Raises memory_elem_constraints_error for text that is no constraint, names that are no fields, and what cannot be
    kept: a field apart from itself, two interleaved fields in different regions."""
    fields_by_name = {spec.name: spec for spec in fields}
    pairs = []
    for text in constraints:
        match = _CONSTRAINT.fullmatch(text)
        if match is None or match[1] != match[3]:
            raise memory_elem_constraints_error(
                f"Memory constraint '{text}' of {vertex} is not of the form elem(*a) != elem(*b) or "
                "region(*a) != region(*b)."
            )
        one, other = match[2], match[4]
        for name in (one, other):
            if name not in fields_by_name:
                raise memory_elem_constraints_error(
                    f"Memory constraint '{text}' of {vertex} names '{name}', which is no field; its fields are "
                    f"{', '.join(fields_by_name)}."
                )
        if one == other:
            raise memory_elem_constraints_error(
                f"Memory constraint '{text}' of {vertex} cannot be met: a field cannot lie apart from itself."
            )
        if match[1] == "region":
            if fields_by_name[one].interleaved and fields_by_name[other].interleaved:
                raise memory_elem_constraints_error(
                    f"Memory constraint '{text}' of {vertex} cannot be met: both fields must be in interleaved memory."
                )
            if not fields_by_name[one].interleaved:
                fields_by_name[other] = replace(fields_by_name[other], interleaved=True)
        pairs.append((one, other))
    return tuple(fields_by_name.values()), tuple(pairs)
