"""A watched program and its state as the page reads it: by `popvision watch` in a process of its own, or in this one.

A watch costs 1.6 s of processor time until its first version, its command 1.3 s more, each later version 0.2 s: tests
that need no options and no first version share a command (`Watch.begin`)."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from popvision.watch.limits import Limits
from popvision.watch.session import WatchedProgram
from tests.waiting import wait_until

#: A program of three lines that cost something, on four tiles.
PROGRAM = '''"""A sum on four tiles."""
import numpy as np
from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Copy, Sequence
from simulator.poplibs import popops
from simulator.poplibs.poputil import mapTensorLinearly

SIZE = 64
model = IPUModel()
model.tilesPerIPU = 4
device = model.createDevice()
graph = Graph(device)
popops.addCodelets(graph)
a = graph.addVariable(FLOAT, [SIZE], "a")
mapTensorLinearly(graph, a)
program = Sequence()
program.add(Copy(graph.addHostToDeviceFIFO("in", FLOAT, SIZE), a))
b = popops.add(graph, a, a, program, "double")
program.add(Copy(b, graph.addDeviceToHostFIFO("out", FLOAT, SIZE)))
with Engine(graph, program) as engine:
    engine.load(device)
    out = np.zeros(SIZE, np.float32)
    engine.connectStream("in", np.ones(SIZE, np.float32))
    engine.connectStream("out", out)
    engine.run(0)
print("sum", out.sum())
'''

#: Seconds that a loaded machine may take for a run.
PATIENCE = 60.0


def _hear_interrupts() -> None:
    """A shell's background job ignores Ctrl-C, and so do its children, unless they say otherwise."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Watch:
    """A watch under way of the file `program`, and the number of the version that was shown last."""

    def __init__(self, program: Path) -> None:
        self.program, self.text, self.number = program, PROGRAM, 0

    def state(self, known: int = 0, file: str = "") -> dict[str, Any]:
        raise NotImplementedError

    def post(self, action: str) -> int:
        raise NotImplementedError

    def begin(self, test: int) -> None:
        """Wait for a version with nothing pinned, of a program that no other test has: it ends with a number."""
        self.post("pin?on=0")
        mark = f"TEST = {test}"
        self.text = f"{PROGRAM}{mark}\n"
        self.edit()
        state = self.until(lambda state: state["status"] == "current" and mark in state["text"])
        self.number = state["version"]["number"]

    def edit(self, *changes: tuple[str, str]) -> None:
        """Save the program with these changes."""
        text = self.text
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        self.program.write_text(text, encoding="utf-8")

    def until(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first state that fulfils the condition."""
        state: dict[str, Any] = self.state()

        def look() -> bool:
            nonlocal state
            if condition(state):
                return True
            changed = self.state(state["turn"])
            state = state if len(changed) == 1 else changed
            return False

        wait_until(look, lambda: f"now {state['status']}, {state['problem']}, {state['output'][-500:]}", PATIENCE)
        return state

    def next_version(self) -> dict[str, Any]:
        """The state once the version after the last one is shown."""
        self.number += 1
        return self.until(lambda state: state["status"] == "current" and state["version"]["number"] == self.number)

    def failure(self, words: str) -> dict[str, Any]:
        """The state once the program has failed with these words."""
        return self.until(lambda state: state["status"] == "failed" and words in state["problem"]["sentence"])


class WatchHere(Watch):
    """A watch in this process."""

    def __init__(self, program: Path, watched: WatchedProgram) -> None:
        super().__init__(program)
        self._watched = watched

    def state(self, known: int = 0, file: str = "") -> dict[str, Any]:
        return self._watched.state(known, file)

    def post(self, action: str) -> int:
        assert action == "run"
        self._watched.run_again()
        return 204


class WatchCommand(Watch):
    """The command at `url`."""

    def __init__(self, program: Path, url: str) -> None:
        super().__init__(program)
        self.url, self.base = url, url.removesuffix("/watch")

    def state(self, known: int = 0, file: str = "") -> dict[str, Any]:
        query = urllib.parse.urlencode({"known": known, "file": file})
        with urllib.request.urlopen(f"{self.base}/data/watch/state?{query}", timeout=PATIENCE) as answer:
            return dict(json.load(answer))

    def post(self, action: str, header: dict[str, str] | None = None) -> int:
        headers = {"X-Popvision": "watch"} if header is None else header
        request = urllib.request.Request(f"{self.base}/data/watch/{action}", b"", headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code


@contextlib.contextmanager
def watching_here(program: Path, seconds: float = 60.0) -> Iterator[WatchHere]:
    """A watch of a program in this process; it must leave nothing behind."""
    scratch = program.parent / "scratch"
    scratch.mkdir()
    limits = Limits(seconds, 8192 << 20, 64, 2048 << 20)
    with mock.patch.object(tempfile, "tempdir", str(scratch)):
        watched = WatchedProgram(program, (), limits)
    try:
        watched.start()
        yield WatchHere(program, watched)
    finally:
        watched.close()
    assert list(scratch.iterdir()) == []


@contextlib.contextmanager
def watching(program: Path, *options: str, arguments: tuple[str, ...] = ()) -> Iterator[WatchCommand]:
    """`popvision watch` of a program; at the end it is interrupted and must leave nothing behind."""
    scratch = program.parent / "scratch"
    scratch.mkdir()
    command = [sys.executable, "-m", "popvision", "watch", "--no-browser", "--port", "0", *options]
    process = subprocess.Popen(
        [*command, str(program), *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(scratch)},
        preexec_fn=_hear_interrupts,
    )
    assert process.stdout is not None
    try:
        assert select.select([process.stdout], [], [], PATIENCE)[0], "it does not say where it serves"
        line = process.stdout.readline()
        assert line.startswith("Serving on "), line
        yield WatchCommand(program, line.split()[-1])
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
        assert list(scratch.iterdir()) == []
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def running_with(word: str) -> list[int]:
    """Processes whose command line or environment holds a word."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                facts = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
                if word.encode() in facts and int(folder.name) != os.getpid():
                    found.append(int(folder.name))
    return found
