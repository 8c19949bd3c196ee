"""What programs of TensorFlow 1 expect of the process: graph mode, and errors of the device from `Session.run`.

Before a session runs, the programs of the device among the ancestors of what it fetches are compiled and the device is
attached, so that errors of both come without TensorFlow's own report of a failed operator.

Both are wrapped into TensorFlow once, when the first of these programs imports `tensorflow.python.ipu`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

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


#: what prepares the programs of the device, by the token of the operator
_PREPARE: dict[str, Callable[[], None]] = {}
_needed: WeakKeyDictionary[Any, dict[tuple[str, ...], list[Callable[[], None]]]] = WeakKeyDictionary()


def note_device_call(op: Any, prepare: Callable[[], None]) -> None:
    """`prepare` is called before a session runs this operator."""
    _PREPARE[op.get_attr("token").decode()] = prepare


def _prepare(graph: Any, fetches: Any, feeds: Any) -> None:
    """Prepare the programs of the device that a session needs for these fetches."""
    if not _PREPARE:
        return
    fetched, fed = _elements(graph, fetches), {one.name for one in _elements(graph, list(feeds or ()))}
    key = *sorted(one.name for one in fetched), "", *sorted(fed)
    known = _needed.setdefault(graph, {})
    if key not in known:
        known[key] = _device_calls(fetched, fed)
    for prepare in known[key]:
        prepare()


def _elements(graph: Any, given: Any) -> list[Any]:
    """The tensors and operators in a structure; the session itself refuses what is none."""
    elements = []
    for one in tf.nest.flatten(given, expand_composites=True):
        try:
            elements.append(graph.as_graph_element(one, allow_tensor=True, allow_operation=True))
        except (TypeError, ValueError, KeyError):
            continue
    return elements


def _device_calls(fetched: Sequence[Any], fed: set[str]) -> list[Callable[[], None]]:
    """What prepares the device calls among the ancestors of fetches; tensors that are fed have none."""
    ahead = [one if isinstance(one, tf.Operation) else one.op for one in fetched if one.name not in fed]
    seen = {one.name for one in ahead}
    calls = []
    while ahead:
        op = ahead.pop()
        if op.type == "PyFunc" and (prepare := _PREPARE.get(op.get_attr("token").decode())) is not None:
            calls.append(prepare)
        for before in [*(one.op for one in op.inputs if one.name not in fed), *op.control_inputs]:
            if before.name not in seen:
                seen.add(before.name)
                ahead.append(before)
    return calls


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
    def run(self: Any, fetches: Any, feed_dict: Any = None, *args: Any, **kwargs: Any) -> Any:
        _prepare(self.graph, fetches, feed_dict)
        _raised.clear()
        try:
            return original(self, fetches, feed_dict, *args, **kwargs)
        except tf.errors.UnknownError as error:
            if not _raised:
                raise
            cause = _raised.pop()
            raise type(cause)(error.node_def, error.op, cause.message) from cause

    session.BaseSession.run = run
