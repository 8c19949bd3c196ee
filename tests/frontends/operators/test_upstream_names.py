"""Every operation in PopTorch's lists, trained one step beside eager torch, in float32 and in float16."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from simulator.frontends import poptorch
from simulator.frontends.poptorch.documents.name_table import NAMES
from simulator.frontends.poptorch.documents.upstream_names import (
    FEATURES,
    NAMED_FEATURES,
    OPERATIONS,
    REFUSED,
)
from simulator.frontends.poptorch.option_table import Effect
from tests.frontends.operators.upstream_cases import ELSEWHERE, Case, all_cases

CASES = all_cases()
TOGETHER = 4  #: operations of one program
FOLDER = Path(__file__).parent.parent


class _Together(nn.Module):
    """Calls several cases; the loss is the sum of all results times numbers of their own."""

    def __init__(self, cases: Sequence[Case]) -> None:
        super().__init__()
        self.functions = [case.make() for case in cases]
        self.parts = nn.ModuleList(one for one in self.functions if isinstance(one, nn.Module))
        self.anchor = nn.Parameter(torch.zeros(()))  #: of a loss that depends on no operand
        self.operands: list[list[str]] = []
        for number, case in enumerate(cases):
            names = [f"operand{number}_{place}" for place in range(len(case.operands))]
            for name, value in zip(names, case.operands, strict=True):
                if value.is_floating_point():
                    self.register_parameter(name, nn.Parameter(value.clone()))
                else:
                    self.register_buffer(name, value.clone())
            self.operands.append(names)

    def forward(self, start: Any) -> Any:
        results: list[Any] = []
        for function, names in zip(self.functions, self.operands, strict=True):
            outputs = function(*(getattr(self, name) for name in names))
            results += outputs if isinstance(outputs, tuple | list) else [outputs]
        total = start + self.anchor.float()
        for one in results:
            if one.is_floating_point() and one.requires_grad:
                factors = torch.linspace(0.5, 1.5, one.numel()).reshape(one.shape)
                total = total + (one.float() * factors).sum()
        return results, poptorch.identity_loss(total, reduction="sum")


def programs() -> Iterator[Any]:
    for section, names in OPERATIONS.items():
        have = [name for name in names if name in CASES]
        count = 1 if section == "Recurrent layers" else TOGETHER
        for first in range(0, len(have), count):
            yield pytest.param(have[first : first + count], id=f"{section}-{first}")


def compare(got: Any, expected: Any, tolerance: float, what: str) -> None:
    expected = expected.detach()
    if not expected.is_floating_point():
        assert torch.equal(got.to(expected.dtype), expected), what
        return
    largest = max(1.0, float(expected.abs().max())) if expected.numel() else 1.0
    torch.testing.assert_close(
        got.detach().float(), expected.float(), rtol=0, atol=tolerance * largest, msg=lambda text: f"{what}: {text}"
    )


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("names", list(programs()))
@pytest.mark.parametrize("precision", ["float32", "float16"])
def test_an_operation_trains_as_in_eager_torch(names: Sequence[str], precision: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("POPVISION_TILES", "4")
    halves = precision == "float16"
    cases = [CASES[name] for name in names if CASES[name].in_half or not halves]
    torch.manual_seed(5)
    net = _Together(cases)
    net = net.half() if halves else net
    twin = copy.deepcopy(net).float()
    twin.functions = list(_rebound(net, twin))
    before = {name: one.detach().clone().float() for name, one in net.named_parameters()}
    options = poptorch.Options().showCompilationProgressBar(False)
    model = poptorch.trainingModel(net, options, torch.optim.SGD(net.parameters(), lr=1.0))
    results, _ = model(torch.zeros(()))
    expected, loss = twin(torch.zeros(()))
    loss.backward()
    tolerance = 2e-2 if halves else 2e-5
    for number, (one, other) in enumerate(zip(results, expected, strict=True)):
        compare(one, other, tolerance, f"result {number} of {names}")
    after = dict(net.named_parameters())
    for name, weight in twin.named_parameters():
        gradient = torch.zeros_like(weight) if weight.grad is None else weight.grad
        compare(before[name] - after[name].float(), gradient, tolerance, f"gradient of {name} of {names}")
    model.destroy()


def _rebound(net: Any, twin: Any) -> Iterator[Any]:
    """The functions of a copy: its own modules, and the same plain functions."""
    modules = iter(twin.parts)
    for one in net.functions:
        yield next(modules) if isinstance(one, nn.Module) else one


def test_each_name_of_the_lists_has_a_case_or_a_reason() -> None:
    listed = [name for names in OPERATIONS.values() for name in names]
    assert len(listed) == len(set(listed))
    assert set(listed) == set(CASES) | set(ELSEWHERE) | (set(REFUSED) & set(listed))
    assert not (set(CASES) | set(ELSEWHERE)) & set(REFUSED)
    for test in (*ELSEWHERE.values(), *(f"poptorch/{one}" for one in FEATURES.values() if one)):
        file, _, function = test.partition("::")
        assert f"def {function}(" in (FOLDER / file).read_text(), test


def test_most_of_the_names_work() -> None:
    works = [name not in REFUSED for names in OPERATIONS.values() for name in names]
    works += [bool(test) for test in FEATURES.values()]
    works += [NAMES[name].effect is Effect.WORKS for name in NAMED_FEATURES]
    assert sum(works) >= 0.95 * len(works), f"{sum(works)} of {len(works)}"
