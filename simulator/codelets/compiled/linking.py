"""Link all units of a graph to one program, in which they find each other's symbols."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from simulator.base.errors import graph_program_compilation_error, link_error
from simulator.codelets.compiled.host_compiler import HOST, cached, compiler, key_of
from simulator.codelets.compiled.unit import Unit

_UNDEFINED = re.compile(r"(?:undefined reference to|unresolvable symbol|undefined symbol) [`']([^']+)'")
_TWICE = re.compile(r"multiple definition of [`']([^']+)'")


@dataclass(frozen=True)
class Program:
    """The units of a graph, linked with the runner; it can be made again from its values."""

    units: tuple[Unit, ...]
    external: tuple[tuple[str, str], ...] = ()  #: (function that an entry calls, function that it stands for)
    counts: ClassVar[bool] = False  #: its vertices count their issue slots
    timed: ClassVar[bool] = False  #: whether its codelets read the cycle counter

    def path(self) -> Path:
        """The executable file. Raises link_error naming symbols that no source defines."""
        return linked([unit.object_file() for unit in self.units], self.external)


def linked(objects: Sequence[Path], external: Sequence[tuple[str, str]]) -> Path:
    """The program of these object files, with the code of external vertices."""
    runner = [_host_object(name) for name in ("runner.c", "half.c", "quarter.c")]
    # Each name is also referred to, so that the linker names a missing one as it does others.
    names = [flag for here, name in external for flag in (f"-Wl,--defsym,{here}={name}", f"-Wl,-u,{name}")]
    key = key_of(compiler().version, *(path.name for path in [*runner, *objects]), *names)
    return cached(f"{key}.program", lambda path: _link([*runner, *objects], names, path))


def _link(objects: Sequence[Path], names: Sequence[str], out: Path) -> None:
    code, messages = compiler().run(["-pie", *map(str, objects), *names, "-lm", "-o", str(out)])
    if code != 0:
        raise link_error(_sentence(messages), messages)


def _sentence(messages: str) -> str:
    twice = _TWICE.search(messages)
    if twice:
        return f"Codelets cannot be linked: '{twice[1]}' is defined by more than one source; define it once."
    missing = sorted(set(_UNDEFINED.findall(messages)))
    if missing:
        names = ", ".join(f"'{name}'" for name in missing)
        return (
            f"Codelets cannot be linked: {names} is not defined by any source; add the one that does with addCodelets."
        )
    last = (messages.strip().splitlines() or ["the linker says nothing"])[-1]
    return f"Codelets cannot be linked: {last}."


def _host_object(name: str) -> Path:
    """A source file of the simulator itself, compiled."""
    source = HOST / name
    text = source.read_bytes()
    key = key_of(compiler().version, name, text)

    def make(path: Path) -> None:
        code, messages = compiler().run(
            ["-x", "c", "-O2", "-fPIE", "-U_FORTIFY_SOURCE", "-c", str(source), "-o", str(path)]
        )
        if code != 0:
            raise graph_program_compilation_error(f"The compiler cannot compile {name}: {messages.strip()}")

    return cached(f"{key}.host.o", make)
