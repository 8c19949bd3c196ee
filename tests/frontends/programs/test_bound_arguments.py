"""Arguments of a call: Python's own rules, names for messages, and no second look at the signature."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from simulator.frontends.poptorch.micro_batches import bind

torch = pytest.importorskip("torch")


class Pair(torch.nn.Module):
    def forward(self, first: Any, second: Any = None, *others: Any) -> Any:
        return first, second, others


class Other(Pair):
    def forward(self, only: Any) -> Any:  # type: ignore[override]
        return only


def test_a_loop_of_tensors_inspects_its_method_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fresh(Pair):
        def forward(self, first: Any, second: Any = None, *others: Any) -> Any:
            return first, second, others

    looks: list[Any] = []
    whole = inspect.signature
    monkeypatch.setattr(inspect, "signature", lambda forward: looks.append(forward) or whole(forward))
    for number in range(3):
        tensors = torch.full((2,), float(number)), torch.zeros(3)
        bound = bind(Fresh().forward, tensors, {})
        assert all(a is b for a, b in zip(bound.leaves, tensors, strict=True))
        assert bound.names == ("first", "second")
        positional, named = bound.micro_batch(1)
        assert positional[0] is tensors[0]
        assert named == {}
    assert len(looks) == 1


def test_keywords_and_more_tensors_are_calls_of_their_own() -> None:
    one, two, three = torch.zeros(1), torch.ones(2), torch.ones(3)
    forward = Pair().forward
    for _ in range(2):
        assert bind(forward, (one,), {}).names == ("first",)
        assert bind(forward, (one,), {"second": two}).micro_batch(1)[1] == {"second": two}
        assert bind(forward, (), {"second": two, "first": one}).names == ("second", "first")
        assert bind(forward, (one, two, three), {}).names == ("first", "second", "others")
        assert bind(forward, ([one, two],), {}).names == ("first[0]", "first[1]")
        assert bind(Other().forward, (one,), {}).names == ("only",)


@pytest.mark.parametrize("again", [False, True])
def test_arguments_that_do_not_fit_are_refused_each_time(again: bool) -> None:
    forward = Other().forward
    bind(forward, (torch.zeros(1),), {})
    for _ in range(1 + again):
        with pytest.raises(TypeError, match="too many positional arguments"):
            bind(forward, (torch.zeros(1), torch.zeros(1)), {})
