"""`popvision popc` (`python -m simulator.codelets.compiled.popc`): compiles codelets into one of our `.gp` objects.

    popvision popc -O3 -DWIDTH=4 -I include --target ipu2,ipu21 a.cpp b.c -o codelets.gp

Every source is compiled for each target, to find errors now; the object holds the preprocessed sources.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from simulator.base.errors import graph_object_load_error, poplar_error
from simulator.base.types import CodeletFileType
from simulator.codelets.compiled.cycle_counter import with_cycle_counter
from simulator.codelets.compiled.ipu_path import WAYS, covered_path, split_ipu_path
from simulator.codelets.compiled.objects import TARGETS, Paths, write_object
from simulator.codelets.compiled.source import CompilationFailed, file_type, preprocessed_file
from simulator.codelets.compiled.unit import unit_of


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0, or 1 after one sentence on standard error."""
    parser = _parser()
    given, further = parser.parse_known_args(arguments)
    unknown = [flag for flag in further if not flag.startswith(("-f", "-W", "-m", "-std", "-g", "-pedantic", "-w"))]
    if unknown:
        parser.error(f"unknown option {unknown[0]}")
    if given.list_targets:
        print("\n".join(TARGETS))
        return 0
    if not given.sources:
        parser.error("give at least one source")
    targets = [target for text in given.target or [",".join(TARGETS)] for target in text.split(",")]
    wrong = [target for target in targets if target not in TARGETS]
    if wrong:
        parser.error(f"unknown target '{wrong[0]}'; the targets are {', '.join(TARGETS)}")
    flags = [f"-O{given.O}"] if given.O else []
    flags += [*(f"-D{name}" for name in given.D), *(f"-U{name}" for name in given.U)]
    flags += [*(f"-I{Path(folder).resolve()}" for folder in given.I), *further]
    flags += [f"--ipu-path={given.ipu_path}"]
    flags += [flag for name in given.include for flag in ("-include", name)]
    if not Path(given.o).resolve().parent.is_dir():
        parser.error(f"the folder of '{given.o}' does not exist")
    try:
        sources = {target: [_source(Path(path), flags, target) for path in given.sources] for target in targets}
        write_object(Path(given.o), sources)
    except CompilationFailed as error:
        sys.stderr.write(error.output)
        print(f"popc: {error}", file=sys.stderr)
        return 1
    except (poplar_error, OSError) as error:
        print(f"popc: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "popvision popc",
        description="Compile codelets into an object that Graph.addCodelets loads.",
        allow_abbrev=False,
    )
    parser.add_argument("sources", nargs="*", help="C and C++ sources")
    parser.add_argument("-o", default="a.gp", metavar="FILE", help="the object to write (default: a.gp)")
    parser.add_argument(
        "--target", action="append", metavar="T,...", help=f"compile for these: {', '.join(TARGETS)} (default: all)"
    )
    parser.add_argument("-O", metavar="LEVEL", help="optimisation level (default: 3)")
    parser.add_argument("-D", action="append", default=[], metavar="NAME[=VALUE]", help="define a macro")
    parser.add_argument("-U", action="append", default=[], metavar="NAME", help="undefine a macro")
    parser.add_argument("-I", action="append", default=[], metavar="FOLDER", help="look for included files there")
    parser.add_argument("-include", action="append", default=[], metavar="FILE", help="include this file first")
    parser.add_argument(
        "--ipu-path",
        choices=WAYS,
        default=WAYS[0],
        help="the path under __IPU__ for hardware: where it is covered (auto), or refuse the source (only), or never",
    )
    parser.add_argument("--list-targets", action="store_true", help="print the targets and end")
    return parser


def _source(path: Path, flags: Sequence[str], target: str) -> Paths:
    """A source for one target, compiled: by itself and, where it has another path for hardware, that one."""
    type_ = file_type(path, CodeletFileType.Auto)
    if type_ is CodeletFileType.Object:
        raise graph_object_load_error(f"'{path}' is an object already; popc takes sources.")
    way, further = split_ipu_path(flags)
    preprocess = partial(preprocessed_file, path, type_, further, target)
    source = preprocess(way == "only")
    unit = unit_of(with_cycle_counter(source))
    if unit.messages:
        sys.stderr.write(unit.messages)
    fast = covered_path(preprocess) if way == "auto" else None
    return Paths(source, None if fast is None else fast.source)


if __name__ == "__main__":
    raise SystemExit(main())
