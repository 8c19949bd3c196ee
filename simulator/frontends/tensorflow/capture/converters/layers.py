"""Layers that a trace for the device has as one operator: Keras' LSTM."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.frontends.tensorflow.capture.conversion import Call
from simulator.frontends.tensorflow.capture.device_tracing import LSTM, LSTM_GRADIENT, SAVED
from simulator.frontends.tensorflow.capture.entries import Computed, Entry

_OPERANDS = ("self", "output", "cell", "kernel", "recurrent", "bias")
_OF_GRADIENT = ("outputs", "saved", "slope", "last_output_slope", "last_cell_slope")


def layer(call: Call, implements: str) -> Sequence[Entry] | None:
    """The results of a called function that stands for a layer; None for another one."""
    if implements == LSTM:
        return _lstm(call)
    if implements == LSTM_GRADIENT:
        return _lstm_gradient(call)
    return None


def _lstm(call: Call) -> Sequence[Entry]:
    given = {name: call.value(index) for index, name in enumerate(_OPERANDS)}
    batch, steps, _ = given["self"].shape
    units, dtype = given["recurrent"].shape[0], given["self"].dtype
    shapes = [(batch, steps, units), (batch, units), (steps, SAVED, batch, units)]
    results = [call.tracer.new_value(shape, dtype) for shape in shapes]
    call.tracer.add("tf.Lstm", given, results, call.place)
    return [Computed(value, dtype) for value in results]


def _lstm_gradient(call: Call) -> Sequence[Entry]:
    given = {name: call.value(index) for index, name in enumerate((*_OPERANDS, *_OF_GRADIENT))}
    results = [call.tracer.new_value(given[name].shape, given[name].dtype) for name in _OPERANDS]
    call.tracer.add("tf.LstmGrad", given, results, call.place)
    return [Computed(value, value.dtype) for value in results]
