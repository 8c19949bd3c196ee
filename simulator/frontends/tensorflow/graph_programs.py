"""What programs of TensorFlow 1 expect of the process: graph mode, operators on `/device:IPU:0`, and errors of the
device from `Session.run`.

TensorFlow is wrapped once, when the first of these programs imports `tensorflow.python.ipu`: sessions run operators
that stand on the IPU on the device (`device_clusters`), and accept that TensorFlow itself has no such device.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import tensorflow as tf
from tensorflow.python.client import session

from simulator.base.errors import poplar_error
from simulator.frontends.tensorflow.capture.device_tracing import is_tracing_for_device
from simulator.frontends.tensorflow.device_clusters import ancestors, is_placed, replacements
from simulator.frontends.tensorflow.session_calls import error_of_the_device, forget_errors, preparations

_EAGER = (
    "popvision: operators that are called eagerly on an IPU by tf.device run on the host; IPUStrategy.run and "
    "ipu_compiler.compile run functions on the IPU."
)
#: what stands for fetches, and what prepares their programs, by the names of what is fetched and fed
_Known = dict[tuple[str, ...], tuple[dict[str, Any], list[Callable[[], None]]]]
_known: WeakKeyDictionary[Any, _Known] = WeakKeyDictionary()


def _prepared(graph: Any, fetches: Any, feeds: Any) -> dict[str, Any]:
    """What stands for elements of fetches, by their names; programs that they need are compiled and the device is
    attached."""
    fetched, fed = _elements(graph, fetches), {one.name for one in _elements(graph, list(feeds or ()))}
    key = *sorted(one.name for one in fetched), "", *sorted(fed)
    known = _known.setdefault(graph, {})
    if key not in known:
        replaced = replacements(graph, fetched, fed)
        needed = [replaced.get(one.name, one) for one in fetched]
        known[key] = replaced, preparations(ancestors(needed, fed))
    replaced, calls = known[key]
    for prepare in calls:
        prepare()
    return replaced


def _elements(graph: Any, given: Any) -> list[Any]:
    """The tensors and operators in a structure; the session itself refuses what is none."""
    found = (_element(graph, one) for one in tf.nest.flatten(given, expand_composites=True))
    return [one for one in found if one is not None]


def _element(graph: Any, given: Any) -> Any:
    try:
        return graph.as_graph_element(given, allow_tensor=True, allow_operation=True)
    except (TypeError, ValueError, KeyError):
        return None


def _replaced(graph: Any, fetches: Any, replaced: dict[str, Any]) -> Any:
    """Fetches with what stands for them."""

    def chosen(one: Any) -> Any:
        element = _element(graph, one)
        return one if element is None else replaced.get(element.name, one)

    return tf.nest.map_structure(chosen, fetches, expand_composites=True)


@functools.cache
def install() -> None:
    """Wrap `tf.compat.v1.placeholder`, sessions and `tf.device`."""
    _install_graph_mode()
    _install_devices()
    _install_sessions()


def _install_graph_mode() -> None:
    placeholder = tf.compat.v1.placeholder

    @functools.wraps(placeholder)
    def in_graph_mode(*args: Any, **kwargs: Any) -> Any:
        if tf.executing_eagerly():
            print("popvision: placeholders need graph mode, as in TensorFlow 1; it is on from here.", file=sys.stderr)
            tf.compat.v1.disable_v2_behavior()
        return placeholder(*args, **kwargs)

    tf.compat.v1.placeholder = in_graph_mode


def _install_devices() -> None:
    """Say once where a program names the IPU in eager mode, in which TensorFlow puts its operators on the host."""
    device = tf.device
    said: list[Any] = []

    @functools.wraps(device)
    def saying(device_name: Any) -> Any:
        eager = not said and "IPU:" in str(device_name) and tf.compat.v1.executing_eagerly_outside_functions()
        if eager and not is_tracing_for_device():
            said.append(device_name)
            print(_EAGER, file=sys.stderr)
        return device(device_name)

    tf.device = saying


def _install_sessions() -> None:
    cls = session.BaseSession
    first, original, callable_of, partial = cls.__init__, cls.run, cls.make_callable, cls.partial_run_setup

    @functools.wraps(first)
    def init(self: Any, target: Any = "", graph: Any = None, config: Any = None) -> None:
        soft = tf.compat.v1.ConfigProto()
        if isinstance(config, tf.compat.v1.ConfigProto):
            soft.CopyFrom(config)
        soft.allow_soft_placement = True
        first(self, target, graph, soft if config is None or isinstance(config, tf.compat.v1.ConfigProto) else config)

    @functools.wraps(original)
    def run(self: Any, fetches: Any, feed_dict: Any = None, *args: Any, **kwargs: Any) -> Any:
        replaced = _prepared(self.graph, fetches, feed_dict)
        forget_errors()
        try:
            chosen = _replaced(self.graph, fetches, replaced) if replaced else fetches
            return original(self, chosen, feed_dict, *args, **kwargs)
        except tf.errors.UnknownError as error:
            cause = error_of_the_device()
            if cause is None:
                raise
            raise type(cause)(error.node_def, error.op, cause.message) from cause

    @functools.wraps(callable_of)
    def make_callable(self: Any, fetches: Any, feed_list: Any = None, accept_options: bool = False) -> Any:
        if not _placed(self.graph, fetches, feed_list):
            return callable_of(self, fetches, feed_list, accept_options)

        def call(*values: Any, **named: Any) -> Any:
            return self.run(fetches, dict(zip(feed_list or (), values, strict=True)), **named)

        return call

    @functools.wraps(partial)
    def partial_run_setup(self: Any, fetches: Any, feeds: Any = None) -> Any:
        placed = _placed(self.graph, fetches, ())
        if placed:
            raise poplar_error(
                f"Session.partial_run does not work with '{placed[0].name}' on /device:IPU:0; fetch all by one "
                "Session.run."
            )
        return partial(self, fetches, feeds)

    cls.__init__, cls.run = init, run
    cls.make_callable, cls.partial_run_setup = make_callable, partial_run_setup


def _placed(graph: Any, fetches: Any, feeds: Any) -> Sequence[Any]:
    """The operators on the IPU that fetches need."""
    fed = {one.name for one in _elements(graph, list(feeds or ()))}
    return [one for one in ancestors(_elements(graph, fetches), fed) if is_placed(one)]
