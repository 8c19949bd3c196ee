"""gc-info and gc-monitor on a machine without Slurm."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from simulator.poplar import DeviceManager
from simulator.slurm.device_tools import attached_ipus, gc_info, gc_monitor


@pytest.fixture(autouse=True)
def part_of_a_system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Four IPUs of a larger system, in the partition of job 7."""
    monkeypatch.setenv("POPVISION_LOCKS", str(tmp_path))
    monkeypatch.delenv("POPVISION_IPUS", raising=False)
    monkeypatch.setenv("POPVISION_IPU_IDS", "8,9,10,11")
    monkeypatch.setenv("IPUOF_VIPU_API_PARTITION_ID", "slurm_7")
    monkeypatch.setenv("POPVISION_TARGET", "ipu21")


def test_the_list_has_every_device_with_its_members(capsys: pytest.CaptureFixture[str]) -> None:
    assert gc_info(["-l"]) == 0
    lines = capsys.readouterr().out.splitlines()
    ids = [int(match[1]) for line in lines if (match := re.match(r"-\+- Id: \[(\d+)\], target", line))]
    assert ids == [device.getId() for device in DeviceManager().getDevices()] == list(range(7))
    members = [(int(a), int(b)) for a, b in re.findall(r"\|--- Id: \[(\d+)\].*IPU#: \[(\d+)\]", "\n".join(lines))]
    assert members == [(0, 8), (1, 9), (2, 10), (3, 11), (0, 8), (1, 9), (2, 10), (3, 11)]


def test_the_monitor_shows_who_attached_what(capsys: pytest.CaptureFixture[str]) -> None:
    device = DeviceManager().getDevice(4)
    assert device.attach()
    assert [(one.number, one.device_id, one.process) for one in attached_ipus(False)] == [
        (8, 0, os.getpid()),
        (9, 1, os.getpid()),
    ]
    assert gc_monitor([]) == 0
    text = capsys.readouterr().out
    assert "Partition: slurm_7 has 4 simulated IPUs" in text
    assert text.count("1850MHz") == 2
    assert len({len(line) for line in text.splitlines() if "attach" not in line.lower()}) <= 2
    device.detach()
    assert attached_ipus(False) == []
    assert gc_monitor(["--no-card-info"]) == 0
    assert capsys.readouterr().out == "No attached processes in slurm_7\n"


def test_ipus_of_other_parts_only_where_requested(monkeypatch: pytest.MonkeyPatch) -> None:
    device = DeviceManager().getDevice(0)
    assert device.attach()
    monkeypatch.setenv("POPVISION_IPU_IDS", "1,2")
    assert attached_ipus(False) == []
    assert [(one.number, one.device_id) for one in attached_ipus(True)] == [(8, -1)]
    device.detach()


def test_the_lock_file_of_a_process_that_has_ended_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "ipu8.lock").write_text("1\n")  # a process that runs, and has not this file open
    (tmp_path / "ipu9.lock").write_text("")
    (tmp_path / "ipu10.lock").write_text(f"{2**22 + 1}\n")  # past the largest id of a process
    assert attached_ipus(True) == []


def test_no_ipus_are_a_sentence_and_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("POPVISION_IPU_IDS")
    monkeypatch.setenv("POPVISION_REQUIRE_ALLOCATION", "1")
    assert gc_monitor([]) == gc_info(["-l"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    line = "No IPU detected in the system. POPVISION_REQUIRE_ALLOCATION is set, and IPUs are given to jobs"
    assert [text.startswith(line) for text in said.err.splitlines()] == [True, True]
    monkeypatch.setenv("POPVISION_REQUIRE_ALLOCATION", "yes")
    assert gc_info(["-l"]) == 1
    assert "POPVISION_REQUIRE_ALLOCATION='yes' is not 0 or 1; write one of them." in capsys.readouterr().err
