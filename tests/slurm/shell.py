"""Commands as a user types them on a pod, and jobs that keep their IPUs until they are told to end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from simulator.slurm.pod import Pod
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
IPUS = 8
SECONDS = 400.0  #: the longest that any job may take; a loaded machine needs a minute for what takes a second

#: attaches the first device of all IPUs that it is offered, says so in a file, and keeps it
HOLD = """
import os, sys
from simulator.poplar import DeviceManager, TargetType
from tests.waiting import wait_until
manager = DeviceManager()
device = manager.getDevices(TargetType.IPU, manager.num_ipus)[0]
assert device.attach()
with open(sys.argv[1] + ".part", "w") as file:
    print(*device.getDriverIDs(), file=file)
os.rename(sys.argv[1] + ".part", sys.argv[1])
wait_until(lambda: os.path.exists(sys.argv[1] + ".end"), limit=3600)
"""


@dataclass
class Shell:
    """A shell of a user in `folder` who has sourced enable.sh and set SLURM_CONF."""

    pod: Pod
    folder: Path
    _jobs: dict[str, str] = field(default_factory=dict)

    def run(self, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {key: value for key, value in self.pod.environment.items() if not key.startswith("POPVISION_IPU")}
        environment |= {"POPVISION_LOCKS": os.environ["POPVISION_LOCKS"], "OMP_NUM_THREADS": "1"}
        environment |= {"PYTHONPATH": str(ROOT), "HOME": str(self.folder), **variables}
        before = f'source {ROOT}/enable.sh && export PATH="{Path(sys.executable).parent}:$PATH"\n'
        return subprocess.run(
            ["bash", "-c", before + script],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def output(self, script: str, **variables: str) -> str:
        """Standard output of a script that ends well."""
        done = self.run(script, **variables)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout

    def hold(self, options: str, name: str) -> list[int]:
        """Submit a job that keeps its IPUs until `release`; their numbers, once it has attached them."""
        self.submit_holder(options, name)
        wait_for((self.folder / name).exists)
        return [int(word) for word in (self.folder / name).read_text().split()]

    def job_of(self, name: str) -> str:
        """The id of the job that `hold` or `submit_holder` started under a name."""
        return self._jobs[name]

    def submit_holder(self, options: str, name: str) -> str:
        """The id of a job that keeps its IPUs until `release`."""
        (self.folder / "hold.py").write_text(HOLD)
        (self.folder / "hold.sh").write_text('#!/bin/bash\nexec python hold.py "$1"\n')
        self._jobs[name] = self.output(f"sbatch --parsable {options} --output={name}.log hold.sh {name}").strip()
        return self._jobs[name]

    def release(self, name: str) -> None:
        (self.folder / f"{name}.end").touch()

    def states(self) -> dict[str, str]:
        """State and reason of each job in the queue, by its id."""
        rows = self.output("squeue -h -o '%A %t %r'").splitlines()
        return {job: rest for job, _, rest in (row.partition(" ") for row in rows)}

    def wait_until_over(self, job: str) -> None:
        """As `sbatch --wait`, which looks every ten seconds."""
        wait_for(lambda: job not in self.states())

    def wait_until_empty(self) -> None:
        wait_for(lambda: not self.states())


def wait_for(is_true: Callable[[], object]) -> None:
    wait_until(is_true, limit=SECONDS)
