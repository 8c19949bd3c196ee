"""Value codec: the Python values of an executable to flat nodes and back, without any code.

A node is (kind, text, data, children): children are indices of nodes before or after it. Shared values stay
shared. Objects are of this program's own modules only and are made again without running their code; classes are looked
up by name in those modules. Codelets of the user are named by module and class, with a digest of their source.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson

from simulator.base.errors import poplar_error
from simulator.base.types import Type, type_named
from simulator.codelets.sources import codelet_class, codelet_name
from simulator.graph.store import GraphStore

_OWN = ("simulator.", "popvision.formats.")
_WORD = 2**63


class Node(NamedTuple):
    kind: str
    text: str = ""
    data: bytes = b""
    children: tuple[int, ...] = ()


#: kinds of nodes that have a text and nothing else, and those that have data too; all others have children
_TEXTS = frozenset({"none", "json", "path", "type", "dtype", "enum", "codelet"})
_DATA = frozenset({"array", "bytes", "number"})


def read_node(stored: Any) -> Node:
    """A node from its reader in a file. What its kind has not is not read: most nodes are numbers and names."""
    kind = stored.kind
    if kind in _TEXTS:
        return Node(kind, stored.text)
    if kind in _DATA:
        return Node(kind, stored.text, bytes(stored.data))
    return Node(kind, stored.text, b"", tuple(stored.children))


class NotAnExecutableError(Exception):
    """Nodes that no program of ours wrote; the message is a part of a sentence."""


class Encoder:
    """Grows `nodes`. `store` stands for every graph store that values refer to."""

    def __init__(self, store: GraphStore | None = None) -> None:
        self.nodes: list[Node] = []
        self._store = store
        self._known: dict[int, int] = {}
        self._constants: dict[Node, int] = {}  #: nodes of values that have no parts and do not change
        self._alive: list[Any] = []  # ids are unique while these live

    def encode(self, value: Any) -> int:
        """The node of a value. Raises poplar_error for a value that is code."""
        if isinstance(value, GraphStore) and self._store is not None:
            value = self._store
        simple = _simple(value)
        if simple is not None:
            return self._add(simple) if isinstance(value, list) else self._constant(simple)
        if id(value) in self._known:
            return self._known[id(value)]
        place = self._add(Node("none"))
        self._known[id(value)] = place
        self._alive.append(value)
        self.nodes[place] = self._compound(value)
        return place

    def _add(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _constant(self, node: Node) -> int:
        """One node for all equal ones: most values of an executable are a few numbers and names."""
        if node not in self._constants:
            self._constants[node] = self._add(node)
        return self._constants[node]

    def _all(self, values: Any) -> tuple[int, ...]:
        return tuple(self.encode(value) for value in values)

    def _compound(self, value: Any) -> Node:
        if isinstance(value, np.ndarray):
            array = np.ascontiguousarray(value)
            return Node("array", json.dumps([array.dtype.str, list(value.shape)]), array.tobytes())
        if type(value) in (list, set, frozenset):
            return Node(type(value).__name__, children=self._all(value))
        if type(value) is dict:
            return Node("dict", children=self._all(part for pair in value.items() for part in pair))
        if isinstance(value, tuple):
            name = "" if type(value) is tuple else _class_name(type(value))
            return Node("tuple", name, children=self._all(value))
        if isinstance(value, type) and hasattr(value, "compute"):
            return Node("codelet", json.dumps(codelet_name(value)))
        name = _class_name(type(value))
        state = _state(value)
        return Node("object", json.dumps([name, list(state)]), children=self._all(state.values()))


class Decoder:
    """Values of nodes. Raises NotAnExecutableError, or poplar_error for a codelet that is not there any more."""

    def __init__(self, nodes: list[Node]) -> None:
        self._nodes = nodes
        self._known: dict[int, Any] = {}
        self._depth = 0

    def decode(self, index: int) -> Any:
        if not 0 <= index < len(self._nodes):
            raise NotAnExecutableError(f"it refers to part {index} of {len(self._nodes)}")
        if index in self._known:
            return self._known[index]
        self._depth += 1
        if self._depth > 2_000:
            raise NotAnExecutableError("its parts lie too deep within each other")
        node = self._nodes[index]
        maker = _MAKERS.get(node.kind)
        if maker is None:
            raise NotAnExecutableError(f"it has a part of unknown kind '{node.kind[:20]}'")
        made = maker(self, index, node)
        self._known[index] = made
        self._depth -= 1
        return made

    def values(self) -> list[Any]:
        """All values decoded so far."""
        return list(self._known.values())

    def _children(self, node: Node) -> list[Any]:
        return [self.decode(child) for child in node.children]

    def _list(self, index: int, node: Node) -> list[Any]:
        made: list[Any] = []
        self._known[index] = made
        made.extend(self._children(node))
        return made

    def _dict(self, index: int, node: Node) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        self._known[index] = made
        parts = self._children(node)
        made.update(zip(parts[::2], parts[1::2], strict=True))
        return made

    def _tuple(self, index: int, node: Node) -> Any:
        parts = self._children(node)
        return tuple(parts) if not node.text else _class(node.text, tuple)._make(parts)  # type: ignore[attr-defined]

    def _object(self, index: int, node: Node) -> Any:
        name, fields = _parsed(node.text)
        if len(fields) != len(node.children):
            raise NotAnExecutableError(f"a {name} has {len(node.children)} values for {len(fields)} fields")
        made: Any = object.__new__(_class(name, object))
        self._known[index] = made
        for field, child in zip(fields, node.children, strict=True):
            object.__setattr__(made, str(field), self.decode(child))
        return made

    def _array(self, index: int, node: Node) -> Any:
        dtype, shape = _parsed(node.text)
        kind = np.dtype(dtype)
        if kind.hasobject:
            raise NotAnExecutableError("it has an array of objects")
        return np.frombuffer(node.data, kind).reshape([int(n) for n in shape]).copy()


def _parsed(text: str) -> Any:
    """A JSON text; Python's own reader is for infinities and NaN, which others do not have."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text)


