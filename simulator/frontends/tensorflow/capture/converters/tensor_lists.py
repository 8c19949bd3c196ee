"""Lists of tensors (tf.TensorArray, and what loops keep for their gradients): elements of one shape, room for a number
of elements that is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simulator.frontends.captured import Value
from simulator.frontends.tensorflow.capture.conversion import Call, converts
from simulator.frontends.tensorflow.capture.entries import CaptureError, Computed, Entry, Known, ListHandle, ListShape


def _shape(call: Call, index: int, length: int | None) -> ListShape:
    """The shape of a new list from the input that has the elements' shape; -1 stands for what is not known yet."""
    dtype = str(call.attribute("element_dtype").name)
    if dtype == "variant":
        raise CaptureError(f"{call.described} makes a list of lists, which the IPU does not have.")
    call.device_dtype(dtype)
    given = call.known(index)
    sizes = tuple(int(one) for one in given.reshape(-1))
    is_open = given.ndim == 0 or any(one < 0 for one in sizes)
    return ListShape(dtype, length, None if is_open else sizes)


def _handle(call: Call, index: int = 0) -> ListHandle:
    entry = call.inputs[index]
    if not isinstance(entry, ListHandle):
        raise CaptureError(f"{call.described} reads a list that was made outside the function.")
    return entry


def storage(call: Call, handle: ListHandle) -> Value:
    """The tensor of a list, made now if it has none. Raises CaptureError where its size is not known."""
    shape = handle.shape
    if handle.value is not None:
        return handle.value
    if shape.element is None:
        raise CaptureError(f"The elements of the list in {call.described} have no fixed shape; give element_shape.")
    if shape.length is None:
        raise CaptureError(
            f"The list in {call.described} grows without a bound; give tf.while_loop a maximum_iterations."
        )
    sizes = [shape.length, *shape.element]
    return call.compute("tf.ListReserve", sizes, shape.dtype, shape=sizes, dtype=call.device_dtype(shape.dtype))


def _with_element(call: Call, handle: ListHandle, element: Sequence[int]) -> None:
    """Note the shape of an element. Raises CaptureError where elements differ."""
    if handle.shape.element is None:
        handle.shape.element = tuple(element)
    elif handle.shape.element != tuple(element):
        raise CaptureError(
            f"{call.described} writes an element of shape {tuple(element)} to a list of elements of shape "
            f"{handle.shape.element}; programs on the IPU have lists of one shape."
        )


@converts("TensorListReserve", eager=True)
def reserve(call: Call) -> Entry:
    return ListHandle(_shape(call, 0, int(call.known(1))))


@converts("EmptyTensorList", eager=True)
def empty(call: Call) -> Entry:
    length = int(call.known(1))
    return ListHandle(_shape(call, 0, length if length >= 0 else None), count=0)


@converts("TensorListFromTensor", eager=True)
def from_tensor(call: Call) -> Entry:
    value = call.value(0)
    shape = ListShape(str(call.attribute("element_dtype").name), value.shape[0], value.shape[1:])
    return ListHandle(shape, call.compute("tf.ListFromTensor", value.shape, value.dtype, self=value))


def _written(call: Call, handle: ListHandle, index: Value | int, item: Value) -> Value:
    _with_element(call, handle, item.shape)
    before = storage(call, handle)
    return call.compute("tf.ListSet", before.shape, before.dtype, self=before, index=index, item=item)


def _index(call: Call, index: int) -> Value | int:
    entry = call.inputs[index]
    return int(entry.array) if isinstance(entry, Known) else call.value(index)


@converts("TensorListSetItem", eager=True)
def set_item(call: Call) -> Entry:
    handle = _handle(call)
    value = _written(call, handle, _index(call, 1), call.value(2))
    return ListHandle(handle.shape, value, handle.count)


@converts("TensorListGetItem", eager=True)
def get_item(call: Call) -> Entry:
    handle = _handle(call)
    if handle.shape.element is None:
        _with_element(call, handle, call.result_shape_without_inference())
    return call.result(_element(call, handle, _index(call, 1)))


