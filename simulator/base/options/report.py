"""The table of options about reports. Each entry is a field of `ReportSettings`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from simulator.base.options.option import (
    BOOL,
    FILE,
    FOLDER,
    WHOLE,
    Effects,
    Option,
    OptionValues,
    everywhere,
    one_of,
    setting,
)
from simulator.base.options.run import dump_file

ARCHIVE_NAME = "archive.a"

#: Options of reports that an engine of an executable may have otherwise than compileGraph had them: an executable keeps
#: all that a report needs. The others name files that compilation writes.
OF_EACH_ENGINE = frozenset(
    {
        "autoReport.all",
        "autoReport.directory",
        "autoReport.executionProfileProgramRunCount",
        "autoReport.outputArchive",
        "autoReport.outputDebugInfo",
        "autoReport.outputExecutionProfile",
        "autoReport.outputGraphProfile",
        "autoReport.outputLoweredVars",
        "autoReport.outputSerializedGraph",
        "autoReport.streamAtEachRun",
        "debug.outputAllSymbols",
        "debug.retainDebugInformation",
        "opt.maxLinkerThreads",
        "target.saveArchive",
    }
)

_EFFECTS = "tests/engine/test_option_effects.py"
_EACH_REPORT = f"{_EFFECTS}::test_each_report_is_there_when_asked_for_and_left_out_when_not"
_PARTS = f"{_EFFECTS}::test_parts_of_the_profile_have_their_own_switches"


def _implied_archive(values: OptionValues) -> str | None:
    in_report = Path(values["autoReport.directory"]) / ARCHIVE_NAME
    return str(in_report) if values.on("autoReport.outputArchive") else None


def _given_archive(path: Path | None, values: OptionValues) -> Path | None:
    return path if "target.saveArchive" in values.given else None


def _linker_threads(threads: int, values: OptionValues) -> int:
    return threads or WHOLE.read(values["opt.maxCompilationThreads"])


#: Options that only decide about other options, and those without effect.
REPORT_SWITCHES = (
    Option(
        "autoReport.all",
        BOOL,
        "false",
        "All reports below, unless one is excluded by its own option.",
        changes="Files.",
        effects=Effects("bytes files report", "files", "cycles bytes files report"),
        test=f"{_EFFECTS}::test_all_and_directory",
    ),
    Option(
        "profiler.format",
        one_of("v1", "v3", "experimental"),
        "v3",
        "Format of the profile.",
        recorded_only="profile.pop has one format",
        source="seen",
    ),
    Option(
        "profiler.perExecutionStreamCopyCycles",
        BOOL,
        "true",
        "Cycles of each execution of a stream copy.",
        recorded_only="each execution of a stream copy is recorded by itself",
        source="seen",
    ),
    Option(
        "profiler.replicaToProfile",
        WHOLE,
        "0",
        "Replica that is profiled.",
        recorded_only="all replicas are recorded",
        source="seen",
    ),
)


@dataclass(frozen=True)
class ReportSettings:
    """Which files an engine writes, where, and what they contain."""

    directory: Path = setting(
        "autoReport.directory",
        FOLDER,
        "./",
        "Folder of the reports; made when missing.",
        changes="Where files are.",
        effects=everywhere("files"),
        test=f"{_EFFECTS}::test_all_and_directory",
    )
    output_archive: bool = setting(
        "autoReport.outputArchive",
        BOOL,
        "<autoReport.all>",
        ARCHIVE_NAME,
        changes="A file.",
        effects=everywhere("files"),
        test=_EACH_REPORT,
        inactive=False,
    )
    output_debug_info: bool = setting(
        "autoReport.outputDebugInfo",
        BOOL,
        "<autoReport.all>",
        "debug.json and debug.cbor",
        changes="Files.",
        effects=everywhere("files"),
        test=_EACH_REPORT,
        inactive=False,
    )
    output_execution_profile: bool = setting(
        "autoReport.outputExecutionProfile",
        BOOL,
        "<autoReport.all>",
        "Runs in profile.pop; sets debug.instrument unless that is given.",
        changes="Runs in profile.pop.",
        effects=Effects("bytes files report", "files", "cycles bytes files report"),
        test=_PARTS,
        inactive=False,
    )
    output_graph_profile: bool = setting(
        "autoReport.outputGraphProfile",
        BOOL,
        "<autoReport.all>",
        "The compilation in profile.pop; sets debug.allowOutOfMemory unless that is given.",
        changes="Memory in profile.pop.",
        effects=everywhere("files"),
        test=_PARTS,
        inactive=False,
    )
    output_lowered_vars: bool = setting(
        "autoReport.outputLoweredVars",
        BOOL,
        "<autoReport.all>",
        "The lowered variables in profile.pop, with or without a graph profile.",
        changes="Lowered variables in profile.pop.",
        effects=everywhere("files"),
        test=_PARTS,
        inactive=False,
    )
    output_serialized_graph: bool = setting(
        "autoReport.outputSerializedGraph",
        BOOL,
        "<autoReport.all>",
        "serialized_graph.capnp",
        changes="A file.",
        effects=everywhere("files"),
        test=_EACH_REPORT,
        inactive=False,
    )
    stream_at_each_run: bool = setting(
        "autoReport.streamAtEachRun",
        BOOL,
        "true",
        "Write each run when it ends, else all when the engine closes.",
        changes="When runs get into profile.pop.",
        effects=Effects("files", "", "files"),
        test=f"{_EFFECTS}::test_stream_at_each_run",
    )
    lowered_dump: Path | None = setting(  #: file for the lowered variables
        "debug.loweredVarDumpFile",
        FILE,
        "",
        "File for the lowered variables, in debug.dumpDirectory where it is not absolute.",
        changes="A file (CSV: tile, address, bytes, category, name, always_live).",
        effects=everywhere("files"),
        test=f"{_EFFECTS}::test_lowered_variables_are_dumped",
        source="seen",
        settle=dump_file,
    )
    all_symbols: bool = setting(
        "debug.outputAllSymbols",
        BOOL,
        "false",
        "More symbols in the ELF files.",
        changes="Symbols of variables that share memory over time, in archive.a.",
        effects=Effects("files", "", "files"),
        test="tests/poplar/options/test_target_options.py::test_symbols_of_shared_memory",
    )
    retain_debug_information: bool = setting(
        "debug.retainDebugInformation",
        BOOL,
        "false",
        "Keep what reports need after compilation.",
        changes="Whether getReport works without a graph profile.",
        effects=Effects("errors", "", "errors"),
        test=f"{_EFFECTS}::test_retain_debug_information",
    )
    linker_threads: int = setting(
        "opt.maxLinkerThreads",
        WHOLE,
        "0",
        "Most threads of linking; 0 = as many as compile.",
        changes="How many threads make the images of tiles for archive.a; host traces show them.",
        effects=Effects("host", "", "host"),
        test="tests/poplar/options/test_building.py::test_maxLinkerThreads_is_the_number_of_threads_that_make_images",
        settle=_linker_threads,
    )
    archive: Path | None = setting(  #: in place of archive.a beside the profile
        "target.saveArchive",
        FILE,
        "",
        "File for the archive of per-tile ELF files.",
        changes="A file.",
        effects=everywhere("files"),
        test=f"{_EFFECTS}::test_save_archive",
        implied=_implied_archive,
        settle=_given_archive,
    )
    vertex_graph: Path | None = setting(
        "target.saveOutputVertexGraph",
        FILE,
        "",
        "File for the vertex graph in dot format.",
        changes="A file.",
        effects=everywhere("files"),
        test="tests/poplar/options/test_target_options.py::test_vertex_graph_is_saved",
    )

    @property
    def writes_archive(self) -> bool:
        """Whether an archive of ELF files is to be written."""
        return self.output_archive or self.archive is not None

    @property
    def writes_profile(self) -> bool:
        """Whether a profile.pop is to be written."""
        return self.output_graph_profile or self.output_execution_profile or self.output_lowered_vars

    @property
    def writes_report(self) -> bool:
        """Whether some file is to be written into `directory`."""
        return self.writes_profile or self.output_debug_info or self.output_archive or self.output_serialized_graph
