"""Getters of targets, devices and types: published figures, and the answers of a simulation."""

from __future__ import annotations

import pytest

from simulator.base.target import IpuLinkConfiguration, IpuLinkTopology
from simulator.base.version import source_digest, source_folders
from simulator.poplar import (
    BOOL,
    CHAR,
    FLOAT,
    HALF,
    INT,
    LONGLONG,
    QUARTER,
    QUARTER_METADATA,
    SHORT,
    UNSIGNED_INT,
    DataStreamType,
    Device,
    DeviceManager,
    Engine,
    Graph,
    IPUModel,
    RuntimeOptions,
    Target,
    TargetType,
    invalid_machine_model,
    isRemoteBuffer,
    packageHash,
    versionString,
)
from simulator.poplar.program import Sequence


@pytest.fixture(autouse=True)
def own_system(monkeypatch, tmp_path):
    monkeypatch.setenv("POPVISION_LOCKS", str(tmp_path / "locks"))
    for name in ("POPVISION_IPUS", "POPVISION_TARGET", "POPVISION_TILES", "POPLAR_RUNTIME_OPTIONS"):
        monkeypatch.delenv(name, raising=False)


def of(system: str) -> Target:
    return Target.createIPUTarget(1, system)


MK1, MK2, BOW = "ipu1", "ipu2", "ipu21"
EVERY = pytest.mark.parametrize("system", [MK1, MK2, BOW])


@EVERY
def test_the_name_of_a_chip_and_of_its_system(system: str) -> None:
    assert of(system).getTargetArchString() == system
    assert of(system).getTargetSystemString() == "simulated"
    assert IPUModel(system).createDevice().getTarget().getTargetSystemString() == "ipu-model"
    assert Target.createCPUTarget().getTargetSystemString() == "cpu"


@EVERY
def test_six_workers_and_a_data_path_of_64_bits(system: str) -> None:
    assert of(system).getNumWorkerContexts() == 6
    assert of(system).getDataPathWidth() == 64


def test_a_model_may_have_other_numbers_of_workers() -> None:
    model = IPUModel()
    model.numWorkerContexts = 3
    assert model.createDevice().getTarget().getNumWorkerContexts() == 3


@EVERY
def test_a_vector_fills_the_data_path(system: str) -> None:
    target = of(system)
    assert target.getFloatVectorWidth() * 32 == 64
    assert target.getHalfVectorWidth() * 16 == 64
    assert target.getQuarterVectorWidth() * 8 == 64


@pytest.mark.parametrize(("system", "half", "single"), [(MK1, 8, 8), (MK2, 16, 16), (BOW, 16, 16)])
def test_convolution_units_of_each_generation(system: str, half: int, single: int) -> None:
    target = of(system)
    assert target.getFp16InFp16OutConvUnitsPerTile() == half
    assert target.getFp16InFp32OutConvUnitsPerTile() == 8
    assert target.getFp32InFp32OutConvUnitsPerTile() == single


@EVERY
def test_a_convolution_unit_loads_one_data_path_of_inputs_and_two_of_weights(system: str) -> None:
    target = of(system)
    assert target.getFp16ConvUnitInputLoadElemsPerCycle() == 4
    assert target.getFp32ConvUnitInputLoadElemsPerCycle() == 2
    assert target.getConvUnitCoeffLoadBytesPerCycle() == 16


@EVERY
def test_strides_have_ten_bits(system: str) -> None:
    """No figure is published; codelets that pack three strides into a word of 32 bits rely on it."""
    assert of(system).getNumStrideBits() == 10


@EVERY
def test_a_global_sync_takes_600_cycles_unless_the_model_says_otherwise(system: str) -> None:
    assert of(system).getGlobalSyncCycles() == 600
    model = IPUModel(system)
    model.globalSyncCycles = 77
    assert model.createDevice().getTarget().getGlobalSyncCycles() == 77


def test_tiles_of_an_exchange_block_context() -> None:
    assert of(MK1).getNumTilesPerXBContext() == 38
    assert of(MK2).getNumTilesPerXBContext() * 16 * 4 == 1472
    assert of(BOW).getNumTilesPerXBContext() * 16 * 4 == 1472


@EVERY
def test_pairs_of_tiles_share_an_exchange_bus(system: str) -> None:
    assert of(system).supportsExchangeBusSharing() is True
    assert of(system).getTilesPerSharedExchangeBus() == 2


