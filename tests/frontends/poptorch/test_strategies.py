"""Execution strategies on several IPUs: blocks of a module train and infer as PyTorch does, whatever the strategy."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

from simulator.frontends import poptorch

RATE, ACCUMULATION = 0.1, 7


class Net(torch.nn.Module):
    """Three blocks. Batch norm has running statistics, and the last block reads the first one's result."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.norm = torch.nn.Linear(5, 6), torch.nn.BatchNorm1d(6)
        self.second, self.third = torch.nn.Linear(6, 6), torch.nn.Linear(6, 3)

    def forward(self, x: Any, y: Any = None) -> Any:
        with poptorch.Block("front", ipu_id=0):
            front = torch.tanh(self.norm(self.first(x)))
        with poptorch.Block("middle", ipu_id=1):
            middle = torch.sigmoid(self.second(front)) * 2
        with poptorch.Block("back", ipu_id=2):
            out = self.third(middle * front)
            return out if y is None else (out, torch.nn.functional.mse_loss(out, y))


def options(strategy: Any) -> poptorch.Options:
    made = poptorch.Options().showCompilationProgressBar(False).autoRoundNumIPUs()
    return made.setExecutionStrategy(strategy)


def _train_as_torch(net: Any, x: Any, y: Any) -> list[float]:
    """One step of descent over micro-batches; gives their losses."""
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE)
    optimizer.zero_grad()
    losses = []
    for part, wanted in zip(x.chunk(ACCUMULATION), y.chunk(ACCUMULATION), strict=True):
        _, loss = net(part, wanted)
        (loss / ACCUMULATION).backward()
        losses.append(loss.item())
    optimizer.step()
    return losses


def _check_training(strategy: Any) -> None:
    net = Net()
    twin = copy.deepcopy(net)
    chosen = options(strategy).outputMode(poptorch.OutputMode.All)
    chosen.Training.gradientAccumulation(ACCUMULATION)
    model = poptorch.trainingModel(net, chosen, torch.optim.SGD(net.parameters(), lr=RATE))
    for _ in range(2):
        x, y = torch.randn(4 * ACCUMULATION, 5), torch.randn(4 * ACCUMULATION, 3)
        _, losses = model(x, y)
        torch.testing.assert_close(losses, torch.tensor(_train_as_torch(twin, x, y)), rtol=1e-5, atol=1e-6)
    model.copyWeightsToHost()
    for name, value in twin.state_dict().items():
        torch.testing.assert_close(net.state_dict()[name], value, rtol=1e-5, atol=1e-6, msg=name)
    model.destroy()


def test_a_pipeline_trains_as_pytorch_does() -> None:
    _check_training(poptorch.PipelinedExecution("front", "middle", "back"))


def test_shards_train_as_pytorch_does() -> None:
    _check_training(poptorch.ShardedExecution("front", "middle", "back"))


def serial() -> poptorch.SerialPhasedExecution:
    strategy = poptorch.SerialPhasedExecution(
        [poptorch.Phase(poptorch.Stage("front"), poptorch.Stage("middle")), poptorch.Phase("back")]
    )
    strategy.phase(0).ipus(0, 1)
    strategy.phase(1).ipus(0)
    return strategy.setTensorsLiveness(poptorch.Liveness.OffChipAfterEachPhase)


def parallel() -> poptorch.ParallelPhasedExecution:
    return poptorch.ParallelPhasedExecution(["front"], ["middle"], ["back"]).sendTensorsOffChipAfterFwd()


@pytest.mark.parametrize("strategy", [serial, parallel])
def test_phases_train_as_pytorch_does(strategy: Any) -> None:
    _check_training(strategy())


def test_stages_of_phases_have_ipus_of_their_own() -> None:
    placed = [serial().placement(block, None, {}).ipu for block in ("front", "middle", "back")]
    assert placed == [0, 1, 0]
    placed = [parallel().placement(block, None, {}).ipu for block in ("front", "middle", "back")]
    assert placed == [0, 1, 0]
    assert parallel().placement("middle", 3, {}).ipu == 3, "the block says so"


def test_phases_are_recorded_only() -> None:
    assert "setExecutionStrategy" not in options(poptorch.ShardedExecution()).recorded_only()
    said = options(serial().useSeparateBackwardPhase()).recorded_only()["setExecutionStrategy"]
    assert said.startswith("SerialPhasedExecution(Phase(Stage('front').ipu(0), Stage('middle').ipu(1)), Phase(")
    assert "OffChipAfterEachPhase, separate_backward_phase=True) (phases run as shards" in said


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: poptorch.SerialPhasedExecution(), "SerialPhasedExecution has no AutoStage; name its phases"),
        (lambda: poptorch.SerialPhasedExecution(3), "A phase is made of stages or block ids, not 3"),
        (lambda: poptorch.Phase("a", poptorch.Stage("b")), "not of both"),
        (lambda: poptorch.Phase("a").ipus(0, 1), "has 1 stages; Phase.ipus got 2 IPUs"),
        (lambda: poptorch.SerialPhasedExecution(["a"], ["a"]), "a associated with more than one stage"),
        (lambda: serial().setTensorsLiveness(3), "takes a poptorch.Liveness, not 3"),
        (lambda: serial().useSeparateBackwardPhase(1), "takes a bool, not 1"),
        (lambda: serial().phase(-1), "Phases are identified by positive integers, not -1"),
    ],
    ids=["none", "number", "both", "ipus", "twice", "liveness", "separate", "negative"],
)
def test_phases_that_do_not_fit_are_refused(call: Any, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        call()


def test_a_pipeline_infers_as_pytorch_does() -> None:
    net = Net().eval()
    x = torch.randn(20, 5)
    chosen = options(poptorch.PipelinedExecution("front", "middle", "back")).deviceIterations(5)
    model = poptorch.inferenceModel(net, chosen)
    torch.testing.assert_close(model(x), net(x).detach(), rtol=1e-5, atol=1e-6)
    model.destroy()


def test_a_pipeline_needs_as_many_micro_batches_as_stages() -> None:
    chosen = options(poptorch.PipelinedExecution("front", "middle", "back"))
    chosen.Training.gradientAccumulation(4)
    net = Net()
    model = poptorch.trainingModel(net, chosen, torch.optim.SGD(net.parameters(), lr=RATE))
    with pytest.raises(poptorch.Error, match=r"gradient accumulation is 4, but the pipeline has 5 stages"):
        model(torch.randn(16, 5), torch.randn(16, 3))
