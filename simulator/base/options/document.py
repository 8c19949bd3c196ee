"""Write docs/options.md from the option tables: python -m simulator.base.options.document > docs/options.md"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

from simulator.base.options.option import CATEGORIES, Option
from simulator.base.options.report import OF_EACH_ENGINE
from simulator.base.options.table import SECTIONS
from simulator.base.target import TargetType

#: Columns of the tables.
_TARGETS = {
    TargetType.IPU_MODEL: "IPU Model",
    TargetType.CPU: "CPU",
    TargetType.IPU: "simulated hardware",
}

_HEAD = """# Options

Written from the tables in `simulator/base/options/` by `python -m simulator.base.options.document > docs/options.md`.

Options are strings. A program gives them as a dict to `Engine` or `compileGraph`; the environment variable
`POPLAR_ENGINE_OPTIONS`, a JSON object, overrides them:

    POPLAR_ENGINE_OPTIONS='{"autoReport.all":"true"}' python prog.py

`POPLAR_RUNTIME_OPTIONS` does the same for the runtime options, which hold for a run in this order: that variable, the
`RuntimeOptions` given to `run`, those given to `prepare`, the engine's own options, the defaults.

`POPLAR_TARGET_OPTIONS`, a JSON object too, takes the options of the group Target; it overrides the program, and
`POPLAR_ENGINE_OPTIONS` overrides it. `POPLAR_LOG_LEVEL` writes a log: `OFF` (the default), `ERR` (what compilations and
runs fail with), `WARN` (notices, which are on standard error in any case), `INFO` (compilations, loads, runs), `DEBUG`
(options, phases of compilation, devices) or `TRACE` (each stream that is connected, each tensor that is read or
written), each with all before it; `POPLAR_LOG_DEST` = `stdout`, `stderr` (the default) or a file that lines are
appended to. Another value raises `invalid_option` ([tests](../tests/engine/test_log_and_target_options.py)).

JSON's true, false and numbers are taken as their spelling. A default in <> is computed: `<debug.instrument>` = the
value of that option. An unknown name or a malformed value raises `invalid_option`, which names both. An option marked
"recorded only" is checked and stored in the report, and has no effect for the reason beside it; the simulator says so
once on standard error for a value other than the default. Every other option has a test that runs one program with
two of its values and asserts what differs.

For each target the tables say one of: changes X; does not apply here (any value is accepted, nothing differs); raises
(`invalid_option` for a value other than the default). tests/engine/test_option_statements.py holds each against runs
under two values. X is:

@CATEGORIES@

An engine made from an executable has the options that it is given and those of `POPLAR_ENGINE_OPTIONS`, nothing else;
where they differ from those that `compileGraph` had, it raises `invalid_option`. Runtime options may differ, and those
that only decide about the engine's own reports:

@OF_EACH_ENGINE@

Poplar's documentation asks for "the same as the options passed to compileGraph()". That would leave an executable that
was saved without a report, as caches have them, without one for ever, and its report in the folder of the machine that
compiled it. So an executable keeps all that a report needs (debug information, lowered variables, the graph), and its
engines write what they ask for; an option of compilation that such an option implies may differ with it. Runs are
recorded on an IPU Model whatever it was compiled with, on hardware only where instrumentation was compiled in: without
it the profile has the graph alone, and one line on standard error says which option to compile with
([tests](../tests/engine/test_reports_of_executables.py)). A program from PopTorch's executable cache writes the report
that is asked for; one from TensorFlow's writes none, as TensorFlow's own tests for the IPU assert, and a line in the
log names the file to delete for one.

Implied, unless the option is given itself: `autoReport.all` sets every `autoReport.output*` (the serialized graph
too); `autoReport.outputExecutionProfile` sets `debug.instrument`, which sets the three kinds of instrumentation;
`autoReport.outputGraphProfile` sets `debug.allowOutOfMemory`; `autoReport.outputArchive` sets `target.saveArchive` to
`archive.a` in `autoReport.directory`. Paths may begin with `~`.

`debug.instrument` adds nothing on an IPU Model. Poplar's documentation says so ("only available for an IPU target (not
an IPU Model target)"), and a model estimates cycles and records runs without counters. Two sources have counters in
the memory of a model all the same, never cycles: the published report of a matmul chain on one, made with
`autoReport.all`, which shows Instrumentation Tile and 66 kB of results ([validation](measured/validation.md), 6.1), and
`debug.branchRecordTile`, which "in an IPU Model only affects the memory profile". So a model's memory has the counters
of each kind that `autoReport.outputExecutionProfile` turns on, with `debug.instrument` not false, and of each that is
given itself ([tests](../tests/engine/test_option_effects.py)).

