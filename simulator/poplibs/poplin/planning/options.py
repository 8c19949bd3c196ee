"""The options of matMul and of convolutions under PopLibs' names. An unknown option is an error."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from simulator.base.errors import invalid_option
from simulator.base.target import Target
from simulator.base.types import FLOAT, HALF, Type
from simulator.poplibs.poplin.planning.canonical_params import Dtype
from simulator.poplibs.poplin.planning.machine import DEFAULT_PROPORTION, Machine
from simulator.poplibs.poplin.planning.methods import METHODS
from simulator.poplibs.poplin.planning.product_planner import FREE, Constraints

PASSES = ("NONE", "INFERENCE_FWD", "TRAINING_FWD", "TRAINING_BWD", "TRAINING_WU")

#: environment variable that makes each product print its plan to stderr
SHOW_PLANS = "POPVISION_PLAN"


class MatMulOptions(NamedTuple):
    """The options, under PopLibs' names:

    - availableMemoryProportion: part of a tile's memory that operands and partial sums may take while the product runs.
    - partialsType: type of the partial sums of halves.
    - fullyConnectedPass: NONE counts regrouping the result for the next product. The others count copying weights into
      slices before serial passes; TRAINING_BWD counts rearranging the input, TRAINING_WU input and result. The three
      passes have no joint plan.
    - use128BitConvUnitLoad: AMP loads its weights at 16 bytes a cycle, from interleaved memory, instead of 8.
    - inputRHSIsPreArranged: the right operand comes from preArrangeMatMulInputRHS; others are refused.
    - enableMultiStageReduce: partial sums 16 deep or more are added in stages.
    - enableFastReduce: where possible, sums received by exchange form one block of interleaved memory and are added
      twice as fast.
    - planConstraints: JSON with "method" and, under "0", "partition" (fieldSplit, inChanSplit, outChanSplit,
      convGroupSplit) and "transform" (swapOperands)."""

    memory_proportion: float = DEFAULT_PROPORTION
    partials: Dtype = "float"
    fully_connected_pass: str = "NONE"
    wide_weight_load: bool = False
    multi_stage_reduce: bool = True
    fast_reduce: bool = False
    constraints: Constraints = FREE
    rhs_arranged: bool = False

    def machine(self, target: Target) -> Machine:
        """The machine of a target under these options."""
        return Machine(
            tiles=target.getNumTiles(),
            bytes_per_tile=target.getBytesPerTile(),
            units_half=target.getNumConvUnits(HALF, HALF),
            units_half_to_float=target.getNumConvUnits(HALF, FLOAT),
            units_float=target.getNumConvUnits(FLOAT, FLOAT),
            exchange_rate=target.getExchangeBytesPerCycle(),
            tiles_per_bus=target.getTilesPerSharedExchangeBus(),
            sync_cycles=target.getMinIPUSyncDelay(),
            memory_proportion=self.memory_proportion,
            wide_weight_load=self.wide_weight_load,
            multi_stage_reduce=self.multi_stage_reduce,
            fast_reduce=self.fast_reduce,
            fully_connected_pass=self.fully_connected_pass,
        )


def parse_options(given: Mapping[str, Any] | None) -> MatMulOptions:
    """The options of products by name. Raises `invalid_option` for an unknown name or value."""
    return _parsed("matMul", _MATMUL_OPTIONS, given)


def parse_convolution_options(given: Mapping[str, Any] | None) -> MatMulOptions:
    """The options of convolutions: those of products, with `pass` instead of `fullyConnectedPass`. FC_INFERENCE_FWD,
    FC_TRAINING_FWD, FC_TRAINING_BWD and FC_TRAINING_WU plan a fully connected layer; any other pass plans an ordinary
    convolution."""
    return _parsed("convolution", _CONVOLUTION_OPTIONS, given)


def _parsed(api: str, known: Mapping[str, Any], given: Mapping[str, Any] | None) -> MatMulOptions:
    fields: dict[str, Any] = {}
    for name, value in (given or {}).items():
        if name not in known:
            raise invalid_option(f"{api} has no option '{name}'; it has {', '.join(known)}.")
        field, read = known[name]
        fields[field] = read(name, value)
    return MatMulOptions(**fields)


def shows_plans() -> bool:
    """Whether the environment variable POPVISION_PLAN is set."""
    return os.environ.get(SHOW_PLANS, "") not in ("", "0", "false")


def _proportion(name: str, value: Any) -> float:
    try:
        proportion = float(value)
    except (TypeError, ValueError):
        proportion = -1.0
    if not 0 <= proportion <= 1:
        raise invalid_option(f"{name} '{value}' is not a number between 0 and 1.")
    return proportion


def _truth(name: str, value: Any) -> bool:
    text = str(value).lower()
    if text not in ("true", "false"):
        raise invalid_option(f"{name} '{value}' is neither true nor false.")
    return text == "true"


def _partials(name: str, value: Any) -> str:
    text = str(value).lower() if isinstance(value, Type) else str(value)
    if text not in ("half", "float"):
        raise invalid_option(f"{name} '{value}' is neither half nor float.")
    return text


def _pass(name: str, value: Any) -> str:
    if value not in PASSES:
        raise invalid_option(f"{name} '{value}' is not one of {', '.join(PASSES)}.")
    return str(value)


def _convolution_pass(name: str, value: Any) -> str:
    connected = [f"FC_{kind}" for kind in PASSES[1:]]
    if value not in (*PASSES, *connected):
        raise invalid_option(f"{name} '{value}' is not one of {', '.join((*PASSES, *connected))}.")
    return str(value).removeprefix("FC_") if value in connected else "NONE"


def _constraints(name: str, value: Any) -> Constraints:
    try:
        plan = json.loads(value) if isinstance(value, str) else dict(value)
    except (ValueError, TypeError):
        raise invalid_option(f"{name} '{value}' is not a JSON object.") from None
    found: dict[str, Any] = {}
    for path, leaf in _leaves(plan):
        key = _CONSTRAINTS.get(path)
        if key is None:
            raise invalid_option(f"{name} has no '{path}'; it has {', '.join(_CONSTRAINTS)}.")
        if key == "method" and leaf not in METHODS:
            raise invalid_option(f"{name}: method '{leaf}' is not one of {', '.join(METHODS)}.")
        if key not in ("method", "swapped") and (type(leaf) is not int or leaf < 1):
            raise invalid_option(f"{name}: '{path}' is {leaf!r}; it must be a whole number of at least 1.")
        found[key] = leaf
    return Constraints(**found)


_CONSTRAINTS = {
    "method": "method",
    "0.transform.swapOperands": "swapped",
    "0.partition.convGroupSplit": "group_split",
    "0.partition.fieldSplit.0": "field_split",
    "0.partition.inChanSplit.parallel": "in_split",
    "0.partition.inChanSplit.serial": "in_passes",
    "0.partition.outChanSplit.parallel": "out_split",
    "0.partition.outChanSplit.serial": "out_passes",
}


def _leaves(tree: Any, path: str = "") -> list[tuple[str, Any]]:
    if not isinstance(tree, dict):
        return [(path, tree)]
    return [leaf for key, value in tree.items() for leaf in _leaves(value, f"{path}.{key}" if path else str(key))]


_COMMON_OPTIONS: dict[str, tuple[str, Callable[[str, Any], Any]]] = {
    "availableMemoryProportion": ("memory_proportion", _proportion),
    "partialsType": ("partials", _partials),
    "use128BitConvUnitLoad": ("wide_weight_load", _truth),
    "enableMultiStageReduce": ("multi_stage_reduce", _truth),
    "enableFastReduce": ("fast_reduce", _truth),
    "planConstraints": ("constraints", _constraints),
}
_MATMUL_OPTIONS = {
    **_COMMON_OPTIONS,
    "fullyConnectedPass": ("fully_connected_pass", _pass),
    "inputRHSIsPreArranged": ("rhs_arranged", _truth),
}
_CONVOLUTION_OPTIONS = {**_COMMON_OPTIONS, "pass": ("fully_connected_pass", _convolution_pass)}
