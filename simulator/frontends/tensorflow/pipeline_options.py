"""Options of pipelines that are recorded only: checked, said on stderr, written to the report, without effect here.

docs/tensorflow.md lists them from the table.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import FunctionType
from typing import Any

import tensorflow as tf


class PipelineSchedule(Enum):
    """How stages share time. Here all are Sequential; results are the same."""

    Grouped = 0
    Interleaved = 1
    Sequential = 2


class RecomputationMode(Enum):
    """Which activations are computed again. Here none are; results are the same."""

    Auto = 0
    RecomputeThenBackpropagate = 1
    RecomputeAndBackpropagateInterleaved = 2


class PipelineStageOptions:
    """Options of Poplar for one stage; they change nothing here."""

    def __init__(self, convolution_options: Any = None, matmul_options: Any = None, slice_options: Any = None) -> None:
        """Raises TypeError for what is no dictionary."""
        options = {"convolution": convolution_options, "matmul": matmul_options, "slice": slice_options}
        for name, value in options.items():
            if value and not isinstance(value, dict):
                raise TypeError(f"PipelineStageOptions.{name}_options must be dictionary.")
        self._options = {name: value for name, value in options.items() if value}

    def __repr__(self) -> str:
        return f"PipelineStageOptions({self._options})"


@dataclass(frozen=True)
class RecordedOption:
    """The types that an option takes, beside None, and why it changes nothing."""

    types: tuple[type, ...]
    reason: str


_CHIP = "every tensor lies in tile memory"
_PLANNERS = "planners get the options of IPUConfig"
_WHOLE = "each replica has all of them"
_SUM_TYPE = "sums have the types of their gradients"
_SUM_TYPES = (tf.DType, str, FunctionType)

#: by the name of the argument
RECORDED: Mapping[str, RecordedOption] = {
    "pipeline_schedule": RecordedOption(
        (PipelineSchedule,), "stages run one after the other, as Sequential says; results are those of all schedules"
    ),
    "recomputation_mode": RecordedOption((RecomputationMode,), "every activation is kept"),
    "forward_propagation_stages_poplar_options": RecordedOption((list, tuple), _PLANNERS),
    "backward_propagation_stages_poplar_options": RecordedOption((list, tuple), _PLANNERS),
    "weight_update_poplar_options": RecordedOption((PipelineStageOptions,), _PLANNERS),
    "offload_weight_update_variables": RecordedOption((bool,), _CHIP),
    "offload_activations": RecordedOption((bool,), _CHIP),
    "offload_gradient_accumulation_buffers": RecordedOption((bool,), _CHIP),
    "offload_weights": RecordedOption((bool,), _CHIP),
    "replicated_optimizer_state_sharding": RecordedOption((bool,), _WHOLE),
    "replicated_weight_sharding": RecordedOption((bool,), _WHOLE),
    "gradient_accumulation_dtype": RecordedOption(_SUM_TYPES, _SUM_TYPE),
    "dtype": RecordedOption(_SUM_TYPES, _SUM_TYPE),
    "accumulate_outfeed": RecordedOption((bool,), "Keras gets the results of each batch"),
    "layer_replacement": RecordedOption((bool,), "layers are what Keras traces"),
    "use_v2_gradient_accumulation_optimizer": RecordedOption((bool,), "there is one way to add gradients up"),
}


def recorded(method: str, options: Mapping[str, Any]) -> dict[str, str]:
    """The options of a pipeline that are not left out, for the report; a line on stderr names each. Raises TypeError
    for options that there are not, and for values of another type."""
    found = {}
    for name, value in options.items():
        if name not in RECORDED:
            raise TypeError(f"{method} has no option {name!r}.")
        option = RECORDED[name]
        if value is not None and not isinstance(value, option.types):
            raise TypeError(_wrong_type(name, option.types, value))
        if value not in (None, False):
            print(f"popvision: {name} of {method} changes nothing here: {option.reason}.", file=sys.stderr)
            found[f"{method}.{name}"] = value.name if isinstance(value, Enum) else str(value)
    return found


def _wrong_type(name: str, types: tuple[type, ...], value: Any) -> str:
    if issubclass(types[0], Enum):
        return f"The given {name} is not a member of the {types[0].__name__} enumeration."
    return f"{name} is a {' or '.join(one.__name__ for one in types)}, but it is {value!r}."
