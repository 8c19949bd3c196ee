"""Facts about a report: versions, options, target, host, instrumentation; its time and its ids.

With SOURCE_DATE_EPOCH, as reproducible-builds.org specifies it, every time in a report is that second and ids follow
from the content: compiling and running the same program again gives the same bytes.
"""

from __future__ import annotations

import hashlib
import os
import platform
import uuid
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from popvision.pvti import clock
from simulator.base.errors import invalid_option
from simulator.base.rank import Rank
from simulator.base.version import versionString
from simulator.compiler.compiled_graph import CompiledGraph

#: Version of the cost and memory model; grows when figures change.
MODEL_VERSION = "3"


def fixed_second(environment: Mapping[str, str]) -> int | None:
    """The second since 1970 that SOURCE_DATE_EPOCH names, None where it is not set. Raises invalid_option for anything
    else than a whole number up to the year 9999."""
    try:
        return clock.fixed_second(environment)
    except ValueError as error:
        raise invalid_option(str(error)) from None


def new_id(*content: Any) -> str:
    """32 hexadecimal digits: those of `content` where SOURCE_DATE_EPOCH is set, else random ones. The content may have
    plain values, arrays, lists, mappings and dataclasses of these."""
    if fixed_second(os.environ) is None:
        return uuid.uuid4().hex
    digest = hashlib.sha256()
    waiting: list[Any] = [content]
    while waiting:
        value = waiting.pop()
        text = type(value).__name__
        if isinstance(value, np.ndarray):
            text += f"{value.dtype.str}{value.shape}"
            digest.update(np.ascontiguousarray(value).tobytes())
        elif is_dataclass(value):
            waiting += [getattr(value, entry.name) for entry in fields(value)]
        elif isinstance(value, Mapping):
            text += str(len(value))
            waiting += [part for pair in value.items() for part in pair]
        elif isinstance(value, list | tuple):
            text += str(len(value))
            waiting += value
        else:
            text += repr(value)
        digest.update(f"{text}\n".encode())
    return digest.hexdigest()[:32]


def _timestamp() -> str:
    second = fixed_second(os.environ)
    now = datetime.now(UTC) if second is None else datetime.fromtimestamp(second, UTC)
    return now.isoformat(timespec="seconds")


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
    folder_since_us: int | None = None,
) -> dict[str, Any]:
    """`Compilation.meta` of a new report; `option_facts` is what it says about the engine's options, `rank` the place
    of this process among those of a job step, `folder_since_us` when it got the report's folder (None = it has none);
    SOURCE_DATE_EPOCH names that moment, too."""
    second = fixed_second(os.environ)
    if folder_since_us is not None and second is not None:
        folder_since_us = second * 10**6
    facts = option_facts, engine_name, run_id, rank
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
        "timestamp": _timestamp(),
        "reportId": new_id(executable.compilation, executable.debug_infos, facts),
        "runId": run_id,
        **({} if rank is None else {"rank": {"rank": rank.rank, "ranks": rank.ranks, "run": rank.run}}),
        **({} if folder_since_us is None else {"folderSince": folder_since_us}),
        "notRecorded": _not_recorded(option_facts) if executable.machine.hardware else [],
        "remoteBuffers": [buffer.name for buffer in executable.source.store.remote_buffers],
    }
