"""Operations that a program brings along."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.frontends.lowering.differentiation import UnknownOperatorError
from simulator.frontends.tensorflow.capture.conversion import Call, converts
from simulator.frontends.tensorflow.capture.entries import Computed, Entry
from simulator.frontends.tensorflow.user_operations import OPERATIONS


@converts("PyFunc")
def user_operation(call: Call) -> Sequence[Entry]:
    """A call of the host is captured where it stands for an operation of the user."""
    operation = OPERATIONS.get(call.attribute("token").decode())
    if operation is None:
        raise UnknownOperatorError(
            f"The operator {call.described} calls Python on the host, which cannot be lowered to the IPU; "
            "docs/tensorflow.md lists the operators that can."
        )
    values = [
        call.tracer.new_value(shape, call.device_dtype(dtype))
        for shape, dtype in zip(operation.shapes, operation.dtypes, strict=True)
    ]
    inputs = [call.value(index) for index in range(len(call.inputs))]
    call.tracer.add("tf.UserOp", {"inputs": inputs, **vars(operation)}, values, call.place)
    return [Computed(value, dtype) for value, dtype in zip(values, operation.dtypes, strict=True)]
