"""POPVISION_CHECK: the first step of a model is run in eager torch too, and one line on standard error tells.

Costs one more capture, compilation and run of the call, and one step of eager torch; where something differs as much
again, to find the place. The weights that the user's executable leaves are fetched once, which its report holds. The
user's module, buffers and random states stay as they are.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch

from simulator.frontends.poptorch.beside_torch.attempt import Attempt, Compared, EagerError, Place, first_line
from simulator.frontends.poptorch.beside_torch.comparison import CallResults, Difference, relative
from simulator.frontends.poptorch.beside_torch.eager_step import copied, quiet, untouched_randomness
from simulator.frontends.poptorch.compiled_model import ModelRequest
from simulator.frontends.poptorch.environment import check_of_first_step
from simulator.frontends.poptorch.profiling import Channel
from simulator.frontends.poptorch.weights.host_weights import plain_tensors

#: exit code of a program whose first step differs, where the user asked for it
DIFFERS = 4


@dataclass(frozen=True)
class Verdict:
    """What the check found: the text of its line, and whether both sides differ."""

    text: str
    differs: bool = False


@contextmanager
def checked_first_step(
    request: ModelRequest, place: Place, results: Callable[[], CallResults], channel: Channel
) -> Iterator[None]:
    """Compare a model's first step with eager torch, where POPVISION_CHECK says so, and what is done while this is
    open, the first call of the user's executable, with the program as it compiles now. `results` are what it
    gave, `channel` is that of the host trace.

    Raises SystemExit(4) for a difference where the variable says "fail", and ValueError for an unknown value of it."""
    chosen = check_of_first_step()
    if not chosen:
        yield
        return
    begun = time.perf_counter()
    with channel.tracepoint("checkFirstStep"):
        verdict, attempt = _guarded(lambda: _verdict(request, place))
    seconds, has_run = time.perf_counter() - begun, False
    try:
        yield
        has_run = True
    finally:
        begun = time.perf_counter()
        if has_run and attempt is not None and not verdict.differs:
            with channel.tracepoint("checkFirstStep"):
                verdict, _ = _guarded(lambda: (_beside(verdict, attempt.beside(results())), None))
        seconds += time.perf_counter() - begun
        name = f"{'training' if request.training else 'inference'} step of {type(request.module).__name__}"
        print(f"popvision check: the {name} {verdict.text} ({seconds:.1f} s).", file=sys.stderr, flush=True)
    if verdict.differs and chosen == "fail":
        raise SystemExit(DIFFERS)


def _guarded(check: Callable[[], tuple[Verdict, Attempt | None]]) -> tuple[Verdict, Attempt | None]:
    """The verdict of a check that never ends the program."""
    try:
        with untouched_randomness(), quiet():
            return check()
    except Exception as error:
        return Verdict(f"is not checked: {type(error).__name__}: {first_line(error)}"), None


def _beside(verdict: Verdict, differences: list[Difference]) -> Verdict:
    """The verdict with what the executable that ran gives instead."""
    if not differences:
        return verdict
    return Verdict(
        f"ran another program than it compiles to now, which differs: {differences[0]}; remove the executable from the "
        "cache or export it again",
        True,
    )


def _verdict(request: ModelRequest, place: Place) -> tuple[Verdict, Attempt | None]:
    """Compare in the module's precision, and in float32 where that has halves which differ; with the attempt whose
    program is the user's."""
    if request.settings.weight_groups:
        names = ", ".join(request.settings.weight_groups)
        return Verdict(f"cannot be compared: replicas have weights of their own ({names})"), None
    with plain_tensors(request.module):
        request = replace(request, module=copied(request.module))
    first, left_out = Attempt(request, place), ""
    users = first
    operator = first.undrawn()
    if operator is not None:
        drawing = f"{operator.name} ({operator.place.text()})"
        first, left_out = Attempt(request, place, without_draws=True), f", without the random numbers of {drawing}"
        if first.undrawn() is not None:
            return Verdict(f"cannot be compared: eager torch cannot draw the random numbers of {drawing}"), users
    verdict = _compared(first, left_out, locates=not first.uses_half)
    if not verdict.differs or not first.uses_half:
        return verdict, users
    wide = _compared(Attempt(request, place, torch.float32, first.without_draws), left_out)
    if wide.differs:
        return wide, users
    return Verdict(f"{wide.text}, in float32; what float16 changes is rounding"), users


def _compared(attempt: Attempt, left_out: str, locates: bool = True) -> Verdict:
    try:
        compared = attempt.compared()
    except EagerError as error:
        return Verdict(f"differs from eager torch, which raises {error}", True)
    except LookupError as error:
        return Verdict(f"differs from eager torch: {error}", True)
    left_out += compared.left_out
    if not compared.found:
        return Verdict(f"agrees with eager torch{left_out}: {_agreement(compared, attempt.share)}")
    locates = locates and compared.found[0].pair.kind != "update"
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
            ("update", "updates"),
        )
        if (number := sum(pair.kind == kind for pair in compared.pairs))
    ]
    rounded = f", {compared.rounded} differ more, by rounding as float32 beside float64" if compared.rounded else ""
    largest = max((size for pair in compared.pairs if (size := relative(pair)) <= share), default=0.0)
    return f"{', '.join(counts)}, apart by {largest:.1g} of the largest element at most ({share:.0e} allowed){rounded}"
