"""A program on the simulated device while the viewer follows its folder: trace, report and runs appear."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest
from playwright.sync_api import Page, expect

from tests.browser.frame import PATIENCE, open_page
from tests.browser.shared_viewer import SharedViewer

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[3]

#: Does a step for each line of its input, and says when it is done.
PROGRAM = """
import sys
import numpy as np
import popvision.pvti as pvti
from simulator.poplar import Engine, FLOAT, Graph, IPUModel, program
from simulator.poplibs import popops, poputil

channel = pvti.createTraceChannel("application")
engine = None

def compile():
    global engine
    model = IPUModel("ipu2")
    model.tilesPerIPU = 4
    device = model.createDevice()
    graph = Graph(device.getTarget())
    x = graph.addVariable(FLOAT, [64], "x")
    poputil.mapTensorLinearly(graph, x)
    up = graph.addHostToDeviceFIFO("up", FLOAT, 64)
    prog = program.Sequence([program.Copy(up, x)])
    popops.addInPlace(graph, x, x, prog)
    engine = Engine(graph, prog)
    engine.load(device)
    engine.connectStream("up", np.ones(64, np.float32))

for line in sys.stdin:
    with pvti.Tracepoint(channel, line.strip()):
        if line.strip() == "compile":
            compile()
        elif line.strip() == "run":
            engine.run(0)
    print("done", flush=True)
if engine is not None:
    engine.close()
"""


class Program:
    """The program, told what to do."""

    def __init__(self, folder: Path, runs_kept: int = 9) -> None:
        options = {"autoReport.all": "true", "autoReport.directory": str(folder / "report")}
        options["autoReport.executionProfileProgramRunCount"] = str(runs_kept)
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PVTI_OPTIONS": json.dumps({"directory": str(folder)}),
            "POPLAR_ENGINE_OPTIONS": json.dumps(options),
        }
        command = [sys.executable, "-c", PROGRAM]
        self.process = subprocess.Popen(
            command, env=environment, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def do(self, step: str) -> None:
        given, answers = self.process.stdin, self.process.stdout
        assert given is not None
        assert answers is not None
        given.write(f"{step}\n")
        given.flush()
        assert select.select([answers], [], [], PATIENCE / 1000)[0], f"no answer to {step}"
        assert answers.readline() == "done\n"

    def end(self) -> None:
        given: IO[str] | None = self.process.stdin
        assert given is not None
        given.close()
        assert self.process.wait(PATIENCE / 1000) == 0


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    made = Program(tmp_path)
    yield made
    made.process.kill()
    made.process.wait()


@pytest.fixture
def page(shared: SharedViewer, tmp_path: Path) -> Iterator[Page]:
    shared.show(tmp_path, follows=True)
    page = shared.visit()
    open_page(page, shared.base, "/")
    yield page
    assert shared.problems == []


def test_a_report_that_keeps_fewer_runs_says_which_and_why(page: Page, tmp_path: Path) -> None:
    program = Program(tmp_path, runs_kept=2)
    try:
        program.do("prepare")
        page.locator("section", has_text="Host traces").locator("a.card-name").click()
        for step in ("compile", "run", "run"):
            program.do(step)
        detail = page.locator("[data-row=d0] .tl-detail")
        expect(detail).to_have_text("2 runs")
        program.do("run")
        expect(detail).to_have_text("2 of 3 runs recorded")
        expect(page.locator("[data-row=activity]")).to_contain_text("3 runs")
        expect(detail).to_have_attribute(
            "title",
            "Of the 3 runs of this trace (Engine::run, of any engine) the report has recorded number 1 to 2, in order "
            "of time. A report keeps the first runs of each program, here up to 2: option "
            "autoReport.executionProfileProgramRunCount=2.",
        )
        program.end()
    finally:
        program.process.kill()
        program.process.wait()


def test_trace_report_and_runs_appear_without_a_reload(page: Page, program: Program, tmp_path: Path) -> None:
    own = page.locator("section", has_text="Host traces")
    expect(page.locator(".cards").first).to_be_visible()
    expect(own).to_have_count(0)
    page.evaluate("window.isTheSame = true")
    program.do("prepare")
    own.locator("a.card-name").click()
    expect(page.locator(".tl-live")).to_contain_text("1 event, ")
    expect(page.locator("[data-row=d0]")).to_have_count(0)
    program.do("compile")
    expect(page.locator(".tl-live")).not_to_contain_text("1 event, ")
    program.do("run")
    expect(page.locator("[data-row=d0]")).to_contain_text("1 run")
    expect(page.locator("[data-row=d0i0]")).to_be_visible()
    expect(page.locator("[data-row=activity]")).to_contain_text("1 run")
    page.get_by_role("link", name="Report").first.click()
    expect(page.locator("#view-summary")).to_contain_text("1 recorded run")
    program.do("run")
    expect(page.locator("#view-summary")).to_contain_text("2 recorded runs")
    page.get_by_role("link", name="Host trace").first.click()
    expect(page.locator("[data-row=d0]")).to_contain_text("2 runs")
    program.do("run")
    expect(page.locator("[data-row=d0]")).to_contain_text("3 runs")
    program.end()
    expect(page.locator(".tl-live")).to_contain_text("ended, ")
    assert page.evaluate("window.isTheSame")
    page.locator(".nav-brand").click()
    row = page.locator("tr", has_text=str(tmp_path))
    expect(row).to_have_count(1)
    expect(row).to_contain_text("Host trace")
