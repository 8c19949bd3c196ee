"""Products of matrices and the addition of biases."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.frontends.captured import Value
from simulator.frontends.tensorflow.capture.conversion import Call, converts
from simulator.frontends.tensorflow.capture.entries import CaptureError, Entry


def _transposed(call: Call, value: Value) -> Value:
    rank = len(value.shape)
    shape = [*value.shape[:-2], value.shape[-1], value.shape[-2]]
    return call.compute("aten.transpose.int", shape, value.dtype, self=value, dim0=rank - 2, dim1=rank - 1)


def _product(call: Call, turn_left: bool, turn_right: bool) -> Sequence[Entry]:
    left, right = call.value(0), call.value(1)
    if turn_left:
        left = _transposed(call, left)
    if turn_right:
        right = _transposed(call, right)
    return call.emit("tf.MatMul", self=left, other=right)


@converts("MatMul")
def mat_mul(call: Call) -> Sequence[Entry]:
    return _product(call, bool(call.attribute("transpose_a")), bool(call.attribute("transpose_b")))


@converts("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def batch_mat_mul(call: Call) -> Sequence[Entry]:
    return _product(call, bool(call.attribute("adj_x")), bool(call.attribute("adj_y")))


@converts("Einsum")
def einsum(call: Call) -> Sequence[Entry]:
    equation = call.attribute("equation").decode().replace(" ", "")
    operands, _, result = equation.partition("->")
    names = operands.split(",")
    if "." in equation or any(len(set(one)) != len(one) for one in [*names, result]):
        raise CaptureError(
            f"The equation {equation!r} of {call.described} has an ellipsis or a diagonal; write it out."
        )
    return call.emit(
        "tf.Einsum", tensors=[call.value(index) for index in range(len(names))], names=names, result=result
    )


@converts("BiasAdd")
def bias_add(call: Call) -> Sequence[Entry]:
    return call.emit("tf.BiasAdd", self=call.value(0), bias=call.value(1), axis=_channels(call))


@converts("BiasAddGrad")
def bias_add_grad(call: Call) -> Sequence[Entry]:
    rank = len(call.shape(0))
    dims = [dim for dim in range(rank) if dim != _channels(call) % rank]
    return call.emit("tf.BiasAddGrad", self=call.value(0), dims=dims)


def _channels(call: Call) -> int:
    return 1 if call.attribute("data_format") == b"NCHW" else -1
