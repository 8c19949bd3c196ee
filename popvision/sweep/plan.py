"""A sweep: one program and a grid (Cartesian product) of what it is run with; expanded into points.

The product is counted before it is expanded, so that a grid too large costs nothing."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path

from popvision.formats.errors import FormatError
from popvision.sweep.commits import Checkouts
from popvision.sweep.profiled_child import CONSTANTS, TARGETS, VARIABLES
from popvision.sweep.program_files import hash_files, producer_hash

#: Points that one sweep may have.
MOST_POINTS = 100_000

#: Hexadecimal digits of a digest: 64 bits, so that two of 100,000 points meet with a probability of 3e-10.
DIGITS = 16

#: Axes without a name of their own; the others are "options.NAME", "constants.NAME" and "arguments.NAME".
PLAIN_AXES = ("commit", "target", "tiles")
NAMED_AXES = ("constants", "options", "arguments")

#: Variables whose names begin so change what a program does here, so they belong to a point's inputs.
_PREFIXES = ("POPLAR_", "POPVISION_", "PVTI_", "POPTORCH_", "TF_POPLAR_")

#: Options of the engine that a sweep sets itself.
_OWN_OPTIONS = ("autoReport.directory", "autoReport.all")

#: Fields of a point that its digest does not depend on.
_OUTSIDE = ("axes", "program", "folder", "digest", "commit_time")

_PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")

Value = str | int | float | bool


class SweepError(FormatError):
    """A sweep cannot be read or run: one sentence."""


@dataclass(frozen=True)
class Limits:
    """Of one point: bytes resident in its processes together, and seconds of wall time; None = none."""

    memory_bytes: int | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Point:
    """One point: `axes` are its coordinates as the sweep names them, `digest` its identity, the rest is what is run."""

    axes: dict[str, Value]
    program: str  #: absolute path
    arguments: list[str]
    folder: str  #: in which the program runs
    target: str | None
    tiles: int | None
    constants: dict[str, str]
    options: dict[str, str]
    environment: dict[str, str]
    commit: str  #: full id, "" = the files as they are
    runs: int | None
    trace: bool
    files: dict[str, str]  #: files of the program -> SHA-256 of their contents
    producer: dict[str, str]  #: what runs the program: versions, and a hash of the simulator's sources
    digest: str = ""
    commit_time: int = 0  #: seconds since the epoch, 0 without a commit

    @property
    def label(self) -> str:
        """The coordinates as a name of a folder: "ipu2-tiles=64-n=512"."""
        words = [_word(axis, value) for axis, value in self.axes.items()]
        return re.sub(r"[^A-Za-z0-9._+=-]+", "_", "-".join(words)).strip("_.-")[:80] or "point"


def _word(axis: str, value: Value) -> str:
    name = axis.rpartition(".")[2]
    return str(value)[:24] if axis in ("target", "commit") else f"{name[:24]}={str(value)[:24]}"


@dataclass(frozen=True)
class Sweep:
    """What a sweep file says. `arguments` may hold {name} for each axis "arguments.name".

    Relative paths are those of `folder`, in which the program runs too. Raises SweepError for what cannot be run."""

    program: str
    arguments: Sequence[str] = ()
    grid: Mapping[str, Sequence[Value]] = field(default_factory=dict)  #: axis -> values, in this order
    target: str | None = None
    tiles: int | None = None
    constants: Mapping[str, Value] = field(default_factory=dict)
    options: Mapping[str, Value] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Sequence[str] = ()  #: patterns of further files that the program reads
    runs: int | None = None
    trace: bool = False
    limits: Limits = Limits()
    folder: Path = field(default_factory=Path.cwd)

    def __post_init__(self) -> None:
        for axis, values in self.grid.items():
            _check_axis(axis, values)
        for axis, base in (("target", self.target), ("tiles", self.tiles)):
            if base is not None:
                check_value(axis, base)
        for kind, table in (("constants", self.constants), ("options", self.options)):
            for name, value in table.items():
                _check_axis(f"{kind}.{name}", [value])
        self._check_arguments()
        if self.size > MOST_POINTS:
            factors = " x ".join(f"{axis} {len(values):,}" for axis, values in self.grid.items())
            raise SweepError(
                f"the grid has {self.size:,} points ({factors}), more than the {MOST_POINTS:,} of one sweep; "
                "take values out or divide it into several sweeps."
            )

    @property
    def size(self) -> int:
        """Number of points."""
        return math.prod(len(values) for values in self.grid.values())

    def _check_arguments(self) -> None:
        named = [axis.removeprefix("arguments.") for axis in self.grid if axis.startswith("arguments.")]
        used = [name for argument in self.arguments for name in _PLACEHOLDER.findall(argument)]
        for name in used:
            if name not in named:
                raise SweepError(
                    f"arguments hold {{{name}}}, but the grid has no arguments.{name}{suggestion(name, named)}."
                )
        for name in named:
            if name not in used:
                raise SweepError(
                    f"the grid has arguments.{name}, but arguments hold no {{{name}}}: write for example "
                    f'arguments = ["--{name}", "{{{name}}}"].'
                )

    def points(self, checkouts: Path) -> list[Point]:
        """All points, the last axis varying fastest. Commits are checked out below `checkouts`.

        Raises SweepError when the program, a file or a commit is missing, or the environment sets what a sweep sets."""
        base = self._environment()
        program = (self.folder / self.program).resolve()
        if not program.is_file():
            raise SweepError(f"the program {program} does not exist or is no file.")
        commits = Checkouts(program, self.folder.resolve(), checkouts) if "commit" in self.grid else None
        producer = producer_hash()
        plain = self._files(program, self.folder.resolve()) if commits is None else {}
        seen: dict[str, Point] = {}
        for axes in self._axes():
            commit = str(axes.get("commit", ""))
            if commits is None:
                where, own_program, files, identity, environment = self.folder.resolve(), program, plain, "", base
            else:
                checkout = commits.checkout(commit)
                where, own_program, identity = checkout.folder, checkout.program, checkout.commit
                files = commits.once(identity, lambda p=own_program, w=where: self._files(p, w))  # type: ignore[misc]
                environment = base | checkout.environment
            time = 0 if commits is None else commits.checkout(commit).time
            point = self._point(axes, own_program, where, files, identity, environment, producer)
            point = replace(point, commit_time=time)
            twin = seen.setdefault(point.digest, point)
            if twin is not point:
                raise SweepError(f"the points {twin.axes} and {point.axes} are the same; take one of them out.")
        return list(seen.values())

    def _axes(self) -> Iterator[dict[str, Value]]:
        for values in itertools.product(*self.grid.values()):
            yield dict(zip(self.grid, values, strict=True))

    def _environment(self) -> dict[str, str]:
        for name in VARIABLES:
            if os.environ.get(name) or name in self.environment:
                where = "the sweep's environment" if name in self.environment else "the environment"
                raise SweepError(f"{name} is set in {where}, but a sweep sets it for each point; take it out.")
        ambient = {name: value for name, value in os.environ.items() if name.startswith(_PREFIXES) and value}
        return ambient | dict(self.environment)

    def _files(self, program: Path, folder: Path) -> dict[str, str]:
        try:
            return hash_files(program, folder, self.files)
        except FileNotFoundError as problem:
            raise SweepError(str(problem)) from None

    def _point(
        self,
        axes: dict[str, Value],
        program: Path,
        folder: Path,
        files: dict[str, str],
        commit: str,
        environment: dict[str, str],
        producer: dict[str, str],
    ) -> Point:
        def named(kind: str) -> dict[str, str]:
            return {axis.partition(".")[2]: _text(value) for axis, value in axes.items() if axis.startswith(f"{kind}.")}

        words = named("arguments")
        target, tiles = axes.get("target", self.target), axes.get("tiles", self.tiles)
        point = Point(
            axes=axes,
            program=str(program),
            arguments=[_PLACEHOLDER.sub(lambda match: words[match.group(1)], each) for each in self.arguments],
            folder=str(folder),
            target=None if target is None else str(target),
            tiles=None if tiles is None else int(tiles),
            constants={name: _text(value) for name, value in self.constants.items()} | named("constants"),
            options={name: _text(value) for name, value in self.options.items()} | named("options"),
            environment=environment,
            commit=commit,
            runs=self.runs,
            trace=self.trace,
            files=files,
            producer=producer,
        )
        return replace(point, digest=_digest(point))


def _digest(point: Point) -> str:
    """Of all that the report depends on: not of where the files lie, nor of the axes that spell the same inputs."""
    inputs = {name: value for name, value in vars(point).items() if name not in _OUTSIDE}
    if point.commit:
        inputs["environment"] = {name: text for name, text in point.environment.items() if name != "PYTHONPATH"}
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:DIGITS]


def _check_axis(axis: str, values: Sequence[Value]) -> None:
    kind, dot, name = axis.partition(".")
    if axis not in PLAIN_AXES and not (dot and name and kind in NAMED_AXES):
        known = [*PLAIN_AXES, *(f"{each}.NAME" for each in NAMED_AXES)]
        near = suggestion(kind, [*PLAIN_AXES, *NAMED_AXES])
        raise SweepError(f"the grid has no axis {axis!r}{near}; axes are {', '.join(known)}.")
    if not values:
        raise SweepError(f"the axis {axis} has no values.")
    for value in values:
        check_value(axis, value)
    texts = [_text(value) for value in values]
    twice = next((text for text in texts if texts.count(text) > 1), None) if len(texts) < MOST_POINTS else None
    if twice is not None:
        raise SweepError(f"the axis {axis} has {twice} twice.")


def check_value(axis: str, value: object) -> None:
    """Raises SweepError when `value` cannot be a value of `axis`."""
    kind, _, name = axis.partition(".")
    if kind == "constants" and name not in CONSTANTS:
        raise SweepError(
            f"there is no constant {name!r}{suggestion(name, CONSTANTS)}; constants are {', '.join(CONSTANTS)}."
        )
    if kind == "options" and name in _OWN_OPTIONS:
        raise SweepError(f"the option {name} is set by the sweep for each point; take it out.")
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if kind == "tiles" and not (is_whole and int(str(value)) >= 1):
        raise SweepError(f"tiles = {value!r} is not a whole number from 1.")
    if kind == "target" and value not in TARGETS:
        near = suggestion(str(value), TARGETS)
        raise SweepError(f"target = {value!r} is not a chip{near}; the chips are {', '.join(TARGETS)}.")
    if kind == "commit" and not (isinstance(value, str) and value and not value.startswith("-")):
        raise SweepError(f"commit = {value!r} is not the name of a commit.")
    if not isinstance(value, (str, int, float, bool)):
        raise SweepError(f"{axis} = {value!r} is neither text, number, true nor false.")


def suggestion(word: str, known: Sequence[str]) -> str:
    """The nearest known word as " (did you mean 'x'?)"; "" when none is near."""
    near = get_close_matches(word, known, 1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _text(value: Value) -> str:
    """As TOML and JSON write it: true, not True."""
    return str(value).lower() if isinstance(value, bool) else str(value)