Variables of the simulator itself: `POPVISION_TARGET` (ipu1, ipu2, ipu21), `POPVISION_TILES` (tiles per IPU) and
`POPVISION_IPU_MODEL` (`name=value,...`, fields of IPUModel such as `tileClockFrequency=1.5e9`; `popvision run --set`)
replace what a program asks for, on simulated hardware too, and reports say so; `POPVISION_IPUS` = IPUs of the
simulated system (16); `POPVISION_RANK_FOLDERS` = `off`: ranks of a job step get no folders of their own
([slurm.md](slurm.md#ranks)); `POPVISION_IPU_IDS` = those of a larger system that a job was given (`4,5,6,7`); device
ids count within them;
`POPVISION_REQUIRE_ALLOCATION` = `1`: without that list there are none, as outside a job ([slurm.md](slurm.md));
`POPVISION_LOCKS` = folder of its lock files; `POPVISION_SOURCES` = `off` leaves the texts of the user's source files
out of debug.json and debug.cbor (`on`: those that debug contexts name, up to 1 MiB each and 8 MiB in all);
`POPVISION_ADDRESS_ACCURATE` = `1` turns on popvision.addressAccurate where the program does not say.
`SOURCE_DATE_EPOCH` = seconds since 1970: the time of every report; its ids follow from the content then
([formats.md](formats.md#two-runs-of-one-program)).

`debug.verify` ends compilation for these faults. Of the program
([tests](../tests/compiler/test_unwritten.py)):

- a program reads elements that nothing can have written on any path to it; the error names the copy, compute set and
  field, library operation or predicate, and the elements. Written are constants, initial values, what the host can
  write, external variables, and what the engine's other programs write, as the host may run them first. In-out fields
  of vertices and in-out tensors of library operations are no reads, because their code may fill a tensor piece by
  piece; host reads are not checked.

Of the compiler ([tests](../tests/compiler/test_verify.py) plant each):

- an exchange before or after a compute set leaves out elements that a vertex needs or writes;
- an exchange takes elements from a tile on which they do not lie;
- a copy brings a tile more or fewer bytes than its elements have;
- the bytes that an exchange's figures say a tile receives, or the sizes of its messages, differ from what is sent;
- two allocations of a tile that are live at the same time share a byte;
- code does not begin at a multiple of 8 bytes.
- a variable does not lie where its constraints say ([tests](../tests/compiler/memory/test_verified_constraints.py)):
  the address that it was given, a multiple of 16 bytes for wide accesses, interleaved memory. Two variables that a
  vertex accesses in one cycle and that share a memory element are a `memory_elem_constraints_error`: the tile has no
  room to separate them.
"""


def render() -> str:
    """The page."""
    own = textwrap.fill(", ".join(f"`{name}`" for name in sorted(OF_EACH_ENGINE)), 120) + "."
    words = "\n".join(f"- {word}: {meaning}" for word, meaning in CATEGORIES.items())
    return "\n".join(
        [
            _HEAD.replace("@CATEGORIES@", words).replace("@OF_EACH_ENGINE@", own),
            *(_section(title, options) for title, options in SECTIONS.items()),
        ]
    )


def _section(title: str, options: tuple[Option, ...]) -> str:
    targets = " | ".join(_TARGETS.values())
    head = f"| option | takes | default | meaning | what it changes here | {targets} | test |"
    rows = [f"## {title}", "", head, "| --- " * head.count(" | ") + "| --- |"]
    for o in options:
        default = f"`{o.default}`" if o.default else "not set"
        statements = (o.effects.statement(target) for target in _TARGETS)
        cells = (
            o.name,
            o.kind.expectation,
            default,
            o.meaning,
            o.changes or f"recorded only: {o.recorded_only}",
            *statements,
            _linked(o.test),
        )
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join([*rows, ""])


def _linked(test: str) -> str:
    """A test as a link to its file."""
    file, _, name = test.partition("::")
    return f"[{name or Path(file).stem}](../{file})" if test else ""


if __name__ == "__main__":
    sys.stdout.write(render())