def _element(call: Call, handle: ListHandle, index: Value | int) -> Value:
    source = storage(call, handle)
    return call.compute("tf.ListGet", source.shape[1:], source.dtype, self=source, index=index)


@converts("TensorListStack", eager=True)
def stack(call: Call) -> Entry:
    handle = _handle(call)
    if handle.shape.element is None:
        _with_element(call, handle, call.result_shape_without_inference()[1:])
    source = storage(call, handle)
    if isinstance(handle.count, Value):
        raise CaptureError(f"The number of elements in {call.described} depends on data.")
    count = source.shape[0] if handle.count is None else handle.count
    shape = (count, *source.shape[1:])
    if count == source.shape[0]:
        return Computed(call.compute("aten.alias.default", shape, source.dtype, self=source), handle.shape.dtype)
    out = call.compute("aten.slice.Tensor", shape, source.dtype, self=source, dim=0, start=0, end=count, step=1)
    return Computed(out, handle.shape.dtype)


@converts("TensorListLength", eager=True)
def length(call: Call) -> Entry:
    handle = _handle(call)
    if isinstance(handle.count, Value):
        return Computed(handle.count, "int32")
    return Known(np.array(handle.shape.length if handle.count is None else handle.count, np.int32))


@converts("TensorListElementShape", eager=True)
def element_shape(call: Call) -> Entry:
    handle = _handle(call)
    if handle.shape.element is None:
        raise CaptureError(f"The elements of the list in {call.described} have no fixed shape; give element_shape.")
    return Known(np.array(handle.shape.element, call.op.outputs[0].dtype.as_numpy_dtype))


@converts("AddN", "AccumulateNV2", eager=True)
def add_n(call: Call) -> Sequence[Entry]:
    """The sum of tensors, or of lists element by element."""
    if len(call.inputs) == 1:
        return call.inputs
    if isinstance(call.inputs[0], ListHandle):
        handles = [_handle(call, index) for index in range(len(call.inputs))]
        for one in handles:
            for other in handles:
                if one.shape.element is None and other.shape.element is not None:
                    _with_element(call, one, other.shape.element)
        parts = [storage(call, one) for one in handles]
        total = call.compute("tf.AddN", parts[0].shape, handles[0].shape.dtype, tensors=parts)
        return [ListHandle(handles[0].shape, total, handles[0].count)]
    return call.emit("tf.AddN", tensors=[call.value(index) for index in range(len(call.inputs))])


# Lists that grow


@converts("TensorListPushBack", eager=True)
def push_back(call: Call) -> Entry:
    """A list of one known tensor needs no storage: loops keep shapes and numbers for their gradients so."""
    handle, item = _handle(call), call.inputs[1]
    shape, count = handle.shape, 0 if handle.count is None else handle.count
    after = call.tracer.moved_count(count, 1, call.place)
    is_first = handle.value is None and shape.constant is None and not shape.varies
    if isinstance(item, Known) and (is_first or _is_same(shape.constant, item)):
        shape.constant = item
        return ListHandle(shape, handle.value, after)
    if shape.constant is not None and not shape.varies:
        shape.varies = True
        if count != 0:
            raise CaptureError(f"{call.described} adds to a list of known elements; write such lists by index.")
    return ListHandle(shape, _written(call, handle, count, call.value(1)), after)


def _is_same(one: Known | None, other: Known) -> bool:
    return one is not None and one.array.dtype == other.array.dtype and np.array_equal(one.array, other.array)


@converts("TensorListPopBack", eager=True)
def pop_back(call: Call) -> Sequence[Entry]:
    handle = _handle(call)
    if handle.count is None:
        raise CaptureError(f"{call.described} takes an element from a list of fixed length.")
    last = call.tracer.moved_count(handle.count, -1, call.place)
    if handle.shape.constant is not None and not handle.shape.needs_storage:
        return [ListHandle(handle.shape, handle.value, last), handle.shape.constant]
    element = _element(call, handle, last)
    return [ListHandle(handle.shape, handle.value, last), Computed(element, handle.shape.dtype)]