@pytest.mark.parametrize("ipus", [1, 4, 16])
def test_all_ipus_of_a_target_are_linked_as_one_mesh(ipus: int) -> None:
    target = Target.createIPUTarget(ipus, MK2)
    assert target.getIpuLinkConfiguration() is IpuLinkConfiguration.Default
    assert target.getIpuLinkTopology() is IpuLinkTopology.Mesh
    assert target.getIpuLinkDomainSize() == ipus
    assert target.getInstanceSize() == ipus
    assert target.getGatewayMode() is False


def test_a_virtual_target_has_fewer_ipus_and_tiles_of_the_same_chip() -> None:
    whole = Target.createIPUTarget(4, BOW)
    part = whole.createVirtualTarget(2, 100)
    assert (part.getNumIPUs(), part.getTilesPerIPU(), part.getNumTiles()) == (2, 100, 200)
    assert part.getMemoryBytes() == 200 * 638_976
    assert (part.getTargetArchString(), part.getTileClockFrequency()) == (BOW, 1.85e9)
    assert whole.getNumTiles() == 4 * 1472
    for ipus, tiles in [(5, 100), (0, 100), (2, 1473), (2, 0)]:
        with pytest.raises(invalid_machine_model):
            whole.createVirtualTarget(ipus, tiles)


def test_a_virtual_device_is_the_same_device_with_fewer_tiles() -> None:
    device = DeviceManager().getDevices(TargetType.IPU, 2)[1]
    virtual = device.createVirtualDevice(8)
    assert virtual.getTarget().getTilesPerIPU() == 8
    assert (virtual.getNumIPUs(), virtual.getId(), virtual.getDriverIDs()) == (2, 17, [2, 3])
    assert device.getTarget().getTilesPerIPU() == 1472


def test_what_a_device_says_of_itself() -> None:
    assert [device.getNumIPUs() for device in DeviceManager().getDevices(TargetType.IPU, 8)] == [8, 8]
    attributes = IPUModel(MK1).createDevice().getAttributes()
    assert attributes == {"simulated": "true", "architecture": "ipu1", "type": "IPU_MODEL"}
    assert DeviceManager().getDevice(0).getAttributes()["type"] == "IPU"
    assert Device.createCPUDevice().getAttributes()["type"] == "CPU"


FLOATING = (QUARTER, HALF, FLOAT)
WHOLE = (BOOL, CHAR, SHORT, INT, UNSIGNED_INT, LONGLONG, QUARTER_METADATA)


def test_types_that_are_floating_point_and_types_with_metadata() -> None:
    assert [type_.isFloatingPoint() for type_ in FLOATING] == [True] * 3
    assert [type_.isFloatingPoint() for type_ in WHOLE] == [False] * 7
    assert QUARTER.requiresMetadata() is True
    assert [type_.requiresMetadata() for type_ in (HALF, FLOAT, *WHOLE)] == [False] * 9


def test_hashes_tell_types_apart() -> None:
    assert len({type_.hash() for type_ in FLOATING + WHOLE}) == 10
    assert all(isinstance(type_.hash(), int) and type_.hash() == type_.hash() for type_ in FLOATING)


def test_streams_that_are_ends_of_remote_buffers() -> None:
    kinds = DataStreamType
    assert isRemoteBuffer(kinds.HostToDeviceBuffer) is isRemoteBuffer(kinds.DeviceToHostBuffer) is True
    assert isRemoteBuffer(kinds.HostToDeviceFIFO) is isRemoteBuffer(kinds.DeviceToHostFIFO) is False


def test_runtime_options_are_equal_where_they_say_the_same() -> None:
    name = "streamCallbacks.multiThreadMode"
    assert RuntimeOptions({name: "dedicated"}) == RuntimeOptions({name: "dedicated"})
    assert RuntimeOptions({name: "dedicated"}) != RuntimeOptions({name: "collaborative"})
    assert len({RuntimeOptions({name: "dedicated"}), RuntimeOptions({name: "dedicated"})}) == 1
    assert (RuntimeOptions() == {}) is False


def test_the_version_is_that_of_reports_and_executables():
    device = IPUModel().createDevice()
    with Engine(Graph(device), Sequence(), {"debug.retainDebugInformation": "true"}) as engine:
        engine.load(device)
        assert versionString() == engine.getReport().poplarVersion.string
    assert versionString().startswith("3.4.0 (popvision ")
    assert packageHash() == source_digest(source_folders())
    assert len(packageHash()) == 16
    assert int(packageHash(), 16) >= 0
