"""Points as tasks of a Dask cluster (extra [dask]) whose workers see the sweep's folder under the same path.

A task is `subprocess.run` of the worker command, so that a worker needs Dask, the same Python and popvision, and a
worker without popvision says so."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import subprocess
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from popvision.sweep.plan import Limits, Point, SweepError
from popvision.sweep.sweep_folder import SweepFolder
from popvision.sweep.worker import worker_command

#: The address that starts a cluster on this machine.
LOCAL = "local"

_CONNECT_SECONDS = 10


class DaskRunner:
    """Runs points on the cluster at `address`, as `run_sweep` wants it."""

    def __init__(self, address: str) -> None:
        """Raises SweepError when Dask is not installed."""
        self._address = address
        try:
            self._distributed = importlib.import_module("distributed")
        except ImportError:
            raise SweepError("Dask is not installed: pip install 'popvision[dask]', or omit --dask.") from None

    def __call__(
        self,
        points: Sequence[Point],
        folder: SweepFolder,
        limits: Limits,
        at_once: int | None,
        on_result: Callable[[dict[str, Any]], None],
    ) -> None:
        """Run the points, `at_once` together (by default as many as the workers have threads). Raises SweepError."""
        if not points:
            return
        waiting = deque(points)
        with self._client(at_once) as client:
            places = at_once or sum(client.ncores().values()) or 1
            finished = self._distributed.as_completed()
            for _ in range(min(places, len(waiting))):
                finished.add(self._submit(client, waiting.popleft(), folder, limits))
            for future in finished:
                result = _result(future, self._address)
                if result is not None:
                    on_result(result)
                if waiting:
                    finished.add(self._submit(client, waiting.popleft(), folder, limits))

    @contextlib.contextmanager
    def _client(self, at_once: int | None) -> Iterator[Any]:
        distributed = self._distributed
        if self._address == LOCAL:
            workers = at_once or len(os.sched_getaffinity(0))
            options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
            with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
                yield client
            return
        try:
            client = distributed.Client(self._address, timeout=_CONNECT_SECONDS)
        except (OSError, ValueError, TimeoutError):
            raise SweepError(
                f"no Dask scheduler answers at {self._address!r} within {_CONNECT_SECONDS} s; give its address, such "
                "as tcp://host:8786, or 'local'."
            ) from None
        with client:
            yield client

    @staticmethod
    def _submit(client: Any, point: Point, folder: SweepFolder, limits: Limits) -> Any:
        command = worker_command(folder, point.digest, limits)
        return client.submit(subprocess.run, command, capture_output=True, text=True, pure=False, key=point.digest)


def _result(future: Any, address: str) -> dict[str, Any] | None:
    """What the worker printed. Raises SweepError when the point has not ended."""
    try:
        done = future.result()
    except FileNotFoundError as problem:
        raise SweepError(
            f"a Dask worker of {address} has no {problem.filename}: its Python must lie where this one does."
        ) from None
    except Exception as problem:
        raise SweepError(f"Dask gave up the point {future.key}: {' '.join(str(problem).split())[:300]}") from None
    if done.returncode == 0:
        result: dict[str, Any] | None = json.loads(done.stdout)
        return result
    raise SweepError(worker_problem(done.stderr, f"a Dask worker of {address}"))


def worker_problem(said: str, worker: str) -> str:
    """One sentence about a worker that could not run its point, from what it said."""
    lines = [line.strip() for line in said.splitlines() if line.strip()] or ["it ended without a word"]
    if "No module named" in lines[-1] and "popvision" in lines[-1]:
        return f"{worker} has no package popvision: install it there, or set PYTHONPATH."
    return lines[-1] if lines[-1].startswith(("the disk of", "/")) else f"{worker}: {lines[-1]}"
