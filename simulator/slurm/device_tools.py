"""gc-info -l and gc-monitor: the devices that a program would be offered here, and who has attached them.

Ids are those of `Device.getId()`, numbers (IPU#) those of the system that a job has a part of. What an IPU has and a
simulated one has not (temperature, power, firmware) reads "-".
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import psutil

from simulator.base.errors import poplar_error
from simulator.engine.devices.device_locks import held_locks
from simulator.engine.devices.device_manager import DeviceManager, reason_for_no_ipus

PARTITION = "IPUOF_VIPU_API_PARTITION_ID"
_COMMAND_WIDTH = 32  # characters of a command that gc-monitor shows


@dataclass(frozen=True)
class AttachedIpu:
    """An IPU that a process has attached. `device_id` is -1 for one of another part of the system."""

    number: int
    device_id: int
    process: int
    command: str
    user: str
    seconds: int  #: since it was attached


def device_list() -> list[str]:
    """The lines of `gc-info -l`: each device, and the members of those with several IPUs."""
    devices = DeviceManager.createDeviceManager().getDevices()
    single = {one.getDriverIDs()[0]: one.getId() for one in devices if one.getNumIPUs() == 1}
    host, lines = socket.gethostname(), []
    for device in devices:
        members = device.getDriverIDs()
        if len(members) == 1:
            lines.append(f"-+- Id: [{device.getId()}], target: [Simulated], host: [{host}], IPU#: [{members[0]}]")
            continue
        lines.append(f"-+- Id: [{device.getId()}], target: [Multi IPU]")
        lines += [
            f" |--- Id: [{single[ipu]}], DNC Id: [{place}], host: [{host}], IPU#: [{ipu}]"
            for place, ipu in enumerate(members)
        ]
    return lines


def attached_ipus(all_partitions: bool) -> list[AttachedIpu]:
    """What processes of this user on this machine have attached: IPUs of this part of the system, or of any."""
    ids = {number: id_ for id_, number in enumerate(DeviceManager.createDeviceManager().ipus)}
    found = []
    for number, process, since in held_locks(everywhere=all_partitions):
        if number not in ids and not all_partitions:
            continue
        with suppress(psutil.Error):  # it ended meanwhile
            holder = psutil.Process(process)
            command = " ".join(" ".join(holder.cmdline()).split())
            seconds = max(0, int(time.time() - since))
            found.append(AttachedIpu(number, ids.get(number, -1), process, command, holder.username(), seconds))
    return found


def _table(title: str, heads: list[str], rows: list[list[str]]) -> list[str]:
    """A table with a title row, wide enough for both."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    widths[1] += max(0, len(title) - sum(widths) - 3 * (len(widths) - 1))
    line = "+".join(["", *("-" * (width + 2) for width in widths), ""])
    inner = len(line) - 4

    def row(cells: list[str]) -> str:
        return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"

    return [f"+{'-' * (inner + 2)}+", f"| {title.center(inner)} |", line, row(heads), line, *map(row, rows), line]


def monitor(card_info: bool, all_partitions: bool) -> list[str]:
    """The lines of `gc-monitor`: the IPUs of this part of the system, then the processes that have attached some."""
    manager = DeviceManager.createDeviceManager()
    clock = f"{manager.getDevice(0).getTarget().getTileClockFrequency() / 1e6:.0f}MHz"
    partition = os.environ.get(PARTITION) or socket.gethostname()
    lines: list[str] = []
    if card_info:
        architecture = manager.getDevice(0).getTarget().getTargetArchString()
        rows = [[str(id_), str(ipu), "simulated", architecture] for id_, ipu in enumerate(manager.ipus)]
        title = f"Partition: {partition} has {manager.num_ipus} simulated IPUs"
        lines += _table(title, ["ID", "IPU#", "Type", "Arch"], rows)
    attached = attached_ipus(all_partitions)
    if not attached:
        scope = "any partition" if all_partitions else partition
        return [*lines, f"No attached processes in {scope}"]
    heads = ["PID", "Command", "Time", "User", "ID", "IPU#", "Clock", "Temp", "Power"]
    rows = []
    for one in attached:
        device_id = str(one.device_id) if one.device_id >= 0 else "-"
        who = [str(one.process), one.command[:_COMMAND_WIDTH], f"{one.seconds}s", one.user]
        rows.append([*who, device_id, str(one.number), clock, "-", "-"])
    return [*lines, *_table(f"Attached processes in partition {partition}", heads, rows)]


def gc_info(arguments: list[str] | None = None) -> int:
    """`gc-info -l`; the exit code is 1 where there are no devices."""
    parser = argparse.ArgumentParser(prog="gc-info", description="List the simulated devices.")
    parser.add_argument("-l", "--list-devices", action="store_true", required=True, help="list all devices")
    parser.parse_args(arguments)
    return _print(device_list)


def gc_monitor(arguments: list[str] | None = None) -> int:
    """`gc-monitor`; the exit code is 1 where there are no devices."""
    parser = argparse.ArgumentParser(prog="gc-monitor", description="Show who has attached the simulated IPUs.")
    parser.add_argument("--no-card-info", action="store_true", help="leave out the table of IPUs")
    parser.add_argument(
        "--all-partitions", action="store_true", help="show IPUs of this user's other jobs on this machine, too"
    )
    chosen = parser.parse_args(arguments)
    return _print(lambda: monitor(not chosen.no_card_info, chosen.all_partitions))


def _print(lines: Callable[[], list[str]]) -> int:
    try:
        if DeviceManager.createDeviceManager().num_ipus:
            print("\n".join(lines()))
            return 0
        print(f"No IPU detected in the system. {reason_for_no_ipus()}", file=sys.stderr)
    except poplar_error as error:
        print(error, file=sys.stderr)
    return 1
