"""Executable: a compiled graph, to make engines from, and to save."""

from __future__ import annotations

import weakref
from typing import IO, Any

from simulator.base.errors import poplar_error
from simulator.base.target import Target
from simulator.base.wrong_arguments import methods_refuse_wrong_arguments
from simulator.compiler.compiled_graph import CompiledGraph
from simulator.engine.executable_file import from_file, to_bytes
from simulator.engine.options import EngineOptions
from simulator.runtime.recording.report_folder import ReportFolder
from simulator.runtime.values.numeric_plan import NumericPlan


@methods_refuse_wrong_arguments()
class Executable:
    """A compiled graph. Later edits of the graph do not reach it; several engines may be made from it."""

    def __init__(
        self, compiled: CompiledGraph, plan: NumericPlan, options: EngineOptions, name: str, target: Target
    ) -> None:
        self.compiled = compiled
        self.plan = plan  #: of values, shared by all engines
        self.options = options  #: it was compiled with
        self.name = name  #: of the engine, "" for none
        self.target = target
        self._folder: ReportFolder | None = None  #: that compilation wrote, until an engine takes it
        self.once_per_attachment: tuple[int, ...] = ()  #: programs that a framework runs then, not in its steps
        self.writes_reports = True  #: whether engines write the reports that options ask for
        self.graph_profile_path = ""  #: of the profile that compilation wrote, "" for none

    def write_reports(self) -> None:
        """Write the files that its options ask for: once, when it was compiled. Raises poplar_error where that is not
        possible."""
        self._folder = self._written_folder(self.options)
        if self._folder is not None:
            self.graph_profile_path = self._folder.graph_profile_path
            self._finish = weakref.finalize(self, self._folder.close)

    def close_reports(self) -> None:
        """Finish the files; no engine will add to them."""
        if self._folder is not None and self._finish.detach() is not None:
            self._folder.close()
        self._folder = None

    def take_folder(self, options: EngineOptions) -> ReportFolder | None:
        """The report folder of a new engine with these options, None where they ask for no file. The first engine
        that asks for the same reports takes the one that compilation wrote; every other, and that of a saved
        executable, gets its own, in place of that one where it has the same directory."""
        folder, asked = self._folder, options.report
        if folder is not None and asked == self.options.report:
            self._folder = None
            self._finish.detach()
            folder.set_option_facts(report_facts(self, options))
            return folder
        if folder is not None and asked.writes_report and asked.directory == self.options.report.directory:
            self.close_reports()
            folder.give_back()
        return self._written_folder(options)

    def _written_folder(self, options: EngineOptions) -> ReportFolder | None:
        report = options.report
        if not self.writes_reports or not (report.writes_report or report.writes_archive):
            options.say_where_nothing_is_recorded()
            return None
        folder = ReportFolder(report, self.name, report_facts(self, options))
        folder.write_compilation(self.compiled)
        return folder

    def getTarget(self) -> Target:
        """The target it was compiled for, with the IPUs of all replicas."""
        return self.target

    def serialize(self, out: IO[bytes]) -> None:
        """Write it to a binary file object, in a form of the simulator's own (Cap'n Proto). Any target will do.

        Raises poplar_error for what cannot be saved: codelets in Python that are not at the top of a module, and
        executables compiled with debug.trace, debug.runtimeVerify or popvision.addressAccurate."""
        data = to_bytes(self.compiled, self.options, self.name, self.target)
        try:
            out.write(data)
        except TypeError:
            raise poplar_error("An executable is written to a binary file object: open(path, 'wb').") from None

    @staticmethod
    def deserialize(in_: IO[bytes], checkPackageHash: bool = True) -> Executable:
        """Read what `serialize` wrote; `checkPackageHash` refuses files of another version of the simulator.

        Raises file_load_error for anything else, and poplar_error for codelets in Python that have changed since."""
        return Executable(*from_file(in_, checkPackageHash))

    def __repr__(self) -> str:
        return f"Executable({self.compiled.num_programs} programs)"


def report_facts(executable: Executable, options: EngineOptions) -> dict[str, Any]:
    """What reports of an executable say about an engine with these options."""
    once = executable.once_per_attachment
    return {**options.facts(), **({"oncePerAttachment": list(once)} if once else {})}
