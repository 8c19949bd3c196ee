"""The lists of options in docs/tensorflow.md: python -m simulator.frontends.tensorflow.documents.options FILE.

The part of the file from its heading to the next one is written anew; the rest stays."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import Any

from simulator.frontends.tensorflow.configuration.functional import IpuOptions
from simulator.frontends.tensorflow.configuration.options import Effect
from simulator.frontends.tensorflow.flags import Flags
from simulator.frontends.tensorflow.pipeline_options import RECORDED

#: begins the part that lists options
OPTIONS = "## Options"

_HEAD = """
Written from the tables of options by `python -m simulator.frontends.tensorflow.documents.options docs/tensorflow.md`.

An option that is recorded only is checked, and written to the report where its value is not the default: among the
operations' debug information as `optionsWithoutEffect`, and in framework.json. One that is refused raises when the
system is configured. `profiling` and `old` are what only the functional API sets. Arguments of pipelines are those of
`pipelining_ops.pipeline`, `PipelineSequential` and the methods of Keras' models; where one is recorded only, a line on
stderr says so.

| IPUConfig | default | here |
| --- | --- | --- |"""

_FLAGS = """
| TF_POPLAR_FLAGS | default | here |
| --- | --- | --- |"""


_PIPELINES = """
| argument of pipelines | here |
| --- | --- |"""


def section() -> str:
    """The part of the page from its heading on."""
    return "\n".join([OPTIONS, _HEAD, *_options(), _FLAGS, *_flags(), _PIPELINES, *_pipelines(), "", ""])


def _options() -> Iterator[str]:
    for name, option, value in IpuOptions().walk():
        effect = "" if option.effect is Effect.WORKS else f"{option.effect.value}: "
        yield f"| `{name}` | {_shown(value)} | {effect}{option.text} |"


def _flags() -> Iterator[str]:
    for one in fields(Flags):
        effect = "" if one.metadata["works"] else "recorded only: "
        yield f"| `--{one.name}` | {_shown(one.default)} | {effect}{one.metadata['text']} |"


def _pipelines() -> Iterator[str]:
    for name, one in RECORDED.items():
        yield f"| `{name}` | recorded only: {one.reason} |"


def _shown(value: Any) -> str:
    if value == "":
        return '""'
    return f"`{value.name if isinstance(value, Enum) else value}`"


def rewritten(page: str) -> str:
    """The page with its lists of options as the tables have them."""
    before, _, rest = page.partition(OPTIONS + "\n")
    return before + section() + "## " + rest.partition("\n## ")[2]


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(rewritten(path.read_text()))
