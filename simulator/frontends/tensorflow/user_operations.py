"""Operations that a program brings along: functions in a Python file that build into the Poplar graph.

In a trace such an operation is a call of the host, whose token says which operation it is (`host_calls`). The file has
the functions that a C++ library of TensorFlow's custom operations has:

    Build(graph, inputs, outputs, attributes, debugContext)
    Build_grad(graph, input_grad_index, gradients, fwd_inputs, fwd_outputs, outputs, attributes, debugContext)
    Build_metadata(num_inputs)

The first two append their results to `outputs` and return a program; the last returns a dict, {"is_hashable": True}.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tensorflow as tf

from simulator.base.errors import poplar_error
from simulator.frontends.captured import Program, operators_within
from simulator.frontends.lowering.tensorflow.cpp_operations import UserOperationError
from simulator.frontends.lowering.tensorflow.user_operations import has_function, library_function
from simulator.frontends.tensorflow.host_calls import calling


@dataclass(frozen=True)
class UserOperation:
    """One operation and the results that it was announced with."""

    library: str  #: path of the file
    function: str
    attributes: str
    codelets: str  #: path of a file of codelets; "": none
    digest: str  #: of the file and of the codelets
    is_hashable: bool  #: whether equal files make equal programs, so that they may be cached
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]
    forward_results: int | None = None  #: of a gradient: how many results the operation itself has
    gradient_index: int = 0  #: of a gradient: the input whose gradient it gives


def precompiled_user_op(
    inputs: Sequence[Any],
    library_path: str,
    gp_path: str = "",
    outs: dict[str, Any] | None = None,
    name: str = "UserOp",
    op_name: str = "Build",
    separate_gradients: bool = False,
    inputs_with_gradients: Sequence[int] | None = None,
    attributes: str | None = None,
    gradient_attributes: str | None = None,
) -> list[Any]:
    """Results of an operation that the file `library_path` builds, as a list of tensors.

    `outs` has their "output_types" and "output_shapes"; `gp_path` is a file of codelets. The gradient is
    `<op_name>_grad`, called once, or once for each input with `separate_gradients`. The file is Python, or a C++
    library built against `make cpp`. Raises UserOperationError, a poplar_error, for a file without the function."""
    tensors = [tf.convert_to_tensor(one) for one in inputs]
    library_function(library_path, op_name)
    announced = outs or {"output_types": [], "output_shapes": []}
    operation = UserOperation(
        library_path,
        op_name,
        attributes or "",
        gp_path,
        _digest(library_path, gp_path),
        _is_hashable(library_path, op_name, len(tensors)),
        tuple(tuple(tf.TensorShape(shape).as_list()) for shape in announced["output_shapes"]),
        tuple(tf.as_dtype(one).name for one in announced["output_types"]),
    )
    chosen = range(len(tensors)) if inputs_with_gradients is None else inputs_with_gradients
    gradient = replace(operation, function=f"{op_name}_grad", attributes=gradient_attributes or "")

    @tf.custom_gradient
    def call(*given: Any) -> Any:
        results = _called(operation, list(given), name)

        def slopes_of_inputs(*slopes: Any) -> list[Any]:
            return _gradients(gradient, [*slopes], results, list(given), list(chosen), separate_gradients, name)

        return results, slopes_of_inputs

    results = call(*tensors)
    return list(results) if isinstance(results, list | tuple) else [results]


def _gradients(
    operation: UserOperation,
    slopes: list[Any],
    results: list[Any],
    inputs: list[Any],
    chosen: list[int],
    separate: bool,
    name: str,
) -> list[Any]:
    """One per input, None for those without."""
    operation = replace(operation, forward_results=len(results))
    gradients: list[Any] = [None] * len(inputs)
    for group in [[index] for index in chosen] if separate else [chosen]:
        wanted = replace(
            operation,
            shapes=tuple(tuple(inputs[index].shape.as_list()) for index in group),
            dtypes=tuple(inputs[index].dtype.name for index in group),
            gradient_index=group[0] if group else 0,
        )
        for index, one in zip(group, _called(wanted, [*slopes, *results, *inputs], f"{name}_grad"), strict=True):
            gradients[index] = one
    return gradients


def _called(operation: UserOperation, inputs: list[Any], name: str) -> list[Any]:
    """The operation in the trace."""

    def on_the_host(*values: Any) -> Any:
        raise poplar_error(f"The custom operation {operation.function} of {operation.library} runs on the IPU only.")

    dtypes = [tf.as_dtype(one) for one in operation.dtypes]
    results = calling(operation, on_the_host, inputs, dtypes, name) if dtypes else []
    for result, shape in zip(results, operation.shapes, strict=True):
        result.set_shape(shape)
    return results


def _digest(*paths: str) -> str:
    digest = hashlib.sha256()
    for path in paths:
        if path:
            try:
                digest.update(Path(path).read_bytes())
            except OSError as error:
                raise UserOperationError(f"{path} of a custom operation cannot be read ({error.strerror}).") from error
    return digest.hexdigest()


def _is_hashable(library: str, function: str, inputs: int) -> bool:
    if not has_function(library, f"{function}_metadata"):
        return False
    metadata: Callable[[int], dict[str, Any]] = library_function(library, f"{function}_metadata")
    return bool(metadata(inputs).get("is_hashable", False))


def unhashable_operation(program: Program) -> str | None:
    """What a program brings along that may not be cached; None where there is no such operation."""
    for operator in operators_within(program.operators):
        if operator.name == "tf.UserOp" and not operator.arguments["is_hashable"]:
            return f"{operator.arguments['function']} of {operator.arguments['library']}"
    return None
