"""What the parts of `Engine` share: the executable, its options, and the loaded core."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

from simulator.base.options.run import RunSettings
from simulator.base.target import TargetType
from simulator.engine.executable import Executable
from simulator.engine.options import EngineOptions
from simulator.runtime.engine_core import EngineCore


class EngineState:
    _executable: Executable
    _options: EngineOptions
    _core: EngineCore
    _kind: TargetType

    def _can_record(self) -> bool:
        """Models record always, hardware when it is instrumented."""
        if self._kind is TargetType.IPU:
            return bool(self._options.compile.compute_level)
        return self._kind is TargetType.IPU_MODEL

    def _start(self, executable: Executable, options: EngineOptions) -> None:
        self._executable, self._options = executable, options
        self._kind = executable.getTarget().getTargetType()
        self._core = EngineCore(executable._compiled, executable._plan, _run_settings(options, self._can_record))


def _run_settings(options: EngineOptions, can_record: Callable[[], bool]) -> RunSettings:
    return replace(
        options.run,
        recording=can_record(),
        blocks_of_all=options.compile.records_blocks and not options.report.output_execution_profile,
        measured_host=os.environ.get("POPVISION_HOST_CLOCK") == "measured",
    )
