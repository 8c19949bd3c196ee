"""Wrong arguments as one sentence: which parameter was given what, and what it takes.

The annotations of a function, and of its overloads, are the table; nothing is written twice. They are read only after a
call has failed with an exception of Python's own (`refuses_wrong_arguments`: one more call, 0.1 us), or before the call
where a wrong value would otherwise be taken in silence (`checks_arguments`).
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, wraps
from io import IOBase
from itertools import islice
from typing import IO, Any, BinaryIO, Literal, TextIO, TypeVar, Union, get_args, get_origin, get_overloads

import numpy as np
import numpy.typing as npt

from simulator.base.errors import poplar_error, type_error

#: What Python and NumPy raise for a value of another type or shape than code expects.
MISTAKES = (TypeError, ValueError, AttributeError, LookupError, OverflowError)

_F = TypeVar("_F", bound=Callable[..., Any])
_C = TypeVar("_C", bound=type)

_FILES = (IO, TextIO, BinaryIO)

#: Types of arguments seen so far that are no files.
_NO_FILES: set[type] = set()
_MOST_TYPES = 10_000

#: Elements of a list that are compared with the annotation of its elements.
_LOOKED_AT = 1000


# ---- decorators ------------------------------------------------------------------------------------------------------


def refuses_wrong_arguments(function: _F) -> _F:
    """The function, which raises `type_error` where it fails because an argument does not fit its annotation. A file in
    the place of a list is refused before the call: an empty one would count as an empty list."""

    @wraps(function)
    def call(*arguments: Any, **names: Any) -> Any:
        for value in (*arguments, *names.values()):
            if type(value) not in _NO_FILES and is_file(value):
                sentence = misfit(function, arguments, names)
                if shown(value) in sentence:
                    raise type_error(sentence)
        try:
            return function(*arguments, **names)
        except MISTAKES as error:
            refuse(error, function, arguments, names)
            raise

    return call  # type: ignore[return-value]


def checks_arguments(function: _F) -> _F:
    """The function, which raises `type_error` before it does anything if an argument does not fit its annotation.

    Types of arguments that fitted are remembered, but for containers, whose elements count too: 1 us, not 20."""
    fitted: set[tuple[Any, ...]] = set()

    @wraps(function)
    def call(*arguments: Any, **names: Any) -> Any:
        kinds = (*map(type, arguments), *names, *map(type, names.values()))
        if kinds not in fitted:
            sentence = misfit(function, arguments, names)
            if sentence:
                raise type_error(sentence)
            if not any(isinstance(v, Iterable) and not isinstance(v, str) for v in (*arguments, *names.values())):
                fitted.add(kinds)
        return function(*arguments, **names)

    return call  # type: ignore[return-value]


def constructor_checks_arguments(cls: _C) -> _C:
    """The class, with `checks_arguments` on its constructor: for values that programs write down themselves."""
    cls.__init__ = checks_arguments(cls.__init__)  # type: ignore[misc]
    return cls


def methods_refuse_wrong_arguments(*, but: Iterable[str] = ()) -> Callable[[_C], _C]:
    """A decorator of classes: `refuses_wrong_arguments` for the constructor and all public methods, but those whose
    names are given, which are called so often that they do it in their bodies."""
    left_out = frozenset(but)

    def decorated(cls: _C) -> _C:
        for name, member in list(vars(cls).items()):
            if (name.startswith("_") and name != "__init__") or name in left_out:
                continue
            if isinstance(member, types.FunctionType) and _takes_arguments(member):
                setattr(cls, name, refuses_wrong_arguments(member))
            elif isinstance(member, staticmethod | classmethod):
                setattr(cls, name, type(member)(refuses_wrong_arguments(member.__func__)))
        return cls

    return decorated


def _is_iterator(value: Any) -> bool:
    return isinstance(value, Iterator) and not isinstance(value, IOBase)


def is_file(value: Any) -> bool:
    """Whether a value is an open file. The types of others are remembered: 30 ns per argument."""
    if isinstance(value, IOBase):
        return True
    if len(_NO_FILES) < _MOST_TYPES:
        _NO_FILES.add(type(value))
    return False


def _takes_arguments(method: types.FunctionType) -> bool:
    """Whether a method has parameters other than `self`, and is not decorated already."""
    return len(inspect.signature(method).parameters) > 1 and not hasattr(method, "__wrapped__")


def check_flags(function: str, **flags: object) -> None:
    """Raise `type_error` for a flag that is neither True nor False, where a call is too frequent for more."""
    for name, value in flags.items():
        if not isinstance(value, bool | np.bool_):
            raise type_error(f"{function}: {name} must be True or False, not {shown(value)}.")


def refuse(
    error: Exception, function: Callable[..., Any], arguments: tuple[Any, ...], names: Mapping[str, Any]
) -> None:
    """Raise `type_error` for a call that failed if an argument does not fit; poplar_errors speak for themselves."""
    sentence = "" if isinstance(error, poplar_error) else misfit(function, arguments, names, spent=True)
    if sentence:
        raise type_error(sentence) from None


# ---- arguments against annotations -----------------------------------------------------------------------------------


def misfit(
    function: Callable[..., Any], arguments: tuple[Any, ...], names: Mapping[str, Any], *, spent: bool = False
) -> str:
    """What is wrong with the arguments of a call, in one sentence; "" where they fit one of the overloads. `spent`: the
    call has failed, and what an iterator gave can no longer be looked at, so that it counts as the mistake."""
    best, place = "", -1
    for form in _forms(function):
        try:
            bound = form.bind(*arguments, **names)
        except TypeError as error:
            fitting = _fitting_part(form, arguments, names)
            if not best or fitting > place:
                place = max(place, fitting)
                best = f"{_name(function)}: {error}; it takes {_spelled(form)}."
            continue
        wrong = next(
            (
                (place, name, value)
                for place, (name, value) in enumerate(_given(form, bound))
                if (spent and _is_iterator(value)) or not _takes(form, name, value)
            ),
            None,
        )
        if wrong is None:
            return ""
        if wrong[0] > place:
            place, name, value = wrong
            wanted = described(form.parameters[name].annotation)
            best = f"{_name(function)}: {name} must be {wanted}, not {shown(value)}."
    return best


def _fitting_part(form: inspect.Signature, arguments: tuple[Any, ...], names: Mapping[str, Any]) -> int:
    """The number of arguments where all fit a form that takes more, else -1."""
    try:
        given = list(_given(form, form.bind_partial(*arguments, **names)))
    except TypeError:
        return -1
    return len(given) if all(_takes(form, name, value) for name, value in given) else -1


@cache
def _forms(function: Callable[..., Any]) -> tuple[inspect.Signature, ...]:
    """The signatures of the overloads of a function, or its own, with annotations evaluated."""
    own = inspect.unwrap(function)
    return tuple(_signature(form) for form in (get_overloads(own) or [own]))


def _signature(form: Callable[..., Any]) -> inspect.Signature:
    signature = inspect.signature(form)
    known = getattr(form, "__globals__", {})
    parameters = [p.replace(annotation=_evaluated(p.annotation, known)) for p in signature.parameters.values()]
    return signature.replace(parameters=parameters, return_annotation=Any)


def _evaluated(annotation: Any, names: dict[str, Any]) -> Any:
    """An annotation that is a text; Any where its names exist for type checkers only."""
    if annotation is inspect.Parameter.empty:
        return Any
    try:
        return eval(annotation, names) if isinstance(annotation, str) else annotation
    except NameError:
        return Any


def _given(form: inspect.Signature, bound: inspect.BoundArguments) -> Iterator[tuple[str, Any]]:
    """(parameter, value) of a call, one for each value of *arguments and **names."""
    for name, value in bound.arguments.items():
        kind = form.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            yield from ((name, each) for each in value)
        elif kind is inspect.Parameter.VAR_KEYWORD:
            yield from ((name, each) for each in value.values())
        else:
            yield name, value


def _takes(form: inspect.Signature, name: str, value: Any) -> bool:
    """Whether a parameter takes a value; its default counts as well."""
    parameter = form.parameters[name]
    return value is parameter.default or fits(value, parameter.annotation)


def fits(value: Any, annotation: Any) -> bool:
    """Whether a value is one of the annotation's; NumPy's numbers and arrays count as Python's numbers and lists."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if annotation is Any or annotation is npt.ArrayLike or isinstance(annotation, TypeVar):
        return True
    if annotation is None or annotation is type(None):
        return value is None
    if origin in (Union, types.UnionType):
        return any(fits(value, each) for each in inner)
    if origin is Literal:
        return value in inner
    if annotation in _FILES or origin is IO:
        return hasattr(value, "write") or hasattr(value, "read")
    if origin is None:
        return _is_one(value, annotation)
    if origin is type:
        return isinstance(value, type)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) or (isinstance(value, list | tuple) and _is_list_of(value, float))
    if origin is tuple:
        return _is_tuple(value, inner)
    if not isinstance(origin, type):
        return True
    if issubclass(origin, Mapping):
        pairs = isinstance(value, Mapping)
        return pairs and all(fits(k, inner[0]) and fits(v, inner[1]) for k, v in islice(value.items(), _LOOKED_AT))
    if issubclass(origin, Iterable):
        return _is_list_of(value, inner[0])
    return callable(value) if issubclass(origin, Callable) else isinstance(value, origin)  # type: ignore[arg-type]


