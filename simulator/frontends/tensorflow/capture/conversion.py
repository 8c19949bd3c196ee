"""The table of converters: a hash map from the type of a TensorFlow operator to the function that captures it.

A converter takes the call at hand (`Call`) and returns one entry per result. It names operators of the lowering's rule
table: aten's where PyTorch's operator means the same, else "tf." and TensorFlow's name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.frontends.captured import Place, Value
from simulator.frontends.lowering.element_types import NARROWED, is_known
from simulator.frontends.tensorflow.capture.entries import CaptureError, Computed, Entry, Handle, Known, Variable
from simulator.frontends.tensorflow.capture.places import described

if TYPE_CHECKING:
    from simulator.frontends.tensorflow.capture.tracing import Tracer

Converter = Callable[["Call"], "Sequence[Entry] | Entry"]

CONVERTERS: dict[str, Converter] = {}
#: converters that take known inputs too: they make handles, or change what is known
EAGER: set[str] = set()


def converts(*types: str, eager: bool = False) -> Callable[[Converter], Converter]:
    """Register a function as the converter of these operators. Without `eager`, an operator whose inputs are all known
    is computed on the host instead."""

    def register(convert: Converter) -> Converter:
        for one in types:
            assert one not in CONVERTERS, f"{one} has two converters"
            CONVERTERS[one] = convert
            if eager:
                EAGER.add(one)
        return convert

    return register


class Call:
    """One operator of a graph, with the entries of its inputs."""

    def __init__(self, tracer: Tracer, op: Any, inputs: Sequence[Entry], place: Place, path: str) -> None:
        self.tracer, self.op, self.inputs = tracer, op, list(inputs)
        self.place, self.path = place, path
        self._shapes: list[tuple[int, ...] | None] | None = None

    # Inputs

    def attribute(self, name: str) -> Any:
        return self.op.get_attr(name)

    def is_known(self, index: int) -> bool:
        return isinstance(self.inputs[index], Known)

    def known(self, index: int) -> np.ndarray[Any, Any]:
        """An input whose value must be known when the program is compiled. Raises CaptureError where it is not."""
        entry = self.inputs[index]
        if not isinstance(entry, Known):
            raise CaptureError(
                f"The operator {self.described} needs input {index} when it is compiled, but its value depends on "
                "data; make it a constant."
            )
        return entry.array

    def integers(self, index: int) -> list[int]:
        return [int(one) for one in self.known(index).reshape(-1)]

    def value(self, index: int) -> Value:
        """An input on the device."""
        return self.tracer.on_device(self.inputs[index], self)

    def operand(self, index: int) -> Value | float:
        """An input on the device, or a number where it is known and has no dimensions."""
        entry = self.inputs[index]
        if isinstance(entry, Known) and entry.array.ndim == 0:
            return _number(entry.array)
        return self.value(index)

    def shape(self, index: int) -> tuple[int, ...]:
        entry = self.inputs[index]
        assert isinstance(entry, Known | Computed)
        return entry.shape

    def variable(self, index: int = 0) -> Variable:
        entry = self.inputs[index]
        if not isinstance(entry, Handle):
            raise CaptureError(f"The operator {self.described} reads a resource that is no variable.")
        return entry.variable

    # Results

    def result_shape(self, index: int = 0) -> tuple[int, ...]:
        """Raises CaptureError for a shape that depends on data."""
        if self._shapes is None:
            self._shapes = self.tracer.inference.shapes(self.op, self.inputs)
        shape = self._shapes[index]
        if shape is None:
            raise CaptureError(
                f"The shape of the result of {self.described} depends on data; programs on the IPU have fixed shapes."
            )
        return shape

    def result_shape_without_inference(self, index: int = 0) -> tuple[int, ...]:
        """The shape that the trace has. Raises CaptureError where it leaves sizes open."""
        shape = self.op.outputs[index].shape
        if not shape.is_fully_defined():
            raise CaptureError(f"The shape of the result of {self.described} is not fixed; give element_shape.")
        return tuple(shape.as_list())

    def result_dtype(self, index: int = 0) -> str:
        return str(self.op.outputs[index].dtype.name)

    def emit(self, name: str, /, **arguments: Any) -> list[Entry]:
        """Add an operator that computes all results of this one."""
        values = [
            self.tracer.new_value(self.result_shape(index), self.device_dtype(self.result_dtype(index)))
            for index in range(len(self.op.outputs))
        ]
        self.tracer.add(name, arguments, values, self.place)
        return [Computed(value, self.result_dtype(index)) for index, value in enumerate(values)]

    def compute(self, name: str, shape: Sequence[int], dtype: str, /, **arguments: Any) -> Value:
        """Add an operator with one result, and give that."""
        value = self.tracer.new_value(tuple(int(one) for one in shape), self.device_dtype(dtype))
        self.tracer.add(name, arguments, [value], self.place)
        return value

    def result(self, value: Value, index: int = 0) -> Computed:
        """A value as a result of the operator."""
        return Computed(value, self.result_dtype(index))

    def device_dtype(self, dtype: str) -> str:
        """Raises CaptureError for element types that no tile has."""
        if not is_known(dtype):
            raise CaptureError(
                f"The operator {self.described} has elements of type {dtype}, which the IPU does not have; cast them "
                "to float32, float16 or int32."
            )
        return NARROWED.get(dtype, dtype)

    @property
    def described(self) -> str:
        return described(self.op, self.place)


def _number(array: np.ndarray[Any, Any]) -> float:
    value = array.item()
    assert isinstance(value, bool | int | float), "a number"
    return value
