"""TF_POPLAR_FLAGS: a string of flags, as a shell would split it, for all TensorFlow programs of a process.

The flags are those of TensorFlow's driver (SDK 3.4) and `use_on_demand`. Each is one field of `Flags`, which says what
it does here.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import Any

from simulator.base.errors import poplar_error
from simulator.frontends.tensorflow.configuration.enumerations import SyntheticDataCategory

#: milliseconds: the driver takes no shorter time between two looks for a free device
SHORTEST_POLL = 100


def _works(default: Any, text: str) -> Any:
    return field(default=default, metadata={"text": text, "works": True})


def _recorded(default: Any, reason: str) -> Any:
    """A flag that is checked and written to the report; the model cannot have its effect."""
    return field(default=default, metadata={"text": reason, "works": False})


_OTHER_COMPILER = "it steers TensorFlow's compiler, which is another here"
_OTHER_FILES = "these files tell of TensorFlow's compiler, which is another here; set autoReport.all"
_NO_DATA = "only all transfers together can be left out: use_synthetic_data"


@dataclass(frozen=True)
class Flags:
    """Values of all flags, by their names."""

    help: bool = _works(False, "lists the flags on stderr when the system is configured")
    executable_cache_path: str = _works("", "folder of cached executables, `<hash>.poplar_exec`")
    use_on_demand: bool = _works(False, "the connection type ALWAYS becomes ON_DEMAND")
    on_demand_device_poll_time: int = _works(1000, "milliseconds between two looks for a free device, at least 100")
    on_demand_device_timeout: int = _works(3_600_000, "milliseconds until waiting for a device ends with an error")
    use_ipu_model: bool = _works(False, "the IPU Model takes the place of simulated hardware")
    ipu_model_tiles: int = _works(-1, "tiles of the model's IPUs, unless ipu_model.tiles_per_ipu says")
    show_progress_bar: str = _works("auto", "bar on stderr while a program compiles; auto: where stdout is a terminal")
    use_synthetic_data: bool = _works(False, "no transfers of inputs and outputs; results are zeros")
    max_compilation_threads: int = _works(-1, "engine option opt.maxCompilationThreads; negative: as many as there are")
    log_cycle_count: int = _works(-1, "a line on stderr with the cycles of each run; negative: none; any tile is meant")
    synthetic_data_categories: str = _recorded("", _NO_DATA)
    synthetic_data_initializer: str = _recorded("", _NO_DATA)
    null_data_feed: bool = _recorded(False, _NO_DATA)
    while_loop_brute_force_max_trip_count: int = _recorded(128, _OTHER_COMPILER)
    fallback_scheduler: bool = _recorded(False, _OTHER_COMPILER)
    allow_nans: bool = _recorded(False, _OTHER_COMPILER)
    enable_hlo_verifier: bool = _recorded(False, _OTHER_COMPILER)
    sync_replica_start: bool = _recorded(False, "replicas start together")
    max_infeed_threads: int = _recorded(-1, "a data set is read on one thread")
    disable_poplar_version_check: bool = _recorded(False, "there is no second version of Poplar")
    save_vertex_graph: str = _recorded("", _OTHER_FILES)
    save_interval_report: str = _recorded("", _OTHER_FILES)
    dump_schedule_as_dot: bool = _recorded(False, _OTHER_FILES)
    tensor_map_file_path: str = _recorded("", _OTHER_FILES)

    def without_effect(self) -> dict[str, str]:
        """The flags that are set and cannot have their effect here, with their values."""
        chosen = ((one.name, getattr(self, one.name), one) for one in fields(self))
        return {name: str(value) for name, value, one in chosen if value != one.default and not one.metadata["works"]}

    def given(self) -> dict[str, str]:
        """The flags whose values are not the default ones."""
        values = ((one, getattr(self, one.name)) for one in fields(self))
        return {one.name: str(value) for one, value in values if value != one.default}

    def key(self) -> str:
        """What of the flags an executable depends on."""
        return repr((self.use_ipu_model, self.ipu_model_tiles, self.use_synthetic_data))


def read_flags(environment: Mapping[str, str] = os.environ) -> Flags:
    """The flags of TF_POPLAR_FLAGS; POPDIST_EXECUTABLE_CACHE_PATH is the cache's folder where it names none.

    Raises poplar_error for a flag that is unknown or has a wrong value."""
    flags = Flags(executable_cache_path=environment.get("POPDIST_EXECUTABLE_CACHE_PATH", ""))
    try:
        words = shlex.split(environment.get("TF_POPLAR_FLAGS", ""))
    except ValueError as error:
        raise poplar_error(f"TF_POPLAR_FLAGS cannot be split into flags: {error}.") from error
    kinds = {one.name: type(one.default) for one in fields(Flags)}
    for word in words:
        name, equals, text = word.removeprefix("--").partition("=")
        if not word.startswith("--") or name not in kinds:
            near = get_close_matches(name, kinds, 1)
            hint = f"did you mean '--{near[0]}'?" if near else f"flags here: {', '.join('--' + one for one in kinds)}."
            raise poplar_error(f"TF_POPLAR_FLAGS has no flag '{word}' in this simulator; {hint}")
        chosen: dict[str, Any] = {name: _value(name, kinds[name], bool(equals), text)}
        flags = replace(flags, **chosen)
    return flags


def usage() -> str:
    """All flags with what they do here, one a line."""
    lines = [f"\t--{one.name}: {one.metadata['text']}" for one in fields(Flags)]
    return "\n".join(["Usage for TF_POPLAR_FLAGS is:", *lines])


def _value(name: str, kind: type, is_given: bool, text: str) -> str | int | bool:
    if name == "show_progress_bar":
        if text in ("true", "false", "auto"):
            return text
    elif kind is str and text:
        return text
    if kind is bool and (not is_given or text.lower() in ("true", "1", "false", "0")):
        return not is_given or text.lower() in ("true", "1")
    least = {"on_demand_device_poll_time": SHORTEST_POLL, "on_demand_device_timeout": 0}.get(name, -1)
    if kind is int and text.removeprefix("-").isdecimal() and int(text) >= least:
        return int(text)
    if name == "show_progress_bar":
        wanted = "'true', 'false' or 'auto'"
    else:
        wanted = {str: "a text", bool: "'true' or 'false'", int: f"a whole number from {least}"}[kind]
    raise poplar_error(f"TF_POPLAR_FLAGS: '--{name}' has the value '{text}'; give {wanted}.")


def running_on_ipu_model() -> bool:
    """Whether the flags ask for the IPU Model."""
    return read_flags().use_ipu_model


def use_synthetic_data_for(synthetic_data_category: SyntheticDataCategory) -> bool:
    """Whether transfers of this category are left out: inputs and outputs, queues among them, where the flag
    `--use_synthetic_data` is set. Seeds and variables are always sent here. Raises poplar_error for what is none."""
    if not isinstance(synthetic_data_category, SyntheticDataCategory):
        raise poplar_error(
            f"use_synthetic_data_for({synthetic_data_category!r}): give a utils.SyntheticDataCategory, such as Infeed."
        )
    left_out = (SyntheticDataCategory.Infeed, SyntheticDataCategory.Outfeed)
    return read_flags().use_synthetic_data and synthetic_data_category in left_out
