"""Debug information of the framework's layer: operators, their pieces, bodies of loops, updates, transfers."""

from __future__ import annotations

from typing import Any

from simulator.frontends.captured import Body, Operator, Place, Program, Recorded
from simulator.frontends.lowering.lowered import Lowered, Settings
from tests.frontends.lowering.written_programs import Writer, lower


def records(lowered: Lowered) -> list[dict[str, Any]]:
    return lowered.graph.store.debug_infos


def operations(lowered: Lowered) -> dict[str, str]:
    """Kind by name of the outermost records of the framework."""
    found = records(lowered)
    return {
        one["name"]: one["arguments"]["opid"]
        for one in found
        if one["layer"] == "poptorch"
        and not any(found[above]["layer"] == "poptorch" for above in ancestors(found, one))
    }


def ancestors(found: list[dict[str, Any]], one: dict[str, Any]) -> list[int]:
    above = []
    while one["parentId"] >= 0:
        above.append(one["parentId"])
        one = found[one["parentId"]]
    return above


def owner(lowered: Lowered, name: str) -> str:
    """The outermost framework record above the last program, variable or compute set of that name."""
    found = records(lowered)
    (one,) = [each for each in found if each["name"] == name and each["layer"] == "poplar"][-1:]
    return next((found[above]["name"] for above in reversed(ancestors(found, one))), "")


def test_updates_and_transfers_are_operations() -> None:
    writer = Writer()
    x = writer.input("x", 4, 3)
    y = writer.linear("first", x, 2)
    program = writer.program({"y": y}, writer.mse(y, writer.input("target", 4, 2)))
    lowered, _ = lower(program, Settings(accumulation=2))
    named = operations(lowered)
    assert {
        "inputs/x/HostLoad": "HostLoad",
        "outputs/y/HostStore": "HostStore",
        "weightsFromHost/HostLoad": "HostLoad",
        "weightsToHost/HostStore": "HostStore",
        "first/weight/SGD0VarUpdate": "SGD0VarUpdate",
        "first/weight/Accumulate": "Accumulate",
        "first/MatMulGrad": "MatMulGrad",
    }.items() <= named.items()
    assert owner(lowered, "h2d_x") == "inputs/x/HostLoad"
    assert owner(lowered, "h2d_first.weight") == "weightsFromHost/HostLoad"
    assert owner(lowered, "d2h_first.weight") == "weightsToHost/HostStore"
    assert owner(lowered, "Accum___first.weight") == "first/weight/Accumulate"


def test_pieces_of_an_operator_are_named_after_it() -> None:
    writer = Writer()
    x = writer.input("x", 4)
    piece, result, again = writer.value(4), writer.value(4), writer.value(4)
    place = Place("gate")
    pieces = (
        Operator("aten.sigmoid.default", {"self": x}, (piece,), place),
        Operator("aten.mul.Tensor", {"self": x, "other": piece}, (again,), place),
    )
    whole = Operator("aten.hard_gate.default", {"self": x}, (result,), place, Recorded(pieces, (again,)))
    lowered, _ = lower(Program((), tuple(writer.inputs), (whole,), (result,), ("y",)), Settings(), training=False)
    assert {name for name in operations(lowered) if name.startswith("gate")} == {"gate/HardGate"}
    names = {one["name"] for one in records(lowered)}
    assert {"gate/HardGate/Sigmoid", "gate/HardGate/Mul"} <= names


def test_operators_of_a_loops_body_are_operations_of_their_own() -> None:
    writer = Writer()
    x = writer.input("x", 4)
    state, next_state, result = writer.value(4), writer.value(4), writer.value(4)
    step = Operator("aten.relu.default", {"self": state}, (next_state,), Place("cell"))
    body = Body((state,), (step,), (next_state,))
    loop = Operator("control.Repeat", {"initial": [x], "body": body, "count": 3}, (result,), Place("unrolled"))
    lowered, _ = lower(Program((), tuple(writer.inputs), (loop,), (result,), ("y",)), Settings(), training=False)
    named = operations(lowered)
    assert {"unrolled/Repeat": "Repeat", "cell/Relu": "Relu"}.items() <= named.items()
    assert owner(lowered, "unrolled/Repeat/state") == "unrolled/Repeat"


def test_weights_and_inputs_bear_their_own_names_wherever_they_lie() -> None:
    writer = Writer()
    y = writer.linear("first", writer.input("x", 4, 3), 2)
    lowered, _ = lower(writer.program({"y": y}, None), Settings(), training=False)
    variables = {one["name"] for one in records(lowered) if one["category"] == "variable"}
    assert {"first.weight", "first.bias", "x"} <= variables
    assert "first/MatMul/weight" not in variables
    assert owner(lowered, "first.weight") == owner(lowered, "x") == "first/MatMul"
