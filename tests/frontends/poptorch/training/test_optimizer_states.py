"""States of optimizers on the device: saved, loaded, written between steps; a resumed run is the uninterrupted one."""

from __future__ import annotations

import copy
import io
from typing import Any

import pytest
import torch

from simulator.frontends import poptorch
from tests.frontends.poptorch.model_options import options


class _Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.fc = torch.nn.Linear(3, 2)

    def forward(self, x: Any, y: Any) -> Any:
        return torch.nn.functional.mse_loss(torch.tanh(self.fc(x)), y)


def batch(number: int) -> tuple[Any, Any]:
    generator = torch.Generator().manual_seed(number)
    return torch.randn(4, 3, generator=generator), torch.randn(4, 2, generator=generator)


def wrapped(net: Any, optimizer: Any) -> Any:
    return poptorch.trainingModel(net, options(), optimizer)


def weights(net: Any) -> dict[str, Any]:
    return {name: value.clone() for name, value in net.state_dict().items()}


def equal(first: dict[str, Any], second: dict[str, Any]) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


OPTIMIZERS = {
    "poptorch.SGD": lambda p: poptorch.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.3),
    "poptorch.SGD-combined": lambda p: poptorch.optim.SGD(
        p, lr=0.1, momentum=0.9, use_combined_accum=True, velocity_scaling=2.0
    ),
    "poptorch.Adam": lambda p: poptorch.optim.Adam(p, lr=0.1),
    "poptorch.RMSprop": lambda p: poptorch.optim.RMSprop(p, lr=0.1, centered=True, momentum=0.5),
    "poptorch.LAMB": lambda p: poptorch.optim.LAMB(p, lr=0.1),
    "torch.SGD": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.3),
    "torch.AdamW": lambda p: torch.optim.AdamW(p, lr=0.1),
    "torch.RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.1, centered=True, momentum=0.5),
}


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("when", ["before the model", "between steps"])
def test_a_resumed_run_is_the_uninterrupted_one(kind: str, when: str) -> None:
    make = OPTIMIZERS[kind]
    net = _Net()
    optimizer = make(net.parameters())
    model = wrapped(net, optimizer)
    for number in range(2):
        model(*batch(number))
    file = io.BytesIO()
    torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, file)
    for number in range(2, 4):
        model(*batch(number))
    uninterrupted = weights(net)
    model.destroy()

    file.seek(0)
    saved = torch.load(file)
    other = _Net()
    optimizer = make(other.parameters())
    if when == "before the model":
        other.load_state_dict(saved["net"])
        optimizer.load_state_dict(saved["optimizer"])
        model = wrapped(other, optimizer)
    else:
        model = wrapped(other, optimizer)
        model(*batch(9))
        model.load_state_dict(saved["net"])
        optimizer.load_state_dict(saved["optimizer"])
    for number in range(2, 4):
        model(*batch(number))
    assert equal(weights(other), uninterrupted)
    model.destroy()


@pytest.mark.parametrize("kind", ["torch.SGD", "torch.AdamW", "torch.RMSprop"])
def test_states_of_torch_are_those_of_eager_torch(kind: str) -> None:
    make = OPTIMIZERS[kind]
    net, twin = _Net(), _Net()
    optimizer, eager = make(net.parameters()), make(twin.parameters())
    model = wrapped(net, optimizer)
    model.compile(*batch(0))
    assert optimizer.state_dict()["state"] == {}
    for number in range(2):
        model(*batch(number))
        eager.zero_grad()
        twin(*batch(number)).backward()
        eager.step()
    got, expected = optimizer.state_dict()["state"], eager.state_dict()["state"]
    assert [set(state) for state in got.values()] == [set(state) for state in expected.values()]
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-6)
    # Steps on the host begin where the device ended.
    for module, descent in ((net, optimizer), (twin, eager)):
        descent.zero_grad()
        module(*batch(5)).backward()
        descent.step()
    torch.testing.assert_close(weights(net), weights(twin), rtol=1e-4, atol=1e-5)
    model.destroy()


def test_popart_names_of_states_and_numbers() -> None:
    net = _Net()
    optimizer = poptorch.optim.Adam(net.parameters(), lr=0.05, weight_decay=0.025, loss_scaling=0.75)
    model = wrapped(net, optimizer)
    assert optimizer.state_dict()["ipu_state"] is None
    model.compile(*batch(0))
    first = optimizer.state_dict()
    assert sorted(first["ipu_state"]) == [
        f"{state}___model.fc.{weight}" for state in ("Accl1", "Accl2", "Step") for weight in ("bias", "weight")
    ]
    assert not any(state.any() for state in first["ipu_state"].values())
    numbers = first["ipu_param"]
    assert float(numbers["lossScaling_FLOAT"]) == 0.75
    torch.testing.assert_close(numbers["learningRate___specific___model.fc.bias"], torch.tensor(0.05))
    torch.testing.assert_close(numbers["weightDecay___specific___model.fc.weight"], torch.tensor(0.025))
    model(*batch(0))
    assert all(state.any() for state in optimizer.state_dict()["ipu_state"].values())
    model.destroy()


