"""Writes docs/poptorch.md from its tables: python -m simulator.frontends.poptorch.documents.document > (that file)."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from simulator.frontends import lowering
from simulator.frontends.capture.decompositions import DECOMPOSITIONS
from simulator.frontends.lowering.rules import TABLE
from simulator.frontends.poptorch.documents.name_table import NAMES
from simulator.frontends.poptorch.documents.upstream_names import (
    FEATURES,
    FEATURES_COMMIT,
    NAMED_FEATURES,
    OPERATIONS,
    OPERATIONS_COMMIT,
    REFUSED,
)
from simulator.frontends.poptorch.environment import VARIABLES
from simulator.frontends.poptorch.option_table import OPTIONS, Effect, Entry

#: begins the part that lists operators
OPERATORS = "## Operators"

_HEAD = """# PyTorch programs

Written from tables in `simulator/frontends/poptorch/` by `python -m simulator.frontends.poptorch.documents.document >
docs/poptorch.md`.

Programs for PopTorch 3.4 run unchanged on the simulated IPU with PyTorch 2.13.0 (the extra `[torch]`; without it the
import of `poptorch` says so in one sentence). `make test-frontends` makes the environment `.venv-frontends`:

    source enable.sh
    .venv-frontends/bin/python program.py

A module is captured by `torch.export` when it is called first, lowered to a Poplar graph through PopLibs, compiled and
run; results are those of the simulated program. `enable.sh` puts `compat/` on PYTHONPATH, where `poptorch` is this
package. Where torchvision does not import, `torchvision` is a stand-in: transforms, the networks
resnet18, 34, 50, 101, 152, mobilenet_v2 and efficientnet_b0 with torchvision's keys and no trained weights
([tests](../tests/frontends/poptorch/test_torchvision_models.py)), and the data sets MNIST and FashionMNIST from IDX
files under `root` or else synthetic images of the same form
([tests](../tests/frontends/poptorch/test_torchvision_stand_in.py)): 60,000 for training and 10,000 for tests, the
sizes that the parts of `random_split` in the published programs add up to. `POPVISION_SYNTHETIC_IMAGES=2000,500` makes
fewer; parts must then add up to those.

A name *works*; or is *recorded only*: checked, without effect for the reason beside it; or is *refused*: its use raises
one sentence that names it and the way around.

## Several IPUs

Weights, activations and gradients of a block lie on its IPU. An operator outside any block goes with the operator
before it. A value that other IPUs read is copied once to each ([tests](../tests/frontends/lowering/test_shards.py)).

*Sharded* stages run one after the other on each micro-batch. *Pipelined* stages (the default strategy) work at the
same time on successive micro-batches. S stages make a pipeline of P = 2 S - 1 stages in training, since each runs
forward and backward and the last does both at once, and of P = S for inference. A step of G micro-batches has G + P -
1 cycles: the program tree names them `pipelineFill`, `pipelineMain` and `pipelineDrain`. G is the gradient
accumulation; for inference it is deviceIterations, or the period of OutputMode.EveryN. Refused are a G below P, a loss
before the last stage, data that flows to an earlier stage, and a stage on two IPUs. What a backward pass reads waits
in a stash, a ring buffer in tile memory with a slot for each cycle between both passes. Weights change once a step, so
results are those of one IPU ([tests](../tests/frontends/lowering/test_pipeline.py)).

*Replicas* take micro-batches in turns, add their gradients over all replicas (`ReplicatedAllReduce`) and draw random
numbers of their own ([tests](../tests/frontends/lowering/test_lowered_replicas.py)). Groups of them can have weights of
their own: `model.fc.weight.replicaGrouping(poptorch.CommGroupType.Consecutive, 2,
poptorch.VariableRetrievalMode.OnePerGroup)`, before the first call, takes a weight with one dimension more, a row for
each group of 2 replicas. Forward sees its row; gradients are added within the group, optimizer states have rows too
([tests](../tests/frontends/poptorch/training/test_replica_groups.py)).

An input that forward writes to in place has its new values in the user's tensor after the call, of every micro-batch
whatever the output mode ([tests](../tests/frontends/poptorch/test_written_inputs.py)). Refused are written inputs that
share memory with others.

Where halves meet floats, the halves become floats, also in products, convolutions and losses, of which eager torch
wants one type ([tests](../tests/frontends/operators/test_mixed_precision.py)). Distributions check their values only
where `validate_args=True` is given, which a graph of the device refuses. `ctc_loss` is unrolled over its steps, so that
its cycles are a guess ([tests](../tests/frontends/poptorch/test_ctc_loss.py)).

