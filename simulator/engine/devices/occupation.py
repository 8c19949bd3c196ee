"""A device and the programs on it: what each of them does now, and why it can no longer run.

A load replaces what was on the device; a CPU holds any number of programs. A program does one thing at a time, and what
would disturb it is refused and does not wait: in a callback of the run it would wait for ever. Whoever changes the
device marks its programs, so that a run reads attributes of its own program only: all of this costs it half a
microsecond.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock

from simulator.base.errors import poplar_error
from simulator.base.target import TargetType


class LoadedProgram:
    """The program of an engine or module (`owner`, as "the engine"), which is on a device once it is loaded."""

    def __init__(self, owner: str) -> None:
        self.owner, self._subject = owner, owner.capitalize()
        self.place: DeviceCondition | None = None  #: the device it was loaded onto last
        self.lost = ""  #: why it is not on the device, as a sentence without its end; "" = it is there
        self._now: dict[str, tuple[str, str, object]] = {}  #: one entry while anything is done: method, words for it
        self.unload()

    def unload(self) -> None:
        """Leave the device."""
        self.place = None
        self.lost = f"{self._subject} is not loaded; call load(device)"

    def begin(self, call: str, doing: str, what: object = "", device: DeviceCondition | None = None) -> None:
        """Do something that the method `call` stands for until `end`, which must follow. Raises poplar_error while
        anything is done; with a `device` the sentence speaks of that."""
        mine = call, doing, what
        found = self._now.setdefault("now", mine)  # no other thread comes between the look and the entry
        if found is not mine:
            self._refuse(call, found, device)

    def end(self) -> None:
        del self._now["now"]

    def check_idle(self, call: str, device: DeviceCondition) -> None:
        """Raise poplar_error, which speaks of the device, while anything is done."""
        found = self._now.get("now")
        if found is not None:
            self._refuse(call, found, device)

    def _refuse(self, call: str, found: tuple[str, str, object], device: DeviceCondition | None) -> None:
        until, doing, what = found
        if device is None:
            subject = f"{self._subject} is {doing} {what}".rstrip()
        elif until == "run":
            subject = f"Device {device.number} is running a program"
        else:
            subject = f"{self._subject} on device {device.number} is {doing}"
        raise poplar_error(
            f"{subject}; call {call}() after {until}() has returned, not meanwhile from a callback or another thread."
        )

    @contextmanager
    def busy(self, call: str, doing: str, device: DeviceCondition | None = None) -> Iterator[None]:
        """`begin` and `end`, for all but runs: this takes a microsecond more."""
        self.begin(call, doing, "", device)
        try:
            yield
        finally:
            self.end()

    def check_loaded(self, call: str) -> None:
        """Raise poplar_error where the program is not on the device, or Engine.stop left that undefined."""
        place = self.place
        if place is not None and not place.is_usable:
            raise poplar_error(
                f"Device {place.number} is not attached; call device.attach() and load(device) before {call}()."
            )
        if self.lost:
            raise poplar_error(f"{self.lost} before {call}().")
        if place is not None and place.undefined:
            raise poplar_error(
                f"Device {place.number} was stopped by Engine.stop() and is undefined; call device.reset() and "
                f"load(device) before {call}()."
            )


class DeviceCondition:
    """What the views of one device share: whether this process has it, whether Engine.stop left it undefined, and the
    programs on it. `number`: of the device, for sentences."""

    def __init__(self, number: int, type_: TargetType) -> None:
        self.number = number
        self.attached = False
        self.give_back: weakref.finalize[..., DeviceCondition] | None = None  #: what lets other processes attach it
        self.undefined = False
        self._type = type_
        self._programs: weakref.WeakSet[LoadedProgram] = weakref.WeakSet()  #: that were loaded onto it last
        self._lock = Lock()

    @property
    def is_usable(self) -> bool:
        """Whether programs can be loaded; hardware must be attached."""
        return self.attached or self._type is not TargetType.IPU

    def load(self, call: str, program: LoadedProgram, bring: Callable[[], None]) -> None:
        """Replace what is on the device: `bring` sets the first values of the new program. Raises poplar_error while
        another program runs."""
        with self._lock:
            if self._type is not TargetType.CPU:
                self._take_from(call, "being replaced", f"Device {self.number} holds another program now", program)
            self._programs.add(program)
            program.place, program.lost = self, ""
        try:
            bring()
        except BaseException:
            program.unload()
            raise

    def reset(self) -> None:
        """Take all programs off. Raises poplar_error while one runs."""
        with self._lock:
            self._take_from("reset", "being reset", f"Device {self.number} was reset after {{owner}} was loaded")
            self.undefined = False

    def detach(self) -> None:
        """Let other processes take the device; programs on hardware are lost. Raises poplar_error while one runs."""
        with self._lock:
            why = f"Device {self.number} was detached after {{owner}} was loaded"
            self._take_from("detach", "being detached", why if self._type is TargetType.IPU else "")
            self.attached = False
            if self.give_back is not None:
                self.give_back()
                self.give_back = None

    def check_idle(self, call: str, but: LoadedProgram) -> None:
        """Raise poplar_error while another program runs on a device that holds one."""
        with self._lock:
            for program in () if self._type is TargetType.CPU else self._others(but):
                program.check_idle(call, self)

    def _take_from(self, call: str, doing: str, why: str, but: LoadedProgram | None = None) -> None:
        """Mark all programs but one as lost, unless `why` is empty."""
        with ExitStack() as held:
            for program in self._others(but):
                held.enter_context(program.busy(call, doing, self))
            for program in self._programs:
                if why and program is not but and program.place is self:
                    program.lost = f"{why.format(owner=program.owner)}; call load(device) again"

    def _others(self, but: LoadedProgram | None) -> list[LoadedProgram]:
        return [one for one in self._programs if one is not but and one.place is self and not one.lost]
