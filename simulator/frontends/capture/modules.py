"""A torch module as a captured program: torch.export, then one pass over its nodes.

torch.export runs the module's Python once on fake tensors, so that branches on values other than tensors follow the
given arguments. Its graph is made functional but stays at the level of the module's own calls.
"""

from __future__ import annotations

import contextlib
import io
import logging
import re
import sys
import traceback
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, PendingUnbackedSymbolNotFound

from simulator.frontends.capture.aliases import keep_aliases
from simulator.frontends.capture.backward_bodies import Mark, find_marks
from simulator.frontends.capture.conditions import conditions_in_graphs
from simulator.frontends.capture.decompositions import DECOMPOSITIONS
from simulator.frontends.capture.dropouts import keep_dropouts
from simulator.frontends.capture.grad_modes import GradModes, watched
from simulator.frontends.capture.gradients import GradientRecorder
from simulator.frontends.capture.losses import beyond_loss, find_loss
from simulator.frontends.capture.operators import CaptureError, NodeReader, Numbering, is_users, read_place
from simulator.frontends.capture.own_gradients import OwnGradients, traced
from simulator.frontends.captured import Body, Hook, Input, Operator, Program, Value, Weight, WeightKind
from simulator.frontends.lowering.rules import TABLE

#: what torch raises for shapes and branches that depend on the data of tensors
_DATA_DEPENDENT = (
    DataDependentOutputException,
    DynamicOutputShapeException,
    GuardOnDataDependentSymNode,
    PendingUnbackedSymbolNotFound,
)


#: what torch.export says of torch's own LSTM, GRU and RNN, whose list of weights is assigned with the weights
_OWN_LIST_OF_WEIGHTS = r"The tensor attributes? (self\.\S*_flat_weights\[\d+\](, )?)+ (was|were) assigned"


#: what torch.export makes torch say while it copies a tensor that torch.func.jvp or torch.autograd.grad made
_GRAD_OF_NO_LEAF = r"The \.grad attribute of a Tensor that is not a leaf"


#: how torch's messages write a size that depends on data
_UNKNOWN_SIZE = re.compile(r"\(u\d+\)|\bu\d+ ")

#: part of the name of a file of torch's -> what to write in place of what it does
_HINTS = {
    "torch/distributions/": "make the distribution without validate_args=True",
    "torch/nn/modules/batchnorm.py": "give BatchNorm a momentum, since None averages over a count of batches",
}
_NO_BRANCHES = "choose values with torch.where, and sizes by numbers"

_GRADIENT_IN_FORWARD = (
    "torch.autograd.grad in forward cannot be traced through an operator whose gradient reads its own result (tanh, "
    "exp, pow, softmax, norm); write that gradient by its formula, or with torch.func.jvp."
)


@dataclass(frozen=True)
class _Plain:
    """An output that is no tensor."""

    value: Any


@dataclass(frozen=True)
class Restorer:
    """Puts the tensors of a program's outputs where the module's result has them."""

    parts: tuple[Any, ...]  #: numbers of tensors, and plain values
    structure: Any

    def __call__(self, tensors: Sequence[Any]) -> Any:
        leaves = [part.value if isinstance(part, _Plain) else tensors[part] for part in self.parts]
        return torch.utils._pytree.tree_unflatten(leaves, self.structure)


@dataclass(frozen=True)
class CapturedModule:
    """A program and how its outputs make up the module's result. `data` are the tensors of weights by name, `remarks`
    sentences for the user."""

    program: Program
    data: Mapping[str, Any]
    restore: Restorer
    remarks: tuple[str, ...] = ()


def capture(
    module: Any,
    arguments: Sequence[Any],
    named: Mapping[str, Any],
    training: bool,
    excluded: Sequence[str] = (),
    loss_output: int | None = None,
) -> CapturedModule:
    """Capture one micro-batch of a module. The loss is that of the last loss operator, or the output (by its number
    among the tensors) that `loss_output` names. `excluded` are parts of names of files that are not the user's.

    Raises CaptureError for modules whose graph depends on the data of tensors, and for a training module without a
    loss, or with several."""
    modes = GradModes(training)
    own = OwnGradients(modes)
    if training:
        modes.hook_tensor = own.hook_tensor
    with (
        torch.set_grad_enabled(training),
        conditions_in_graphs(),
        watched(module, modes),
        traced(module, own) if training else contextlib.nullcontext(),
    ):
        exported = _export(module, tuple(arguments), dict(named), excluded, modes)
    own.check_kept()
    reading = _Reading(exported, training, excluded, loss_output)
    return reading.captured()


