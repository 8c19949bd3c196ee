"""Captured programs written by hand, so that lowering is tested without torch: multi-layer perceptrons whose layers lie
on IPUs and stages of choice, and a run of a lowered program with weights and inputs from a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import simulator.frontends.lowering  # noqa: F401  # registers the rules
from popvision.pva.report import Report
from simulator.arrays import AnyArray
from simulator.frontends.captured import Input, Operator, Place, Program, Recorded, Value, Weight, WeightKind
from simulator.frontends.lowering.lowered import Lowered, Settings
from simulator.frontends.lowering.programs import ModuleLowering
from simulator.frontends.session.device_program import DeviceProgram
from simulator.poplar import Device, IPUModel, Tensor, compileGraph
from tests.frontends.sgd_without_state import sgd_without_state

TILES = 8


@dataclass
class Writer:
    """Operators in order; `at` is the block of the next ones: (stage, IPU) or None outside any block."""

    weights: list[Weight] = field(default_factory=list)
    inputs: list[Input] = field(default_factory=list)
    operators: list[Operator] = field(default_factory=list)
    at: tuple[int, int] | None = None
    module: str = ""
    values: int = 0

    def value(self, *shape: int, dtype: str = "float32") -> Value:
        self.values += 1
        return Value(self.values, shape, dtype)

    def weight(self, name: str, *shape: int) -> Value:
        made = self.value(*shape)
        self.weights.append(Weight(name, made, WeightKind.PARAMETER, trained=True))
        return made

    def input(self, name: str, *shape: int) -> Value:
        made = self.value(*shape)
        self.inputs.append(Input(name, made))
        return made

    def add(self, name: str, result: Sequence[int], **arguments: Any) -> Value:
        made = self.value(*result)
        annotations: dict[str, Any] = {}
        if self.at is not None:
            annotations = {"ipu_block": f"block{self.at[0]}", "ipu_stage": self.at[0], "ipu": self.at[1]}
        arguments = {"self" if key == "this" else key: value for key, value in arguments.items()}
        self.operators.append(Operator(name, arguments, (made,), Place(self.module, annotations=annotations)))
        return made

    def linear(self, module: str, x: Value, out: int) -> Value:
        self.module = module
        weight, bias = self.weight(f"{module}.weight", out, x.shape[-1]), self.weight(f"{module}.bias", out)
        return self.add("aten.linear.default", (*x.shape[:-1], out), input=x, weight=weight, bias=bias)

    def relu(self, x: Value) -> Value:
        return self.add("aten.relu.default", x.shape, this=x)

    def dropout(self, x: Value, p: float) -> Value:
        return self.add("aten.dropout.default", x.shape, input=x, p=p, train=True)

    def mse(self, x: Value, target: Value) -> Value:
        self.module = "loss"
        return self.add("aten.mse_loss.default", (), this=x, target=target, reduction=1)

    def program(self, outputs: Mapping[str, Value], loss: Value | None) -> Program:
        return Program(
            tuple(self.weights),
            tuple(self.inputs),
            tuple(self.operators),
            tuple(outputs.values()),
            tuple(outputs),
            loss=loss,
        )

    def product(self, a: Value, b: Value) -> Value:
        """a * b, recorded in pieces as the front ends record operators whose rules have no backward."""

        def piece(left: Value, right: Value, place: Place) -> Operator:
            return Operator("aten.mul.Tensor", {"self": left, "other": right}, (self.value(*a.shape),), place)

        made = self.add("aten.mul.Tensor", a.shape, this=a, other=b)
        whole, slope = self.operators[-1], self.value(*a.shape)
        forward = piece(a, b, Place())
        backward = piece(slope, b, Place()), piece(slope, a, Place())
        recorded = Recorded(
            (forward,),
            forward.results,
            backward,
            (slope,),
            ((a, backward[0].results[0]), (b, backward[1].results[0])),
        )
        self.operators[-1] = replace(whole, recorded=recorded)
        return made


Blocks = Sequence[tuple[int, int] | None]
UNPLACED: Blocks = (None, None, None)
SIZES = (12, 16, 10, 7)


def perceptron(blocks: Blocks = UNPLACED, batch: int = 4, training: bool = True, drop: float = 0.0) -> Program:
    """Three layers with ReLU, and dropout if any, between them, and the mean squared error of their result."""
    write = Writer()
    y, target = write.input("x", batch, SIZES[0]), write.input("target", batch, SIZES[-1])
    for number, block in enumerate(blocks):
        write.at = block
        y = write.linear(f"layer{number}", y, SIZES[number + 1])
        if number < 2:
            y = write.relu(y)
            if drop:
                y = write.dropout(y, drop)
    return _finished(write, y, target, training)


def tied_network(blocks: Blocks = UNPLACED, batch: int = 4, training: bool = True) -> Program:
    """Three blocks; the last one reads the results of both others and the weight of the first."""
    write = Writer()
    x, target = write.input("x", batch, 12), write.input("target", batch, 12)
    write.at = blocks[0]
    first = write.relu(write.linear("layer0", x, 12))
    write.at = blocks[1]
    second = write.relu(write.linear("layer1", first, 12))
    write.at = blocks[2]
    write.module = "similarity"
    similar = write.add("aten.linear.default", (batch, batch), input=second, weight=first, bias=None)
    y = write.product(write.linear("layer2", similar, 12), first)
    shared, bias = write.weights[0].value, write.weight("tied.bias", 12)
    y = write.add("aten.linear.default", (batch, 12), input=y, weight=shared, bias=bias)
    return _finished(write, y, target, training)


def _finished(write: Writer, y: Value, target: Value, training: bool) -> Program:
    if training:
        loss = write.mse(y, target)
        return write.program({"y": y, "loss": loss}, loss)
    write.inputs = [one for one in write.inputs if one.value is not target]
    return write.program({"y": y}, None)


@dataclass(frozen=True)
class Result:
    """What one run gives. `cycles` are those of the main program."""

    outputs: dict[str, AnyArray]
    weights: dict[str, AnyArray]
    cycles: int
    lowered: Lowered
    report: Report | None = None  #: where the options ask for one


def lower(program: Program, settings: Settings, ipus: int = 1, training: bool = True) -> tuple[Lowered, Device]:
    model = IPUModel()
    model.numIPUs, model.tilesPerIPU = ipus * settings.replicas, TILES
    device = model.createDevice()
    update = sgd_without_state(0.05) if training else None
    return ModuleLowering(device.getTarget(), program, settings, update).lower(), device


def run(
    program: Program,
    settings: Settings,
    ipus: int = 1,
    training: bool = True,
    options: Mapping[str, str] | None = None,
) -> Result:
    """Run twice, with weights and inputs that depend on their names and places only. Replicas take micro-batches in
    turns."""
    lowered, device = lower(program, settings, ipus, training)
    options = options or {}
    executable = compileGraph(lowered.graph, list(lowered.programs), options)
    session = DeviceProgram(executable, lowered.interface, options)
    session.load(device)
    rng = np.random.default_rng(3)
    session.send_weights(
        {name: rng.normal(0, 0.25, pair.from_host.shape) for name, pair in sorted(lowered.interface.weights.items())}
    )
    session.send_seed(11)
    outputs: dict[str, list[AnyArray]] = {}
    cycles = 0
    for _ in range(2):
        for name in lowered.interface.inputs:
            buffer = session.input(name)
            buffer[...] = rng.normal(0, 1, buffer.size).reshape(buffer.shape)
        before = session.engine.getTimeStamp()
        results = session.run("main")
        cycles = session.engine.getTimeStamp().device_cycles - before.device_cycles
        for one, values in zip(lowered.interface.outputs, results, strict=True):
            outputs.setdefault(one.stream.handle, []).append(values.copy())
        for name in lowered.interface.observed:
            outputs.setdefault(name, []).append(session.observed(name).copy())
    weights = {name: values.copy() for name, values in session.fetch_weights().items()}
    weights["randomSeed"] = np.array(session.fetch_seed())
    report = session.engine.getReport() if "autoReport.all" in options else None
    joined = {name: np.concatenate(parts) for name, parts in outputs.items()}
    session.close()
    return Result(joined, weights, cycles, lowered, report)


def assert_equal(one: Result, other: Result) -> None:
    """Outputs and weights, to the last bit."""
    for given, expected in ((one.outputs, other.outputs), (one.weights, other.weights)):
        assert set(given) == set(expected)
        for name, values in expected.items():
            np.testing.assert_array_equal(given[name], values, err_msg=name)


def ipus_of_tensor(lowered: Lowered, tensor: Tensor) -> set[int]:
    """The IPUs that hold elements of a tensor."""
    mapping = lowered.graph.getTileMapping(tensor)
    return {tile // TILES for tile, intervals in enumerate(mapping) if intervals}
