"""The files of a pod: what Slurm's daemons and commands must know of simulated IPUs.

An IPU is an empty file, since Slurm numbers only generic resources that have files. The plugin is compiled against the
machine's own <slurm/spank.h>: Slurm refuses one of another version.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

PACKAGES = "apt-get install -y slurm-wlm munge libslurm-dev"
MOST_IPUS = 1024
#: slurmd looks for cgroups even where nothing uses them, and ends where no file system of them is mounted, unless it is
#: told which to expect
CGROUP_CONF = "CgroupPlugin=cgroup/v1\n"
_SOURCES = Path(__file__).parent


class PodError(Exception):
    """A pod cannot be made or started; the text is one sentence for the user."""


@dataclass(frozen=True)
class PodFiles:
    """The files of a pod in `folder`, which must be an absolute path: `ipus` IPUs on each node. `step_locks` is a
    folder of each node's own."""

    folder: Path
    ipus: int
    step_locks: Path = Path("/run/popvision-ipus")

    def __post_init__(self) -> None:
        if not 1 <= self.ipus <= MOST_IPUS or self.ipus & (self.ipus - 1):
            raise PodError(f"--ipus={self.ipus} is not a power of two from 1 to {MOST_IPUS}.")
        if not self.folder.is_absolute() or any(character.isspace() for character in str(self.folder)):
            raise PodError(
                f"The folder '{self.folder}' must be an absolute path without spaces: Slurm's files name it."
            )

    @property
    def slurm_conf(self) -> Path:
        return self.folder / "slurm.conf"

    def write(self) -> None:
        """Write all but slurm.conf: gres.conf, plugstack.conf, cli_filter.lua, the compiled plugin, a file per IPU.
        Raises PodError where the plugin cannot be compiled."""
        plugin = self.folder / "ipus.so"
        compile_plugin(plugin)
        shutil.copyfile(_SOURCES / "cli_filter.lua", self.folder / "cli_filter.lua")
        devices = self.folder / "ipu"
        devices.mkdir(exist_ok=True)
        for ipu in range(self.ipus):
            (devices / f"ipu{ipu}").touch()
        last = f"[0-{self.ipus - 1}]" if self.ipus > 1 else "0"
        (self.folder / "gres.conf").write_text(f"Name=ipu File={devices}/ipu{last}\n")
        (self.folder / "plugstack.conf").write_text(f"required {plugin} ipus={self.ipus} locks={self.step_locks}\n")


@dataclass(frozen=True)
class OneMachine:
    """Where the daemons of one machine listen, and whose they are. `is_loopback`: the machine's name means 127.0.0.1,
    so that they can listen there alone; else they listen on every address, and munge keeps others out. `nodes` are
    names of nodes and their ports: one, or for a trial several."""

    name: str
    is_loopback: bool
    user: str
    controller_port: int
    nodes: dict[str, int]


def compile_plugin(target: Path) -> None:
    """Compile the SPANK plugin. Raises PodError without a C compiler or Slurm's headers."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not Path("/usr/include/slurm/spank.h").exists():
        missing = "A C compiler (gcc)" if compiler is None else "/usr/include/slurm/spank.h"
        raise PodError(f"{missing} is missing; as root: {PACKAGES} gcc.")
    command = [compiler, "-shared", "-fPIC", "-O2", "-std=gnu11", "-Wall", "-Wextra", "-Werror"]
    command += ["-o", str(target), str(_SOURCES / "ipus.c")]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        first = next((line for line in run.stderr.splitlines() if "error" in line), run.stderr.strip())
        raise PodError(f"The plugin does not compile with this Slurm: {first}")


def user_name() -> str:
    """The name of this process's user."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        raise PodError(f"User {os.geteuid()} has no name in /etc/passwd, and Slurm needs one.") from None


def slurm_conf_of_one_machine(files: PodFiles, machine: OneMachine) -> str:
    """slurm.conf: one node with all IPUs, or several with as many each, in ALCF's partition p64. A job that names no
    number takes one CPU, so a node states as many CPUs as IPUs, and never fewer than the machine has; without cgroups,
    no job is bound to them. A batch job starts at once: by default Slurm waits 3 seconds for others to plan it with."""
    folder = files.folder
    cpus = max(files.ipus, os.cpu_count() or 1)
    nodes = "\n".join(
        f"NodeName={name} NodeHostname={machine.name} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} Gres=ipu:{files.ipus} "
        "State=UNKNOWN"
        for name, port in machine.nodes.items()
    )
    return f"""# Slurm for one machine; docs/slurm.md says which lines belong into the slurm.conf of a cluster.
ClusterName=pod
SlurmctldHost={machine.name}(127.0.0.1)
SlurmctldPort={machine.controller_port}
SlurmUser={machine.user}
SlurmdUser={machine.user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
{"CommunicationParameters=NoInAddrAny,NoCtldInAddrAny" if machine.is_loopback else "# listens on every address"}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MailProg=/bin/true
MpiDefault=none
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_interval=2
KillWait=5
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=ipu
CliFilterPlugins=lua
PlugStackConfig={folder}/plugstack.conf
{nodes}
PartitionName=p64 Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
