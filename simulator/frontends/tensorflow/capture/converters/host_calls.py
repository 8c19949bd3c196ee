"""Calls of the host that stand for something else on the device: operations that a program brings along, and elements
of queues and data sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulator.frontends.lowering.differentiation import UnknownOperatorError
from simulator.frontends.tensorflow.capture.conversion import Call, converts
from simulator.frontends.tensorflow.capture.entries import CaptureError, Computed, Entry, HostResource
from simulator.frontends.tensorflow.host_calls import HOST_CALLS, CrossReplicaSum, Dequeue, Enqueue, IteratorElements
from simulator.frontends.tensorflow.user_operations import UserOperation


@converts("PyFunc")
def host_call(call: Call) -> Sequence[Entry]:
    """A call of the host is captured where it stands for an operation of the user or for a queue's element."""
    meant = HOST_CALLS.get(call.attribute("token").decode())
    if isinstance(meant, Dequeue):
        return _received(call, meant.source, meant.depth, meant.shapes, meant.dtypes)
    inputs = [call.value(index) for index in range(len(call.inputs))]
    if isinstance(meant, Enqueue):
        call.tracer.add(
            "tf.Outfeed", {"handle": call.tracer.host_end("outfeed", meant.sink), "inputs": inputs}, [], call.place
        )
        return []
    if isinstance(meant, CrossReplicaSum):
        value = call.tracer.new_value(inputs[0].shape, inputs[0].dtype)
        call.tracer.add("tf.CrossReplicaSum", {"x": inputs[0], **vars(meant)}, [value], call.place)
        return [Computed(value, call.op.outputs[0].dtype.name)]
    if isinstance(meant, UserOperation):
        values = _new_values(call, meant.shapes, meant.dtypes)
        call.tracer.add("tf.UserOp", {"inputs": inputs, **vars(meant)}, values, call.place)
        return [Computed(value, dtype) for value, dtype in zip(values, meant.dtypes, strict=True)]
    raise UnknownOperatorError(
        f"The operator {call.described} calls Python on the host, which cannot be lowered to the IPU; put it into "
        "outside_compilation_scope (docs/tensorflow.md)."
    )


@converts("IteratorGetNext", "IteratorGetNextSync", eager=True)
def next_element(call: Call) -> Sequence[Entry]:
    """The next element of an iterator over a data set."""
    entry = call.inputs[0]
    if not isinstance(entry, HostResource):
        raise CaptureError(f"The operator {call.described} takes an element of something that is no iterator.")
    types, shapes = call.attribute("output_types"), [one.shape for one in call.op.outputs]
    for shape in shapes:
        if not shape.is_fully_defined():
            raise CaptureError(
                f"The elements that {call.described} takes have the shape {shape}; programs on the IPU have fixed "
                "shapes, so give all batches the same size (drop_remainder=True)."
            )
    source = call.tracer.iterators.setdefault(id(entry.tensor), IteratorElements(entry.tensor, types, shapes))
    return _received(call, source, 1, [tuple(one.as_list()) for one in shapes], [one.name for one in types])


def _received(
    call: Call, source: Any, depth: int, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[str]
) -> list[Entry]:
    values = _new_values(call, shapes, dtypes)
    arguments = {
        "handle": call.tracer.host_end("infeed", source),
        "depth": depth,
        "shapes": [one.shape for one in values],
        "dtypes": [one.dtype for one in values],
    }
    call.tracer.add("tf.Infeed", arguments, values, call.place)
    return [Computed(value, dtype) for value, dtype in zip(values, dtypes, strict=True)]


def _new_values(call: Call, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[str]) -> list[Any]:
    announced = zip(shapes, dtypes, strict=True)
    return [call.tracer.new_value(shape, call.device_dtype(dtype)) for shape, dtype in announced]
