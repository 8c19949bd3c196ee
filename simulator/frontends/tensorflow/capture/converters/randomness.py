"""Random operators. Stateless ones draw from the seed that they are given, the others from the program's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulator.frontends.captured import Value
from simulator.frontends.tensorflow.capture.conversion import Call, converts
from simulator.frontends.tensorflow.capture.entries import CaptureError, Entry, Known, RandomKey

_NORMAL = {
    "RandomStandardNormal": False,
    "StatelessRandomNormal": False,
    "StatelessRandomNormalV2": False,
    "StatelessTruncatedNormal": True,
    "StatelessTruncatedNormalV2": True,
    "TruncatedNormal": True,
}


@converts("StatelessRandomGetKeyCounter")
def key_and_counter(call: Call) -> Sequence[Entry]:
    key = RandomKey(call.value(0))
    return [key, key]


@converts("StatelessRandomGetKeyCounterAlg")
def key_counter_and_algorithm(call: Call) -> Sequence[Entry]:
    key = RandomKey(call.value(0))
    return [key, key, key]


def _seed(call: Call) -> Value | None:
    """The seed of the draws; None where the operator keeps a state of its own."""
    if not call.op.type.startswith("Stateless"):
        return None
    entry = call.inputs[1]
    if isinstance(entry, RandomKey):
        return entry.seed
    if isinstance(entry, Known) and call.op.type.endswith("V2"):
        raise CaptureError(f"The key of {call.described} comes from no seed; make it by tf.random.stateless functions.")
    return call.value(1)


def _drawn(call: Call, rule: str, **numbers: Any) -> Sequence[Entry]:
    shape, dtype = list(call.result_shape()), call.device_dtype(call.result_dtype())
    return call.emit(rule, seed=_seed(call), shape=shape, dtype=dtype, **numbers)


@converts("RandomUniform", "StatelessRandomUniform", "StatelessRandomUniformV2")
def uniform(call: Call) -> Sequence[Entry]:
    return _drawn(call, "tf.RandomUniform", low=0.0, high=1.0)


@converts("RandomUniformInt", "StatelessRandomUniformInt", "StatelessRandomUniformIntV2")
def uniform_whole(call: Call) -> Sequence[Entry]:
    low, high = (int(call.known(len(call.inputs) - back)) for back in (2, 1))
    return _drawn(call, "tf.RandomUniform", low=low, high=high)


def _register_normal(type_: str, truncated: bool) -> None:
    @converts(type_)
    def convert(call: Call) -> Sequence[Entry]:
        return _drawn(call, "tf.RandomNormal", truncated=truncated)


for _type, _truncated in _NORMAL.items():
    _register_normal(_type, _truncated)