def _export(
    module: Any, arguments: tuple[Any, ...], named: dict[str, Any], excluded: Sequence[str], modes: GradModes
) -> Any:
    validates = torch.distributions.Distribution._validate_args
    quiet = [logging.getLogger(name) for name in ("torch.export", "torch.fx.experimental.symbolic_shapes")]
    levels = [logger.level for logger in quiet]
    for logger in quiet:
        logger.setLevel(logging.ERROR)
    printed = io.StringIO()  # torch.export prints the graph so far when it fails
    try:
        # torch.export copies objects of torch's own that warn when they are copied.
        with torch.fx.traceback.preserve_node_meta(), warnings.catch_warnings(), contextlib.redirect_stderr(printed):
            warnings.simplefilter("ignore", FutureWarning)
            warnings.filterwarnings("ignore", _OWN_LIST_OF_WEIGHTS, UserWarning)
            warnings.filterwarnings("ignore", _GRAD_OF_NO_LEAF, UserWarning)
            warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated", DeprecationWarning)  # torch.func.jvp
            torch.distributions.Distribution.set_default_validate_args(False)  # values are known on the device only
            exported = torch.export.export(module, arguments, named, strict=False)
            keep_dropouts(exported)
            keep_aliases(exported)
            exported = exported.run_decompositions(dict(DECOMPOSITIONS))
    except _DATA_DEPENDENT as error:
        raise CaptureError(_data_dependent(error, excluded)) from error
    except (AssertionError, RuntimeError) as error:
        if "Mismatch in custom metadata" in str(error) or "higher order operator" in str(error):
            raise CaptureError(_HIGHER_ORDER) from error
        if "Cannot access data pointer" in str(error):
            raise CaptureError(_place(error, excluded) + _NO_MEMORY) from error
        if modes.differentiates and "found a fake tensor" in str(error):
            raise CaptureError(_GRADIENT_IN_FORWARD) from error
        if not _UNKNOWN_SIZE.search(str(error)):
            raise
        raise CaptureError(_data_dependent(error, excluded)) from error
    finally:
        torch.distributions.Distribution.set_default_validate_args(validates)
        for logger, level in zip(quiet, levels, strict=True):
            logger.setLevel(level)
    sys.stderr.write(printed.getvalue())
    return exported


#: torch.export fails over such an operator while it names the values of its bodies
_HIGHER_ORDER = (
    "The module calls a control flow operator of torch.export (while_loop, scan, associative_scan, map, or a cond that "
    "was imported by its name), which cannot be lowered to the IPU; write torch.cond, poptorch.cond or "
    "poptorch.for_loop, or a loop of Python."
)


#: a tensor has no values while torch.export captures the module
_NO_MEMORY = (
    "forward reads a tensor's memory (copy.deepcopy, pickle), which has no values while the module is "
    "captured for the IPU; do that outside the module, or use clone() or detach()."
)


def _place(error: BaseException, excluded: Sequence[str]) -> str:
    """The user's file and line where an exception was raised, "" where none is known."""
    lines = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    users = [(file, line) for file, line in lines if is_users(file, (*excluded, "/simulator/frontends/"))]
    return "{}:{}: ".format(*users[-1]) if users else ""


def _data_dependent(error: BaseException, excluded: Sequence[str]) -> str:
    first = str(error).strip().splitlines()[0]
    files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    hint = next((text for part, text in _HINTS.items() if any(part in file for file in files)), _NO_BRANCHES)
    return (
        f"{_place(error, excluded)}The module's graph depends on the data of a tensor, which the IPU's compiled "
        f"program cannot: every shape and branch is fixed when compiling ({first}); {hint}."
    )


