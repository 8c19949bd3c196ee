"""`ipu_strategy`: the scope in which Keras models are made that train and infer on the IPU, and `run` for functions.

Keras models have one replica (replication). TensorFlow's own distribution strategy stays the default one within the
scope: variables are ordinary variables of the host, and the device has their newest values between calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import tensorflow as tf
from tensorflow.python.distribute import distribute_lib

import popvision.pvti as pvti
from simulator.base.errors import poplar_error
from simulator.frontends.tensorflow.keras_steps import model_scope
from simulator.frontends.tensorflow.traced_calls import TracedCalls

_DEVICE = "/device:IPU:0"
_HOST = "/device:CPU:0"
_channel = pvti.createTraceChannel("TensorFlow")


class IPUStrategy(tf.distribute.Strategy):
    """The strategy of one device, "/device:IPU:0"."""

    def __init__(
        self,
        ipu_device: str = _DEVICE,
        cpu_device: str | bool = _HOST,
        enable_dataset_iterators: bool = True,
        enable_keras_extensions: bool = True,
        add_ipu_cross_replica_reductions: bool = True,
    ) -> None:
        """The arguments of all SDKs; later ones have `add_ipu_cross_replica_reductions` as the second, which changes
        nothing: models have one replica, functions the sums that they ask for. Without `enable_dataset_iterators`
        functions take no elements of iterators. Without `enable_keras_extensions` each batch of a model is a run of its
        own, whatever its `steps_per_execution`, and the host trace has no events of Keras.

        Raises poplar_error for any other device."""
        if ipu_device != _DEVICE:
            raise poplar_error(f"There is no device {ipu_device!r}; this system has '{_DEVICE}'.")
        if isinstance(cpu_device, str) and "cpu" not in cpu_device.lower():
            raise poplar_error(f"The device {cpu_device!r} of the host is no CPU; this system has '{_HOST}'.")
        super().__init__(distribute_lib._DefaultDistributionExtended(self))
        self._takes_elements, self._has_extensions = enable_dataset_iterators, enable_keras_extensions
        self._calls: WeakKeyDictionary[Any, TracedCalls] = WeakKeyDictionary()

    @contextmanager
    def scope(self) -> Iterator[IPUStrategy]:
        """Keras models that are made within run their steps on the IPU, there and later."""
        with model_scope(self._has_extensions):
            yield self

    def run(
        self, fn: Callable[..., Any], args: Any = (), kwargs: dict[str, Any] | None = None, options: Any = None
    ) -> Any:
        """The result of `fn(*args, **kwargs)`, computed on the IPU; `fn` may be a tf.function. Within the trace of
        another function it is part of that trace.

        Raises what capture raises for operators and shapes, and tf.errors as the system does."""
        if not tf.executing_eagerly():
            return fn(*args, **(kwargs or {}))
        # The name of the class to SDK 2.x, by which the labels are known.
        with pvti.Tracepoint(_channel, "IPUStrategyV1.run"):
            return self._run(fn, args, kwargs)

    def _run(self, fn: Callable[..., Any], args: Any, kwargs: dict[str, Any] | None) -> Any:
        """What `run` does when it is called eagerly."""
        calls = self._calls.get(fn)
        if calls is None:
            traced = fn if hasattr(fn, "get_concrete_function") else tf.function(fn)
            calls = TracedCalls(lambda positional, named: traced(*positional, **named), self._takes_elements)
            self._calls[fn] = calls
        with pvti.Tracepoint(_channel, "_call_for_each_replica"):
            return calls.run_last([(tuple(args), dict(kwargs or {}))])


class IPUStrategyV1(IPUStrategy):
    """The name of the strategy in the SDKs before 3.0."""
