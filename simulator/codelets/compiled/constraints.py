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
    own = {spec.name: spec for spec in fields}
    pairs = []
    for text in constraints:
        found = _CONSTRAINT.fullmatch(text)
        if found is None or found[1] != found[3]:
            raise memory_elem_constraints_error(
                f"Memory constraint '{text}' of {vertex} is not of the form elem(*a) != elem(*b) or "
                "region(*a) != region(*b)."
            )
        one, other = found[2], found[4]
        for name in (one, other):
            if name not in own:
                raise memory_elem_constraints_error(
                    f"Memory constraint '{text}' of {vertex} names '{name}', which is no field; its fields are "
                    f"{', '.join(own)}."
                )
        if one == other:
            raise memory_elem_constraints_error(
                f"Memory constraint '{text}' of {vertex} cannot be met: a field cannot lie apart from itself."
            )
        if found[1] == "region":
            if own[one].interleaved and own[other].interleaved:
                raise memory_elem_constraints_error(
                    f"Memory constraint '{text}' of {vertex} cannot be met: both fields must be in interleaved memory."
                )
            if not own[one].interleaved:
                own[other] = replace(own[other], interleaved=True)
        pairs.append((one, other))
    return tuple(own.values()), tuple(pairs)
