"""Custom operations of a C++ library: its functions as those of a Python file (user_operations).

libpoplar, which the library is linked with, has the calls that turn graphs and tensors into those of C++ and back.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from simulator.base.errors import poplar_error

#: Levels of custom operations whose functions take the arguments that libpoplar gives.
LEVELS = (4, 5)


class UserOperationError(poplar_error):
    """A custom operation whose file cannot be used, or that does not give what was announced."""


class CppLibrary:
    """A library of a user, loaded."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._library = ctypes.CDLL(str(Path(path).resolve()))
            self._calls = ctypes.PyDLL("libpoplar.so")
        except OSError as error:
            raise UserOperationError(
                f"The library {path} cannot be loaded ({error}); 'make cpp' and 'source enable.sh' bring libpoplar."
            ) from None
        self._level = self._number("custom_op_api_level")
        if self._level not in LEVELS:
            raise UserOperationError(
                f"{path} has custom_op_api_level {self._level}; set it to {LEVELS[-1]}, with Build(graph, inputs, "
                "outputs, attributes, debug_prefix)."
            )

    def _number(self, name: str) -> int | None:
        try:
            return ctypes.c_int32.in_dll(self._library, name).value
        except ValueError:
            return None

    def has(self, name: str) -> bool:
        """Whether the library has a function."""
        return hasattr(self._library, name)

    def function(self, name: str) -> Callable[..., Any]:
        """A function of the library with the arguments of one in a Python file."""
        place = ctypes.cast(getattr(self._library, name), ctypes.c_void_p)
        if name.endswith("_metadata"):
            return lambda inputs: {"is_hashable": self._call("is_hashable", ctypes.c_bool, place, self._level, inputs)}
        if name.endswith("_grad"):
            return lambda graph, index, slopes, inputs, results, outputs, attributes, context: self._built(
                outputs, name, "gradient", place, graph, index, slopes, inputs, results, attributes, context
            )
        return lambda graph, inputs, outputs, attributes, context: self._built(
            outputs, name, "build", place, graph, inputs, attributes, context
        )

    def _built(self, outputs: list[Any], name: str, call: str, place: Any, *arguments: Any) -> Any:
        """The program that an operation builds; its results are appended to `outputs`."""
        *operands, context = arguments
        try:
            program, tensors = self._call(call, ctypes.py_object, place, *operands, context.name)
        except RuntimeError as error:
            raise UserOperationError(f"{name} of {self.path} failed: {error}") from error
        outputs.extend(tensors)
        return program

    def _call(self, name: str, result: Any, *arguments: Any) -> Any:
        function = getattr(self._calls, f"popvision_{name}")
        function.restype = result
        numbers = (int, ctypes.c_void_p)
        passed = (value if isinstance(value, numbers) else ctypes.py_object(value) for value in arguments)
        return function(*passed)


@cache
def cpp_library(path: str) -> CppLibrary:
    """The library at a path, loaded once. Raises UserOperationError."""
    return CppLibrary(path)
