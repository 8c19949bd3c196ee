"""Programs that go wrong: one sentence each, PopTorch's own where there is one, and nothing written is lost."""

from __future__ import annotations

import copy
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import popvision
from simulator.frontends import poptorch
from tests.frontends.poptorch.model_options import options

ROOT = Path(__file__).parents[3]


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 2)

    def forward(self, x: Any, y: Any = None) -> Any:
        out = self.layer(x)
        return out if y is None else (out, torch.nn.functional.cross_entropy(out, y))


class TwoLosses(Net):
    def forward(self, x: Any, y: Any = None) -> Any:
        out, loss = super().forward(x, y)
        return out, poptorch.identity_loss(loss, "sum"), poptorch.identity_loss(2 * loss, "sum")


class Branch(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        if x.sum() > 0:
            return x
        return -x


class Chosen(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x[x > 0]


class Packing(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor([4, 2])).data


class Averaging(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(4, momentum=None)

    def forward(self, x: Any) -> Any:
        return torch.nn.functional.mse_loss(self.norm(x), x)


class Checked(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.distributions.Normal(x, 1.0, validate_args=True).sample()


class Values(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.from_numpy(x.numpy())


class Singular(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.linalg.svd(x)[1]


def infer(module: Any) -> poptorch.PoplarExecutor:
    return poptorch.inferenceModel(module, options())


def training(module: Any, optimizer: Any = None) -> poptorch.PoplarExecutor:
    return poptorch.trainingModel(module, options(), optimizer or torch.optim.SGD(module.parameters(), lr=0.1))


X, Y = torch.ones(8, 4), torch.zeros(8, dtype=torch.long)
PACKED = torch.nn.utils.rnn.pack_padded_sequence(X.reshape(4, 2, 4), torch.tensor([4, 2]))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch.jit's of itself
@pytest.mark.parametrize(
    ("run", "error", "sentence"),
    [
        (lambda: training(TwoLosses())(X, Y), poptorch.Error, "Multiple independent losses found in graph"),
        (lambda: training(Net(), 3), TypeError, "An optimizer is one of poptorch.optim or torch.optim; int is none."),
        (lambda: poptorch.inferenceModel(Chosen(), options())(X), poptorch.Error, "depends on data"),
        (
            lambda: poptorch.inferenceModel(Net(), options().replicationFactor(256))(torch.ones(256, 4)),
            poptorch.Error,
            "Failed to acquire 256 IPU(s)",
        ),
        (
            lambda: poptorch.inferenceModel(Net(), options())(np.ones((8, 4))),
            TypeError,
            "The input x is a numpy.ndarray; give a torch.Tensor",
        ),
        (
            lambda: poptorch.inferenceModel(torch.nn.Embedding(9, 2), options())(torch.tensor([2**40])),
            poptorch.Error,
            "holds 1099511627776, which does not fit the device's 32-bit integers",
        ),
        (
            lambda: infer(torch.nn.LSTM(4, 6, proj_size=2))(X),
            poptorch.Error,
            "put a Linear layer without bias behind it",
        ),
        (lambda: infer(Packing())(X.reshape(4, 2, 4)), poptorch.Error, "give the layer the padded batch"),
        (lambda: infer(torch.nn.LSTM(4, 6))(PACKED), poptorch.Error, "give the padded batch and its lengths"),
        (lambda: infer(torch.jit.script(Net().layer)), poptorch.Error, "give the torch.nn.Module that it was made of"),
        (lambda: infer(torch.jit.trace(Net().layer, X)), poptorch.Error, "The model comes from torch.jit"),
        (lambda: infer(torch.nn.LazyLinear(2))(X), poptorch.Error, "call the module once on the host before wrapping"),
        (lambda: training(Averaging())(X), poptorch.Error, "give BatchNorm a momentum"),
        (lambda: infer(Checked())(X), poptorch.Error, "make the distribution without validate_args=True"),
        (lambda: infer(Values())(X), poptorch.Error, "Tensor.numpy cannot be used in forward on the IPU"),
        (lambda: infer(Singular())(X), poptorch.Error, "or call it on the host, outside the module"),
        (
            lambda: poptorch.trainingModel(Net(), 50, loss=torch.nn.MSELoss()),
            TypeError,
            "trainingModel() takes no device_iterations and no loss any more; write for device_iterations "
            "poptorch.Options().deviceIterations(50); for loss compute the loss in forward and return it.",
        ),
        (lambda: poptorch.inferenceModel(Net(), colour=1), TypeError, "inferenceModel() has no argument 'colour'"),
    ],
)
def test_a_wrong_program_is_refused(run: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error) as refused:
        run()
    assert sentence in str(refused.value)


def test_the_sentence_about_missing_ipus_names_the_tool() -> None:
    with pytest.raises(poptorch.Error, match="Graphcore command-line tool `gc-monitor`"):
        poptorch.inferenceModel(Net(), options().replicationFactor(256))(torch.ones(256, 4))


def test_a_branch_on_data_names_its_line_and_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(poptorch.Error, match=rf"{Path(__file__).name}:\d+: The module's graph depends on the data"):
        poptorch.inferenceModel(Branch(), options())(X)
    assert capsys.readouterr().err == ""


def test_what_is_not_a_number_passes_through() -> None:
    model = training(Net())
    out, loss = model(torch.full((8, 4), float("nan")), Y)
    assert torch.isnan(out).all()
    assert torch.isnan(loss)
    model.destroy()


# ---- several processes -----------------------------------------------------------------------------------------------

PROGRAM = """
import sys
import torch
import simulator.frontends.poptorch.compiled_model as compiled_model
import poptorch

compile_graph = compiled_model.compileGraph
def counted(*arguments):
    print("compiled", flush=True)
    return compile_graph(*arguments)
compiled_model.compileGraph = counted

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 2)
    def forward(self, x, y):
        out = self.layer(x)
        return out, torch.nn.functional.cross_entropy(out, y)

torch.manual_seed(0)
net = Net()
options = poptorch.Options().showCompilationProgressBar(False)
model = poptorch.trainingModel(net, options, torch.optim.SGD(net.parameters(), lr=0.1))
for step in range(int(sys.argv[1])):
    _, loss = model(torch.ones(8, 4), torch.zeros(8, dtype=torch.long))
    print("loss", float(loss), flush=True)
"""


def restore_interrupts() -> None:
    """A shell that starts a job in the background makes it ignore Ctrl-C; a program that a user starts does not."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def started(folder: Path, steps: int, **environment: str) -> subprocess.Popen[str]:
    script = folder / "train.py"
    script.write_text(textwrap.dedent(PROGRAM))
    paths = os.pathsep.join([str(ROOT), str(ROOT / "compat")])
    return subprocess.Popen(
        [sys.executable, str(script), str(steps)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=restore_interrupts,
    )


def losses(printed: str) -> list[str]:
    return [line for line in printed.splitlines() if line.startswith("loss")]


def test_two_processes_on_one_cache_compile_once_and_a_third_not_at_all(tmp_path: Path) -> None:
    cache = {"POPTORCH_CACHE_DIR": str(tmp_path / "cache"), "POPVISION_TILES": "16"}
    both = [started(tmp_path, 2, **cache) for _ in range(2)]
    printed = [process.communicate(timeout=240) for process in both]
    assert [process.returncode for process in both] == [0, 0], printed
    assert sum(out.count("compiled") for out, _ in printed) == 1
    third, _ = started(tmp_path, 2, **cache).communicate(timeout=240)
    assert "compiled" not in third
    assert losses(third) == losses(printed[0][0]) == losses(printed[1][0])
    (entry,) = (tmp_path / "cache").glob("*.popef")
    entry.write_bytes(entry.read_bytes()[:100])
    fourth, _ = started(tmp_path, 2, **cache).communicate(timeout=240)
    assert "compiled" in fourth
    assert losses(fourth) == losses(third)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_the_report_of_a_training_that_is_stopped_opens(tmp_path: Path, ending: signal.Signals) -> None:
    report = (
        '{"autoReport.all": "true", "autoReport.directory": "report", '
        '"autoReport.executionProfileProgramRunCount": "3"}'
    )
    process = started(tmp_path, 100_000, POPLAR_ENGINE_OPTIONS=report, POPVISION_TILES="16")
    assert process.stdout is not None
    seen = [process.stdout.readline() for _ in range(8)]
    assert losses("".join(seen))
    process.send_signal(ending)
    _, said = process.communicate(timeout=240)
    if ending is signal.SIGINT:
        assert said.splitlines()[-1] == "KeyboardInterrupt"
    with popvision.open(tmp_path / "report" / "training") as opened:
        assert len(opened.runs()) >= 1
        assert opened.source.reader.total_cycles() > 0


def test_refused_operands_name_the_module_and_its_line() -> None:
    class Projected(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.narrow = torch.nn.LSTM(4, 3, proj_size=2)

        def forward(self, x: Any) -> Any:
            return self.narrow(x)[0]

    with pytest.raises(
        poptorch.Error, match=r"lstm\.input of module 'narrow' \(.*:\d+\) cannot be lowered.*has no proj_size"
    ):
        poptorch.inferenceModel(Projected(), options())(torch.randn(2, 4))


def test_a_device_that_the_system_lacks() -> None:
    with pytest.raises(poptorch.Error, match="There is no device 99"):
        poptorch.inferenceModel(torch.nn.Linear(4, 3), options().useIpuId(99))(torch.randn(2, 4))


def test_a_model_that_nobody_refers_to_gives_its_device_back() -> None:
    for _ in range(20):  # a system has 16
        model = poptorch.inferenceModel(torch.nn.Linear(4, 3), options())
        model(torch.randn(2, 4))


def test_a_copy_of_a_module_in_forward_is_refused_in_one_sentence() -> None:
    class Copies(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.part = torch.nn.Linear(3, 3)

        def forward(self, x: Any) -> Any:
            return copy.deepcopy(self.part)(x)

    with pytest.raises(poptorch.Error, match=r"forward reads a tensor's memory \(copy.deepcopy, .* or use clone\(\)"):
        poptorch.inferenceModel(Copies(), options())(torch.ones(2, 3))