def test_combined_numbers_of_descent_without_momentum() -> None:
    net = _Net()
    optimizer = poptorch.optim.SGD(net.parameters(), lr=0.05, weight_decay=0.025, loss_scaling=0.75)
    model = wrapped(net, optimizer)
    model.compile(*batch(0))
    saved = optimizer.state_dict()
    assert saved["ipu_state"] == {}
    name = "___specific___model.fc.weight"
    torch.testing.assert_close(saved["ipu_param"][f"weightDecayScaleFactor0{name}"], torch.tensor(1 - 0.05 * 0.025))
    torch.testing.assert_close(saved["ipu_param"][f"scaledLearningRate0{name}"], torch.tensor(0.05 / 0.75))
    model.destroy()


def test_states_written_between_steps(capsys: Any) -> None:
    net = _Net()
    optimizer = poptorch.optim.SGD(net.parameters(), lr=0.5, momentum=1.0)
    model = wrapped(net, optimizer)
    x, y = batch(0)
    model(x, y)
    before = weights(net)
    saved = copy.deepcopy(optimizer.state_dict())
    del saved["ipu_state"]["Accl1___model.fc.bias"]
    saved["ipu_state"]["Accl1___model.fc.weight"] = torch.full((2, 3), 100.0)
    velocity = optimizer.state_dict()["ipu_state"]["Accl1___model.fc.bias"]
    optimizer.load_state_dict(saved)
    assert "Accl1___model.fc.bias" not in optimizer.state_dict()["ipu_state"]
    model(x, y)
    assert "ignoring missing state Accl1___model.fc.bias" in capsys.readouterr().err
    twin = _Net()
    twin.load_state_dict(before)
    twin(x, y).backward()
    after = weights(net)
    torch.testing.assert_close(after["fc.weight"], before["fc.weight"] - 0.5 * (100.0 + twin.fc.weight.grad))
    torch.testing.assert_close(after["fc.bias"], before["fc.bias"] - 0.5 * (velocity + twin.fc.bias.grad))
    model.destroy()


def test_loaded_groups_bring_their_rates_and_other_numbers_are_told(capsys: Any) -> None:
    net = _Net()
    optimizer = poptorch.optim.SGD(net.parameters(), lr=0.5)
    model = wrapped(net, optimizer)
    model(*batch(0))
    saved = copy.deepcopy(optimizer.state_dict())
    saved["param_groups"][0]["lr"] = 0.0
    optimizer.load_state_dict(saved)
    before = weights(net)
    model(*batch(0))
    assert equal(weights(net), before)
    assert "is 0.5 in ipu_param and 0 by param_groups" in capsys.readouterr().err
    model.destroy()


def test_states_of_another_module_are_refused() -> None:
    net = _Net()
    optimizer = poptorch.optim.Adam(net.parameters(), lr=0.1)
    model = wrapped(net, optimizer)
    model(*batch(0))
    saved = optimizer.state_dict()
    saved["ipu_state"]["Accl2___model.fc.bias"] = torch.zeros(7)
    optimizer.load_state_dict(saved)
    with pytest.raises(poptorch.Error, match=r"Accl2___model.fc.bias has the shape \(7,\); the optimizer's is \(2,\)"):
        model(*batch(0))
    model.destroy()


def test_a_new_optimizer_leaves_the_old_one_its_states() -> None:
    net = _Net()
    first = poptorch.optim.Adam(net.parameters(), lr=0.1)
    model = wrapped(net, first)
    model(*batch(0))
    second = poptorch.optim.Adam(net.parameters(), lr=0.2)
    model.setOptimizer(second)
    velocity = first.state_dict()["ipu_state"]["Accl1___model.fc.weight"].clone()
    model(*batch(1))
    assert torch.equal(first.state_dict()["ipu_state"]["Accl1___model.fc.weight"], velocity)
    assert float(second.state_dict()["ipu_state"]["Step___model.fc.weight"]) == 2.0
    model.setOptimizer(first)
    model(*batch(1))
    assert float(first.state_dict()["ipu_state"]["Step___model.fc.weight"]) == 2.0
    model.destroy()