class _Reading:
    """One pass over an exported program."""

    def __init__(self, exported: Any, training: bool, excluded: Sequence[str], loss_output: int | None) -> None:
        self.loss_output = loss_output
        self.exported, self.training, self.excluded = exported, training, excluded
        self.numbering = Numbering()
        self.reader = NodeReader(self.numbering)
        self.recorder = GradientRecorder(self.numbering, TABLE.__contains__)
        self.nodes = list(exported.graph.nodes)
        self.marks = find_marks(self.nodes)
        self.hooks: list[Hook] = []

    def captured(self) -> CapturedModule:
        weights, inputs, data = self._read_inputs()
        operators = self._read_operators(weights)
        outputs, names, updates, written, restore = self._read_outputs()
        loss = None
        if self.training:
            loss = find_loss(operators) if self.loss_output is None else outputs[self.loss_output]
        program = Program(
            tuple(weights),
            tuple(inputs),
            tuple(operators),
            tuple(outputs),
            tuple(names),
            tuple(updates),
            loss,
            tuple(self.hooks),
            tuple(written),
        )
        remark = beyond_loss(operators, outputs, loss) if loss is not None and self.loss_output is None else None
        return CapturedModule(program, data, restore, () if remark is None else (remark,))

    def _read_inputs(self) -> tuple[list[Weight], list[Input], dict[str, Any]]:
        weights: list[Weight] = []
        inputs: list[Input] = []
        data: dict[str, Any] = {}
        holders = {node.name: node for node in self.nodes if node.op == "placeholder"}
        shared = self._shared_names()
        first_names = {other: name for name, others in shared.items() for other in others}
        read: dict[str, Value] = {}
        for spec in self.exported.graph_signature.input_specs:
            node = holders[spec.arg.name]
            if isinstance(spec.arg, ConstantArgument):
                self.reader.values[node] = spec.arg.value
                continue
            if (
                spec.target in first_names and first_names[spec.target] in read
            ):  # one tensor on the device for all names
                self.reader.values[node] = read[first_names[spec.target]]
                continue
            value = self.numbering.value(node.meta["val"])
            self.reader.values[node] = value
            if spec.kind is InputKind.USER_INPUT:
                inputs.append(Input(spec.arg.name, value))
                continue
            kind, tensor = self._weight(spec)
            trained = kind is WeightKind.PARAMETER and bool(tensor.requires_grad)
            data[spec.target], read[spec.target] = tensor, value
            weights.append(Weight(spec.target, value, kind, trained, shared.get(spec.target, ())))
        return weights, inputs, data

    def _weight(self, spec: Any) -> tuple[WeightKind, Any]:
        if spec.kind is InputKind.PARAMETER:
            return WeightKind.PARAMETER, self.exported.state_dict[spec.target]
        if spec.kind is InputKind.BUFFER:
            stored = self.exported.state_dict
            return WeightKind.BUFFER, stored[spec.target] if spec.target in stored else self.exported.constants[
                spec.target
            ]
        if spec.kind is InputKind.CONSTANT_TENSOR:
            return WeightKind.CONSTANT, self.exported.constants[spec.target]
        raise CaptureError(f"{spec.arg.name} is no tensor; a module on the IPU takes tensors and plain values.")

    def _shared_names(self) -> dict[str, tuple[str, ...]]:
        """Other names of parameters that modules share."""
        by_tensor: dict[int, list[str]] = {}
        for name, tensor in self.exported.state_dict.items():
            by_tensor.setdefault(id(tensor), []).append(name)
        return {names[0]: tuple(names[1:]) for names in by_tensor.values() if len(names) > 1}

    def _read_operators(self, weights: Sequence[Weight]) -> list[Operator]:
        with_gradient = {weight.value.number for weight in weights if weight.trained} if self.training else set()
        operators: list[Operator] = []
        apart = {node for mark in self.marks.values() for node in (*mark.body, *mark.slopes)}
        for node in self.nodes:
            if node in apart:
                continue
            if node in self.marks:
                operators += self._read_mark(self.marks[node], with_gradient)
                continue
            for read in self.reader.read([node], lambda one: read_place(one, self.excluded)):
                reached = any(operand.number in with_gradient for operand in read.operands())
                needs = reached and not read.stops_gradients
                if needs:
                    with_gradient.update(result.number for result in read.results if result.is_floating)
                operators.append(self._with_pieces(node, read, with_gradient if needs else set()))
        return _with_available_memory(operators)

    def _read_mark(self, mark: Mark, with_gradient: set[int]) -> list[Operator]:
        """A function with its backward pass; a hook is no operator."""
        values, body = tuple(self.reader.values[node] for node in mark.values), self._body(mark)
        place = read_place(mark.node, self.excluded)
        if mark.is_hook:
            self.hooks.append(Hook(values, body, place))
            return []
        results = tuple(self.numbering.value(one) for one in mark.node.meta["val"])
        self.reader.values[mark.node] = results
        with_gradient.update(result.number for result in results)
        outs = tuple(self.reader.values[node] for node in mark.node.args[1])
        arguments = {"inputs": values, "outs": outs, "backward": body}
        return [Operator(str(mark.node.target), arguments, results, place)]

    def _body(self, mark: Mark) -> Body:
        """The operators of a backward pass; a function within it has no gradients to bring along."""
        for slope in mark.slopes:
            self.reader.values[slope] = self.numbering.value(slope.meta["val"])
        operators: list[Operator] = []
        for node in mark.body:
            if node in self.marks:
                self.reader.values[node] = tuple(self.reader.values[out] for out in node.args[1])
                continue
            for read in self.reader.read([node], lambda one: read_place(one, self.excluded)):
                whole = self._with_pieces(node, read, set())
                if whole.recorded is None:
                    operators.append(whole)
                    continue
                operators += whole.recorded.forward
                results = whole.recorded.results
                self.reader.values[node] = results if isinstance(self.reader.values[node], tuple) else results[0]
        slopes, gradients = (tuple(self.reader.values[one] for one in part) for part in (mark.slopes, mark.gradients))
        return Body(slopes, tuple(operators), gradients)

    def _with_pieces(self, node: Any, read: Operator, with_gradient: set[int]) -> Operator:
        """An operator that is lowered whole as it is; another one with its pieces."""
        whole = TABLE.has_own_backward(read.name) if with_gradient else read.name in TABLE
        if whole or str(node.target).startswith("poptorch."):
            return read
        recorded = self.recorder.record(node, read, with_gradient)
        if len(recorded.forward) == 1 and not recorded.gradients and recorded.forward[0].name == read.name:
            return read
        return Operator(read.name, read.arguments, read.results, read.place, recorded)

    def _read_outputs(
        self,
    ) -> tuple[list[Value], list[str], list[tuple[str, Value]], list[tuple[str, Value]], Restorer]:
        outputs: list[Value] = []
        names: list[str] = []
        updates: list[tuple[str, Value]] = []
        written: list[tuple[str, Value]] = []
        parts: list[Any] = []
        returned = self.nodes[-1].args[0]
        for spec, node in zip(self.exported.graph_signature.output_specs, returned, strict=True):
            if spec.kind in (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION):
                updates.append((spec.target, self.reader.values[node]))
            elif spec.kind is OutputKind.USER_INPUT_MUTATION:
                written.append((spec.target, self.reader.values[node]))
            elif spec.kind is not OutputKind.USER_OUTPUT:
                raise CaptureError(f"The module writes into {spec.target}, which an IPU program cannot; return it.")
            elif isinstance(node, torch.fx.Node) and isinstance(self.reader.values[node], Value):
                parts.append(len(outputs))
                outputs.append(self.reader.values[node])
                names.append(str(node.name))
            else:
                parts.append(_Plain(node if not isinstance(node, torch.fx.Node) else self.reader.values[node]))
        restore = Restorer(tuple(parts), self.exported.call_spec.out_spec)
        return outputs, _distinct(names), updates, written, restore


def _with_available_memory(operators: list[Operator]) -> list[Operator]:
    """Note on each operator the proportion of memory that poptorch.set_available_memory gives to its result."""
    proportions = {
        operator.arguments["x"].number: operator.arguments["proportion"]
        for operator in operators
        if operator.name == "poptorch.set_available_memory.default"
    }
    if not proportions:
        return operators
    noted = []
    for operator in operators:
        given = [proportions[result.number] for result in operator.results if result.number in proportions]
        place = operator.place
        if given:
            place = replace(place, annotations={**place.annotations, "available_memory": given[0]})
        noted.append(replace(operator, place=place))
    return noted


def _distinct(names: Sequence[str]) -> list[str]:
    """Names of outputs, numbered where one tensor is returned twice."""
    seen: dict[str, int] = {}
    distinct = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        distinct.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return distinct