def _is_one(value: Any, annotation: Any) -> bool:
    """Whether a value is an instance of a class."""
    if annotation is int:
        return isinstance(value, int | np.integer)
    if annotation is float:
        return isinstance(value, int | float | np.integer | np.floating)
    if annotation is bool:
        return isinstance(value, bool | np.bool_)
    if not isinstance(annotation, type):
        return True
    if issubclass(annotation, IOBase):
        return hasattr(value, "write") or hasattr(value, "read")
    if getattr(annotation, "_is_protocol", False):
        return True
    return isinstance(value, annotation)


def _is_tuple(value: Any, inner: tuple[Any, ...]) -> bool:
    if not isinstance(value, tuple | list):
        return False
    if len(inner) == 2 and inner[1] is Ellipsis:
        return all(fits(each, inner[0]) for each in value[:_LOOKED_AT])
    return len(value) == len(inner) and all(map(fits, value, inner))


def _is_list_of(value: Any, element: Any) -> bool:
    if isinstance(value, str | bytes | Mapping | IOBase) or not isinstance(value, Iterable):
        return False
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return False
    return isinstance(value, Iterator) or all(fits(each, element) for each in islice(value, _LOOKED_AT))


def shown(value: Any) -> str:
    """A value in a sentence: the beginning of its repr, on one line."""
    return f"{' '.join(repr(value).split()):.60}"


