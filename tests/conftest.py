"""Settings of every test."""

import gc
import os

import pytest

#: So many new objects are made between two collections of garbage, which took a twentieth of all time.
YOUNG_OBJECTS = 10_000


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Modules and tests stay until the end, half a million objects: no collection of garbage looks at them again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        gc.set_threshold(YOUNG_OBJECTS)


@pytest.fixture(autouse=True, scope="module")
def own_devices(tmp_path_factory):
    """Devices are exclusive, between processes and within one: those of a module of tests are its own."""
    before = os.environ.get("POPVISION_LOCKS")
    os.environ["POPVISION_LOCKS"] = str(tmp_path_factory.mktemp("locks"))
    yield
    if before is None:
        del os.environ["POPVISION_LOCKS"]
    else:
        os.environ["POPVISION_LOCKS"] = before


@pytest.fixture(autouse=True, scope="session")
def no_kept_imports():
    """Imports of other tools' traces are kept in the tester's own cache folder, unless a test gives another one."""
    os.environ["POPVISION_TRACE_CACHE"] = "off"
