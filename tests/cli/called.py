"""Call the command in this process, which saves the start of an interpreter.

test_commands, test_diff and test_bad_input check that `python -m popvision` has the same exit codes and streams."""

from __future__ import annotations

import contextlib
import io
import subprocess
from pathlib import Path

from popvision.cli import main


def popvision(*arguments: object, cwd: str | Path = ".") -> subprocess.CompletedProcess[str]:
    """Exit code and streams of `popvision arguments` in the folder `cwd`."""
    words = [str(argument) for argument in arguments]
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    with contextlib.chdir(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(words)
            code: object = 0
        except SystemExit as end:
            code = end.code
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode("utf-8"))  # type: ignore[attr-defined]
    return subprocess.CompletedProcess(words, code if isinstance(code, int) else int(code is not None), *texts)