# ---- words -----------------------------------------------------------------------------------------------------------

_WORDS: dict[type, str] = {
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    str: "a string",
    bytes: "bytes",
}


def described(annotation: Any) -> str:
    """An annotation in words: "a Tensor", "a list of whole numbers", "a string or None"."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if annotation is None or annotation is type(None):
        return "None"
    if origin in (Union, types.UnionType):
        return _listed([described(each) for each in inner])
    if origin is Literal:
        return _listed([repr(each) for each in inner])
    if origin is tuple:
        return "(" + ", ".join("..." if each is Ellipsis else described(each) for each in inner) + ")"
    if annotation in _FILES or origin is IO:
        return "a file"
    if origin is type or annotation is type:
        return "a class"
    if origin is np.ndarray:
        return "an array"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"a dict from {described(inner[0])} to {described(inner[1])}"
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return f"a list of {_plural(described(inner[0]))}"
    if isinstance(origin, type) and origin is get_origin(Callable[[], None]):
        return "a function"
    if isinstance(annotation, type):
        if issubclass(annotation, IOBase):
            return "a file"
        return _WORDS[annotation] if annotation in _WORDS else _with_article(str(annotation.__name__))
    return "a file" if origin is not None else "another value"


def _plural(words: str) -> str:
    parts = words.split(" or ")
    named = [part.removeprefix("a ").removeprefix("an ") for part in parts]
    return " or ".join(part if part.startswith(("(", "list", "None")) else f"{part}s" for part in named)


def _with_article(name: str) -> str:
    return f"an {name}" if name[0] in "AEIOUaeiou" else f"a {name}"


def _listed(words: list[str]) -> str:
    unique = list(dict.fromkeys(words))
    return " or ".join([", ".join(unique[:-1]), unique[-1]]) if len(unique) > 1 else unique[0]


def _name(function: Callable[..., Any]) -> str:
    return str(inspect.unwrap(function).__qualname__).removesuffix(".__init__")


def _spelled(form: inspect.Signature) -> str:
    """The parameters of a function without `self`."""
    parts = []
    for p in form.parameters.values():
        if p.name not in ("self", "cls"):
            star = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
            default = "" if p.default is p.empty else f"={p.default!r:.20}"
            parts.append(f"{star}{p.name}{default}")
    return f"({', '.join(parts)})"
