"""The table of lowering rules: a hash map from an operator's name to the function that builds it from PopLibs calls.

A rule takes the place of building (`Building`) and the operator's arguments by the names of its schema, tensors as
Poplar tensors; `self` is called `input`. It returns a tensor, or a tuple of them, one per result. A rule with
`own_backward` returns that and a function which gives the gradients of its arguments:

    backward(at, slopes, wanted) -> {"input": tensor, ...}

`slopes` has one entry per result (None where the loss does not depend on it), `wanted` names the arguments whose
gradients are used: the rule gives each, None for one that is 0. Rules without it are differentiated piece by piece by
the framework. `layouts` names functions that create the tensor of an argument as its operator reads it best, for
weights and inputs which have no place yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

#: (place of building, arguments with `Value` for each tensor) -> a mapped tensor of the argument's shape
Layout = Callable[..., Any]
Build = TypeVar("Build", bound=Callable[..., Any])


@dataclass(frozen=True)
class Rule:
    """How one operator is built. `kind` is the name that PopART gives such an operator ("Conv"), `call` names the
    PopLibs functions for the table of operators."""

    name: str
    kind: str
    call: str
    build: Callable[..., Any]
    own_backward: bool = False
    layouts: Mapping[str, Layout] = field(default_factory=dict)


class RuleTable:
    """Rules by the name of the operator; each name once."""

    def __init__(self) -> None:
        self._rules: dict[str, Rule] = {}

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules.values())

    def __contains__(self, name: str) -> bool:
        return name in self._rules

    def __getitem__(self, name: str) -> Rule:
        return self._rules[name]

    def add(self, rule: Rule) -> None:
        assert rule.name not in self._rules, f"{rule.name} has two rules"
        self._rules[rule.name] = rule

    def has_own_backward(self, name: str) -> bool:
        return name in self._rules and self._rules[name].own_backward


TABLE = RuleTable()


def lowers(
    *names: str, kind: str, call: str, own_backward: bool = False, **layouts: Layout
) -> Callable[[Build], Build]:
    """Register a function as the rule of these operators ("aten.relu.default"). Further arguments are layouts by the
    name of the argument."""

    def register(build: Build) -> Build:
        for name in names:
            TABLE.add(Rule(name, kind, call, build, own_backward, layouts))
        return build

    return register
