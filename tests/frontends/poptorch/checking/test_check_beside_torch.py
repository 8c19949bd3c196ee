"""POPVISION_CHECK: the first step beside eager torch. Rules that were mended are put back as they were, and found."""

from __future__ import annotations

import json
import os
import random
import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from simulator.frontends import poptorch
from simulator.frontends.capture import modules
from simulator.frontends.capture.own_gradients import OwnGradients
from simulator.frontends.captured import Operator
from simulator.frontends.lowering.rules import TABLE
from tests.frontends.poptorch.checking.checked_steps import checked, line_of, step
from tests.frontends.poptorch.gradient_twins import Forward, Net
from tests.frontends.poptorch.model_options import options

pytestmark = pytest.mark.usefixtures("under_check")


def line_number(function: Callable[..., Any], offset: int) -> str:
    return f"{__file__}:{function.__code__.co_firstlineno + offset}"


# Rules that were mended


class StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.round()

    @staticmethod
    def backward(ctx: Any, slope: Any) -> Any:  # type: ignore[override]
        return slope


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1

    @staticmethod
    def backward(ctx: Any, slope: Any) -> Any:  # type: ignore[override]
        return -slope


def _no_modes(monkeypatch: Any) -> None:
    """Calls without gradients are as any other."""
    monkeypatch.setattr(Operator, "stops_gradients", property(lambda one: one.name == "aten.detach.default"))


def _no_functions(monkeypatch: Any) -> None:
    """The backward pass of functions, and hooks of modules and weights, are left out."""
    monkeypatch.setattr(modules, "traced", lambda module, own: nullcontext())


def _no_tensor_hooks(monkeypatch: Any) -> None:
    monkeypatch.setattr(OwnGradients, "hook_tensor", lambda self, tensor, hook: None)


def _silent_losses(monkeypatch: Any) -> None:
    monkeypatch.setattr(modules, "beyond_loss", lambda *_: None)


def frozen_teacher(net: Any, x: Any) -> Any:
    with torch.no_grad():
        target = net.b(x)
    return net.a(x) - target


def inference_teacher(net: Any, x: Any) -> Any:
    with torch.inference_mode():
        target = net.b(x) * 1
    return net.a(x) - target.clone()


def rounded(net: Any, x: Any) -> Any:
    hidden = net.a(x)
    return net.c(StraightThrough.apply(hidden))


def reversed_(net: Any, x: Any) -> Any:
    return net.c(Reversal.apply(net.a(x)))


def hooked_tensor(net: Any, x: Any) -> Any:
    hidden = net.a(x)
    hidden.register_hook(lambda slope: slope * 3)
    return net.c(hidden)


#: construct -> (forward, what puts the old rule back, words of the line, the function and line that it names)
MENDED: dict[str, tuple[Forward, Callable[[Any], None], str, Callable[..., Any], int]] = {
    "1.1 no_grad": (frozen_teacher, _no_modes, "the gradient of b.weight by", frozen_teacher, 2),
    "1.1 inference_mode": (inference_teacher, _no_modes, "the gradient of b.weight by", inference_teacher, 3),
    "1.2 straight-through": (rounded, _no_functions, "the gradient of a.weight by", StraightThrough.forward, 2),
    "1.2 reversal": (reversed_, _no_functions, "the gradient of a.weight by", Reversal.forward, 2),
    "1.3 hook of a tensor": (hooked_tensor, _no_tensor_hooks, "the gradient of a.weight by", hooked_tensor, 1),
}


@pytest.mark.parametrize("name", MENDED)
def test_a_rule_that_was_mended_agrees(name: str, capsys: Any) -> None:
    said = checked(MENDED[name][0], capsys)
    assert said.startswith("the training step of Net agrees with eager torch: 1 output, ")


@pytest.mark.parametrize("name", MENDED)
def test_a_rule_that_was_mended_is_found_where_it_is_put_back(name: str, monkeypatch: Any, capsys: Any) -> None:
    forward, unmend, words, function, offset = MENDED[name]
    unmend(monkeypatch)
    said = checked(forward, capsys)
    assert said.startswith("the training step of Net differs from eager torch: ")
    assert words in said
    assert f"{line_number(function, offset)})" in said


def test_a_hook_of_a_weight_that_is_dropped_is_found(monkeypatch: Any, capsys: Any) -> None:
    def hooked() -> Net:
        net = Net(lambda net, x: net.c(net.a(x)))
        net.a.weight.register_hook(lambda slope: slope * 2)
        return net

    step(hooked(), torch.randn(5, 3), torch.randn(5, 4))
    assert "agrees with eager torch" in line_of(capsys)
    _no_functions(monkeypatch)
    step(hooked(), torch.randn(5, 3), torch.randn(5, 4))
    said = line_of(capsys)
    assert "differs from eager torch: the gradient of a.weight by" in said
    assert "first at aten.linear.default (module 'a', " in said


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(3, 4)

    def forward(self, x: Any, y: Any) -> Any:
        loss = F.cross_entropy(self.a(x), y)
        return loss * 0.1 + 0.1 * self.a.weight.pow(2).sum()


