"""Module: one program without control streams, and a runtime that branches to it.

module = compileModule(graph, program, Preallocations({"table": 0}))
runtime = ModuleRuntime(module)
runtime.load(device)
runtime.writeExternal("table", values)
runtime.run()
runtime.readExternal("table", values)
"""

from __future__ import annotations

from typing import IO, Any

from simulator.base.errors import stream_connection_error, symbol_error
from simulator.base.options.run import RunSettings
from simulator.base.target import Target
from simulator.base.types import Type
from simulator.base.wrong_arguments import checks_arguments, methods_refuse_wrong_arguments
from simulator.engine.devices.device import Device
from simulator.engine.devices.occupation import LoadedProgram
from simulator.engine.executable import Executable
from simulator.engine.prepared_device import PreparedDevice
from simulator.runtime.engine_core import EngineCore
from simulator.runtime.host.host_buffers import memory_of


@methods_refuse_wrong_arguments()
class Module:
    """The code of one program for each tile. It cannot be given to an Engine."""

    def __init__(self, executable: Executable) -> None:
        self.executable = executable

    def getTarget(self) -> Target:
        """The target that it was compiled for."""
        return self.executable.getTarget()

    def getSymbols(self) -> list[str]:
        """The symbols of its external variables."""
        return list(_externals(self.executable).values())

    def serialize(self, out: IO[bytes]) -> None:
        """Write it to a binary file object. Raises poplar_error for a program that cannot be saved."""
        self.executable.serialize(out)

    @staticmethod
    def deserialize(in_: IO[bytes]) -> Module:
        """Read what `serialize` wrote. Raises poplar_error for anything else."""
        return Module(Executable.deserialize(in_))

    def __repr__(self) -> str:
        return f"Module({', '.join(self.getSymbols())})"


@methods_refuse_wrong_arguments()
class ModuleRuntime:
    """Loads a module's code and branches to it on every tile. Between runs, external variables belong to the caller."""

    def __init__(self, module: Module) -> None:
        self._executable = executable = module.executable
        self._core = EngineCore(executable.compiled, executable.plan, RunSettings(recording=False))
        self._prepared = PreparedDevice(executable.compiled, executable.getTarget(), executable.graph_profile_path)
        self._program = LoadedProgram("the module")

    @checks_arguments
    def load(self, device: Device) -> None:
        """Load the code, in place of what was on the device. Raises poplar_error for a device that it was not compiled
        for, and while the device runs; graph_memory_allocation_error where it does not fit."""
        with self._program.busy("load", "being loaded"):
            self._prepared.prepare(device)
            device.condition.load("load", self._program, self._core.load)

    def run(self) -> int:
        """Branch to the start of the code on each tile; returns the modelled cycles until the last tile is done. Raises
        poplar_error before loading, while the module runs, and where `Engine.run` does for its device."""
        program = self._program
        program.begin("run", "running")
        try:
            program.check_loaded("run")
            before = self._core.device_cycles
            self._core.run(0, "")
            return self._core.device_cycles - before
        finally:
            program.end()

    def writeExternal(self, symbol: str, buffer: Any) -> None:
        """Copy a buffer of exactly its size into an external variable. Raises symbol_error for an unknown symbol and
        stream_connection_error for another size or type."""
        with self._program.busy("writeExternal", "writing an external variable"):
            self._program.check_loaded("writeExternal")
            place, type_ = self._place(symbol)
            values = self._memory(symbol, buffer, place, type_, writable=False)
            for memory in self._core.memories:
                memory.write(place, values)

    def readExternal(self, symbol: str, buffer: Any) -> None:
        """Copy an external variable into a buffer of exactly its size. Raises as writeExternal does."""
        with self._program.busy("readExternal", "reading an external variable"):
            self._program.check_loaded("readExternal")
            place, type_ = self._place(symbol)
            self._memory(symbol, buffer, place, type_, writable=True)[...] = self._core.memories[0].read(place)

    def _memory(self, symbol: str, buffer: Any, place: Any, type_: Type, *, writable: bool) -> Any:
        flat = memory_of(buffer, type_, f"External variable '{symbol}'", writable=writable)
        if len(flat) != place.shape[0]:
            raise stream_connection_error(
                f"External variable '{symbol}' has {place.shape[0]} elements, but the buffer holds {len(flat)}."
            )
        return flat

    def _place(self, symbol: str) -> tuple[Any, Type]:
        for variable, name in _externals(self._executable).items():
            if name == symbol:
                store = self._executable.compiled.source.store
                return self._core.variable_place(variable), store.variables.type[variable]
        known = ", ".join(_externals(self._executable).values()) or "none"
        raise symbol_error(f"The module has no external variable '{symbol}'; its symbols are: {known}.")


def _externals(executable: Executable) -> dict[int, str]:
    return executable.compiled.source.store.variables.external
