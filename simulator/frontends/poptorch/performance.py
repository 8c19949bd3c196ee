"""Times of the last run from the simulated clock: when each transfer of a stream took place.

Every iteration of a run executes the same program, so they share the run's cycles equally. The host hands its inputs
over where an iteration begins and gets its outputs where one ends: transfers are a part of the iteration. Seconds of
simulated device time, never of the host's.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.frontends.lowering.lowered import Interface

Latency = tuple[float, float, float]


@dataclass(frozen=True)
class RunTimes:
    """The last run of a program: its simulated seconds, spread over its transfers."""

    interface: Interface
    seconds: float

    def counters(self) -> dict[str, list[list[float]]]:
        """ "input", "input_complete", "output" and "output_complete": for each tensor the seconds since the run began,
        one for each transfer and replica."""
        settings = self.interface.settings
        steps = settings.iterations * settings.accumulation
        each = self.seconds / steps
        begins = [step * each for step in range(steps) for _ in range(settings.replicas)]
        inputs = [list(begins) for _ in self.interface.inputs]
        outputs = []
        for one in self.interface.outputs:
            apart = steps // one.transfers
            ends = [(number + 1) * apart * each for number in range(one.transfers)]
            outputs.append([end for end in ends for _ in range(settings.replicas)])
        return {
            "input": inputs,
            "input_complete": [list(one) for one in inputs],
            "output": outputs,
            "output_complete": [list(one) for one in outputs],
        }

    def latency(self) -> Latency:
        """(least, largest, mean) seconds from the inputs of a step to its outputs."""
        settings = self.interface.settings
        each = self.seconds / (settings.iterations * settings.accumulation)
        return each, each, each


#: before the first run
NO_COUNTERS: dict[str, list[list[float]]] = {
    name: [[]] for name in ("input", "input_complete", "output", "output_complete")
}
NO_LATENCY: Latency = (0.0, 0.0, 0.0)


class NoRun:
    """In place of the last run before there is one."""

    def counters(self) -> dict[str, list[list[float]]]:
        return NO_COUNTERS

    def latency(self) -> Latency:
        return NO_LATENCY