def test_what_follows_the_last_loss_is_found_though_nobody_says_so(monkeypatch: Any, capsys: Any) -> None:
    _silent_losses(monkeypatch)
    step(Scaled(), torch.randn(5, 3), torch.tensor([0, 1, 2, 3, 0]))
    said = line_of(capsys)
    assert "the training step of Scaled differs from eager torch: the loss by" in said
    assert f"first at aten.mul.Tensor (the outermost module, {line_number(Scaled.forward, 2)})" in said


# Values


def test_a_wrong_rule_of_an_operator_is_named_with_module_and_line(monkeypatch: Any, capsys: Any) -> None:
    wrong = TABLE["aten.sub.Tensor"]
    monkeypatch.setitem(TABLE._rules, "aten.add.Tensor", wrong)

    def shifted(net: Any, x: Any) -> Any:
        hidden = net.a(x)
        hidden = hidden + 2 * x.sum()
        return net.c(hidden)

    said = checked(shifted, capsys)
    assert f"first at aten.add.Tensor (the outermost module, {line_number(shifted, 2)})" in said
    assert said.count("\n") == 0


class Random(nn.Module):
    """Each kind of random operator that eager torch can take from the device."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.norm, self.drop = nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.5)
        self.channels, self.alpha = nn.Dropout1d(0.5), nn.AlphaDropout(0.3)

    def forward(self, x: Any) -> Any:
        hidden = self.drop(torch.relu(self.norm(self.a(x + torch.randn_like(x)))))
        hidden = self.channels(hidden.reshape(-1, 4, 2)).reshape(-1, 8) + torch.empty(8).uniform_(-1, 1)
        hidden = F.dropout(self.alpha(hidden), 0.2, inplace=True) * torch.bernoulli(torch.full((8,), 0.5))
        return hidden, poptorch.identity_loss(hidden.pow(2), "mean")


def test_random_operators_get_what_the_device_draws(capsys: Any) -> None:
    step(Random(), torch.randn(6, 6))
    assert "agrees with eager torch: 2 outputs, 4 gradients, 3 states" in line_of(capsys)


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_draws_once(reentrant: bool, capsys: Any) -> None:
    def stored(net: Any, x: Any) -> Any:
        for _ in range(2):
            x = checkpoint(lambda y: net.b(F.dropout(net.c(y), 0.5)), x, use_reentrant=reentrant)
        return x

    net = Net(lambda net, x: stored(net, net.a(x)))
    net.b = nn.Linear(4, 4)
    step(net, torch.randn(5, 3), torch.randn(5, 4))
    assert "agrees with eager torch: 1 output, 6 gradients" in line_of(capsys)


class Attending(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(2, 2)

    def forward(self, x: Any) -> Any:
        made = F.scaled_dot_product_attention(self.a(x), x, x, dropout_p=0.5)
        return poptorch.identity_loss(made, "sum")


def test_numbers_that_an_operator_draws_inside_are_left_out_by_name(capsys: Any) -> None:
    step(Attending(), torch.randn(1, 3, 2))
    said = line_of(capsys)
    assert "agrees with eager torch, without the random numbers of aten." in said
    assert f"(the outermost module, {line_number(Attending.forward, 1)})" in said


def test_micro_batches_of_replicas_and_accumulation(capsys: Any) -> None:
    chosen = options().deviceIterations(2).replicationFactor(2)
    chosen.Training.gradientAccumulation(2)
    net = Random()
    step(net, torch.randn(2 * 2 * 2 * 5, 6), chosen=chosen)
    assert "agrees with eager torch: 2 outputs, 4 gradients, 3 states" in line_of(capsys)


def test_a_pipeline_of_blocks_and_marks_that_are_identities_in_torch(capsys: Any) -> None:
    class Staged(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(3, 4), nn.Linear(4, 2)

        def forward(self, x: Any) -> Any:
            with poptorch.Block("first", ipu_id=0):
                hidden = poptorch.set_available_memory(poptorch.nop(self.a(x)), 0.3)
            with poptorch.Block("second", ipu_id=1):
                hidden = self.b(poptorch.recomputationCheckpoint(hidden))
            return poptorch.identity_loss(poptorch.ipu_print_tensor(hidden, "hidden"), "mean")

    chosen = options()
    chosen.Training.gradientAccumulation(3)
    step(Staged(), torch.randn(6, 3), chosen=chosen)
    assert "agrees with eager torch: 1 output, 4 gradients" in line_of(capsys)


def test_loops_of_poptorch_run_in_torch_too(capsys: Any) -> None:
    def looped(net: Any, x: Any) -> Any:
        return poptorch.for_loop(3, lambda y: torch.tanh(net.c(y)), [net.a(x)])[0]

    assert "agrees with eager torch: 1 output, 4 gradients" in checked(looped, capsys)


def test_inference_has_no_dropout_whatever_the_flags_of_the_module(capsys: Any) -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.LSTM(4, 2, 2, dropout=0.5))
    poptorch.inferenceModel(net, options())(torch.randn(5, 3))
    assert "the inference step of Sequential agrees with eager torch: 3 outputs" in line_of(capsys)


@pytest.mark.parametrize(
    ("norm", "shape"),
    [
        (nn.BatchNorm1d, (4, 3)),
        (nn.BatchNorm2d, (4, 3, 2, 2)),
        (nn.InstanceNorm1d, (4, 3, 5)),
    ],
)
def test_norms_of_halves_and_their_running_statistics_agree(norm: Any, shape: tuple[int, ...], capsys: Any) -> None:
    class Normed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = norm(3, affine=True, track_running_stats=True)

        def forward(self, x: Any, y: Any) -> Any:
            return F.mse_loss(self.norm(x), y)

    net = Normed().half()
    twin = Normed()
    x, y = torch.randn(shape).half(), torch.randn(shape).half()
    step(net, x, y)
    assert "agrees with eager torch: 1 output, 2 gradients" in line_of(capsys)
    twin(x.float(), y.float())
    torch.testing.assert_close(net.norm.running_mean.float(), twin.norm.running_mean, rtol=0, atol=1e-3)
    torch.testing.assert_close(net.norm.running_var.float(), twin.norm.running_var, rtol=0, atol=1e-2)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_torchs_own_conditions_choose_between_bodies(sign: float, capsys: Any) -> None:
    def forward(net: Any, x: Any) -> Any:
        made = torch.cond(x.sum() > 0, lambda a: (a * a, a + 1), lambda a: (-a, a * 2), (net.a(x),))
        return made[0] + made[1]

    step(Net(forward), sign * torch.rand(5, 3), torch.randn(5, 4))
    assert line_of(capsys).startswith("the training step of Net agrees with eager torch")


def test_other_control_flow_of_torch_export_is_refused() -> None:
    from torch._higher_order_ops.while_loop import while_loop

    def forward(net: Any, x: Any) -> Any:
        (made,) = while_loop(lambda a: a.sum() < 10, lambda a: (a + 1,), (net.a(x),))
        return made

    with pytest.raises(poptorch.Error, match=r"control flow operator of torch\.export .* write torch\.cond, poptorch"):
        step(Net(forward), torch.rand(5, 3), torch.randn(5, 4))


@pytest.mark.filterwarnings("ignore:The tensor attribute self.fc.weight was assigned")
def test_the_old_weight_norm_is_copied(capsys: Any) -> None:
    class Weighted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            with pytest.warns(FutureWarning, match="weight_norm"):
                self.fc = torch.nn.utils.weight_norm(nn.Linear(4, 3))

        def forward(self, x: Any, y: Any) -> Any:
            return F.mse_loss(self.fc(x), y)

    step(Weighted(), torch.randn(2, 4), torch.randn(2, 3))
    assert "agrees with eager torch: 1 output, 3 gradients" in line_of(capsys)


def test_nan_and_infinities_agree_with_themselves(capsys: Any) -> None:
    x = torch.tensor([[1.0, -1.0, 0.0]])
    poptorch.inferenceModel(Net(lambda net, x: torch.log(x)), options())(x, torch.zeros(1, 3))
    assert "agrees with eager torch: 1 output, apart by 0 " in line_of(capsys)


# Precision


class Halves(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(64, 16)

    def forward(self, x: Any) -> Any:
        hidden = self.a(x).half()
        difference = (hidden + 1000) - 1000  # loses nearly all digits of halves
        return poptorch.identity_loss(difference.float() * self.a(x), "sum")


def test_what_halves_change_is_explained_by_float32(monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr("simulator.frontends.poptorch.beside_torch.comparison.HALF_SHARE", 1e-9)
    step(Halves(), torch.randn(4, 64))
    said = line_of(capsys)
    assert "agrees with eager torch: 1 output, 2 gradients" in said
    assert said.split(" (")[-2].endswith("in float32; what float16 changes is rounding")


def test_what_float32_does_not_explain_is_a_difference_of_halves_too(monkeypatch: Any, capsys: Any) -> None:
    _no_modes(monkeypatch)
    net = Net(frozen_teacher).half()
    step(net, torch.randn(5, 3).half(), torch.randn(5, 4).half())
    said = line_of(capsys)
    assert "differs from eager torch: the gradient of b.weight by" in said
    assert f"{line_number(frozen_teacher, 2)})" in said


def test_a_gradient_that_is_nothing_but_rounding_agrees(capsys: Any) -> None:
    class Normed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.norm = nn.Linear(3, 4), nn.BatchNorm1d(4)

        def forward(self, x: Any) -> Any:
            return poptorch.identity_loss(self.norm(self.a(x)), "mean")

    step(Normed(), torch.randn(9, 3))
    assert "agrees with eager torch" in line_of(capsys)


# The program


def test_the_users_module_and_random_states_stay_as_they_are(capsys: Any) -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.norm, self.calls = nn.Linear(3, 4), nn.BatchNorm1d(4), 0

        def forward(self, x: Any) -> Any:
            self.calls += 1
            print("forward")
            torch.rand(1), np.random.rand(), random.random()
            return self.norm(self.a(x))

    net = Counting().eval()
    before = {name: one.clone() for name, one in net.state_dict().items()}
    random.seed(1)
    np.random.seed(1)
    model = poptorch.inferenceModel(net, options())
    os.environ["POPVISION_CHECK"] = ""
    model.compile(torch.ones(5, 3))
    calls, _ = net.calls, capsys.readouterr()
    states = torch.get_rng_state(), random.getstate()
    numbers = np.random.get_state()[1].tolist()  # type: ignore[index, union-attr]
    os.environ["POPVISION_CHECK"] = "torch"
    model(torch.ones(5, 3))
    assert (net.calls, capsys.readouterr().out) == (calls, "")
    assert torch.equal(states[0], torch.get_rng_state())
    assert random.getstate() == states[1]
    assert np.random.get_state()[1].tolist() == numbers  # type: ignore[index, union-attr]
    assert all(torch.equal(one, before[name]) for name, one in net.state_dict().items())


def test_each_model_is_checked_once(capsys: Any) -> None:
    net, x, y = Net(lambda net, x: net.c(net.a(x))), torch.randn(5, 3), torch.randn(5, 4)
    trained = poptorch.trainingModel(net, options(), torch.optim.SGD(net.parameters(), lr=0.1))
    inferring = poptorch.inferenceModel(net, options())
    for _ in range(2):
        trained(x, y)
        inferring(x, y)
    said = [one for one in capsys.readouterr().err.splitlines() if "agrees with eager torch" in one]
    assert [one.split(" of ")[0].split("the ")[1] for one in said] == ["training step", "inference step"]


def test_a_module_that_raises_in_eager_torch_differs(capsys: Any) -> None:
    def beyond(net: Any, x: Any) -> Any:
        return net.a(x[torch.tensor([0, 9])])

    poptorch.inferenceModel(Net(beyond), options())(torch.randn(5, 3), torch.randn(2, 4))
    said = line_of(capsys)
    assert said.startswith("the inference step of Net differs from eager torch, which raises IndexError at ")
    assert f"{line_number(beyond, 1)}: index 9 is out of bounds for dimension 0 with size 5" in said


def test_a_module_that_cannot_be_copied_is_not_checked(capsys: Any) -> None:
    net = Net(lambda net, x: net.a(x))
    net.lock = threading.Lock()
    poptorch.inferenceModel(net, options())(torch.randn(5, 3), torch.randn(5, 4))
    assert "is not checked: TypeError: cannot pickle" in line_of(capsys)


def test_a_difference_ends_the_program_where_the_user_says_so(monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setenv("POPVISION_CHECK", "fail")
    assert "agrees" in checked(frozen_teacher, capsys)
    _silent_losses(monkeypatch)
    with pytest.raises(SystemExit) as ended:
        step(Scaled(), torch.randn(5, 3), torch.tensor([0, 1, 2, 3, 0]))
    assert ended.value.code == 4


def test_an_unknown_check_is_refused(monkeypatch: Any) -> None:
    monkeypatch.setenv("POPVISION_CHECK", "numpy")
    with pytest.raises(ValueError, match="POPVISION_CHECK is 'numpy'; it is torch or fail"):
        poptorch.inferenceModel(nn.Linear(3, 4), options())(torch.randn(5, 3))


def test_the_check_leaves_no_report_of_its_own(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    given = {"autoReport.all": "true", "autoReport.directory": str(tmp_path)}
    monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", json.dumps(given))
    model = poptorch.inferenceModel(nn.Linear(3, 4), options())
    model(torch.randn(2, 3))
    model.destroy()
    assert "agrees with eager torch" in line_of(capsys)
    assert [path.parent.name for path in tmp_path.glob("**/profile.pop")] == ["inference"]
    assert json.loads(os.environ["POPLAR_ENGINE_OPTIONS"]) == given
