"""What the recurrent layers of popnn share: their options, their products by pass, and the steps of a sequence.

A layer runs its steps in one loop whose counter slices and updates sequences [steps, ...], so the program does not grow
with the number of steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Sequence as SequenceOf
from typing import Any, NamedTuple

import numpy as np

from simulator.base.errors import invalid_option
from simulator.base.types import UNSIGNED_INT, Type
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.program import Copy, Repeat, Sequence
from simulator.graph.tensor import Tensor, concat
from simulator.poplibs import popops, poputil
from simulator.poplibs.poplin.planning.cache import PlanningCache
from simulator.poplibs.poplin.products.matmul import matMul, matMulAcc
from simulator.poplibs.poplin.products.operands import (
    createMatMulInputLHS,
    createMatMulInputRHS,
    createMatMulOutput,
    preArrangeMatMulInputRHS,
)
from simulator.poplibs.popnn.nonlinearity import NonLinearityType
from simulator.poplibs.poputil.exceptions import poplibs_error

Options = Mapping[str, Any] | None
Cache = PlanningCache | None


class RecurrentOptions(NamedTuple):
    """inferenceOnly: store nothing for a backward pass. preCalcWeights: multiply the inputs of all steps by their
    weights at once, before the loop. `products` holds the options of the products."""

    inference_only: bool = False
    pre_calculate: bool = False
    products: tuple[tuple[str, Any], ...] = ()

    def forward(self) -> dict[str, Any]:
        return self.of_pass("INFERENCE_FWD" if self.inference_only else "TRAINING_FWD")

    def of_pass(self, name: str) -> dict[str, Any]:
        """The options of a product in one of the layer's passes."""
        return dict(self.products) | {"fullyConnectedPass": name}


#: functions whose gradients follow from their outputs
_OF_OUTPUT = (NonLinearityType.TANH, NonLinearityType.RELU, NonLinearityType.SIGMOID)
_FIELDS = {"inferenceOnly": "inference_only", "preCalcWeights": "pre_calculate"}
_PRODUCTS = ("partialsType", "availableMemoryProportion")


def parse_options(layer: str, truths: SequenceOf[str], options: Options) -> RecurrentOptions:
    """The options of a layer ("lstm") by name; `truths` are those that it has of inferenceOnly and preCalcWeights.
    Raises `invalid_option` for an unknown name or value."""
    fields: dict[str, Any] = {}
    products = {}
    for name, value in (options or {}).items():
        if name in _PRODUCTS:
            products[name] = value
        elif name not in truths:
            raise invalid_option(f"{layer} has no option '{name}'; it has {', '.join((*truths, *_PRODUCTS))}.")
        elif str(value).lower() not in ("true", "false"):
            raise invalid_option(f"{name} '{value}' is neither true nor false.")
        else:
            fields[_FIELDS[name]] = str(value).lower() == "true"
    return RecurrentOptions(**fields, products=tuple(products.items()))


def check_sizes(name: str, layerSizes: SequenceOf[int], batchSize: int, timeSteps: int) -> None:
    """Raises `poplibs_error`, with the name of the parameters, unless there are two sizes and all are at least 1."""
    if len(layerSizes) != 2 or min(*layerSizes, batchSize, timeSteps) < 1:
        raise poplibs_error(
            f"{name}: layerSizes {list(layerSizes)}, batchSize {batchSize} and timeSteps "
            f"{timeSteps}; layers have two sizes, and all of these must be at least 1."
        )


def check_tensors(api: str, type_: Type, tensors: Mapping[str, tuple[Tensor, list[int]]]) -> None:
    """Raises `poplibs_error` unless each tensor {name: (tensor, shape)} has its shape and the layer's type."""
    for name, (tensor, shape) in tensors.items():
        if tensor.shape() != shape or tensor.elementType() is not type_:
            raise poplibs_error(f"{api}: {name} is {tensor.elementType()}{tensor.shape()}; {type_}{shape} is needed.")


