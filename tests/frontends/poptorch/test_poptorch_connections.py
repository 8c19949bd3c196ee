"""PopTorch models that want an IPU which another process has: they wait, or are refused in PopTorch's words."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from simulator.frontends import poptorch

#: Takes device 0, says so, and keeps it until it is killed.
HOLDER = """
import signal
from simulator.poplar import DeviceManager
device = DeviceManager.createDeviceManager().getDevice(0)
assert device.attach()
print("attached", flush=True)
signal.pause()
"""


@pytest.fixture(autouse=True)
def own_system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("POPVISION_LOCKS", str(tmp_path / "locks"))
    monkeypatch.setenv("POPVISION_TILES", "16")


@pytest.fixture
def holder(own_system: None) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "attached\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def model_on_device_0(kind: poptorch.ConnectionType) -> poptorch.PoplarExecutor:
    options = poptorch.Options().showCompilationProgressBar(False).connectionType(kind).useIpuId(0)
    return poptorch.inferenceModel(torch.nn.Identity(), options)


def run_while_the_holder_is_killed(model: poptorch.PoplarExecutor, holder: subprocess.Popen[str]) -> None:
    killer = threading.Timer(0.5, holder.kill)
    killer.start()
    assert model(torch.ones(2)).tolist() == [1, 1]
    assert holder.wait(timeout=20) == -9
    killer.join()
    model.destroy()


def test_on_demand_waits_until_the_other_process_is_killed(
    holder: subprocess.Popen[str], capsys: pytest.CaptureFixture[str]
) -> None:
    model = model_on_device_0(poptorch.ConnectionType.OnDemand)
    model.compile(torch.ones(2))
    assert not model.isAttachedToDevice()
    run_while_the_holder_is_killed(model, holder)
    assert capsys.readouterr().err.count("No device of 1 IPU(s) is free; waiting for one.") == 1


@pytest.mark.long
def test_every_model_waits_where_the_variable_says_so(
    holder: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POPTORCH_WAIT_FOR_IPU", "1")
    run_while_the_holder_is_killed(model_on_device_0(poptorch.ConnectionType.Always), holder)


def test_always_is_refused_while_another_process_has_the_device(holder: subprocess.Popen[str]) -> None:
    model = model_on_device_0(poptorch.ConnectionType.Always)
    with pytest.raises(poptorch.Error, match=r"Failed to acquire 1 IPU\(s\)\n(.|\n)*`gc-monitor`"):
        model(torch.ones(2))
    assert not model.isAttachedToDevice()
    holder.kill()
    holder.wait()
    assert model(torch.ones(2)).tolist() == [1, 1]
    model.destroy()


def test_a_device_that_was_taken_since_it_was_given_back() -> None:
    model = model_on_device_0(poptorch.ConnectionType.Always)
    model(torch.ones(2))
    model.detachFromDevice()
    process = subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "attached\n"
        for attach in (model.attachToDevice, lambda: model(torch.ones(2))):
            with pytest.raises(poptorch.Error, match=r"Failed to acquire 1 IPU\(s\)"):
                attach()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert model(torch.ones(2)).tolist() == [1, 1]
    model.destroy()


def test_never_compiles_while_another_process_has_the_device(holder: subprocess.Popen[str]) -> None:
    model = model_on_device_0(poptorch.ConnectionType.Never)
    model.compile(torch.ones(2))
    assert (model.isCompiled(), model.isAttachedToDevice()) == (True, False)
    with pytest.raises(poptorch.Error, match="Trying to run a model on an offline device"):
        model(torch.ones(2))
    model.destroy()


def test_without_an_allocation_the_documented_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POPVISION_REQUIRE_ALLOCATION", "1")
    monkeypatch.delenv("POPVISION_IPU_IDS", raising=False)
    model = model_on_device_0(poptorch.ConnectionType.Always)
    with pytest.raises(poptorch.Error) as caught:
        model(torch.ones(2))
    assert str(caught.value).startswith(
        "Failed to acquire 1 IPU(s)\nNo IPU detected in the system. \nFor more information use the Graphcore "
        "command-line tool `gc-monitor`."
    )
