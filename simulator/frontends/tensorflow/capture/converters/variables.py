"""Variables: reads see what was assigned before, and updates of optimisers give new values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from simulator.frontends.captured import Value
from simulator.frontends.tensorflow.capture.conversion import Call, converts
from simulator.frontends.tensorflow.capture.entries import Computed, Entry, Known, Variable


@converts("ReadVariableOp", eager=True)
def read(call: Call) -> Entry:
    variable = call.variable()
    return Computed(variable.current, variable.dtype)


@converts("VariableShape", eager=True)
def shape_of(call: Call) -> Entry:
    return Known(np.array(call.variable().value.shape, call.op.outputs[0].dtype.as_numpy_dtype))


@converts("VarIsInitializedOp", eager=True)
def is_initialized(call: Call) -> Entry:
    return Known(np.array(True))


def assign(variable: Variable, value: Value) -> list[Entry]:
    """Later reads give the value."""
    variable.current, variable.is_written = value, True
    return []


@converts("AssignVariableOp", eager=True)
def assign_variable(call: Call) -> Sequence[Entry]:
    return assign(call.variable(), call.value(1))


@converts("AssignAddVariableOp", "AssignSubVariableOp", eager=True)
def assign_change(call: Call) -> Sequence[Entry]:
    variable = call.variable()
    adds = call.op.type == "AssignAddVariableOp"
    before = variable.current
    after = call.compute(
        "aten.add.Tensor" if adds else "aten.sub.Tensor",
        before.shape,
        variable.dtype,
        self=before,
        other=call.operand(1),
    )
    return assign(variable, after)


def _updated(call: Call, rule: str, variables: Sequence[Variable], /, **arguments: Any) -> list[Entry]:
    """New values of several variables by one rule: the first is the trained one, the others are its states."""
    before = [one.current for one in variables]
    results = [call.tracer.new_value(one.shape, one.dtype) for one in before]
    call.tracer.add(rule, {"variables": before, **arguments}, results, call.place)
    for variable, result in zip(variables, results, strict=True):
        assign(variable, result)
    return []


@converts("ResourceApplyGradientDescent", eager=True)
def apply_gradient_descent(call: Call) -> Sequence[Entry]:
    return _updated(call, "tf.ApplyGradientDescent", [call.variable()], rate=call.operand(1), slope=call.value(2))


@converts("ResourceApplyMomentum", "ResourceApplyKerasMomentum", eager=True)
def apply_momentum(call: Call) -> Sequence[Entry]:
    return _updated(
        call,
        "tf.ApplyMomentum",
        [call.variable(0), call.variable(1)],
        rate=call.operand(2),
        slope=call.value(3),
        momentum=call.operand(4),
        nesterov=bool(call.attribute("use_nesterov")),
        keras=call.op.type == "ResourceApplyKerasMomentum",
    )


@converts("ResourceApplyAdam", eager=True)
def apply_adam(call: Call) -> Sequence[Entry]:
    names = ("beta1_power", "beta2_power", "rate", "beta1", "beta2", "epsilon")
    numbers: dict[str, Any] = {name: call.operand(3 + index) for index, name in enumerate(names)}
    return _updated(
        call,
        "tf.ApplyAdam",
        [call.variable(0), call.variable(1), call.variable(2)],
        **numbers,
        slope=call.value(9),
        nesterov=bool(call.attribute("use_nesterov")),
    )


@converts("ResourceApplyRMSProp", eager=True)
def apply_rms_prop(call: Call) -> Sequence[Entry]:
    names = ("rate", "rho", "momentum", "epsilon")
    numbers: dict[str, Any] = {name: call.operand(3 + index) for index, name in enumerate(names)}
    return _updated(
        call,
        "tf.ApplyRMSProp",
        [call.variable(0), call.variable(1), call.variable(2)],
        **numbers,
        slope=call.value(7),
    )


@converts("ResourceScatterAdd", "ResourceScatterSub", "ResourceScatterUpdate", eager=True)
def scatter(call: Call) -> Sequence[Entry]:
    """Rows of a variable by index: added to, taken from or replaced."""
    variable = call.variable()
    before, index, updates = variable.current, call.value(1), call.value(2)
    if call.op.type == "ResourceScatterUpdate":
        name, extra = "aten.index_copy.default", {}
    else:
        name, extra = "aten.index_add.default", {"alpha": 1 if call.op.type == "ResourceScatterAdd" else -1}
    count = 1
    for size in index.shape:
        count *= size
    flat = call.compute("aten.view.default", [count], index.dtype, self=index, size=[count])
    rows = [count, *before.shape[1:]]
    source = call.compute("aten.view.default", rows, before.dtype, self=updates, size=rows)
    after = call.compute(name, before.shape, variable.dtype, self=before, dim=0, index=flat, source=source, **extra)
    return assign(variable, after)