## States of optimizers

`optimizer.state_dict()` has the device's states: of poptorch.optim in `ipu_state` under PopART's names, with the
numbers that the device was told in `ipu_param`; of torch.optim in `state`, as after steps in eager torch. None stand
in both before a model is compiled for a device. A state that `load_state_dict` takes, before the model is made or
between steps, goes to the device before the next run, and so do the rates of its `param_groups`: a resumed run is the
uninterrupted one ([tests](../tests/frontends/poptorch/training/test_optimizer_states.py)). States that are missing stay
as they are, with a line. All weights count their steps together.

In reports the accumulator of gradients is `Accum___fc.weight`, a velocity `Accl1___fc.weight`, or `Accl___fc.weight`
where it is the accumulator too (`use_combined_accum`), and Adam's moments are `Accl1___` and `Accl2___`. Each takes 4
bytes for each element of the weight, 2 where its type (`accum_type`, `velocity_accum_type`,
`first_order_momentum_accum_type`, `second_order_momentum_accum_type`) is float16
([tests](../tests/frontends/poptorch/training/test_accumulation_types.py)).

## Gradients

Forward is traced once, with autograd on; gradients are those of eager torch, or one sentence refuses the construct
([each construct and what holds for it](../tests/frontends/poptorch/test_gradients_of_forward.py)). Equal to eager:
`torch.no_grad`, `enable_grad`, `inference_mode`, `requires_grad_`, `detach`, `.data`, writes that autograd does not
see (under `no_grad`, through `.data`: the gradient goes on as before, a weight keeps the value after the step),
checkpoints, `torch.func.vmap`, `jvp` and `functional_call`; `torch.autograd.Function`, hooks of tensors, weights and
modules ([tests](../tests/frontends/poptorch/test_own_gradients.py)). A hook's Python runs once, when the model is
compiled; with gradient accumulation it sees the gradient of each micro-batch's share of the mean. Refused:
`.backward()`, `.grad` and `retain_grad` in forward, hooks that keep their gradient, `mark_dirty`,
`saved_tensors_hooks`, `torch.func.grad` and `vjp`, and `torch.autograd.grad` through operators whose gradient reads
their result.

The backward pass begins at the last loss operator, as in PopTorch: what is computed from its result is not in the
gradient. One line on standard error says so with both operators' lines; `poptorch.identity_loss` takes the whole in.

An index beyond its tensor reads zeros and writes nothing, as on hardware; one line a run names operator, module,
index and size, whether the index is an input or computed on the device
([tests](../tests/frontends/poptorch/test_index_checks.py)). `POPVISION_INDICES=raise` makes it an error, which stops
the run where the index is read, before the step changes weights. Nothing of it is on the device: cycles and memory
stay as they are. Programs that run compute set by compute set (`debug.verify`, `debug.trace`) are not watched.

## The first step beside torch

`popvision run --check program.py`, or `POPVISION_CHECK=torch`, runs the first step of each model in eager torch too, on
a deep copy of the module, and compares outputs, loss, the gradient of every weight, buffers and inputs that forward
writes, and the optimizer's step. One line on standard error tells:

    popvision check: the training step of Net agrees with eager torch: 2 outputs, 6 gradients, 3 states, 6 updates,
    apart by 3e-07 of the largest element at most (1e-04 allowed) (1.4 s).
    popvision check: the training step of Net differs from eager torch: the gradient of b.weight by 0.355 (largest
    element in torch 0, allowed 4.2e-07), first at aten.linear.default (module 'b', net.py:12): torch takes no gradient
    of its result; 2 of 5 tensors differ (1.9 s).