def check_functions(api: str, *functions: NonLinearityType) -> None:
    """Raises `poplibs_error` for functions whose gradients need their inputs: layers store outputs only."""
    for function in functions:
        if function not in _OF_OUTPUT:
            names = ", ".join(kind.value for kind in _OF_OUTPUT)
            raise poplibs_error(f"{api}: the gradient of {function.value} needs its input; use one of {names}.")


class RecurrentProducts:
    """The products of a layer in its passes, planned with its options."""

    def __init__(
        self, graph: Graph, type_: Type, options: RecurrentOptions, cache: PlanningCache | None, call: DebugInfo
    ) -> None:
        self.graph, self.type, self.call = graph, type_, call
        self._options, self._cache = options, cache

    def multiply(self, left: Tensor, right: Tensor, name: str, kind: str, prog: Sequence) -> Tensor:
        """The product of two matrices in a pass: "TRAINING_BWD", "TRAINING_WU", or "" for the forward pass."""
        options = self._options.of_pass(kind) if kind else self._options.forward()
        return matMul(self.graph, left, right, prog, self.type, (self.call, name), options, self._cache)

    def accumulator(self, rows: int, batch: int, columns: int, name: str, prog: Sequence) -> Tensor:
        """Zeros for gradients of weights [rows, columns], mapped like the products of batches that are added to it."""
        options = self._options.of_pass("TRAINING_WU")
        shapes = [rows, batch], [batch, columns]
        total = createMatMulOutput(self.graph, self.type, *shapes, (self.call, name), options, self._cache)
        popops.zero(self.graph, total, prog, (self.call, name))
        return total

    def accumulate(self, total: Tensor, left: Tensor, right: Tensor, name: str, prog: Sequence) -> None:
        """total += the product of two matrices, a gradient of weights."""
        options = self._options.of_pass("TRAINING_WU")
        matMulAcc(self.graph, total, 1.0, left, right, prog, (self.call, name), options, self._cache)

    def arrange(self, right: Tensor, rows: int, name: str, prog: Sequence) -> Tensor:
        """A right operand of the backward pass in the layout that its product with a left operand of `rows` rows reads,
        so that the steps of a loop need not rearrange it."""
        shape, options = [rows, right.dim(0)], self._options.of_pass("TRAINING_BWD")
        return preArrangeMatMulInputRHS(
            self.graph, shape, right, prog, self.type, (self.call, name), options, self._cache
        )


def create_input(
    graph: Graph,
    type_: Type,
    sequence: list[int],
    units_out: int,
    options: dict[str, Any],
    cache: Cache,
    call: DebugInfo,
) -> Tensor:
    """A mapped sequence [steps, batch, in]; each step has the layout that its product with weights [in, units_out]
    reads."""
    steps, batch, fan_in = sequence
    one = createMatMulInputLHS(graph, type_, [batch, fan_in], [fan_in, units_out], call, options, cache)
    return popops.createSliceableTensorFromSlice(graph, one.expand([0]), [0], [steps], call)


def create_kernel(
    graph: Graph, type_: Type, shape: list[int], batch: int, options: dict[str, Any], cache: Cache, context: Context
) -> Tensor:
    """Weights [units, in, out] in the layout that the product of [batch, in] with all units reads."""
    units, fan_in, out = shape
    flat = createMatMulInputRHS(graph, type_, [batch, fan_in], [fan_in, units * out], context, options, cache)
    return flat.reshape([fan_in, units, out]).dimShuffle([1, 0, 2])


def create_biases(graph: Graph, type_: Type, shape: list[int], context: Context) -> Tensor:
    """Biases, spread linearly over the tiles."""
    biases = graph.addVariable(type_, shape, context)
    poputil.mapTensorLinearly(graph, biases)
    return biases


def flatten_units(weights: Tensor) -> Tensor:
    """[units, rows, out] -> [rows, units * out]: weights, or gradients of units with batches as rows."""
    return weights.dimShuffle([1, 0, 2]).flatten(1, 3)


