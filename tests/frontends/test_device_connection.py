"""Device connections: what each type attaches and when, alone and among processes that want the same IPU."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from simulator.engine.devices.device import as_chip
from simulator.engine.devices.device_manager import DeviceManager
from simulator.frontends.session.connection import (
    CompilationOnlyError,
    ConnectionType,
    DeviceConnection,
    DeviceRequest,
    DeviceUnavailableError,
)
from simulator.poplar import IPUModel, Target, TargetType, index_error, invalid_machine_model, poplar_error

ONE = DeviceRequest(device_id=0, poll_seconds=0.01, timeout_seconds=0.05)

#: Attaches device 0 as its argument says, reports it on standard output and keeps the device until it is killed.
HOLDER = """
import signal, sys, time
from simulator.frontends.session.connection import *
request = DeviceRequest(device_id=0, poll_seconds=0.01, timeout_seconds=60)
try:
    connection = DeviceConnection(ConnectionType[sys.argv[1]], request,
                                  on_waiting=lambda: print("waiting", flush=True))
    connection.device_for_run()
except DeviceUnavailableError as error:
    print("refused:", error, flush=True)
    sys.exit(1)
print("attached", flush=True)
signal.pause()
"""


@pytest.fixture(autouse=True)
def own_system(monkeypatch, tmp_path):
    monkeypatch.setenv("POPVISION_LOCKS", str(tmp_path / "locks"))
    for name in ("POPVISION_IPUS", "POPVISION_IPU_IDS", "POPVISION_TARGET", "POPVISION_TILES"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def holders():
    """Starts processes that attach device 0, and ends them after the test."""
    started = []

    def start(connection_type):
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, connection_type], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def test_always_attaches_at_once_and_gives_back():
    attached = []
    connection = DeviceConnection(ConnectionType.ALWAYS, ONE, on_attached=attached.append)
    assert attached == [connection.attached]
    assert connection.device_for_run() is connection.attached
    with pytest.raises(DeviceUnavailableError, match=r"No process gave back device 0; .*free"):
        DeviceConnection(ConnectionType.ALWAYS, ONE)
    connection.detach()
    assert connection.attached is None
    DeviceConnection(ConnectionType.ALWAYS, ONE).detach()
    assert len(attached) == 1


def test_on_demand_attaches_before_a_run_and_waits():
    events = []
    connection = DeviceConnection(
        ConnectionType.ON_DEMAND,
        ONE,
        on_attached=lambda device: events.append(device.getId()),
        on_waiting=lambda: events.append("waiting"),
    )
    assert connection.attached is None
    assert connection.target.getNumIPUs() == 1
    owner = DeviceConnection(ConnectionType.ALWAYS, ONE)
    with pytest.raises(DeviceUnavailableError, match=r"device 0 within 0\.05 s"):
        connection.device_for_run()
    assert events == ["waiting"]
    owner.detach()
    device = connection.device_for_run()
    assert device is not None
    assert events == ["waiting", 0]
    assert connection.device_for_run() is device
    connection.detach()


def test_a_request_without_an_id_takes_whichever_is_free():
    request = DeviceRequest(ipus=2)
    connections = [DeviceConnection(ConnectionType.ALWAYS, request) for _ in range(8)]
    assert sorted(i for c in connections for i in c.attached.getDriverIDs()) == list(range(16))
    with pytest.raises(DeviceUnavailableError, match=r"a device of 2 IPU\(s\)"):
        DeviceConnection(ConnectionType.ALWAYS, request)
    for connection in connections:
        connection.detach()


def test_compilation_only_types_need_a_version_and_no_device(monkeypatch):
    monkeypatch.setenv("POPVISION_IPUS", "0")
    never = DeviceConnection(ConnectionType.NEVER, DeviceRequest(ipus=4, version="ipu21"))
    assert (never.target.getNumIPUs(), never.target.getTargetArchString()) == (4, "ipu21")
    with pytest.raises(CompilationOnlyError, match="configured for compilation only"):
        never.device_for_run()
    ahead = DeviceConnection(ConnectionType.PRE_COMPILE, DeviceRequest(version="ipu2"))
    assert ahead.device_for_run() is None
    for connection_type in (ConnectionType.NEVER, ConnectionType.PRE_COMPILE):
        with pytest.raises(poplar_error, match=f"{connection_type.name}.*name a version"):
            DeviceConnection(connection_type, DeviceRequest())
    with pytest.raises(DeviceUnavailableError, match=r"no device of 1 IPU\(s\) in this system of 0"):
        DeviceConnection(ConnectionType.ALWAYS, DeviceRequest())


def test_sizes_and_ids_that_the_system_lacks():
    with pytest.raises(DeviceUnavailableError, match=r"3 IPU\(s\).*power of two"):
        DeviceConnection(ConnectionType.ON_DEMAND, DeviceRequest(ipus=3))
    with pytest.raises(index_error, match="no device 99; a system of 16 IPUs gives ids 0 to 30"):
        DeviceConnection(ConnectionType.ALWAYS, DeviceRequest(device_id=99))


def test_always_fails_at_once_while_another_process_has_the_device(holders):
    first = holders("ALWAYS")
    assert first.stdout.readline() == "attached\n"
    second = holders("ALWAYS")
    assert second.stdout.readline().startswith("refused: No process gave back device 0")
    assert second.wait(timeout=60) == 1
    assert first.poll() is None


def test_on_demand_waits_until_the_other_process_is_killed(holders):
    first = holders("ALWAYS")
    assert first.stdout.readline() == "attached\n"
    second = holders("ON_DEMAND")
    assert second.stdout.readline() == "waiting\n"
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert second.stdout.readline() == "attached\n"


def test_allotted_ipus_are_a_system_of_their_own(monkeypatch):
    monkeypatch.setenv("POPVISION_IPU_IDS", "7, 4,5,6")
    manager = DeviceManager()
    assert manager.num_ipus == 4
    assert [device.getDriverIDs() for device in manager.getDevices(TargetType.IPU)] == [
        [4],
        [5],
        [6],
        [7],
        [4, 5],
        [6, 7],
        [4, 5, 6, 7],
    ]
    part = DeviceConnection(ConnectionType.ALWAYS, DeviceRequest(device_id=1))
    monkeypatch.delenv("POPVISION_IPU_IDS")
    with pytest.raises(DeviceUnavailableError):
        DeviceConnection(ConnectionType.ALWAYS, DeviceRequest(device_id=5))
    part.detach()


@pytest.mark.parametrize(
    ("ids", "count", "sentence"),
    [
        ("4,x", None, "is not a list of IPUs; write numbers"),
        ("4,,5", None, "is not a list of IPUs; write numbers"),
        ("4,4", None, "names an IPU twice"),
        ("4,5", "3", "POPVISION_IPUS=3 and POPVISION_IPU_IDS='4,5' disagree"),
        ("-1", None, "is not a list of IPUs"),
    ],
)
def test_allotments_that_are_none(monkeypatch, ids, count, sentence):
    monkeypatch.setenv("POPVISION_IPU_IDS", ids)
    if count:
        monkeypatch.setenv("POPVISION_IPUS", count)
    with pytest.raises(invalid_machine_model, match=sentence):
        DeviceManager()


def test_an_attached_device_is_of_the_version_that_is_named():
    connection = DeviceConnection(ConnectionType.ALWAYS, DeviceRequest(version="ipu1", device_id=0))
    assert connection.attached.getTarget().getTargetArchString() == "ipu1"
    assert connection.attached.getTarget() == connection.target
    other = DeviceManager().getDevice(0)
    assert not other.attach(), "it is the same IPU"
    connection.detach()
    assert other.attach()
    other.detach()


def test_a_device_takes_no_target_of_another_size():
    two = Target.createIPUTarget(2, "ipu2")
    with pytest.raises(poplar_error, match="Device 0 has 1 IPUs, not the 2 of the target"):
        as_chip(DeviceManager().getDevice(0), two)


def test_an_ipu_model_takes_the_place_of_hardware():
    model = IPUModel("ipu1").createDevice()
    request = DeviceRequest(model=model)
    first, second = (DeviceConnection(ConnectionType.ALWAYS, request) for _ in range(2))
    assert first.device_for_run() is second.device_for_run() is model
    assert first.target is model.getTarget()
    assert DeviceConnection(ConnectionType.PRE_COMPILE, request).device_for_run() is None, "no version is needed"
