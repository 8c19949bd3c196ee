"""Both sides of one step in one precision: the device's, eager torch's, and where they part."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from simulator.frontends.capture.operators import is_users
from simulator.frontends.captured import Operator, Program, Value, operators_within
from simulator.frontends.poptorch.beside_torch import comparison
from simulator.frontends.poptorch.beside_torch.calls import CALL, CallNumbers, CapturedCalls, watching
from simulator.frontends.poptorch.beside_torch.comparison import HALF_SHARE, CallResults, Difference, Pair
from simulator.frontends.poptorch.beside_torch.device_step import (
    Call,
    DeviceStep,
    Drawn,
    checked_settings,
    run_on_device,
)
from simulator.frontends.poptorch.beside_torch.eager_step import (
    EagerStep,
    LossPlace,
    StepPlan,
    copied,
    run_in_eager,
    untouched_randomness,
)
from simulator.frontends.poptorch.beside_torch.location import Location, Search, values_of_calls
from simulator.frontends.poptorch.beside_torch.optimizer_step import NotInTorchError, UsersOptimizer
from simulator.frontends.poptorch.compiled_model import ModelRequest, capture_model
from simulator.frontends.poptorch.micro_batches import BoundArguments
from simulator.poplar import Target

#: functions whose result is what they draw, by the beginnings of their names
_DRAWS = (
    *("rand", "normal", "uniform", "bernoulli", "exponential", "cauchy", "geometric", "log_normal", "multinomial"),
)
_MASKS = ("dropout", "native_dropout", "feature_dropout")
_ALPHA_MASKS = ("alpha_dropout", "feature_alpha_dropout")


class EagerError(Exception):
    """The module raises an exception in eager torch."""


@dataclass(frozen=True)
class Place:
    """Where a step runs and with which random numbers."""

    target: Target
    groups: list[int]  #: of inputs, for each replica
    seed: int
    optimizer: UsersOptimizer | None = None


@dataclass(frozen=True)
class Compared:
    """All pairs; `found` are those that differ, `rounded` those that float32 alone explains. `left_out` is what torch
    has no twin of, "" for nothing."""

    pairs: list[Pair]
    found: list[Difference]
    rounded: int
    left_out: str


class Attempt:
    """The step in one precision. `wide` stands in place of narrower element types; `without_draws`: random numbers
    that an operator draws inside, as attention does, are left out on both sides."""

    def __init__(self, request: ModelRequest, place: Place, wide: Any = None, without_draws: bool = False) -> None:
        self._wide, self.without_draws, self._place = wide, without_draws, place
        self._request = request if wide is None else _widened(request, wide)
        self._numbers = CallNumbers()
        with watching(self._request.module, CapturedCalls(self._numbers, wide, without_draws)):
            self._captured = capture_model(self._request)
        self.program = self._captured.program
        self.uses_half = _uses_half(self.program)
        self._share = comparison.HALF_SHARE if self.uses_half else comparison.FLOAT_SHARE
        settings = checked_settings(request.settings, request.training)
        self._steps = settings.iterations * settings.accumulation
        self._device = self._on_device(())

    @property
    def share(self) -> float:
        """What a tensor may differ by, of its largest element."""
        return self._share

    def undrawn(self) -> Operator | None:
        """An operator whose random numbers eager torch cannot take."""
        names = {number: key[0] for key, number in self._numbers.numbers.items()}
        for drawn in self._device.drawn:
            if not _can_be_drawn(drawn, names.get(drawn.operator.place.annotations.get(CALL, -1), "")):
                return drawn.operator
        return next(iter(self._device.undrawn), None)

    def compared(self) -> Compared:
        """Run eager torch and compare. Raises EagerError where it raises, LookupError where it gives other results."""
        eager = self._in_eager(self._device)
        pairs = comparison.pairs_of(self._device, eager)
        apart = comparison.differences(pairs, self._share)
        differing = apart if self.uses_half or not apart else self._beyond_rounding(apart)
        optimizer, updates, left_out = self._place.optimizer, [], ""
        if optimizer is not None and self._device.gradients:
            try:
                updates = optimizer.pairs(self._device)
            except NotInTorchError as error:
                left_out = f", without the step of {error}, which torch does not have"
        share = HALF_SHARE if optimizer is not None and optimizer.has_halves else self._share
        rounded = len(apart) - len(differing)
        return Compared([*pairs, *updates], [*differing, *comparison.differences(updates, share)], rounded, left_out)

    def beside(self, results: CallResults) -> list[Difference]:
        """What differs between this program, compiled now, and the executable that ran the user's first call."""
        pairs = comparison.executable_pairs(self._device, results, self._request.settings)
        several = self._request.settings.iterations > 1
        return comparison.differences(pairs, HALF_SHARE if several else self._share)

    def _beyond_rounding(self, found: list[Difference]) -> list[Difference]:
        """Those that float64 does not explain."""
        try:
            eager = self._in_eager(self._device, torch.float64)
            precise = {(pair.kind, pair.name): pair for pair in comparison.pairs_of(self._device, eager)}
        except (EagerError, LookupError):  # the module mixes element types of its own
            return found
        return [one for one in found if not comparison.is_rounding(one, precise[one.pair.kind, one.pair.name])]

    def location(self, found: Sequence[Difference]) -> Location | None:
        """The first operator that differs, from a second run that keeps the values of all calls."""
        device = self._on_device(values_of_calls(self.program))
        eager = self._in_eager(device, keeps_all=True)
        precise: EagerStep | None = None
        if not self.uses_half:
            with contextlib.suppress(EagerError, LookupError):
                precise = self._in_eager(device, torch.float64, keeps_all=True)
        weights = [one.pair.name for one in found if one.pair.kind == "gradient"]
        lines = {number: key[2] for key, number in self._numbers.numbers.items() if key[2] is not None}
        search = Search(device, eager, precise, self._share, weights, lines)
        return search.forward() or search.backward() or self._maker(search, found[0].pair)

    def _maker(self, search: Search, pair: Pair) -> Location | None:
        named = dict(zip(self.program.output_names, self.program.outputs, strict=True)) | dict(self.program.updates)
        value = named.get(pair.name)
        return None if value is None else search.maker(value)

    # Sides

    def _on_device(self, chosen: Sequence[Value]) -> DeviceStep:
        place, request = self._place, self._request
        micro_batches = request.micro_batches()
        iterations = micro_batches // (self._steps * (max(place.groups) + 1))
        tensors = [
            [_share_of(tensor, micro_batches, number, iterations) for tensor in request.arguments.tensors()]
            for number in range(1 if chosen else iterations)
        ]
        optimizer = place.optimizer
        states = {} if optimizer is None else optimizer.states
        rates = {} if request.optimizer is None else request.optimizer.variables()
        call = Call(place.groups, place.seed, tensors, states, rates)
        return run_on_device(request, self._captured, place.target, call, chosen)

    def _in_eager(self, device: DeviceStep, wide: Any = None, keeps_all: bool = False) -> EagerStep:
        settings, groups = self._request.settings, self._place.groups
        micro_batches = [
            _micro_batch(self._request, step * (max(groups) + 1) + group)
            for step in range(self._steps)
            for group in groups
        ]
        plan = StepPlan(
            self._request.module,
            micro_batches,
            settings.replicas,
            self._request.training,
            settings.mean_over_accumulation,
            settings.mean_over_replicas,
            self.without_draws,
        )
        draws = {drawn.operator.place.annotations[CALL]: drawn for drawn in device.drawn}
        try:
            with untouched_randomness():  # every precision gets the same numbers of Python and NumPy
                return run_in_eager(
                    plan, self._numbers, draws, _loss_place(self.program), wide or self._wide, keeps_all
                )
        except LookupError as error:
            if type(error) is LookupError:
                raise
            raise EagerError(_raised(error)) from error
        except Exception as error:
            raise EagerError(_raised(error)) from error


