"""A captured function as a Poplar graph: the programs that any front end's module gets, without an optimizer's step,
which is part of the function itself."""

from __future__ import annotations

from simulator.frontends.lowering.cursor import Precision
from simulator.frontends.lowering.lowered import Lowered, Outputs, Settings
from simulator.frontends.lowering.programs import ModuleLowering
from simulator.frontends.tensorflow.capture.function import CapturedFunction
from simulator.poplar import Target


def lower_function(
    captured: CapturedFunction,
    target: Target,
    iterations: int = 1,
    outputs: Outputs = Outputs.FINAL,
    precision: Precision | None = None,
    synthetic_data: bool = False,
    replicas: int = 1,
) -> Lowered:
    """The graph and its programs; one run calls the function `iterations` times, each on inputs of its own.
    `synthetic_data` leaves out the transfers of inputs and outputs.

    Raises UnknownOperatorError."""
    precision = precision or Precision()
    settings = Settings(
        iterations=iterations,
        replicas=replicas,
        outputs=outputs,
        precision=precision,
        synthetic_data=synthetic_data,
        front_end="tensorflow",
    )
    return ModuleLowering(target, captured.program, settings).lower()
