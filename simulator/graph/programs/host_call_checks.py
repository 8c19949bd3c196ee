"""What the tensors of a host function's call must be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from simulator.base.errors import control_program_error, graph_connection_error
from simulator.graph.objects import HostFunction
from simulator.graph.programs.copy_checks import check_writeable
from simulator.graph.tensor import Tensor


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
