"""`popvision popc`: compile codelets in C and C++ with the simulator, in a child process."""

from __future__ import annotations

import subprocess
import sys

import click


@click.command(name="popc", add_help_option=False, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> None:
    """Compile codelets into an object (.gp) for Graph.addCodelets; -h lists the options.

    Exit codes: 0 success, 1 a source does not compile, 2 wrong usage."""
    done = subprocess.run([sys.executable, "-m", "simulator.codelets.compiled.popc", *arguments], check=False)
    raise SystemExit(done.returncode if done.returncode >= 0 else 128 - done.returncode)
