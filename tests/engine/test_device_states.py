"""Any order of loads, runs, stops, resets, detachments, threads and saved executables against a model of a device."""

import io
import tempfile
import threading
from contextlib import nullcontext, suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from simulator.engine import options
from simulator.engine.devices.occupation import DeviceCondition, LoadedProgram
from simulator.engine.executable import Executable
from simulator.poplar import FLOAT, Device, DeviceManager, Engine, Graph, TargetType, compileGraph, poplar_error
from simulator.poplar.program import Copy, Sequence
from tests.example_profiles import costly, search
from tests.poplar.options.small import model

SECONDS = 20  #: far more than anything here takes
KINDS = {
    "hardware": lambda: DeviceManager().getDevices(TargetType.IPU, 1)[0],
    "IPU Model": model,
    "CPU": Device.createCPUDevice,
}
_executables = {}


def executables(kind, device):
    """Two compiled programs, each for the device kind: program 0 sends x, program 1 does nothing."""
    if kind not in _executables:
        made = []
        for _ in range(2):
            graph = Graph(device)
            x = graph.addVariable(FLOAT, [2], "x")
            graph.setTileMapping(x, 0)
            graph.createHostRead("x", x)
            made.append(compileGraph(graph, [Copy(x, graph.addDeviceToHostFIFO("out", FLOAT, 2)), Sequence()]))
        _executables[kind] = made
    return _executables[kind]


class Expected:
    """The model: what may be done."""

    def __init__(self, kind):
        self.kind, self.on, self.undefined, self.attached, self.running = kind, set(), False, True, None

    def may_run(self, engine):
        idle = self.running is None or (self.kind == "CPU" and self.running != engine)
        return idle and engine in self.on and not self.undefined

    def may_load(self, engine):
        return self.attached and (self.running is None or (self.kind == "CPU" and self.running != engine))

    def load(self, engine):
        self.on = self.on | {engine} if self.kind == "CPU" else {engine}

    def reset(self):
        self.on, self.undefined = set(), False

    def detach(self):
        if self.kind == "hardware":
            self.on, self.attached = set(), False


ENGINES = st.integers(0, 1)
IN_CALLBACK = st.sampled_from(("run", "load", "reset", "detach", "close", "read", "nothing"))


