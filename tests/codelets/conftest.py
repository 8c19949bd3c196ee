"""Compiled codelets of these tests go to a cache of their own, once for the session."""

import pytest

from simulator.poplar import DeviceManager, TargetType


@pytest.fixture(scope="session", autouse=True)
def codelet_cache(tmp_path_factory):
    patch = pytest.MonkeyPatch()
    patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    yield
    patch.undo()


@pytest.fixture
def device(monkeypatch):
    """Simulated hardware: one IPU of 4 tiles."""
    monkeypatch.setenv("POPVISION_TILES", "4")
    attached = next(device for device in DeviceManager().getDevices(TargetType.IPU, 1) if device.attach())
    yield attached
    attached.detach()
