"""Options of IPUConfig: a tree of categories whose leaves are descriptors.

One `Option` says all of an attribute: its type, which an assignment must have exactly, its default,
its meaning, and what it does on the simulated IPU. Errors are those of tensorflow.python.ipu.config.
"""

from __future__ import annotations

import copy
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from types import UnionType
from typing import Any

import tensorflow as tf

from simulator.base.errors import poplar_error


class ConfigurationError(poplar_error):
    """A configuration that cannot be. TensorFlow raises Exception itself for these."""


class UnknownAttributeError(ValueError, AttributeError):
    """A name that a category does not have: ValueError in TensorFlow, AttributeError for `hasattr`."""


class Effect(Enum):
    """What an option does on the simulated IPU."""

    WORKS = "works"
    RECORDED = "recorded only"  #: checked and written to the report; the model cannot have its effect
    REFUSED = "refused"  #: a value other than the default raises when the system is configured


@dataclass(frozen=True)
class Option:
    """An attribute of a category. `text`: what it does, or why it does nothing or is refused. `deprecated`: the warning
    of its assignment."""

    hint: Any
    default: Any
    doc: str
    text: str
    effect: Effect = Effect.WORKS
    deprecated: str | None = None


def recorded(hint: Any, default: Any, doc: str, reason: str) -> Any:
    """An option that the model cannot have the effect of."""
    return Option(hint, default, doc, reason, Effect.RECORDED)


def refused(hint: Any, default: Any, doc: str, reason: str) -> Any:
    """An option whose other values would make results wrong."""
    return Option(hint, default, doc, reason, Effect.REFUSED)


def works(hint: Any, default: Any, doc: str, text: str) -> Any:
    """An option with its effect."""
    return Option(hint, default, doc, text)


class AttributeMetadata:
    """What `get_attribute_metadata` tells of an attribute. `type` is its type hint as text; categories have none.
    `__doc__` is its meaning."""

    def __init__(self, name: str, doc: str, option: Option | None = None) -> None:
        self.name = name
        self.__doc__ = doc
        self.type = None if option is None else hint_text(option.hint)
        self.default = None if option is None else copy.copy(option.default)
        self.deprecated_msg = None if option is None else option.deprecated
        self._option = option

    @property
    def deprecated(self) -> bool:
        return self.deprecated_msg is not None

    def check_type(self, value: Any) -> None:
        """Raises TypeError for a value that is not exactly of the type."""
        if self._option is not None and not has_type(self._option.hint, value):
            raise TypeError(f"Trying to set {self.name} to {value}, but it must be of type {self.type}")

    def warn_if_deprecated(self) -> None:
        if self.deprecated:
            tf.get_logger().warning("%s has been deprecated: %s", self.name, self.deprecated_msg)


class Category:
    """A group of options and categories; their names are its class attributes."""

    def __init__(self, prefix: str = "") -> None:
        values: dict[str, Any] = {"_prefix": prefix}
        for name, one in self._members():
            values[name] = copy.copy(one.default) if isinstance(one, Option) else one(f"{prefix}{name}.")
        self.__dict__.update(values)

    @classmethod
    def _members(cls) -> list[tuple[str, Any]]:
        """Options and the classes of categories by their names, as they are defined."""
        return [
            (name, one)
            for owner in reversed(cls.__mro__)
            for name, one in vars(owner).items()
            if isinstance(one, Option) or (isinstance(one, type) and issubclass(one, Category))
        ]

    def __setattr__(self, name: str, value: Any) -> None:
        """Raises ValueError for an unknown name, TypeError for a value of another type, and ConfigurationError where
        the name is a category."""
        metadata = self._metadata(name)
        metadata.warn_if_deprecated()
        if isinstance(self.__dict__[name], Category):
            raise ConfigurationError(f"{metadata.name} is a category and cannot be assigned to.")
        metadata.check_type(value)
        self.__dict__[name] = value

    def __getattr__(self, name: str) -> Any:
        """Called for names that are not there."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._unknown(name)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]  # its options change

    def get_attribute_metadata(self, attr: str) -> AttributeMetadata:
        """Type, default and meaning of an attribute by its full name, such as 'device_connection.type'. Raises
        ValueError for an unknown one."""
        owner: Category = self
        *categories, last = attr.split(".")
        try:
            for category in categories:
                inner = getattr(owner, category)
                if not isinstance(inner, Category):
                    raise owner._unknown(f"{category}.{last}")
                owner = inner
            return owner._metadata(last)
        except ValueError as error:
            raise UnknownAttributeError(f"Could not get attribute metadata for '{attr}': {error}") from None

    def walk(self) -> Iterator[tuple[str, Option, Any]]:
        """(full name, option, value) of all options, those of categories too."""
        for name, one in self._members():
            if isinstance(one, Option):
                yield self._prefix + name, one, self.__dict__[name]
            else:
                yield from self.__dict__[name].walk()

    def _metadata(self, name: str) -> AttributeMetadata:
        one = dict(self._members()).get(name)
        if one is None:
            raise self._unknown(name)
        full = self._prefix + name
        return (
            AttributeMetadata(full, one.doc, one) if isinstance(one, Option) else AttributeMetadata(full, one.__doc__)
        )

    def _unknown(self, name: str) -> UnknownAttributeError:
        near = get_close_matches(name, [member for member, _ in self._members()], 1)
        hint = f" Did you mean '{self._prefix}{near[0]}'?" if near else ""
        return UnknownAttributeError(f"'{name}' is not a valid attribute of this config.{hint}")


def has_type(hint: Any, value: Any) -> bool:
    """Whether a value is exactly of a type: True is no int. Hints are types, unions of them, list[X] and
    tuple[X, ...]."""
    origin = typing.get_origin(hint)
    if origin is UnionType:
        return any(has_type(one, value) for one in typing.get_args(hint))
    if origin in (list, tuple):
        return type(value) is origin and all(has_type(typing.get_args(hint)[0], one) for one in value)
    return type(value) is hint


def hint_text(hint: Any) -> str:
    """A type as TensorFlow's documents write it: typing.Union[int, typing.List[int]]."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is UnionType:
        return f"typing.Union[{', '.join(hint_text(one) for one in inner)}]"
    if origin is list:
        return f"typing.List[{hint_text(inner[0])}]"
    if origin is tuple:
        return f"typing.Tuple[{hint_text(inner[0])}, ...]"
    name: str = hint.__name__
    return name