def unflatten_units(flat: Tensor, units: int) -> Tensor:
    """[rows, units * out] -> [units, rows, out]."""
    return flat.reshape([flat.dim(0), units, flat.dim(1) // units]).dimShuffle([1, 0, 2])


def align_steps(graph: Graph, sequence: Tensor, prog: Sequence, call: DebugInfo) -> Tensor:
    """The sequence itself where all its steps lie on the tiles of the first, else a copy laid out so. A slice reads on
    the tiles of the first step, so each step of the loop would move the parts of all steps that lie elsewhere."""
    begins, ends, tiles = graph.getTileMappingIntervals(sequence.flatten())
    tile_of = np.repeat(tiles, ends - begins).reshape(sequence.dim(0), -1)
    if (tile_of == tile_of[:1]).all():
        return sequence
    context = (call, "alignedSteps")
    aligned = popops.createSliceableTensor(graph, sequence.elementType(), sequence.shape(), [0], [1], 0, context)
    prog.add(Copy(sequence, aligned, False, context))
    return aligned


def loop_backwards(graph: Graph, steps: int, body: Callable[[Tensor], Sequence], call: DebugInfo) -> Sequence:
    """A program that runs the body for i = steps - 1, ..., 0. A reversed view of a sequence would not be one run of
    memory on its tiles, and each slice of it would rearrange all steps."""
    counter = graph.addVariable(UNSIGNED_INT, [1], (call, "counter"))
    last = graph.addConstant(UNSIGNED_INT, [1], steps - 1, (call, f"begin-{steps - 1}"))
    one = graph.addConstant(UNSIGNED_INT, [1], 1, (call, "step-1"))
    for tensor in (counter, last, one):
        graph.setTileMapping(tensor, 0)
    inner = Sequence([body(counter)])
    popops.subInPlace(graph, counter, one, inner, (call, "decrement"))
    return Sequence([Copy(last, counter, False, (call, "begin")), Repeat(steps, inner, call)])


def at_step(graph: Graph, sequence: Tensor, counter: Tensor, prog: Sequence, call: DebugInfo) -> Tensor:
    """The element of a sequence at the counter's index."""
    return popops.dynamicSlice(graph, sequence, counter, [0], [1], prog, (call, "step")).squeeze([0])


def put_step(
    graph: Graph,
    sequence: Tensor | None,
    value: Tensor,
    counter: Tensor,
    steps: int,
    prog: Sequence,
    call: DebugInfo,
    in_place: bool = False,
) -> Tensor:
    """Write a value into a sequence at the counter's index; returns the sequence, a new one where none is given. Each
    step of a new one is spread evenly over the tiles, so that a tile's part of all steps is one run of memory and an
    update moves one step (as PopLibs' `createOutputTensor` of popnn/Rnn.hpp). `in_place`: values are spread so already,
    and each step lies where they do."""
    one = value.expand([0])
    if sequence is None and in_place:
        sequence = popops.createSliceableTensorFromSlice(graph, one, [0], [steps], (call, "sequence"))
    if sequence is None:
        shape = [steps, *value.shape()]
        sequence = popops.createSliceableTensor(graph, value.elementType(), shape, [0], [1], 0, (call, "sequence"))
    popops.dynamicUpdate(graph, sequence, one, counter, [0], [1], prog, (call, "step"))
    return sequence


def shift_sequence(graph: Graph, sequence: Tensor, first: Tensor, prog: Sequence, call: DebugInfo) -> Tensor:
    """The sequence one step later, [first, sequence[0], ...]: views, and a copy of `first` that lies where
    sequence[0] lies, so that a dynamic slice is local (as `shiftRnnTensor` of popnn/Rnn.hpp)."""
    copied = graph.clone(sequence[0], (call, "before"))
    prog.add(Copy(first, copied, False, (call, "before")))
    return concat([copied.expand([0]), sequence.slice(0, sequence.dim(0) - 1)])