The program goes on; with `--check=fail` (`POPVISION_CHECK=fail`) a difference ends it with exit code 4. The module, its
buffers and the random states of torch, NumPy and Python stay as they are; of the check the report holds one run that
fetches the weights, the host trace events `checkFirstStep`. It costs one more compilation, run and eager step (two of
each where something differs, to find the first operator), so that a first call takes about twice as long
([measured](measured/benchmarks.md#training-steps-of-pytorch-programs)), and memory for copies of the module
([tests](../tests/frontends/poptorch/checking/test_check_beside_torch.py)).

- *The step* is the first device iteration with all its micro-batches: gradients are those that the optimizer gets,
  accumulated and reduced over replicas. For eager torch the loss is what the module returns of it, so that
  `loss * 0.1` after the last loss operator is a difference.
- *The optimizer*: torch's own takes the device's gradients, in float64, and what each weight changes by is compared.
  LAMB and poptorch.optim's variants that torch does not have are named and left out.
- *What ran*: outputs, weights and states after the first call of the user's executable, all its iterations, are
  compared with those of the program as it compiles now. An executable of another program, from a cache or a file, is a
  difference ([tests](../tests/frontends/poptorch/checking/test_check_of_what_runs.py)).
- *PopTorch's names* are identities in eager torch: blocks, `identity_loss`, prints, marks of memory.
- *Random numbers*: `rand`, `normal_`, `bernoulli` and their like, `gumbel_softmax`, `multinomial`, and dropouts, take
  in eager torch what the device drew, in float16 too. Those inside attention and recurrent layers are left out on both
  sides, and the line names the operator; with any other the step "cannot be compared", nor can one whose groups of
  replicas have weights of their own. A number that forward draws from Python or NumPy is a constant on the device, and
  so a difference ([tests](../tests/frontends/poptorch/checking/test_check_of_draws.py)).
- *Tolerance*: both sides add in another order. Allowed is 1e-4 of a tensor's largest element, 1e-2 where the program
  has float16. What is further apart in float32 agrees where it is at most 16 times as far from eager torch in float64
  as eager torch in float32 is: gradients that are zero but for rounding. Integers are equal; NaN agrees with NaN.
- *float16*: what differs is run once more in float32 on both sides; where that agrees, the line says that it is
  rounding.
- A module that raises in eager torch differs; one that cannot be deep-copied "is not checked", and goes on.

## The profile

With `POPLAR_ENGINE_OPTIONS='{"autoReport.all": "true"}'` each model leaves a report in `training/` or `inference/`. Its
operations of the layer `poptorch` take nearly all cycles ([tests](../tests/frontends/programs/test_example_pages.py)):

| operation | what it is |
| --- | --- |
| `layer1/conv/Conv`, `layer1/conv/ConvGrad` | an operator of the module `layer1.conv`, and its gradient |
| `layer1/conv/weight/SGD0VarUpdate` | the optimizer's step on a weight, with the casts and states that it needs |
| `layer1/conv/weight/Accumulate` | the sum of gradients over micro-batches; `ReplicatedAllReduce` that over replicas |
| `inputs/x/HostLoad`, `outputs/y/HostStore` | transfers of a step |
| `weightsFromHost/HostLoad` and its like | transfers between steps |
| `pipeline/Stash` | activations that wait for their backward pass |
| `buffers/CopyVarUpdate`, `randomSeed/ModifyRandomSeed` | running statistics, and the seed of the next micro-batch |

What is not attributed is the switch that chooses the program of a run. Source Code shows the line of each operator, and
the line of the call for transfers and updates.

## The journey of a weight

Follow `layer1.conv.weight` of `examples/pytorch/mnist.py` through one training step (modules below
`simulator/frontends/`).

1. **Module**. `poptorch.trainingModel(model, options, optimizer)` makes an executor (`poptorch/executor.py`) and
   freezes the options. Nothing is captured before the first call: shapes come from its arguments.
2. **Capture** (`capture/modules.py`). torch.export runs the module once on fake tensors. One pass over its nodes
   gives a program in single-assignment form (`captured.py`): the weight becomes a `Weight`, the convolution an
   `Operator` with its module path, its stack of source lines and its IPU. Element-wise operators bring the pieces
   of torch's own gradient along (`capture/gradients.py`).
3. **Lowering** (`lowering/programs.py`). A rule per operator, found by its aten name (`lowering/rules.py`), calls
   PopLibs: `lowering/convolutions.py` asks poplin how a weight of this convolution should lie, and that is where
   the weight is put. Each call carries a debug context with module path, file and line (`lowering/cursor.py`).
   `lowering/differentiation.py` walks the tape back; `lowering/optimizers.py` subtracts the gradient from the
   weight in place.
4. **Compilation**. From here on this is any Poplar program: the [journey
   above](architecture.md#one-values-journey), steps 3 to 7. `session/executable_cache.py` keeps the executable
   under a hash of graph, weights' shapes and options.
5. **Runs** (`session/device_program.py`). The first call attaches, loads and streams the weights to the device.
   Later calls stream inputs and results only. When the user's Python reads `model.layer1.conv.weight`,
   `poptorch/weights/host_weights.py` fetches it from the device first.
6. **Report**. The variable keeps the name `layer1.conv.weight`. The debug contexts name the operation
   `layer1/conv/Conv`, its gradient `layer1/conv/ConvGrad` and the weight's update `layer1/conv/weight/SGD0VarUpdate`.
   Source Code shows the user's file, because the innermost frame outside the torch package is the line of record;
   `report.operations(layer="poptorch")` and the Operations page add up cycles and bytes by module.

## Variables

| variable | meaning |
| --- | --- |"""

_OPTIONS = """
## Options

Setters check their arguments, chain, and raise "Can't modify frozen Options" once a model or a DataLoader uses the
options. `Options.recorded_only()` lists what was given without effect. `loadFromFile` reads lines such as
`deviceIterations(2)`, `from_json` and POPTORCH_DEFAULT_OPTIONS an object such as `{"Precision.setPartialsType":
"torch.half"}`. Of `_Popart.set` the key `engineOptions` works as `setEngineOptions`."""

_OPERATOR_HEAD = """
The operators of PyTorch that have a rule, with the PopLibs functions that they become. An operator without one is
refused by a sentence that names it, its module and the line. Written in these are {}.

| operators | named | calls |
| --- | --- | --- |"""


_UPSTREAM_HEAD = """
## PopTorch's lists of what it supports

Every name of docs/user_guide/supported_ops.rst (commit {operations} of github.com/graphcore/poptorch) and of
overview.rst (commit {features}). A name works where it has a test beside eager torch in float32, and in float16 for
what has floats ([tests](../tests/frontends/operators/test_upstream_names.py)). {works} of {all} work.

| section | works | does not |
| --- | --- | --- |"""


def render() -> str:
    """The page."""
    lines = [_HEAD, *(f"| `{name}` | {meaning} |" for name, meaning in VARIABLES.items())]
    lines += [_OPTIONS, *_table("option", OPTIONS), "", "## Names", *_table("name", NAMES)]
    lines += _upstream()
    replaced = ", ".join(sorted(f"`{one}`" for one in DECOMPOSITIONS))
    lines += ["", OPERATORS, _OPERATOR_HEAD.format(replaced), *_operators(), ""]
    return "\n".join(lines)


def _table(head: str, entries: Mapping[str, Entry]) -> list[str]:
    rows = [
        f"| `{name}` | {entry.effect.value} | {entry.text} | {_linked(entry.test)} |" for name, entry in entries.items()
    ]
    return ["", f"| {head} | here | | test |", "| --- | --- | --- | --- |", *rows]


def _upstream() -> list[str]:
    """The names of PopTorch's own lists, by section."""
    features = {f"poptorch.{name}": NAMES[name].effect is Effect.WORKS for name in NAMED_FEATURES}
    features |= {name: bool(test) for name, test in FEATURES.items()}
    sections = {name: {one: one not in REFUSED for one in names} for name, names in OPERATIONS.items()}
    sections["Features"] = features
    states = [state for names in sections.values() for state in names.values()]
    head = _UPSTREAM_HEAD.format(
        operations=OPERATIONS_COMMIT[:12], features=FEATURES_COMMIT[:12], works=sum(states), all=len(states)
    )
    rows = []
    for section, names in sections.items():
        works = ", ".join(f"`{name}`" for name, state in names.items() if state)
        refused = ", ".join(f"`{name}`{_reason(name)}" for name, state in names.items() if not state)
        rows.append(f"| {section} | {works} | {refused} |")
    return [head, *rows]


def _reason(name: str) -> str:
    entry = NAMES.get(name.removeprefix("poptorch."))
    reason = entry.text if entry is not None else REFUSED.get(name, "")
    return f" ({reason})" if reason else ""


def _linked(test: str) -> str:
    file, _, name = test.partition("::")
    return f"[{name.removeprefix('test_').replace('_', ' ')}](../tests/frontends/poptorch/{file})" if test else ""


def _operators() -> list[str]:
    """Rows of rules with the same name and calls."""
    assert lowering is not None, "its import registers the rules"
    names: dict[tuple[str, str], list[str]] = {}
    for rule in TABLE:
        if rule.name.startswith(("tf.", "control.")):
            continue
        names.setdefault((rule.kind, rule.call), []).append(rule.name)
    return [
        f"| {', '.join(f'`{name}`' for name in sorted(same))} | {kind} | {call} |"
        for (kind, call), same in sorted(names.items(), key=lambda item: (item[0][0].lower(), item[0][1]))
    ]


if __name__ == "__main__":
    sys.stdout.write(render())
