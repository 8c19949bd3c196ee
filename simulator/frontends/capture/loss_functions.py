"""Losses of which torch's own code asks for the values of tensors, in operators of fixed shapes.

Connectionist temporal classification, whose lengths may be data: the forward variables of all labels with blanks
between them go through time, step by step (Graves et al., 2006); each step is unrolled into the graph, and gradients go
back through them. Steps and labels beyond an example's lengths change nothing. Cycles are a guess: popnn.ctc has
vertices of its own for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from simulator.frontends.capture.operators import CaptureError

#: the logarithm of 0: finite, so that no gradient is NaN
_NEVER = -1e30
_Lengths = Any


def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: _Lengths,
    target_lengths: _Lengths,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:
    """As torch.nn.functional.ctc_loss."""
    alone = log_probs.dim() == 2
    scores = (log_probs.unsqueeze(1) if alone else log_probs).float()
    steps, batch, classes = scores.shape
    times, counts = _as_tensor(input_lengths).reshape(-1), _as_tensor(target_lengths).reshape(-1)
    labels = _padded(targets, target_lengths, counts, batch).clamp(0, classes - 1)
    path = _with_blanks(labels, blank)
    emitted = scores.gather(2, path.unsqueeze(0).expand(steps, -1, -1))
    alpha = _last_variables(emitted, path, times, blank)
    ends = torch.stack([2 * counts, (2 * counts - 1).clamp_min(0)], 1)
    last = alpha.gather(1, ends)
    none = torch.stack([counts < 0, counts == 0], 1)  #: without labels there is one end
    losses = -torch.logsumexp(last.masked_fill(none, _NEVER), 1)
    losses = losses + _torch_gradient(scores, times)
    losses = torch.where(losses > -_NEVER / 2, 0.0 if zero_infinity else torch.inf, losses)
    losses = losses.to(log_probs.dtype)
    if reduction == "mean":
        return torch.ops.popvision.loss((losses / counts.clamp_min(1)).mean())
    if reduction == "sum":
        return torch.ops.popvision.loss(losses.sum())
    return losses[0] if alone else losses


def _torch_gradient(scores: Any, times: Any) -> Any:
    """[batch] zeros with the gradient that torch has besides: as if every loss began with a log-softmax."""
    lasts = torch.arange(scores.shape[0]).unsqueeze(1) < times
    mass = (scores.exp() * lasts.unsqueeze(2)).sum((0, 2))
    return mass - mass.detach()


def _as_tensor(lengths: _Lengths) -> Any:
    return lengths if isinstance(lengths, torch.Tensor) else torch.tensor(lengths)


def _padded(targets: Any, target_lengths: _Lengths, counts: Any, batch: int) -> Any:
    """[batch, labels]: one after the other where `targets` joins them all."""
    if targets.dim() == 2:
        return targets
    if batch == 1:
        return targets.unsqueeze(0)
    known = isinstance(target_lengths, Sequence)
    longest = max(target_lengths) if known else targets.shape[0]
    begins = torch.cumsum(counts, 0) - counts
    places = begins.unsqueeze(1) + torch.arange(longest)
    return targets[places.clamp_max(max(0, targets.shape[0] - 1))]


def _with_blanks(labels: Any, blank: int) -> Any:
    """[batch, 2 labels + 1]"""
    blanks = torch.full_like(labels, blank)
    between = torch.stack([blanks, labels], 2).flatten(1)
    return torch.cat([between, torch.full_like(labels[:, :1], blank) if labels.shape[1] else _one(labels, blank)], 1)


def _one(labels: Any, blank: int) -> Any:
    return labels.new_full([labels.shape[0], 1], blank)


def _last_variables(emitted: Any, path: Any, times: Any, blank: int) -> Any:
    """The logarithms of the forward variables, [batch, places on the path], after each example's last step."""
    steps, batch, places = emitted.shape
    never = emitted.new_full([batch, 2], _NEVER)
    alpha = torch.cat([emitted[0, :, :2], emitted.new_full([batch, max(0, places - 2)], _NEVER)], 1)[:, :places]
    # A label follows the label before the last blank, if it is another one.
    before = torch.cat([path.new_full([batch, min(2, places)], blank), path[:, :-2]], 1)[:, :places]
    jumps = (path != blank) & (path != before)
    for step in range(1, steps):
        one = torch.cat([never[:, :1], alpha[:, :-1]], 1)
        two = torch.cat([never, alpha[:, :-2]], 1)[:, :places].masked_fill(~jumps, _NEVER)
        after = torch.logsumexp(torch.stack([alpha, one, two], 2), 2) + emitted[step]
        alpha = torch.where((step < times).unsqueeze(1), after, alpha)
    return alpha


def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """As torch.nn.functional.gaussian_nll_loss, without its check that no variance is negative: one below `eps` counts
    as `eps`. Raises CaptureError for a variance of another shape."""
    if isinstance(var, float | int):
        var = torch.full_like(input, var)
    if var.shape != input.shape and input.shape[:-1] == var.shape:
        var = var.unsqueeze(-1)
    elif var.shape != input.shape and (input.shape[:-1] != var.shape[:-1] or var.shape[-1] != 1):
        raise CaptureError(
            f"gaussian_nll_loss: the variance has the shape {list(var.shape)}, the input {list(input.shape)}; give "
            "one variance for each element, or for each row."
        )
    var = var + (var.clamp_min(eps) - var).detach()
    losses = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    if reduction == "none":
        return losses
    return torch.ops.popvision.loss(losses.mean() if reduction == "mean" else losses.sum())
