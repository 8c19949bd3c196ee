"""Memory constraints of codelets: `elem(*a) != elem(*b)`, `region(*a) != region(*b)`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from simulator.poplar.errors import memory_elem_constraints_error

_CONSTRAINT = re.compile(
    r"\s*(elem|region)\s*\(\s*\*{0,2}\s*(\w+)\s*\)\s*!=\s*(elem|region)\s*\(\s*\*{0,2}\s*(\w+)\s*\)\s*"
)


def constraint_pairs(vertex: str, constraints: Sequence[str], fields: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Pairs of fields whose data must lie in different memory elements. The layout knows elements only, so that regions
    are kept apart by element too.

    Raises memory_elem_constraints_error for text that is no constraint, and for names that are no fields."""
    pairs = []
    for text in constraints:
        found = _CONSTRAINT.fullmatch(text)
        if found is None or found[1] != found[3]:
            raise memory_elem_constraints_error(
                f"Memory constraint '{text}' of {vertex} is not of the form elem(*a) != elem(*b) or "
                "region(*a) != region(*b)."
            )
        for name in (found[2], found[4]):
            if name not in fields:
                raise memory_elem_constraints_error(
                    f"Memory constraint '{text}' of {vertex} names '{name}', which is no field; its fields are "
                    f"{', '.join(fields)}."
                )
        if found[2] == found[4]:
            raise memory_elem_constraints_error(
                f"Memory constraint '{text}' of {vertex} cannot be met: a field cannot lie apart from itself."
            )
        pairs.append((found[2], found[4]))
    return tuple(pairs)