_MAKERS: dict[str, Callable[[Decoder, int, Node], Any]] = {
    "none": lambda d, i, n: None,
    "json": lambda d, i, n: _parsed(n.text),
    "bytes": lambda d, i, n: bytes(n.data),
    "path": lambda d, i, n: Path(n.text),
    "type": lambda d, i, n: type_named(n.text),
    "dtype": lambda d, i, n: np.dtype(n.text),
    "number": lambda d, i, n: np.frombuffer(n.data, np.dtype(n.text))[0],
    "enum": lambda d, i, n: _enum(*_parsed(n.text)),
    "array": Decoder._array,
    "list": Decoder._list,
    "set": lambda d, i, n: set(d._children(n)),
    "frozenset": lambda d, i, n: frozenset(d._children(n)),
    "dict": Decoder._dict,
    "tuple": Decoder._tuple,
    "object": Decoder._object,
    "codelet": lambda d, i, n: codelet_class(*_parsed(n.text)),
}


def _simple(value: Any) -> Node | None:
    """The node of a value without parts."""
    if value is None:
        return Node("none")
    if isinstance(value, Enum):
        return Node("enum", json.dumps([_class_name(type(value)), value.name]))
    if isinstance(value, bool | str | float) or (isinstance(value, int) and -_WORD <= value < 2 * _WORD):
        return Node("json", json.dumps(value if isinstance(value, bool | str | float) else int(value)))
    if isinstance(value, bytes):
        return Node("bytes", data=value)
    if isinstance(value, Path):
        return Node("path", str(value))
    if isinstance(value, Type):
        return Node("type", value.name)
    if isinstance(value, np.dtype):
        return Node("dtype", value.str)
    if isinstance(value, np.generic):
        return Node("number", value.dtype.str, value.tobytes())
    if type(value) is list and value and all(type(part) in (int, str) for part in value):
        return Node("json", json.dumps(value))
    return None


def _state(value: Any) -> dict[str, Any]:
    """The attributes of an object, in slots or not."""
    slots = [name for cls in type(value).__mro__ for name in _slots(cls)]
    named = [name for name in slots if name not in ("__dict__", "__weakref__") and hasattr(value, name)]
    state = {name: getattr(value, name) for name in named}
    return state | vars(value) if hasattr(value, "__dict__") else state


def _slots(cls: type) -> tuple[str, ...]:
    own = vars(cls).get("__slots__", ())
    return (own,) if isinstance(own, str) else tuple(own)


def _class_name(cls: type) -> str:
    name = f"{cls.__module__}:{cls.__qualname__}"
    if not cls.__module__.startswith(_OWN) or "<" in name:
        raise poplar_error(
            f"The executable cannot be saved: it refers to a {cls.__qualname__} of module {cls.__module__}, which is "
            "no part of a program for the IPU."
        )
    return name


@functools.cache
def _class(name: str, kind: type) -> type:
    module, _, qualname = name.partition(":")
    if not module.startswith(_OWN):
        raise NotAnExecutableError(f"it asks for '{name[:60]}'")
    try:
        found: Any = import_module(module)
        for part in qualname.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        raise NotAnExecutableError(f"it has a '{name[:60]}', which this version does not have") from None
    if not isinstance(found, type) or not issubclass(found, kind) or not found.__module__.startswith(_OWN):
        raise NotAnExecutableError(f"it asks for '{name[:60]}'")
    return found


def _enum(name: str, member: str) -> Any:
    cls: Any = _class(name, Enum)
    if member not in cls.__members__:
        raise NotAnExecutableError(f"{name} has no '{member}'")
    return cls[member]
