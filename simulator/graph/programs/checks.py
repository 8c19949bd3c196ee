"""Checks of the arguments of programs: ends of copies, tensors of host calls, predicates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from simulator.base.errors import control_program_error, graph_connection_error
from simulator.base.types import BOOL, INT, UNSIGNED_INT, Type
from simulator.graph.objects import DataStream, Function, FunctionBuffer, HostFunction, RemoteBuffer
from simulator.graph.tensor import Tensor, require_valid

#: Types that a predicate may have (0 = false), and those of the value that a Switch tests.
PREDICATE_TYPES = (BOOL, INT, UNSIGNED_INT)
CONTROL_TYPES = (INT, UNSIGNED_INT)


# ---- copies ----------------------------------------------------------------------------------------------------------


def check_tensor_copy(source: Tensor, destination: Tensor, what: str = "Copy") -> None:
    """Raise graph_connection_error unless `what` can copy one tensor to the other."""
    if source.elementType() is not destination.elementType():
        raise graph_connection_error(
            f"{what}: the source holds {source.elementType()} and the destination {destination.elementType()}; "
            "use popops.cast to convert."
        )
    if source.view.store is not destination.view.store:
        raise graph_connection_error(f"{what}: source and destination are of different graphs.")
    if source.numElements() != destination.numElements():
        raise graph_connection_error(
            f"{what}: the source has {source.numElements()} elements (shape {source.shape()}), "
            f"the destination {destination.numElements()} (shape {destination.shape()}); they must be equal."
        )
    check_writeable(destination, what)
    if source.intersectsWith(destination):
        raise graph_connection_error(f"{what}: source and destination share elements; copy through another variable.")


def check_function_copy(source: object, destination: object) -> None:
    """Raise graph_connection_error unless code of one function can be copied from source to destination."""
    for end in (source, destination):
        if not isinstance(end, Function | FunctionBuffer):
            raise graph_connection_error(
                f"Copy: a function buffer is copied to or from a function or another buffer, not {end!r}."
            )
    of = [end.id if isinstance(end, Function) else end.function for end in (source, destination)]  # type: ignore[attr-defined]
    if of[0] != of[1]:
        raise graph_connection_error(
            f"Copy: the source holds the code of function {of[0]}, the destination that of function {of[1]}; "
            "make the buffer with the function that it is copied to."
        )
    if source == destination:
        raise graph_connection_error("Copy: source and destination are the same function buffer.")


def check_stream_copy(stream: DataStream, tensor: Tensor, to_device: bool) -> None:
    """Raise graph_connection_error unless a tensor can be copied from a stream (`to_device`) or to it."""
    if stream.to_device != to_device:
        other = "addHostToDeviceFIFO" if to_device else "addDeviceToHostFIFO"
        raise graph_connection_error(
            f"Copy: stream '{stream.name}' has the other direction; make it with Graph.{other}."
        )
    if stream.elementType() is not tensor.elementType():
        raise graph_connection_error(
            f"Copy: stream '{stream.name}' carries {stream.elementType()}, the tensor holds {tensor.elementType()}."
        )
    if stream.numElements() != tensor.numElements():
        raise graph_connection_error(
            f"Copy: stream '{stream.name}' moves {stream.numElements()} elements, the tensor has "
            f"{tensor.numElements()}; they must be equal."
        )
    if to_device:
        check_writeable(tensor)


def check_remote_copy(source: object, destination: object, offset: Tensor | None) -> None:
    """Raise graph_connection_error unless a tensor can be copied from or to the rows of a remote buffer that `offset`
    names: one number per row, None = row 0."""
    buffer, tensor = (source, destination) if isinstance(source, RemoteBuffer) else (destination, source)
    if not isinstance(buffer, RemoteBuffer) or not isinstance(tensor, Tensor):
        raise graph_connection_error(f"Copy: a remote buffer is copied to or from a tensor, not {tensor!r}.")
    if buffer.elementType() is not tensor.elementType():
        raise graph_connection_error(
            f"Copy: remote buffer '{buffer.name}' holds {buffer.elementType()}, the tensor {tensor.elementType()}."
        )
    rows = 1
    if offset is not None:
        if not isinstance(offset, Tensor) or offset.elementType() not in (INT, UNSIGNED_INT) or offset.rank() > 1:
            given = f"{offset.elementType()}{offset.shape()}" if isinstance(offset, Tensor) else repr(offset)
            raise graph_connection_error(
                f"Copy: the offset into remote buffer '{buffer.name}' is a scalar or a vector of type UNSIGNED_INT or "
                f"INT, got {given}."
            )
        rows = offset.numElements()
    wanted = rows * buffer.numElements()
    if tensor.numElements() != wanted:
        raise graph_connection_error(
            f"Copy: {rows} rows of remote buffer '{buffer.name}' are {wanted} elements, the tensor has "
            f"{tensor.numElements()}; they must be equal."
        )
    if tensor is destination:
        check_writeable(tensor)


def check_writeable(tensor: Tensor, what: str = "Copy") -> None:
    """Raise graph_connection_error for a tensor that `what` cannot write: constants and aliases."""
    if tensor.containsConstant():
        raise graph_connection_error(f"{what}: the destination holds a constant; constants cannot be written.")
    if tensor.containsAliases():
        raise graph_connection_error(f"{what}: the destination holds an element twice; it must be free of aliases.")


# ---- host calls and predicates ---------------------------------------------------------------------------------------


def check_host_call(function: HostFunction, inputs: Any, outputs: Any) -> tuple[list[Tensor], list[Tensor]]:
    """The tensors of both directions; raises `control_program_error` where they do not fit the arguments."""
    what = f"Call of host function '{function.name}'"
    checked = []
    for kind, wanted, given in (("input", function.inputs, inputs), ("output", function.outputs, outputs)):
        tensors = list(given) if isinstance(given, Iterable) else None
        if tensors is None or len(tensors) != len(wanted):
            got = f"{len(tensors)} tensors" if tensors is not None else repr(given)
            raise control_program_error(f"{what} needs a list of {len(wanted)} {kind} tensors, got {got}.")
        for place, ((type_, count), tensor) in enumerate(zip(wanted, tensors, strict=True)):
            if not isinstance(tensor, Tensor):
                raise control_program_error(f"{what}: {kind} {place} is not a tensor but {tensor!r}.")
            if tensor.elementType() is not type_ or tensor.numElements() != count:
                raise control_program_error(
                    f"{what}: {kind} {place} takes {count} elements of {type_}, the tensor has "
                    f"{tensor.numElements()} of {tensor.elementType()}."
                )
        checked.append(tensors)
    for tensor in checked[1]:
        try:
            check_writeable(tensor, what)
        except graph_connection_error as error:
            raise control_program_error(str(error)) from None
    return checked[0], checked[1]


def check_scalar(tensor: Any, what: str, types: tuple[Type, ...]) -> Tensor:
    """The tensor; raises `control_program_error` unless it is a scalar of one of the types. `what` names the program
    and its argument."""
    names = ", ".join(type_.name for type_ in types)
    if not isinstance(tensor, Tensor):
        raise control_program_error(f"{what} must be a scalar tensor of type {names}, got {tensor!r}.")
    require_valid(tensor)
    if tensor.rank():
        raise control_program_error(
            f"{what} must be a scalar, but the tensor has shape {tensor.shape()}; reduce it, or take reshape([]) of a "
            "tensor of one element."
        )
    if tensor.elementType() not in types:
        raise control_program_error(f"{what} has type {tensor.elementType().name}; the type must be one of {names}.")
    return tensor
