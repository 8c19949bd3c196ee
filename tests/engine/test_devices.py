"""Targets, models and the simulated system."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from simulator.engine.devices.device_locks import held_locks, lock_folder
from simulator.machine import physical_tiles
from simulator.machine.targets import BOW, MK1, MK2
from simulator.poplar import (
    BOOL,
    FLOAT,
    HALF,
    INT,
    QUARTER,
    Device,
    DeviceManager,
    IPUModel,
    Target,
    TargetType,
    index_error,
    invalid_machine_model,
    invalid_option,
    invalid_tile_mapping,
    poplar_error,
)


@pytest.fixture(autouse=True)
def own_system(monkeypatch, tmp_path):
    monkeypatch.setenv("POPVISION_LOCKS", str(tmp_path / "locks"))
    for name in ("POPVISION_IPUS", "POPVISION_TARGET", "POPVISION_TILES"):
        monkeypatch.delenv(name, raising=False)


def test_the_published_sizes() -> None:
    for version, tiles, bytes_per_tile, bytes_per_ipu, clock in [
        ("ipu1", 1216, 262_144, 318_767_104, 1.6e9),
        ("ipu2", 1472, 638_976, 940_572_672, 1.33e9),
        ("ipu21", 1472, 638_976, 940_572_672, 1.85e9),
    ]:
        target = IPUModel(version).createDevice().getTarget()
        assert target.getTargetArchString() == version
        assert target.getNumTiles() == tiles
        assert target.getBytesPerTile() == bytes_per_tile
        assert target.getMemoryBytes() == bytes_per_ipu
        assert target.getTileClockFrequency() == clock
        assert target.getTargetType() is TargetType.IPU_MODEL


def test_the_memory_map_of_a_tile() -> None:
    mk2 = IPUModel().createDevice().getTarget()
    offsets = mk2.getMemoryElementOffsets()
    assert (len(offsets), offsets[1], offsets[-1] + 16384) == (39, 16384, 638_976)
    assert offsets[mk2.getInterleavedMemoryElementIndex()] == 208 * 1024 == mk2.region_split
    assert IPUModel("ipu1").createDevice().getTarget().region_split == 128 * 1024
    model = IPUModel()
    model.interleavedMemoryElementIndex = 1000
    assert model.createDevice().getTarget().region_split == 638_976


def test_vector_widths_and_units() -> None:
    target = IPUModel().createDevice().getTarget()
    assert [target.getVectorWidth(t) for t in (FLOAT, HALF, INT)] == [2, 4, 1]
    assert [target.getWeightsPerConvUnit(t) for t in (HALF, FLOAT)] == [16, 8]
    assert target.getNumConvUnits(HALF, HALF) == 16
    assert target.getNumConvUnits(HALF, FLOAT) == 8  # the data path takes eight floats in four cycles
    assert target.getTypeSize(HALF) == 2
    assert target.getAtomicStoreGranularity() == 4
    # Multiply-accumulates per cycle give the published peaks: 250.6 and 62.6 TFLOP/s on Mk2, 348.6 on Bow.
    assert round(2 * MK2.peak_half_macs * MK2.tiles * MK2.clock_hz / 1e12, 1) == 250.6
    assert round(2 * MK2.peak_float_macs * MK2.tiles * MK2.clock_hz / 1e12, 1) == 62.6
    assert round(2 * BOW.peak_half_macs * BOW.tiles * BOW.clock_hz / 1e12, 1) == 348.6
    assert round(2 * MK1.peak_half_macs * MK1.tiles * MK1.clock_hz / 1e12, 1) == 124.5


def test_sync_delays() -> None:
    model = IPUModel()
    target = model.createDevice().getTarget()
    assert (target.getMinIPUSyncDelay(), target.getMaxIPUSyncDelay()) == (100, 126)
    delays = target.relative_sync_delay()
    assert (delays.min(), delays.max(), len(delays)) == (0, 26, 1472)
    model.relativeSyncDelay = IPUModel.RelativeSyncDelayType.NO_DELAY
    model.minIPUSyncDelay = 0
    target = model.createDevice().getTarget()
    assert (target.getMaxIPUSyncDelay(), target.relative_sync_delay().max()) == (0, 0)


def test_models_can_be_small() -> None:
    model = IPUModel("ipu1")
    model.numIPUs, model.tilesPerIPU, model.compileIPUCode = 2, 4, True
    target = model.createDevice().getTarget()
    assert (target.getNumIPUs(), target.getTilesPerIPU(), target.getNumTiles()) == (2, 4, 8)
    assert target.compile_ipu_code
    assert len(target.physical_tiles()) == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tilesPerIPU": 1473}, "tilesPerIPU=1473 is more than the 1472 tiles of Mk2 GC200"),
        ({"tilesPerIPU": 0}, "is empty"),
        ({"minIPUSyncDelay": -1}, "cannot be negative"),
        ({"exchangeBytesPerCycle": 0}, "must be positive"),
        ({"memoryBytesPerTile": 0}, "must be positive"),
        ({"relativeSyncDelay": "none"}, "must be AUTO or NO_DELAY"),
    ],
)
def test_impossible_models_are_refused(change, message: str) -> None:
    model = IPUModel()
    for name, value in change.items():
        setattr(model, name, value)
    with pytest.raises(invalid_machine_model, match=message):
        model.createDevice()


def test_fields_of_a_model_that_change_nothing_say_so(capsys) -> None:
    model = IPUModel()
    model.instructionBytes = 8
    model.createDevice()
    model.createDevice()
    said = "popvision: IPUModel.instructionBytes=8 has no effect in this version of the simulator.\n"
    assert capsys.readouterr().err == said


def test_unknown_versions_and_device_options() -> None:
    with pytest.raises(invalid_machine_model, match="'ipu3' is not an IPU version; the versions are ipu1, ipu2, ipu21"):
        IPUModel("ipu3")
    with pytest.raises(invalid_option, match=r"'speed' \(value 'high'\) is not a device option"):
        IPUModel().createDevice({"speed": "high"})


def test_physical_ids_are_a_bijection_and_pairs_share_a_bus() -> None:
    for chip in (MK1, MK2):
        table = physical_tiles.physical_tile_table(chip)
        logical = physical_tiles.logical_tile_table(chip)
        assert np.array_equal(logical[table], np.arange(chip.tiles))
        assert (logical >= 0).sum() == chip.tiles
        bus = physical_tiles.bus_of_tiles(table)
        assert np.array_equal(bus[0::2], bus[1::2])  # 2k and 2k + 1 are partners ...
        assert len(np.unique(bus)) == chip.tiles // 2  # ... and nobody else is
        assert np.array_equal(table[0::2] ^ 2, table[1::2])


def test_what_if_overrides_are_recorded(monkeypatch) -> None:
    monkeypatch.setenv("POPVISION_TARGET", "ipu21")
    monkeypatch.setenv("POPVISION_TILES", "64")
    target = IPUModel("ipu1").createDevice().getTarget()
    assert (target.getTargetArchString(), target.getTilesPerIPU(), target.getTileClockFrequency()) == (
        "ipu21",
        64,
        1.85e9,
    )
    assert target.getBytesPerTile() == 638_976
    assert target.overrides == (
        "POPVISION_TARGET changed the chip from ipu1 to ipu21.",
        "POPVISION_TILES changed the tiles per IPU from 1472 to 64.",
    )
    assert DeviceManager().getDevice(0).getTarget().overrides
    monkeypatch.setenv("POPVISION_TILES", "2000")
    with pytest.raises(invalid_machine_model, match="POPVISION_TILES='2000' is not a number of tiles from 1 to 1472"):
        IPUModel().createDevice()
    monkeypatch.setenv("POPVISION_TARGET", "gpu")
    with pytest.raises(invalid_machine_model, match="POPVISION_TARGET='gpu' is not a chip"):
        IPUModel().createDevice()


def test_the_simulated_system_numbers_groups_after_single_ipus(monkeypatch) -> None:
    manager = DeviceManager.createDeviceManager()
    assert manager.getNumDevices() == 16 + 8 + 4 + 2 + 1
    assert [d.getId() for d in manager.getDevices(TargetType.IPU, 8)] == [28, 29]
    assert manager.getDevice(30).getDriverIDs() == list(range(16))
    assert manager.getDevice(17).getDriverIDs() == [2, 3]
    assert manager.getDevices(TargetType.IPU, 3) == []
    assert manager.getDevices(TargetType.IPU_MODEL, 2)[0].getTarget().getNumIPUs() == 2
    with pytest.raises(index_error, match="There is no device 31"):
        manager.getDevice(31)
    monkeypatch.setenv("POPVISION_IPUS", "0")
    assert DeviceManager().getDevices() == []
    monkeypatch.setenv("POPVISION_IPUS", "some")
    with pytest.raises(invalid_machine_model, match="POPVISION_IPUS='some' is not a number"):
        DeviceManager()


def test_attaching_is_exclusive_within_and_between_processes() -> None:
    manager = DeviceManager()
    pair, single = manager.getDevices(TargetType.IPU, 2)[0], manager.getDevice(1)
    assert pair.attach()
    assert pair.attach()
    assert not single.attach()
    third = manager.getDevice(2)
    assert third.attach()
    program = "from simulator.poplar import DeviceManager as M; print([M().getDevice(i).attach() for i in range(4)])"
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert other.stdout == "[False, False, False, True]\n"
    pair.detach()
    assert single.attach()
    single.detach()
    third.detach()
    with manager.getDevice(0) as held:
        assert held.isAttached()
        with pytest.raises(poplar_error, match="in use by another process"), manager.getDevice(16):
            pass
    assert pair.attach()
    pair.detach()
    with pytest.raises(poplar_error, match="not attached; call attach"):
        pair.reset()


def test_an_allocation_of_slurm_has_locks_of_its_own(monkeypatch) -> None:
    """Two jobs and a program outside: each has IPU 0, and within each a second one does not get it."""
    job = {"SLURM_JOB_ID": "7", "IPUOF_VIPU_API_PARTITION_ID": "slurm_7", "POPVISION_IPU_IDS": "0"}
    other = job | {"SLURM_JOB_ID": "8", "IPUOF_VIPU_API_PARTITION_ID": "slurm_8"}
    pod = job | {"SLURM_CONF": "/another/slurm.conf"}
    held = []
    for variables in ({}, job, other, pod):
        with monkeypatch.context() as inside:
            for name, text in variables.items():
                inside.setenv(name, text)
            first, second = (DeviceManager().getDevice(0) for _ in range(2))
            assert first.attach()
            assert not second.attach()
            held.append(first)
            assert [lock.ipu for lock in held_locks(everywhere=False)] == [0]
    assert [(lock.ipu, lock.process) for lock in held_locks(everywhere=True)] == [(0, os.getpid())] * 4
    held.pop().detach()
    assert len(held_locks(everywhere=True)) == 3


def test_without_an_allocation_the_locks_are_those_of_all(monkeypatch, tmp_path) -> None:
    """Variables that a real system sets, or that only look like those of a job."""
    outside = lock_folder({"POPVISION_LOCKS": str(tmp_path)})
    whole = {"SLURM_JOB_ID": "7", "IPUOF_VIPU_API_PARTITION_ID": "slurm_7", "POPVISION_IPU_IDS": "0"}
    for change in ({"IPUOF_VIPU_API_PARTITION_ID": "pod64"}, {"POPVISION_IPU_IDS": ""}, {"SLURM_JOB_ID": ""}):
        assert lock_folder({"POPVISION_LOCKS": str(tmp_path), **whole, **change}) == outside == tmp_path
    assert lock_folder({"POPVISION_LOCKS": str(tmp_path), **whole}).parent == outside


def test_a_lock_folder_that_cannot_be_used_is_named(monkeypatch, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("POPVISION_LOCKS", str(tmp_path / "file"))
    with pytest.raises(poplar_error, match=r"ipu0\.lock cannot be opened .*set POPVISION_LOCKS"):
        DeviceManager().getDevice(0).attach()


def test_models_and_cpus_are_always_free() -> None:
    a, b = IPUModel().createDevice(), Device.createCPUDevice(3)
    assert a.attach()
    assert b.attach()
    assert b.getTarget().getNumTiles() == 3
    assert b.getTarget().getTargetType() is TargetType.CPU


def test_what_is_public_of_convolution_units_and_exchange_blocks() -> None:
    mk2 = IPUModel("ipu2").createDevice().getTarget()
    bow = IPUModel("ipu21").createDevice().getTarget()
    assert [mk2.getConvUnitInputLoadElemsPerCycle(t) for t in (QUARTER, HALF, FLOAT)] == [8, 4, 2]
    assert mk2.getFp8ConvUnitInputLoadElemsPerCycle() == 8
    assert (mk2.getNumConvUnits(QUARTER, HALF), mk2.getFp8InFp16OutConvUnitsPerTile()) == (0, 0)
    for ask in (
        bow.getFp8InFp16OutConvUnitsPerTile,
        mk2.getFp8ConvUnitMaxPipelineDepth,
        mk2.getFp16ConvUnitMaxPipelineDepth,
        mk2.getFp32ConvUnitMaxPipelineDepth,
        lambda: bow.getWeightsPerConvUnit(QUARTER),
    ):
        with pytest.raises(poplar_error, match="is not known: no figure is public"):
            ask()
    with pytest.raises(poplar_error, match="Convolution units read quarter, half and float, not int"):
        mk2.getConvUnitMaxPipelineDepth(INT)
    per = mk2.getNumTilesPerXBContext()
    tiles = range(mk2.getNumTiles())
    contexts = [mk2.getTileHostExchangeContext(t) for t in tiles]
    assert all(contexts.count(c) == per for c in set(contexts))
    assert mk2.getTileHostExchangeXB(per * mk2.getNumContextsPerXB()) == 1
    assert mk2.getTileHostExchangeContextPosition(per + 2) == 2
    with pytest.raises(invalid_tile_mapping, match="Tile 1472 is not one of the target's 1472 tiles"):
        mk2.getTileHostExchangeXB(1472)
    assert (mk2.getTypeLimitsLowestAs(INT), mk2.getTypeLimitsMaxAs(HALF)) == (-(2**31), 65504)
    assert (mk2.getTypeLimitsMaxAs(QUARTER), mk2.getTypeLimitsMaxAs(BOOL)) == (57344, 1)
    assert mk2.hash() == IPUModel("ipu2").createDevice().getTarget().hash() != bow.hash()


def test_targets_without_a_device() -> None:
    pod = Target.createIPUTarget(4, "IPU-POD16")
    assert (pod.getTargetType(), pod.getNumIPUs(), pod.getTargetArchString()) == (TargetType.IPU, 4, "ipu2")
    assert Target.createIPUTarget("ipu1", {}).getBytesPerTile() == 256 * 1024
    assert Target.createIPUTarget(2, 8, "BOW-2000").getNumTiles() == 16
    cpu = Target.createCPUTarget(numIPUs=2)
    assert (cpu.getTargetType(), cpu.getNumTiles()) == (TargetType.CPU, 2)
    with pytest.raises(invalid_machine_model, match="'GPU' is not a system type"):
        Target.createIPUTarget("GPU")
    with pytest.raises(invalid_machine_model, match="names no system type"):
        Target.createIPUTarget(4)  # type: ignore[call-overload]
    with pytest.raises(invalid_option, match=r"'x' .value '1'. is not an option of"):
        Target.createIPUTarget("ipu2", {"x": "1"})


def test_a_device_is_given_back_with_its_last_reference() -> None:
    device = DeviceManager.createDeviceManager().getDevice(3)
    assert device.attach()
    part = device.createVirtualDevice(16)
    del device
    assert not DeviceManager.createDeviceManager().getDevice(3).attach()  # the virtual device has it still
    del part
    other = DeviceManager.createDeviceManager().getDevice(3)
    assert other.attach()
    other.detach()


def test_where_an_allocation_is_required_there_are_only_the_ipus_of_one(monkeypatch) -> None:
    monkeypatch.setenv("POPVISION_REQUIRE_ALLOCATION", "1")
    monkeypatch.setenv("POPVISION_IPUS", "4")  # of the user's own shell: no allocation
    assert DeviceManager().getDevices() == []
    with pytest.raises(index_error, match=r"no device 0; this system has no IPUs.*run the program with srun --ipus=1"):
        DeviceManager().getDevice(0)
    monkeypatch.setenv("POPVISION_IPU_IDS", "4,5,6,7")
    assert [device.getDriverIDs() for device in DeviceManager().getDevices()][-1] == [4, 5, 6, 7]
    assert DeviceManager().ipus == (4, 5, 6, 7)
    monkeypatch.setenv("POPVISION_REQUIRE_ALLOCATION", "true")
    with pytest.raises(invalid_machine_model, match="POPVISION_REQUIRE_ALLOCATION='true' is not 0 or 1"):
        DeviceManager()


def test_a_job_without_ipus_has_no_device(monkeypatch) -> None:
    monkeypatch.setenv("POPVISION_IPUS", "0")
    with pytest.raises(index_error, match=r"this system has no IPUs\. POPVISION_IPUS is 0, as in a job without --ipus"):
        DeviceManager().getDevice(0)
