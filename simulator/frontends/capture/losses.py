"""Where the backward pass of a captured program begins: at the result of the last loss operator, PopTorch's rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from simulator.frontends.capture.operators import CaptureError
from simulator.frontends.captured import Operator, Value

#: operators whose scalar result is a loss
LOSSES = frozenset(
    f"aten.{name}"
    for name in (
        "cross_entropy_loss.default",
        "nll_loss.default",
        "nll_loss2d.default",
        "nll_loss_nd.default",
        "mse_loss.default",
        "l1_loss.default",
        "smooth_l1_loss.default",
        "huber_loss.default",
        "binary_cross_entropy.default",
        "binary_cross_entropy_with_logits.default",
        "kl_div.default",
        "cosine_embedding_loss.default",
        "hinge_embedding_loss.default",
        "margin_ranking_loss.default",
        "triplet_margin_loss.default",
        "soft_margin_loss.default",
        "poisson_nll_loss.default",
    )
) | {"poptorch.identity_loss.default", "popvision.loss.default"}


@torch.library.custom_op("popvision::loss", mutates_args=(), schema="(Tensor x) -> Tensor")
def _loss(x: Any) -> Any:
    """Marks the result of a loss that is written in other operators."""
    return x.clone()


_loss.register_fake(torch.empty_like)
_loss.register_autograd(lambda ctx, slope: slope)

#: torch's number of this reduction
_SUM = 2


def _is_mean_divergence(operator: Operator, divergences: Mapping[int, int]) -> bool:
    """Whether a sum of divergences is divided by its batch, as torch writes the reduction "batchmean"."""
    dividend = operator.arguments.get("self")
    return (
        operator.name == "aten.div.Tensor"
        and isinstance(dividend, Value)
        and dividend.number in divergences
        and operator.arguments["other"] == divergences[dividend.number]
    )


def find_loss(operators: Sequence[Operator]) -> Value:
    """The result of the last loss operator, on which no other loss depends. Raises CaptureError for none or several."""
    from_loss: dict[int, set[int]] = {}
    losses: dict[int, Value] = {}
    divergences: dict[int, int] = {}  #: batch of each Kullback-Leibler divergence that is a sum
    for operator in operators:
        sources = set().union(*(from_loss.get(operand.number, set()) for operand in operator.operands()), set())
        if operator.name == "aten.kl_div.default" and operator.arguments["reduction"] == _SUM:
            divergences[operator.results[0].number] = next(iter(operator.arguments["self"].shape), 1)
        if _is_mean_divergence(operator, divergences):  # reduction="batchmean"
            losses.pop(operator.arguments["self"].number, None)
            losses[operator.results[0].number] = operator.results[0]
            sources = {operator.results[0].number}
        if operator.name in LOSSES and operator.results[0].elements == 1:
            for source in sources:
                losses.pop(source, None)
            losses[operator.results[0].number] = operator.results[0]
            sources = {operator.results[0].number}
        for result in operator.results:
            from_loss[result.number] = sources
    if not losses:
        raise CaptureError("Couldn't find a loss in graph!")
    if len(losses) > 1:
        raise CaptureError("Multiple independent losses found in graph: combine them with poptorch.identity_loss.")
    return next(iter(losses.values()))


#: operators whose result is the loss itself in another form
_FORMS = frozenset(
    f"aten.{name}.default"
    for name in ("alias", "clone", "contiguous", "_to_copy", "reshape", "view", "squeeze", "unsqueeze", "lift_fresh")
)


def beyond_loss(operators: Sequence[Operator], outputs: Sequence[Value], loss: Value) -> str | None:
    """A sentence on what the module computes from the loss and gives back: no gradient is taken through it. None where
    there is nothing of it."""
    same, later = {loss.number}, dict[int, Operator]()  #: forms of the loss; the first operator on it
    for operator in operators:
        read = [operand.number for operand in operator.operands()]
        if operator.stops_gradients:
            continue
        if operator.name in _FORMS and read[0] in same:
            same.update(result.number for result in operator.results)
            continue
        first = next((later[number] for number in read if number in later), None)
        first = operator if first is None and same.intersection(read) else first
        if first is not None:
            later.update({result.number: first for result in operator.results if result.is_floating})
    found = next((later[one.number] for one in outputs if one.number in later and one.elements == 1), None)
    if found is None:
        return None
    made = next(one for one in operators if loss in one.results)
    return (
        f"The loss is the result of {made.name} ({made.place.text()}); {found.name} ({found.place.text()}) "
        "and what follows are not in the gradient. Give the whole to poptorch.identity_loss(loss, reduction='none')."
    )
