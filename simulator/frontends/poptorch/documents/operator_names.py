"""Names of operators: the scopes of poptorch.NameScope, then the module's path unless the options leave it out."""

from __future__ import annotations

from dataclasses import replace

from simulator.frontends.captured import Operator, Program, with_pieces_changed
from simulator.frontends.poptorch.blocks import NAME_SCOPE


def name_operators(program: Program, by_module: bool) -> Program:
    """The program with the path of each operator as the options and scopes want it. Parts are joined by dots."""
    if by_module and not any(NAME_SCOPE in operator.place.annotations for operator in program.operators):
        return program
    return replace(program, operators=tuple(_named(operator, by_module) for operator in program.operators))


def _named(operator: Operator, by_module: bool) -> Operator:
    scope = str(operator.place.annotations.get(NAME_SCOPE, "")).replace("/", ".")
    path = ".".join(part for part in (scope, operator.place.module if by_module else "") if part)
    changed = with_pieces_changed(operator, lambda piece: _named(piece, by_module))
    return replace(changed, place=replace(operator.place, module=path))
