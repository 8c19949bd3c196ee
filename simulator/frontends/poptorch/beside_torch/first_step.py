"""POPVISION_CHECK: the first step of a model is run in eager torch too, and one line on standard error tells.

Costs one more capture, compilation and run of the step, and one step of eager torch; where something differs as much
again, to find the place. The user's module, buffers and random states stay as they are.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace

import torch

from simulator.frontends.poptorch.beside_torch.attempt import Attempt, Compared, EagerError, Place, first_line
from simulator.frontends.poptorch.beside_torch.comparison import relative
from simulator.frontends.poptorch.beside_torch.eager_step import copied, quiet, untouched_randomness
from simulator.frontends.poptorch.compiled_model import ModelRequest
from simulator.frontends.poptorch.environment import check_of_first_step
from simulator.frontends.poptorch.host_weights import plain_tensors

#: exit code of a program whose first step differs, where the user asked for it
DIFFERS = 4


@dataclass(frozen=True)
class Verdict:
    """What the check found: the text of its line, and whether both sides differ."""

    text: str
    differs: bool = False


def check_first_step(request: ModelRequest, place: Place) -> None:
    """Compare a model's first step with eager torch where POPVISION_CHECK says so. Raises SystemExit(4) for a
    difference where it says "fail", and ValueError for an unknown value of the variable."""
    chosen = check_of_first_step()
    if not chosen:
        return
    begun = time.perf_counter()
    try:
        with untouched_randomness(), quiet():
            verdict = _verdict(request, place)
    except Exception as error:  # a check never ends the program
        verdict = Verdict(f"is not checked: {type(error).__name__}: {first_line(error)}")
    name = f"{'training' if request.training else 'inference'} step of {type(request.module).__name__}"
    seconds = time.perf_counter() - begun
    print(f"popvision check: the {name} {verdict.text} ({seconds:.1f} s).", file=sys.stderr, flush=True)
    if verdict.differs and chosen == "fail":
        raise SystemExit(DIFFERS)


def _verdict(request: ModelRequest, place: Place) -> Verdict:
    """Compare in the module's precision, and in float32 where that has halves which differ."""
    with plain_tensors(request.module):
        request = replace(request, module=copied(request.module))
    first, left_out = Attempt(request, place), ""
    operator = first.undrawn()
    if operator is not None:
        drawing = f"{operator.name} ({operator.place.text()})"
        first, left_out = Attempt(request, place, without_draws=True), f", without the random numbers of {drawing}"
        if first.undrawn() is not None:
            return Verdict(f"cannot be compared: eager torch cannot draw the random numbers of {drawing}")
    verdict = _compared(first, left_out, locates=not first.uses_half)
    if not verdict.differs or not first.uses_half:
        return verdict
    wide = _compared(Attempt(request, place, torch.float32, first.without_draws), left_out)
    if wide.differs:
        return wide
    return Verdict(f"{wide.text}, in float32; what float16 changes is rounding")


def _compared(attempt: Attempt, left_out: str, locates: bool = True) -> Verdict:
    try:
        compared = attempt.compared()
    except EagerError as error:
        return Verdict(f"differs from eager torch, which raises {error}", True)
    except LookupError as error:
        return Verdict(f"differs from eager torch: {error}", True)
    if not compared.found:
        return Verdict(f"agrees with eager torch{left_out}: {_agreement(compared, attempt.share)}")
    place = attempt.location(compared.found) if locates else None
    where = "" if place is None else f", first at {place}"
    count = f"; {len(compared.found)} of {len(compared.pairs)} tensors differ" if len(compared.found) > 1 else ""
    return Verdict(f"differs from eager torch{left_out}: {compared.found[0]}{where}{count}", True)


def _agreement(compared: Compared, share: float) -> str:
    counts = [
        f"{number} {kind if number == 1 else kinds}"
        for kind, kinds in (
            ("output", "outputs"),
            ("input", "inputs"),
            ("loss", "losses"),
            ("gradient", "gradients"),
            ("state", "states"),
        )
        if (number := sum(pair.kind == kind for pair in compared.pairs))
    ]
    rounded = f", {compared.rounded} differ more, by rounding as float32 beside float64" if compared.rounded else ""
    largest = max((size for pair in compared.pairs if (size := relative(pair)) <= share), default=0.0)
    return f"{', '.join(counts)}, apart by {largest:.1g} of the largest element at most ({share:.0e} allowed){rounded}"
