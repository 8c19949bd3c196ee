"""The interface of a program as JSON, for executables on disk: plain dictionaries, each value checked when read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from simulator.base.errors import file_load_error
from simulator.frontends.lowering.cursor import Precision
from simulator.frontends.lowering.lowered import (
    Interface,
    Observed,
    Outputs,
    OutputStream,
    Settings,
    Stream,
    StreamPair,
)
from simulator.poplibs.gcl import CommGroup, CommGroupType


def to_json(interface: Interface) -> bytes:
    return orjson.dumps(
        {
            "settings": _settings(interface.settings),
            "inputs": _each(interface.inputs, _stream),
            "outputs": [_output(one) for one in interface.outputs],
            "observed": _each(interface.observed, _output),
            "weights": _each(interface.weights, _pair),
            "states": _each(interface.states, _pair),
            "rates": _each(interface.rates, _stream),
            "seed": _pair(interface.seed),
            "first_values": dict(interface.first_values),
            "tensor_names": list(interface.tensor_names),
            "written_inputs": _each(interface.written_inputs, _output),
        }
    )


def from_json(text: bytes) -> Interface:
    """What `to_json` wrote. Raises file_load_error for anything else."""
    try:
        given = orjson.loads(text)
        return Interface(
            _read_settings(given["settings"]),
            _each(given["inputs"], _read_stream),
            tuple(_read_output(one) for one in given["outputs"]),
            _each(given["observed"], _read_output),
            _each(given["weights"], _read_pair),
            _each(given["states"], _read_pair),
            _each(given["rates"], _read_stream),
            _read_pair(given["seed"]),
            {str(name): float(value) for name, value in given["first_values"].items()},
            tuple(str(name) for name in given["tensor_names"]),
            _each(given["written_inputs"], _read_output),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise file_load_error(f"The streams of an executable cannot be read ({error}).") from error


def _each(values: Mapping[str, Any], convert: Any) -> dict[str, Any]:
    return {str(name): convert(value) for name, value in values.items()}


def _stream(one: Stream) -> list[Any]:
    return [one.handle, list(one.shape), one.dtype]


def _read_stream(given: Any) -> Stream:
    handle, shape, dtype = given
    return Stream(str(handle), tuple(int(size) for size in shape), str(dtype))


def _pair(one: StreamPair) -> list[Any]:
    return [_stream(one.from_host), _stream(one.to_host)]


def _read_pair(given: Any) -> StreamPair:
    first, second = given
    return StreamPair(_read_stream(first), _read_stream(second))


def _output(one: OutputStream) -> list[Any]:
    return [_stream(one.stream), one.transfers]


def _read_output(given: Any) -> OutputStream:
    stream, transfers = given
    return OutputStream(_read_stream(stream), int(transfers))


def _settings(one: Settings) -> dict[str, Any]:
    values = dict(vars(one))
    values["outputs"] = one.outputs.value
    values["precision"] = [
        one.precision.partials,
        {str(ipu): share for ipu, share in one.precision.memory_proportion.items()},
    ]
    values["weight_groups"] = {
        name: [group.type.value, group.replicaGroupSize] for name, group in one.weight_groups.items()
    }
    values["observed"] = [[each.handle, each.tensor, each.outputs.value, each.period] for each in one.observed]
    return values


def _read_settings(given: Any) -> Settings:
    partials, proportions = given.pop("precision")
    observed = tuple(
        Observed(str(handle), str(tensor), Outputs(outputs), int(period))
        for handle, tensor, outputs, period in given.pop("observed")
    )
    groups = {
        str(name): CommGroup(CommGroupType(kind), int(size))
        for name, (kind, size) in given.pop("weight_groups").items()
    }
    precision = Precision(str(partials), {int(ipu): float(share) for ipu, share in proportions.items()})
    outputs = Outputs(given.pop("outputs"))
    return Settings(outputs=outputs, precision=precision, observed=observed, weight_groups=groups, **given)
