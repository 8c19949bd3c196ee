"""Operations that a program brings along: a function in a Python file or a C++ library builds them."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.element_types import element_type
from simulator.frontends.lowering.rules import lowers
from simulator.frontends.lowering.tensorflow.cpp_operations import CppLibrary, UserOperationError, cpp_library
from simulator.poplar import Tensor
from simulator.poplar.program import Program


@lowers("tf.UserOp", kind="UserOp", call="the function of the user's file")
def user_operation(
    at: Building,
    inputs: Sequence[Tensor],
    library: str,
    function: str,
    attributes: str,
    codelets: str,
    digest: str,
    is_hashable: bool,
    shapes: Sequence[Sequence[int]],
    dtypes: Sequence[str],
    forward_results: int | None,
    gradient_index: int,
) -> tuple[Tensor, ...]:
    """`forward_results` is None for an operation itself; its gradient takes slopes, results and inputs in this order.
    Raises UserOperationError."""
    build = library_function(library, function)
    if codelets:
        at.top.addCodelets(codelets)
    given, outputs = list(inputs), list[Tensor]()
    if forward_results is None:
        program = build(at.graph, given, outputs, attributes, at.name(function))
    else:
        slopes, results = given[:forward_results], given[forward_results : 2 * forward_results]
        inner = given[2 * forward_results :]
        name = at.name(function)
        program = build(at.graph, gradient_index, slopes, inner, results, outputs, attributes, name)
    if not isinstance(program, Program):
        raise UserOperationError(f"{function} of {library} returned {program!r}; return the program that it built.")
    made = [(list(one.shape()), one.elementType()) for one in outputs]
    wanted = [(list(shape), element_type(dtype)) for shape, dtype in zip(shapes, dtypes, strict=True)]
    if made != wanted:
        raise UserOperationError(
            f"{function} of {library} made the outputs {_described(made)}, where {_described(wanted)} were announced; "
            "append one tensor per output."
        )
    at.program.add(program)
    return tuple(outputs)


def library_function(path: str, name: str) -> Callable[..., Any]:
    """A function of a user's file. Raises UserOperationError for a file that has none, or that cannot be loaded."""
    if not has_function(path, name):
        raise UserOperationError(f"{path} has no function '{name}'; write it, or name the operation by op_name.")
    library = _library(path)
    function: Callable[..., Any] = library.function(name) if isinstance(library, CppLibrary) else getattr(library, name)
    return function


def has_function(path: str, name: str) -> bool:
    """Raises UserOperationError for a file that is missing or cannot be loaded."""
    library = _library(path)
    return library.has(name) if isinstance(library, CppLibrary) else callable(getattr(library, name, None))


def _library(path: str) -> ModuleType | CppLibrary:
    """A C++ library, or the module of a Python file: codelets that it defines are found again by its name."""
    file = Path(path).resolve()
    if file.suffix == ".so":
        return cpp_library(str(file))
    if file.suffix != ".py":
        raise UserOperationError(f"The library {path} is neither a Python file (.py) nor a C++ library (.so).")
    loaded = sys.modules.get(file.stem)
    if loaded is not None and getattr(loaded, "__file__", None) == str(file):
        return loaded
    specification = importlib.util.spec_from_file_location(file.stem, file)
    if not file.is_file() or specification is None or specification.loader is None:
        raise UserOperationError(f"There is no library {path}; give the path of a Python file.")
    module = importlib.util.module_from_spec(specification)
    sys.modules[file.stem] = module
    specification.loader.exec_module(module)
    return module


def _described(tensors: Sequence[tuple[list[int], Any]]) -> str:
    return ", ".join(f"{dtype}{shape}" for shape, dtype in tensors) or "none"