def _can_be_drawn(drawn: Drawn, call: str) -> bool:
    """Whether eager torch can take these numbers in a call of the function `call`."""
    if drawn.is_mask:
        return call.startswith((*_MASKS, *_ALPHA_MASKS))
    if call.startswith(_MASKS):  # in place: torch itself draws the mask and multiplies
        return drawn.operator.name == "aten.bernoulli.p"
    return call.startswith(_DRAWS)


def _micro_batch(request: ModelRequest, index: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of one micro-batch by its number."""
    whole, arguments = request.micro_batches(), request.arguments
    leaves = tuple(
        _share_of(leaf, whole, index, whole) if isinstance(leaf, torch.Tensor) else leaf for leaf in arguments.leaves
    )
    return BoundArguments(leaves, arguments.structure, arguments.names).micro_batch(1)


def _share_of(tensor: Any, whole: int, index: int, parts: int) -> Any:
    """Part `index` of `parts` along the batch, where that holds `whole` micro-batches."""
    if whole == 1 or parts == 1:
        return tensor
    size = tensor.shape[0] // parts
    return tensor[index * size : (index + 1) * size]


def _widened(request: ModelRequest, wide: Any) -> ModelRequest:
    """The same step of a copy of the module in another precision."""
    leaves = tuple(
        one.to(wide) if isinstance(one, torch.Tensor) and one.is_floating_point() else one
        for one in request.arguments.leaves
    )
    settings = replace(request.settings, automatic_loss_scaling=False)  # which floats have no need of
    arguments = replace(request.arguments, leaves=leaves)
    return replace(request, module=copied(request.module, wide), arguments=arguments, settings=settings)


def _uses_half(program: Program) -> bool:
    results = (result for one in operators_within(program.operators) for result in one.results)
    weights, inputs = (one.value for one in program.weights), (one.value for one in program.inputs)
    return any(value.dtype == "float16" for value in (*results, *weights, *inputs))


def _loss_place(program: Program) -> LossPlace | None:
    """The output that is the loss, or the first number that is computed from it; else the call that made it."""
    if program.loss is None:
        return None
    numbers = [value.number for value in program.outputs]
    if program.loss.number in numbers:
        return LossPlace(numbers.index(program.loss.number), None)
    reached = {program.loss.number}
    for operator in program.operators:
        if any(operand.number in reached for operand in operator.operands()):
            reached.update(result.number for result in operator.results)
    for index, value in enumerate(program.outputs):
        if value.number in reached and value.elements == 1 and value.is_floating:
            return LossPlace(index, None)
    made = next(one for one in program.operators if program.loss in one.results)
    return LossPlace(None, made.place.annotations.get(CALL))


def _raised(error: BaseException) -> str:
    """What eager torch raised, with the user's line."""
    lines = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    users = [place for place in lines if is_users(place[0], ("/simulator/frontends/", "<"))]
    where = " at {}:{}".format(*users[-1]) if users else ""
    return f"{type(error).__name__}{where}: {first_line(error)}"


def first_line(error: BaseException) -> str:
    """The first line of an exception's text, without a full stop."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
