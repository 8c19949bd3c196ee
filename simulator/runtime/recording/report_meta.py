"""Facts about a report: versions, options, target, host, instrumentation."""

from __future__ import annotations

import os
import platform
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np

from simulator.base.rank import Rank
from simulator.base.version import versionString
from simulator.compiler.compiled_graph import CompiledGraph

#: Version of the cost and memory model; grows when figures change.
MODEL_VERSION = "1"


def host_facts() -> dict[str, str]:
    """The machine that compiles and runs, without anything that names it, its user or its folders."""
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "cores": str(os.cpu_count() or 0),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def _not_recorded(option_facts: Mapping[str, Any]) -> list[str]:
    """The options that would have recorded steps which runs on hardware leave out."""
    kinds = {
        "computeInstrumentation": "debug.instrumentCompute",
        "externalExchangeInstrumentation": "debug.instrumentExternalExchange",
    }
    return [option for fact, option in kinds.items() if option_facts.get(fact) == "Off"]


def report_meta(
    option_facts: Mapping[str, Any],
    engine_name: str,
    run_id: str,
    executable: CompiledGraph,
    rank: Rank | None = None,
) -> dict[str, Any]:
    """`Compilation.meta` of a new report; `option_facts` is what it says about the engine's options, `rank` the place
    of this process among those of a job step."""
    target, what_if = executable.compilation.target, executable.machine.target.overrides
    changed = {"whatIf": " ".join(what_if)} if what_if else {}
    return {
        "poplarVersion": versionString(),
        "modelVersion": MODEL_VERSION,
        "simulated": True,
        **option_facts,
        "targetOptions": {"type": target.type, "architecture": target.architecture} | changed,
        **changed,
        "engineName": engine_name,
        "host": host_facts(),
        "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
        "reportId": uuid.uuid4().hex,
        "runId": run_id,
        **({} if rank is None else {"rank": {"rank": rank.rank, "ranks": rank.ranks, "run": rank.run}}),
        "notRecorded": _not_recorded(option_facts) if executable.machine.hardware else [],
        "remoteBuffers": [buffer.name for buffer in executable.source.store.remote_buffers],
    }