class DeviceStates(RuleBasedStateMachine):
    """Two engines on one device. A program may run in a thread until `finish`."""

    @initialize(kind=st.sampled_from(list(KINDS)))
    def begin(self, kind):
        self.device, self.expected = KINDS[kind](), Expected(kind)
        assert self.device.attach()
        first, second = executables(kind, self.device)
        self.engines = [Engine(first), Engine(second)]
        self.inside, self.go, self.runner, self.then = threading.Event(), threading.Event(), None, None
        for engine in self.engines:
            engine.connectStreamToCallback("out", self.out)
        self.folder, self.reports = tempfile.TemporaryDirectory(), 0
        self.load(0)

    def out(self, memory):
        if self.then is not None:
            then, self.then = self.then, None
            then()
        elif self.runner is not None and threading.current_thread() is self.runner:
            self.inside.set()
            assert self.go.wait(SECONDS)

    def check(self, allowed, act):
        try:
            act()
        except poplar_error:
            assert not allowed
        else:
            assert allowed

    def calls(self, number):
        engine = self.engines[number]
        return {
            "run": engine.run,
            "load": lambda: engine.load(self.device),
            "reset": self.device.reset,
            "detach": self.device.detach,
            "close": engine.close,
            "read": lambda: engine.readTensor("x", np.zeros(2, np.float32)),
        }

    @rule(number=ENGINES)
    def load(self, number):
        allowed = self.expected.may_load(number)
        self.check(allowed, self.calls(number)["load"])
        if allowed:
            self.expected.load(number)
            self.run(1 - number, 1)

    @rule(number=ENGINES, saved=st.booleans(), reported=st.booleans())
    @precondition(lambda self: self.expected.running is None)
    def make_again(self, number, saved, reported):
        """Another engine of the executable, which was compiled without a report, or of what was saved of it."""
        self.close(number)
        executable = executables(self.expected.kind, self.device)[number]
        if saved:
            file = io.BytesIO()
            executable.serialize(file)
            executable = Executable.deserialize(io.BytesIO(file.getvalue()))
        self.reports += 1
        folder = Path(self.folder.name) / str(self.reports)
        asked = {"autoReport.outputGraphProfile": "true", "autoReport.directory": str(folder)} if reported else {}
        made = []
        self.check(True, lambda: made.append(Engine(executable, asked)))
        [self.engines[number]] = made
        assert (folder / "profile.pop").is_file() == reported
        made[0].connectStreamToCallback("out", self.out)
        self.run(number, 0)
        self.load(number)
        self.run(number, 0)

    @rule(number=ENGINES, program=st.integers(0, 1))
    def run(self, number, program):
        self.check(self.expected.may_run(number), lambda: self.engines[number].run(program))

    @rule(number=ENGINES)
    def read(self, number):
        self.check(self.expected.may_run(number), self.calls(number)["read"])

    @rule(number=ENGINES, call=IN_CALLBACK)
    @precondition(lambda self: self.expected.running is None)
    def run_with_a_callback(self, number, call):
        refused = []

        def then():
            try:
                self.calls(number).get(call, lambda: None)()
            except poplar_error as error:
                refused.append(str(error))

        self.then = then
        allowed = self.expected.may_run(number)
        self.check(allowed, self.engines[number].run)
        self.then = None
        assert len(refused) == (allowed and call != "nothing")

    @rule(number=ENGINES)
    @precondition(lambda self: any(map(self.expected.may_run, (0, 1))) and self.expected.running is None)
    def start(self, number):
        number = number if self.expected.may_run(number) else 1 - number
        self.inside.clear()
        self.go.clear()
        self.runner = threading.Thread(target=self.engines[number].run, daemon=True)
        self.runner.start()
        assert self.inside.wait(SECONDS)
        self.expected.running = number

    @rule()
    @precondition(lambda self: self.expected.running is not None)
    def finish(self):
        self.go.set()
        if self.runner is not None:
            self.runner.join(SECONDS)
            assert not self.runner.is_alive()
        self.runner = self.expected.running = None

    @rule(number=ENGINES)
    @precondition(lambda self: not self.expected.undefined)
    def stop(self, number):
        allowed = number in self.expected.on
        self.check(allowed, self.engines[number].stop)
        self.expected.undefined |= allowed

    @rule(number=ENGINES)
    def close(self, number):
        allowed = self.expected.running != number
        self.check(allowed, self.engines[number].close)
        if allowed:
            self.expected.on.discard(number)

    @rule()
    def reset(self):
        allowed = self.expected.running is None and self.expected.attached
        self.check(allowed, self.device.reset)
        if allowed:
            self.expected.reset()

    @rule()
    @precondition(lambda self: self.expected.on)
    def detach(self):
        allowed = self.expected.running is None
        self.check(allowed, self.device.detach)
        if allowed:
            self.expected.detach()

    @rule()
    @precondition(lambda self: not self.expected.attached)
    def attach(self):
        assert self.device.attach()
        self.expected.attached = True
        for number in (0, 1):
            self.run(number, 1)

    def teardown(self):
        if hasattr(self, "device"):
            self.finish()
            with suppress(poplar_error):
                self.device.detach()
            self.folder.cleanup()


def test_any_order_of_calls():
    run_state_machine_as_test(DeviceStates, settings=costly())


# ---- the machine finds each fault that was ---------------------------------------------------------------------------

take_from = DeviceCondition._take_from


def without_marks(*calls):
    """`_take_from` which marks no program in these calls."""
    return lambda self, call, doing, why, but=None: take_from(self, call, doing, "" if call in calls else why, but)


FAULTS = {
    "a load leaves what was there": {(DeviceCondition, "_take_from"): without_marks("load")},
    "a reset leaves what was there": {(DeviceCondition, "_take_from"): without_marks("reset")},
    "hardware keeps programs while it is detached": {(DeviceCondition, "_take_from"): without_marks("detach")},
    "a device is reset, detached and loaded while it runs": {
        (LoadedProgram, "busy"): lambda self, call, doing, device=None: nullcontext()
    },
    "two runs at once, and in each other": {
        (LoadedProgram, "begin"): lambda *arguments: None,
        (LoadedProgram, "end"): lambda self: None,
    },
    "a stopped device goes on": {(Engine, "stop"): lambda self: self.core.ask_to_stop()},
    "an executable cannot be asked for another report": {(options, "OF_EACH_ENGINE"): frozenset()},
    "an executable writes the reports alone that it was compiled with": {
        (Executable, "take_folder"): lambda self, options: self._written_folder(self.options)
    },
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault, monkeypatch):
    for (owner, name), patched in FAULTS[fault].items():
        monkeypatch.setattr(owner, name, patched)
    with pytest.raises((AssertionError, RecursionError)):
        run_state_machine_as_test(DeviceStates, settings=search())
