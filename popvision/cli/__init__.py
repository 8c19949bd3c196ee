"""The `popvision` command: one module per sub-command, imported when it is used.

Exit codes: 0 fine, 1 bad input (one sentence on stderr), 2 wrong usage; `diff` has its own (diff.py).
"""

from __future__ import annotations

import importlib
from typing import cast

import click

from popvision.formats.errors import FormatError, NotRecordedError

#: Sub-command -> what it does, in the order of the help text. The module of the same name holds `command`.
COMMANDS = {
    "info": "What a report or trace holds: counts, sizes, versions.",
    "summary": "The profile summary as text.",
    "tree": "The program tree with cycles and bytes.",
    "operations": "What each call of a software layer takes.",
    "liveness": "What is live when: peaks, variables, the curve.",
    "query": "Read-only SQL over a report.",
    "explain": "Where a figure comes from: terms, formulas, sources.",
    "mcp": "Reports as tools for agents, over stdio.",
    "diff": "Two reports compared; a gate for continuous integration.",
    "export": "Intervals, tiles, steps or liveness as CSV or JSON.",
    "run": "Run a program with profiling on.",
    "popc": "Compile codelets in C and C++ into an object.",
    "html": "A view as one file that needs no server.",
    "view": "Open reports and traces in the browser.",
}


class _Lazy(click.Group):
    """Imports only the module of the sub-command that is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return cast(click.Command, importlib.import_module(f"popvision.cli.{cmd_name}").command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="popvision", prog_name="popvision")
def group() -> None:
    """Profiles of programs for tile processors: look into them, export them, view them."""


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
