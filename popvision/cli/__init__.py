"""The `popvision` command: one module per sub-command, imported when it is used.

Exit codes: 0 success, 1 bad input (one sentence on stderr), 2 wrong usage; `diff`, `sweep` and `trend` have their own.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import cast

import click

from popvision.formats.errors import FormatError, NotRecordedError


@dataclass(frozen=True)
class CommandEntry:
    """A sub-command; the module of its name holds the click command `command`."""

    name: str
    summary: str

    def load(self) -> click.Command:
        """Import the sub-command."""
        return cast(click.Command, importlib.import_module(f"popvision.cli.{self.name}").command)


#: In the order of the help text.
COMMANDS = (
    CommandEntry("info", "List what a report or trace holds: counts, sizes, versions."),
    CommandEntry("verify", "Compare every file of a folder with its checksums; fail a CI job when one is damaged."),
    CommandEntry("insights", "Say what costs time or memory, where, and what to try."),
    CommandEntry("summary", "Print the profile summary."),
    CommandEntry("tree", "Print the program tree with cycles and bytes."),
    CommandEntry("operations", "Print the operations of a software layer with their costs."),
    CommandEntry("liveness", "Print live memory: peaks, variables, the curve."),
    CommandEntry("ask", "Ask any question of popvision.open; a page of its rows, or JSON."),
    CommandEntry("query", "Run read-only SQL over a report."),
    CommandEntry("explain", "Explain a figure: terms, formulas, sources."),
    CommandEntry("mcp", "Serve reports as tools for agents, over stdio."),
    CommandEntry("diff", "Compare two reports; fail a CI job when limits are broken."),
    CommandEntry("catalogue", "List the figures of all reports below a folder."),
    CommandEntry("trend", "Follow figures over commits; fail a CI job when limits are broken."),
    CommandEntry("whatif", "One program on other chips, tiles and memories, side by side, from a sweep."),
    CommandEntry("ranks", "Compare the ranks of a run of several Slurm tasks."),
    CommandEntry("export", "Write the rows of any question as CSV or JSON."),
    CommandEntry("trace", "Inspect a host trace; export it for other viewers."),
    CommandEntry("run", "Run a program with profiling on."),
    CommandEntry("watch", "Run a program at each save; show what each line costs."),
    CommandEntry("sweep", "Run a program at many points of a grid; a report each."),
    CommandEntry("popc", "Compile codelets in C and C++ into an object."),
    CommandEntry("cpp", "Build the libraries of C++ programs; print where they are."),
    CommandEntry("html", "Write a view as one HTML file that needs no server."),
    CommandEntry("view", "Open reports and traces in the browser."),
)


class LazyGroup(click.Group):
    """A group that imports only the sub-command in use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [each.name for each in COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = next((each for each in COMMANDS if each.name == cmd_name), None)
        return None if entry is None else entry.load()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(each.name, each.summary) for each in COMMANDS])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="popvision", prog_name="popvision")
def group() -> None:
    """Profile programs for tile processors: inspect, compare, export and view their reports."""


def main(args: list[str] | None = None) -> None:
    """Entry point: bad input becomes one sentence and exit code 1."""
    try:
        group.main(args=args, prog_name="popvision", standalone_mode=True)
    except BrokenPipeError:
        raise SystemExit(0) from None
    except (FormatError, NotRecordedError) as error:
        click.echo(f"popvision: {error}", err=True)
        raise SystemExit(1) from None
    except OSError as error:
        click.echo(f"popvision: {error.filename or 'system'}: {error.strerror or error}", err=True)
        raise SystemExit(1) from None
