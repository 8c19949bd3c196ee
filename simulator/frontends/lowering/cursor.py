"""The place where a rule builds: graph, program, names and settings of the operator at hand. A cursor, not a store."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from simulator.base.types import integer_limits
from simulator.frontends.captured import Body, Place
from simulator.frontends.lowering.element_types import element_type
from simulator.frontends.lowering.shards import Execution, Spot
from simulator.graph.debug_context import DebugInfo, belonging_to, created_at
from simulator.poplar import FLOAT, DebugContext, FloatingPointBehaviour, Graph, SourceLocation, Tensor, Type
from simulator.poplar import program as programs
from simulator.poplibs import popops, poputil
from simulator.poplibs.popops import expr as e


@dataclass
class Precision:
    """Arithmetic as the front end's options want it."""

    partials: str = "float"  #: of matMul and convolution on half operands: "float" or "half"
    memory_proportion: dict[int, float] = field(default_factory=dict)  #: by IPU: of a tile, for products
    stochastic_rounding: bool = False  #: of halves
    floating_point_exceptions: bool = False  #: stop where a NaN or an infinity is made
    stable_norms: bool = False  #: variances from differences to the mean, not from the mean of squares
    floating_point: FloatingPointBehaviour | None = None  #: all flags of a run; None: as the device has them
    #: PopLibs options of "convolution", "matmul" and "slice", which win over the rest
    library_options: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass
