"""What programs of TensorFlow 1 expect of the process: graph mode, and errors of the device from `Session.run`.

Both are wrapped into TensorFlow once, when the first of these programs imports `tensorflow.python.ipu`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.python.client import session

_raised: list[tf.errors.OpError] = []


def keeping_errors(run: Callable[..., Any]) -> Callable[..., Any]:
    """A function for `tf.numpy_function`, whose errors `Session.run` raises as they are: TensorFlow itself would make
    UnknownError of them all."""

    def wrapped(*arguments: Any) -> Any:
        try:
            return run(*arguments)
        except tf.errors.OpError as error:
            _raised.append(error)
            raise type(error)(None, None, error.message) from None  # TensorFlow logs all that led to it

    return wrapped


@functools.cache
def install() -> None:
    """Wrap `tf.compat.v1.placeholder` and `Session.run`."""
    placeholder = tf.compat.v1.placeholder

    @functools.wraps(placeholder)
    def in_graph_mode(*args: Any, **kwargs: Any) -> Any:
        if tf.executing_eagerly():
            print("popvision: placeholders need graph mode, as in TensorFlow 1; it is on from here.", file=sys.stderr)
            tf.compat.v1.disable_v2_behavior()
        return placeholder(*args, **kwargs)

    tf.compat.v1.placeholder = in_graph_mode
    original = session.BaseSession.run

    @functools.wraps(original)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        _raised.clear()
        try:
            return original(self, *args, **kwargs)
        except tf.errors.UnknownError as error:
            if not _raised:
                raise
            cause = _raised.pop()
            raise type(cause)(error.node_def, error.op, cause.message) from cause

    session.BaseSession.run = run
