"""A group of options: named values, read as attributes, changed by chainable setters until the group is frozen."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from simulator.frontends.poptorch.errors import OptionError

P = ParamSpec("P")
G = TypeVar("G", bound="OptionGroup")
E = TypeVar("E")


def setter(function: Callable[Concatenate[G, P], None]) -> Callable[Concatenate[G, P], G]:
    """A method that sets options: refused once the group is frozen; what was given is remembered, and the group comes
    back, so that calls chain."""

    @functools.wraps(function)
    def call(group: G, /, *arguments: P.args, **named: P.kwargs) -> G:
        group.refuse_if_frozen()
        function(group, *arguments, **named)
        texts = [repr(value) for value in arguments] + [f"{name}={value!r}" for name, value in named.items()]
        group.given[group.path + function.__name__] = ", ".join(texts)
        return group

    call.is_option_setter = True  # type: ignore[attr-defined]
    return call


class OptionGroup:
    """Values by name. `given` has the arguments of each setter that was called, as text, by its full name."""

    path = ""  #: prefix of the setters' names, "Training."

    def __init__(self, **values: Any) -> None:
        self._values = values
        self._is_frozen = False
        self.given: dict[str, str] = {}

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__.get("_values", {})
        if name in values:
            return values[name]
        raise AttributeError(f"{type(self).__name__} has no option {name!r}.")

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__dict__.get("_is_frozen") and name != "_is_frozen":
            raise AttributeError("Can't modify frozen Options")
        if name in self.__dict__.get("_values", {}) or hasattr(getattr(type(self), name, None), "is_option_setter"):
            raise AttributeError(f"{self.path}{name} cannot be assigned; call the option's method.")
        super().__setattr__(name, value)

    def __call__(self, option: str) -> Any:
        """The value of an option by its name. Raises OptionError for an unknown one."""
        if option not in self._values:
            raise OptionError(f"Invalid option {option}, valid options are {list(self._values)}")
        return self._values[option]

    def set(self, **values: Any) -> None:
        """Change values that exist, unchecked. Raises OptionError for an unknown name."""
        self.refuse_if_frozen()
        for name in values:
            if name not in self._values:
                raise OptionError(f"Invalid option {name}, valid options are {list(self._values)}")
        self._values.update(values)

    def createOrSet(self, **values: Any) -> None:
        """Add or change values, unchecked."""
        self.refuse_if_frozen()
        self._values.update(values)

    def deleteIfExists(self, name: str) -> None:
        """Remove a value."""
        self.refuse_if_frozen()
        self._values.pop(name, None)

    def exists(self, name: str) -> bool:
        """Whether a value is set."""
        return name in self._values

    def toDict(self) -> dict[str, Any]:
        """The values by name."""
        return dict(self._values)

    def freeze(self) -> None:
        """Refuse changes from now on."""
        self._is_frozen = True

    def unfreeze(self) -> None:
        """Allow changes again."""
        self._is_frozen = False

    @property
    def is_frozen(self) -> bool:
        """Whether changes are refused."""
        return self._is_frozen

    def refuse_if_frozen(self) -> None:
        """Raises AttributeError where the group is frozen."""
        if self._is_frozen:
            raise AttributeError("Can't modify frozen Options")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._values.items())})"


def checked_bool(option: str, value: Any) -> bool:
    """Raises OptionError for all but True and False."""
    if not isinstance(value, bool):
        raise OptionError(f"{option} takes True or False, not {value!r}.")
    return value


def checked_count(option: str, value: Any, least: int = 1) -> int:
    """An integer of at least `least`. Raises OptionError for anything else."""
    try:
        count = operator.index(value)
    except TypeError:
        count = None
    if count is None or isinstance(value, bool) or count < least:
        raise OptionError(f"{option} takes an integer of at least {least}, not {value!r}.")
    return count


def checked_text(option: str, value: Any) -> str:
    """Raises OptionError for all but strings."""
    if not isinstance(value, str):
        raise OptionError(f"{option} takes a string, not {value!r}.")
    return value


def checked_member(option: str, kind: type[E], value: Any) -> E:
    """A member of one of PopTorch's enumerations. Raises OptionError for anything else, its number too."""
    if not isinstance(value, kind):
        raise OptionError(f"{option} takes a poptorch.{kind.__name__}, not {value!r}.")
    return value
