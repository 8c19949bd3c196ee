"""Reports of the PyTorch examples as the user reads them: every operator, transfer and update under its module's name,
every line the user's own, and every page of the viewer in both themes without a problem."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

import popvision
from tests.browser.frame import open_page, until_quiet
from tests.browser.noted_problems import noted_problems
from tests.browser.visit_pages import CHROMIUM, serve
from tests.frontends.programs.test_pytorch_examples import ROOT, run
from webapp.base.views import views_of

pytestmark = pytest.mark.browser

#: texts that no page shows: values that were never formatted
NEVER_SHOWN = re.compile(r"\b(undefined|NaN|Traceback)\b|\[object")


@dataclass(frozen=True)
class Example:
    """A program, its arguments, the operations that it must show, and a line of its own source."""

    file: str
    arguments: tuple[str, ...]
    operations: dict[str, str]  #: name and kind
    line: str
    engines: tuple[str, ...] = ("training",)


_MNIST = {
    "layer1/conv/Conv": "Conv",
    "layer1/pool/MaxPool": "MaxPool",
    "layer3/MatMul": "MatMul",
    "softmax/Softmax": "Softmax",
}
_IN_MODEL = {f"model/{name}": kind for name, kind in _MNIST.items()}
_RESNET = {"stem/0/Conv": "Conv", "blocks/7/bn2/BatchNormalization": "BatchNormalization", "head/MatMul": "MatMul"}
_ENCODER = {
    "encoder/layers/0/self_attn/Attention": "Attention",
    "encoder/layers/0/norm1/LayerNormalizationGrad": "LayerNormalizationGrad",
    "head/weight/SGD0VarUpdate": "SGD0VarUpdate",
}
EXAMPLES = {
    "data_parallel": Example(
        "data_parallel",
        (),
        {
            "layers/0/MatMul": "MatMul",
            "layers/1/TanhGrad": "TanhGrad",
            "layers/0/weight/ReplicatedAllReduce": "ReplicatedAllReduce",
            "layers/2/weight/SGD0VarUpdate": "SGD0VarUpdate",
            "inputs/x/HostLoad": "HostLoad",
            "weightsFromHost/HostLoad": "HostLoad",
        },
        "scores = self.layers(x)",
    ),
    "gpt": Example(
        "gpt",
        (),
        {"layers/0/Attention": "Attention", "tokens/Gather": "Gather", "layers/1/mlp/1/Gelu": "Gelu"},
        "seen = nn.functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)",
        ("inference",),
    ),
    "simple_adder": Example("simple_adder", (), {"Add": "Add"}, "return x + y", ("inference",)),
    "lstm": Example(
        "lstm", (), {"lstm/LSTM": "LSTM"}, "outputs, (hidden, cell) = self.lstm(sequence, states)", ("inference",)
    ),
    "checkpoints": Example(
        "checkpoints",
        (),
        {"down/MatMul": "MatMul", "up/MatMulGrad": "MatMulGrad", "down/weight/SGD0VarUpdate": "SGD0VarUpdate"},
        "return self.loss(self.up(torch.tanh(self.down(x))), x)",
    ),
    "half_precision": Example(
        "half_precision",
        (),
        {"layers/0/MatMul": "MatMul", "layers/0/weight/AdamVarUpdate": "AdamVarUpdate"},
        "return self.loss(self.layers(x), y)",
    ),
    "observing_tensors": Example(
        "observing_tensors",
        (),
        {"first/MatMul": "MatMul", "outputs/gradient/HostStore": "HostStore"},
        "return self.loss(self.second(torch.relu(self.first(x))), y)",
    ),
    "pipelined_mnist": Example(
        "pipelined_mnist",
        (),
        {
            **_IN_MODEL,
            "model/layer3/IpuCopy": "IpuCopy",
            "pipeline/Stash": "Stash",
            "model/layer3/weight/Accumulate": "Accumulate",
        },
        "return self.relu(self.pool(self.conv(x)))",
    ),
    "mnist": Example(
        "mnist",
        ("--images", "800", "--test-images", "160"),
        _MNIST,
        "return self.relu(self.pool(self.conv(x)))",
        ("training", "inference"),
    ),
    "transformer_small": Example("transformer", ("--small",), _ENCODER, "hidden = "),
    "transformer": Example("transformer", ("--steps", "2"), _ENCODER, "hidden = "),
    "resnet18": Example("resnet18", (), _RESNET, "out = self.bn2(self.conv2("),
    "resnet18_inference": Example("resnet18", ("--inference",), _RESNET, "out = self.bn2(self.conv2(", ("inference",)),
}
IN_CI = ("data_parallel", "gpt")


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=() if name in IN_CI else pytest.mark.long) for name in EXAMPLES],
)
def example(request: Any) -> tuple[str, Example]:
    return request.param, EXAMPLES[request.param]


@pytest.fixture(scope="module")
def folder(example: tuple[str, Example], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reports and trace of the example, as its user gets them."""
    name, chosen = example
    made = tmp_path_factory.mktemp(name)
    run(
        chosen.file,
        *chosen.arguments,
        folder=made,
        POPLAR_ENGINE_OPTIONS='{"autoReport.all": "true", "autoReport.directory": "./graph_profile"}',
        PVTI_OPTIONS='{"enable": "true", "directory": "./system_profile"}',
    )
    return made


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    if not Path(CHROMIUM).exists():
        pytest.fail(f"{CHROMIUM} is missing: the page tests need it; run apt-get install chromium.", pytrace=False)
    expect.set_options(timeout=20_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def reports(example: tuple[str, Example], folder: Path) -> Iterator[tuple[str, Any]]:
    for engine in example[1].engines:
        with popvision.open(folder / "graph_profile" / engine) as report:
            yield engine, report


def cycles(report: Any) -> tuple[int, int]:
    """Over all IPUs: cycles of all runs, and those of them in which an IPU waits for others at the end of a run."""
    ipus = report.target()["total_ipus"]
    total = ipus * int(report.runs()["run_cycles"].sum())
    return total, total - sum(int(report.steps_on_ipu(ipu)["step_cycles"].sum()) for ipu in range(ipus))


def cycles_of_control_copies(report: Any) -> int:
    """Over all IPUs: of the copies without a name, by which the host says in each run what shall run."""
    found = 0
    for ipu in range(report.target()["total_ipus"]):
        steps = report.steps_on_ipu(ipu)
        is_control = (steps["name"] == "") & steps["type"].str.startswith("StreamCopy")
        found += int(steps.loc[is_control, "step_cycles"].sum())
    return found


def test_cycles_of_modules_transfers_and_updates_add_up(example: tuple[str, Example], folder: Path) -> None:
    for engine, report in reports(example, folder):
        rows = report.operations()
        names = {name.removeprefix("model/") for name in rows["name"]}
        wanted = {name.removeprefix("model/") for name in example[1].operations}
        assert wanted <= names, wanted - names
        total, waiting = cycles(report)
        of_steps = rows["total_cycles"] + rows["apart_cycles"]  # with what happens once per attachment
        assert int(of_steps.sum()) == total
        rest = of_steps[rows["name"] == "(not attributed)"]
        left = int(rest.iloc[0]) - waiting - cycles_of_control_copies(report)
        assert 0 <= left < 0.02 * total, engine


def test_every_line_is_the_users(example: tuple[str, Example], folder: Path) -> None:
    for engine, report in reports(example, folder):
        files = report.source_files()
        named = [Path(file) for file in files["file"] if file]
        assert {file.parent for file in named} == {ROOT / "examples" / "pytorch"}
        unnamed = int(files[files["file"] == ""]["total_cycles"].sum())
        total, waiting = cycles(report)
        assert unnamed - waiting - cycles_of_control_copies(report) < 0.02 * total, engine
        texts = []
        for file in named:
            text = file.read_text().splitlines()
            for ipu in range(report.target()["total_ipus"]):
                lines = report.source_lines(str(file), ipu)
                texts += [text[line - 1].strip() for line in lines["line"][lines["total_cycles"] > 0]]
        assert any(text.startswith(example[1].line) for text in texts), texts


def test_every_page_in_both_themes(example: tuple[str, Example], folder: Path, chromium: Browser) -> None:
    base, library = serve(folder)
    entries = [entry for entry in library.entries() if not entry.is_sample]
    assert {entry.kind for entry in entries} == {"report", "trace"}
    assert sum(entry.kind == "report" for entry in entries) == len(example[1].engines)
    for theme in ("light", "dark"):
        page = chromium.new_page(viewport={"width": 1400, "height": 900}, color_scheme=theme)
        problems = noted_problems(page, base)
        for entry in entries:
            for view in views_of(entry.kind):
                open_page(page, base, f"/{'r' if entry.kind == 'report' else 't'}/{entry.key}/{view.id}")
                page.wait_for_selector("#page > *", state="attached")
                until_quiet(page)
                text = page.inner_text("#page")
                assert not NEVER_SHOWN.search(text), (view.id, text)
                assert problems == [], (view.id, theme)
                check = CHECKS.get(view.id)
                if check is not None:
                    check(page, example[1])
            if entry.kind == "report":
                check_table(page, base, entry.key, example[1])
                open_page(page, base, f"/r/{entry.key}/operations?ops_view=graph")
                expect(page.locator(".ops-node").first).to_be_attached()
                assert page.evaluate(_WIDE_TEXTS) == []
                assert problems == []
        brightness = sum(map(int, re.findall(r"\d+", page.evaluate(_GROUND))[:3])) / (3 * 255)
        assert (brightness > 0.8) if theme == "light" else (brightness < 0.2)
        page.close()


#: texts of the graph of operations that reach over their boxes
_WIDE_TEXTS = """[...document.querySelectorAll(".ops-node")].flatMap((node) => {
  const room = node.querySelector("rect").getBBox().width - 4;
  const wide = [...node.querySelectorAll("text")].filter((text) => text.getBBox().width > room);
  return wide.map((text) => text.textContent);
})"""
_GROUND = "getComputedStyle(document.body).backgroundColor"


def check_source(page: Page, example: Example) -> None:
    """The page opens on the user's program, which calls the model; of several IPUs it names the one of the cycles."""
    expect(page.locator("#page")).to_contain_text(f"{example.file}.py")
    if example.file in ("pipelined_mnist", "data_parallel"):
        expect(page.get_by_label("IPU", exact=True)).to_contain_text(re.compile(r"Busiest: IPU [01]"))


def check_operations(page: Page, example: Example) -> None:
    """The page opens on the modules, each with the kind of its operator."""
    kinds = set(page.locator(".ops-main [col-id=operation].ag-cell").all_inner_texts())
    assert kinds & (set(example.operations.values()) | {"HostLoad", "HostStore"}), kinds
    assert "operation" not in kinds


def check_execution(page: Page, example: Example) -> None:
    """The summary of the trace, below its picture, has come."""
    expect(page.locator("#page")).to_contain_text("Total device cycles")


CHECKS = {"source": check_source, "operations": check_operations, "execution": check_execution}


def check_table(page: Page, base: str, key: str, example: Example) -> None:
    """The table that the page exports has each operation's kind, and its cycles add up to the report's."""
    text = page.request.get(f"{base}/data/{key}/table/operations.csv").text()
    rows = list(csv.DictReader(io.StringIO(text)))
    kinds = {row["name"].removeprefix("model/"): row["operation"] for row in rows}
    for name, kind in example.operations.items():
        assert kinds[name.removeprefix("model/")] == kind
