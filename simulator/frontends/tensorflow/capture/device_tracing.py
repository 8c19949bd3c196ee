"""What changes in Keras while a function is traced for the device.

Keras' LSTM asks its backend for a whole layer; here it gets one operator, with the gradient as another, which the
capture recognises by the name of what they implement. Gradients of embeddings become dense, since the rows of a sparse
one depend on data. Operators are named after their layers, without the numbers that TensorFlow adds to scopes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import record

#: names of what functions implement
LSTM, LSTM_GRADIENT = "popnn.lstm", "popnn.lstm_grad"
#: intermediate values of popnn's LSTM for each step
SAVED = 6


_depth = [0]


def is_tracing_for_device() -> bool:
    """Whether a function is traced for the device now."""
    return _depth[0] > 0


@contextmanager
def device_tracing() -> Iterator[None]:
    """Trace functions for the device inside: Keras' LSTM layers and the gradients of its embeddings are as the device
    wants them."""
    from keras.src import backend
    from keras.src.backend.tensorflow import core
    from keras.src.optimizers import base_optimizer

    optimizer, scope = base_optimizer.BaseOptimizer, core.name_scope
    before = backend.lstm, optimizer.apply, scope.__enter__
    backend.lstm, optimizer.apply = _lstm_for(backend.lstm), _dense_apply(optimizer.apply)
    scope.__enter__ = _entered_again(scope.__enter__)
    _depth[0] += 1
    try:
        yield
    finally:
        _depth[0] -= 1
        backend.lstm, optimizer.apply, scope.__enter__ = before


def _entered_again(original: Callable[..., Any]) -> Callable[..., Any]:
    """Keras opens the scope of a layer several times; TensorFlow would number the later ones."""

    def enter(self: Any) -> Any:
        outer = tf.get_current_name_scope()
        self._tf_name_scope = tf.name_scope(f"{outer}/{self.name}/" if outer else f"{self.name}/")
        return original(self)

    return enter


def _dense_apply(original: Callable[..., Any]) -> Callable[..., Any]:
    def apply(self: Any, grads: Any, trainable_variables: Any = None) -> Any:
        dense = [tf.convert_to_tensor(one) if isinstance(one, tf.IndexedSlices) else one for one in grads]
        return original(self, dense, trainable_variables)

    return apply


def _lstm_for(original: Callable[..., Any]) -> Callable[..., Any]:
    """Keras' interface of a whole LSTM layer: (last output, outputs, [last output, last cell state])."""

    def lstm(
        inputs: Any,
        initial_state_h: Any,
        initial_state_c: Any,
        mask: Any,
        kernel: Any,
        recurrent_kernel: Any,
        bias: Any,
        activation: Any,
        recurrent_activation: Any,
        return_sequences: bool = False,
        go_backwards: bool = False,
        unroll: bool = False,
        time_major: bool = False,
    ) -> Any:
        names = getattr(activation, "__name__", ""), getattr(recurrent_activation, "__name__", "")
        if mask is not None or unroll or time_major or bias is None or names != ("tanh", "sigmoid"):
            arguments = (inputs, initial_state_h, initial_state_c, mask, kernel, recurrent_kernel, bias)
            rest = (activation, recurrent_activation, return_sequences, go_backwards, unroll, time_major)
            return original(*arguments, *rest)
        weights = [tf.convert_to_tensor(one) for one in (kernel, recurrent_kernel, bias)]
        given = tf.reverse(inputs, [1]) if go_backwards else inputs
        outputs, last, cell = _layer(given, initial_state_h, initial_state_c, *weights)
        return last, outputs if return_sequences else last[:, None, :], [last, cell]

    return lstm


@tf.custom_gradient
def _layer(x: Any, output: Any, cell: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
    with record.stop_recording():
        outputs, last, saved = _forward(x, output, cell, kernel, recurrent, bias)

    def gradient(slope: Any, last_output_slope: Any, last_cell_slope: Any) -> Any:
        given = (x, output, cell, kernel, recurrent, bias, outputs, saved)
        return _backward(*given, slope, last_output_slope, last_cell_slope)

    return (outputs, outputs[:, -1, :], last), gradient


@tf.function(experimental_implements=LSTM)
def _forward(x: Any, output: Any, cell: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
    """A stand-in with the shapes of the results; the device runs popnn's LSTM."""
    steps = tf.shape(x)[1]
    outputs = tf.zeros([1, steps, 1], x.dtype) + output[:, None, :]
    saved = tf.zeros([steps, SAVED, 1, 1], x.dtype) + output[None, None]
    return outputs, cell + 0.0, saved


@tf.function(experimental_implements=LSTM_GRADIENT)
def _backward(
    x: Any,
    output: Any,
    cell: Any,
    kernel: Any,
    recurrent: Any,
    bias: Any,
    outputs: Any,
    saved: Any,
    slope: Any,
    last_output_slope: Any,
    last_cell_slope: Any,
) -> Any:
    return x + 0.0, output + 0.0, cell + 0.0, kernel + 0.0, recurrent + 0.0, bias + 0.0
