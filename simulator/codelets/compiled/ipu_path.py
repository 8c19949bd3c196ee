"""The two paths of a source: that under `#ifdef __IPU__`, which popc compiles for hardware, and the other one.

For a simulated device the first is compiled where the compiler of the host can, and the second where it cannot: what
stops it (an instruction of the IPU, a function that is not covered) is said in a line on standard error. For IPU Models
and the CPU the second is compiled, as in the SDK. A source that does not ask for `__IPU__` has one path, which costs a
second run of the preprocessor and no more.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from simulator.base.errors import graph_program_compilation_error
from simulator.codelets.compiled.cycle_counter import with_cycle_counter
from simulator.codelets.compiled.source import CompilationFailed, Preprocessed, users_text
from simulator.codelets.compiled.unit import Unit, unit_of

_FLAG = "--ipu-path="
#: Values of the flag: the first path where it is covered; only the first, else an error; never the first.
WAYS = ("auto", "only", "never")


def split_ipu_path(flags: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """(value of --ipu-path, the other flags). Raises graph_program_compilation_error for another value."""
    ways = [flag.removeprefix(_FLAG) for flag in flags if flag.startswith(_FLAG)]
    wrong = [way for way in ways if way not in WAYS]
    if wrong:
        raise graph_program_compilation_error(
            f"Compile flag '{_FLAG}{wrong[0]}' has no such value; the values are {', '.join(WAYS)}."
        )
    return ways[-1] if ways else WAYS[0], tuple(flag for flag in flags if not flag.startswith(_FLAG))


def compiled_path(preprocess: Callable[[bool], Preprocessed], way: str, for_ipu: bool) -> Unit:
    """The unit of one of the two paths. `preprocess`: the source with or without __IPU__; `way`: of the flag;
    `for_ipu`: whether the program is for hardware. Raises CompilationFailed."""
    if not for_ipu:
        return unit_of(preprocess(way == "only"))
    fast = covered_path(preprocess) if way == "auto" else None
    return fast or unit_of(with_cycle_counter(preprocess(way == "only")))


def covered_path(preprocess: Callable[[bool], Preprocessed]) -> Unit | None:
    """The unit of the path for hardware; None where a source has no other path, or where that one is not covered, which
    is said."""
    try:
        fast = preprocess(True)
        try:
            if users_text(preprocess(False).text) == users_text(fast.text):
                return None
        except CompilationFailed:  # the source is for hardware alone
            pass
        return unit_of(with_cycle_counter(fast))
    except CompilationFailed as error:
        print(
            f"popvision: the path under __IPU__ of '{error.name}' is not compiled ({error.first}); the source's other "
            "path is.",
            file=sys.stderr,
        )
        return None
