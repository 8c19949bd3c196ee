"""The command called in this process: what a shell would see of it, without the start of an interpreter each time.

That `python -m popvision` does the same, exit codes and streams, is tested once for each command that ends in another
way (test_commands, test_diff, test_bad_input)."""

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