class Building:
    """Where a rule adds to. `training` is false for inference: dropout is identity there and norms use running
    statistics, whatever the module's own flag says."""

    top: Graph  #: all IPUs of a replica
    execution: Execution
    training: bool
    precision: Precision
    layer: str = "poptorch"  #: the front end in records of debug information
    is_backward: bool = False  #: whether gradients are being built
    place: Place = field(default_factory=Place)
    info: DebugInfo | None = None  #: the record of the operator at hand
    operand: str = ""  #: the name of the weight or input that is being laid out
    draws: int = 0
    parts: dict[str, DebugInfo] = field(default_factory=dict)  #: records of what is no operator of the module
    fills: dict[tuple[int, Type, float], Tensor] = field(default_factory=dict)  #: constants that operators share
    body_program: programs.Sequence | None = None  #: of the loop or branch that is being built
    around_body: DebugInfo | None = None  #: the record of that loop or branch
    streams: dict[str, Any] = field(default_factory=dict)  #: streams and host functions of operators, by their handle
    loss_scaling: float | Tensor = 1.0  #: factor of all gradients
    sends_data: bool = True  #: whether there are copies of streams
    build_body: Callable[[Body, Sequence[Tensor]], list[Tensor]] = field(init=False)  #: (body, inputs) -> outputs

    def __post_init__(self) -> None:
        self._move_to(Spot())

    def _move_to(self, spot: Spot) -> None:
        self.spot = spot  #: where the operator at hand runs
        self.graph = self.execution.graph(spot)  #: the IPU of the operator at hand
        self.program = self.execution.program(spot) if self.body_program is None else self.body_program

    @contextmanager
    def inside(self, program: programs.Sequence) -> Iterator[None]:
        """Build the operators of a body into `program`. They are operators of their own, not pieces of the loop."""
        before = self.body_program, self.around_body
        self.body_program = self.program = program
        self.around_body = self.info
        try:
            yield
        finally:
            self.body_program, self.around_body = before
            self._move_to(self.spot)

    def leave_operators(self, program: programs.Sequence) -> None:
        """Build the rest of the step, over all IPUs, into `program`."""
        self.graph, self.program = self.top, program

    @contextmanager
    def at_spot(self, spot: Spot) -> Iterator[None]:
        """Build at a spot."""
        before = self.spot
        self._move_to(spot)
        try:
            yield
        finally:
            self._move_to(before)

    @contextmanager
    def over_all_ipus(self) -> Iterator[None]:
        """Build at the spot at hand with tensors of any IPU, as the numbers of an optimizer are."""
        before, self.graph = self.graph, self.top
        try:
            yield
        finally:
            self.graph = before

    def spot_of(self, place: Place) -> Spot:
        """Where an operator of this pass runs."""
        return self.execution.spot(place, self.is_backward)

    @property
    def seed(self) -> Tensor:
        """[2] UNSIGNED_INT, of the random draws of this micro-batch, on the IPU of the operator at hand."""
        return self.execution.seed(self.spot)

    @contextmanager
    def operator(self, name: str, kind: str, place: Place, spot: Spot | None = None) -> Iterator[None]:
        """Build one operator: all that is made inside is named after it, bears its source line and lies on its IPU, or
        at `spot`."""
        with self.at_spot(self.spot_of(place) if spot is None else spot), self._named(name, kind, place):
            yield

    @contextmanager
    def _named(self, name: str, kind: str, place: Place) -> Iterator[None]:
        before = self.place, self.info
        location = SourceLocation(place.file, place.line) if place.file else None
        path = "/".join(part for part in (place.module.replace(".", "/"), kind) if part)
        with belonging_to(None):
            context = DebugContext(path, location=location)
        if self.info is not None and self.info is not self.around_body:  # a piece is named after its operator
            context = DebugContext(kind, self.info, location)
        stack = [f"{frame.file}:{frame.line} {frame.function}" for frame in place.stack]
        self.place = place
        self.info = self.top.addDebugInfo(
            context, self.layer, operator=name, module=place.module, stack=stack, opid=kind
        )
        try:
            with belonging_to(self.info), nullcontext() if location is None else created_at(location):
                yield
        finally:
            self.place, self.info = before

    @contextmanager
    def part(self, path: str, kind: str, module: str = "") -> Iterator[None]:
        """Build what is no operator of the module, such as a transfer or the update of a weight: all that is made
        inside belongs to the record "`path`/`kind`", which may be entered several times. Names stay."""
        name = f"{path}/{kind}"
        if name not in self.parts:
            self.parts[name] = self.top.addDebugInfo(name, self.layer, module=module, opid=kind)
        with belonging_to(self.parts[name]):
            yield

    def weight_part(self, weight: str, kind: str) -> AbstractContextManager[None]:
        """`part` for the weight or buffer of this name, "layer1.conv.weight"."""
        return self.part(weight.replace(".", "/"), kind, weight.rpartition(".")[0])

    @contextmanager
    def naming(self, name: str) -> Iterator[None]:
        """Give what is made inside this name, that of a weight or input whose layout the operator at hand chooses."""
        before = self.operand
        self.operand = name
        try:
            yield
        finally:
            self.operand = before

    def name(self, suffix: str = "") -> Any:
        """The debug context of something that belongs to the operator at hand."""
        return DebugContext(self.operand) if self.operand else DebugContext(suffix, self.info)

    def variable(self, dtype: str | Type, shape: Sequence[int], name: str) -> Tensor:
        """A new variable, spread over the tiles in order."""
        type_ = dtype if isinstance(dtype, Type) else element_type(dtype)
        tensor = self.graph.addVariable(type_, list(shape), self.name(name))
        poputil.map_from_hashed_tile(self.graph, tensor)
        return tensor

    def scalar(self, name: str) -> Tensor:
        """A new float32 of the program, whatever part of it is built, on tile 0."""
        number = self.top.addVariable(FLOAT, [], name)
        self.top.setTileMapping(number, 0)
        return number

    def here(self, number: Tensor) -> Tensor:
        """A number of the program as operators at the spot at hand read it: a copy on their IPU."""
        if self.spot.ipu == 0:
            return number
        copied = self.graph.addVariable(number.elementType(), list(number.shape()), self.name("number"))
        self.graph.setTileMapping(copied, 0)
        self.program.add(programs.Copy(number, copied, False, self.name("number")))
        return copied

    def constant(self, dtype: str | Type, shape: Sequence[int], values: Any, name: str = "constant") -> Tensor:
        """A constant, spread over the tiles in order. `values` is one number for all elements, or an array. Frameworks
        cut the fraction of a number that fills integers; the Graph refuses it."""
        type_ = dtype if isinstance(dtype, Type) else element_type(dtype)
        if isinstance(values, float) and math.isfinite(values) and integer_limits(type_) is not None:
            values = math.trunc(values)
        tensor = self.graph.addConstant(type_, list(shape), values, self.name(name))
        poputil.map_from_hashed_tile(self.graph, tensor)
        return tensor

    def copy(self, tensor: Tensor, name: str = "copy") -> Tensor:
        """A new tensor with the values of `tensor`, which may alias others or repeat elements."""
        return poputil.duplicate(self.graph, tensor, self.program, self.name(name))

    def cast(self, tensor: Tensor, dtype: str | Type, name: str = "cast") -> Tensor:
        """`tensor` in another element type; itself where it has that type."""
        type_ = dtype if isinstance(dtype, Type) else element_type(dtype)
        if tensor.elementType() == type_:
            return tensor
        return popops.cast(self.graph, tensor, type_, self.program, self.name(name))

    def without_loss_scaling(self, slopes: Sequence[Tensor]) -> list[Tensor]:
        """Gradients as the user's own code expects them."""
        return [self._scaled(slope, e.Divide) for slope in slopes]

    def with_loss_scaling(self, slopes: Sequence[Tensor]) -> list[Tensor]:
        """Gradients as the rest of the backward pass expects them."""
        return [self._scaled(slope, e.Mul) for slope in slopes]

    def _scaled(self, slope: Tensor, apply: Callable[[e.Expr, e.Expr], e.Expr]) -> Tensor:
        factor = self.loss_scaling
        if factor == 1.0:
            return slope
        if isinstance(factor, Tensor):
            factor = self.cast(self.here(factor), slope.elementType())
            return popops.map(self.graph, apply(e._1, e._2), [slope, factor], self.program, self.name())
        term = apply(e._1, e.Const(factor, slope.elementType()))
        return popops.map(self.graph, term, [slope], self.program, self.name())

    def product_options(self, kind: str = "matmul") -> dict[str, Any]:
        """The options of matMul, or of another kind ("convolution"), for the operator at hand."""
        options: dict[str, Any] = {"partialsType": self.precision.partials}
        proportion = self.place.annotations.get("available_memory", self.precision.memory_proportion.get(self.spot.ipu))
        if proportion is not None:
            options["availableMemoryProportion"] = proportion
        return options | dict(self.precision.library_options.get(kind, {}))

    def next_draw(self) -> int:
        """A number that no other random draw of the program uses: its seed modifier."""
        self.draws += 1
        return self.draws
