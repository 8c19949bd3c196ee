"""What options do to a model that runs: each option of the table that works has its test here or in test_models."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from popvision import pva
from simulator.frontends import poptorch

ROOT = Path(__file__).resolve().parents[3]


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = torch.nn.Linear(4, 6), torch.nn.Linear(6, 2)

    def forward(self, x, y=None):
        with poptorch.Block("front", ipu_id=0):
            hidden = torch.relu(self.first(x))
        with poptorch.Block("back", ipu_id=1):
            out = self.second(hidden)
            return out if y is None else (out, torch.nn.functional.mse_loss(out, y))


def quiet():
    return poptorch.Options().showCompilationProgressBar(False)


def inferred(options, rows=2):
    model = poptorch.inferenceModel(Net(), options)
    try:
        return model(torch.ones(rows, 4))
    finally:
        model.destroy()


@pytest.fixture(scope="module")
def expected():
    return Net()(torch.ones(2, 4)).detach()


def test_blocks_take_ipus(expected):
    model = poptorch.inferenceModel(Net(), quiet().setExecutionStrategy(poptorch.ShardedExecution()))
    model.compile(torch.ones(2, 4))
    assert len(poptorch_device(model).getDriverIDs()) == 2
    assert torch.allclose(model(torch.ones(2, 4)), expected, rtol=1e-5)
    model.destroy()


def poptorch_device(model):
    """The device of a model, from its connection."""
    return model._connection.attached


def test_a_number_of_ipus_that_is_no_power_of_two(expected):
    def strategy():
        return poptorch.ShardedExecution(poptorch.Stage("front").ipu(0), poptorch.Stage("back").ipu(2))

    with pytest.raises(poptorch.Error, match=r"specifies the use of 3 IPUs.*a minimum of 4"):
        inferred(quiet().setExecutionStrategy(strategy()))
    model = poptorch.inferenceModel(Net(), quiet().setExecutionStrategy(strategy()).autoRoundNumIPUs())
    assert torch.allclose(model(torch.ones(2, 4)), expected, rtol=1e-5)
    assert len(poptorch_device(model).getDriverIDs()) == 4
    model.destroy()


def test_a_module_sees_that_it_runs_on_the_ipu():
    class Asks(torch.nn.Module):
        def forward(self, x):
            return x + 1 if poptorch.isRunningOnIpu() else x - 1

    model = poptorch.inferenceModel(Asks(), quiet())
    assert model(torch.zeros(1)).item() == 1
    assert Asks()(torch.zeros(1)).item() == -1
    model.destroy()


def test_reports_lie_in_the_models_folder(tmp_path):
    inferred(quiet().enableProfiling(tmp_path).modelName("mine"))
    report = pva.openReport(str(tmp_path / "mine" / "profile.pop"))
    assert report.execution.runs


def test_unknown_attributes_of_an_optimizer(capsys):
    for relaxed, lines in ((False, 1), (True, 0)):
        net = Net()
        first, second = (torch.optim.SGD(net.parameters(), lr=0.1) for _ in range(2))
        second.param_groups[0]["warmup"] = 1
        model = poptorch.trainingModel(net, quiet().relaxOptimizerAttributesChecks(relaxed), first)
        model(torch.ones(2, 4), torch.zeros(2, 2))
        torch.optim.lr_scheduler.StepLR(first, 1)
        model.setOptimizer(first)
        model.setOptimizer(second)
        model.destroy()
        assert capsys.readouterr().err.count("Ignoring unexpected group 0 attribute") == lines


def test_the_bar_is_shown_unless_it_is_turned_off(capsys):
    inferred(poptorch.Options())
    assert "\rGraph compilation: 100%|##########| 100/100 [" in capsys.readouterr().err
    inferred(quiet())
    assert capsys.readouterr().err == ""


class Tenth(torch.nn.Module):
    """Half sums that fall between two halves."""

    def forward(self, x):
        return x + 0.0001


def test_stochastic_rounding_rounds_up_and_down():
    ones = torch.ones(4000, dtype=torch.float16)
    results = {}
    for enabled in (False, True):
        options = quiet()
        options.Precision.enableStochasticRounding(enabled)
        model = poptorch.inferenceModel(Tenth(), options)
        results[enabled] = model(ones)
        model.destroy()
    assert set(results[False].tolist()) == {1.0}
    # 0.0001 is about a tenth of the distance to the next half, 2**-10.
    raised = (results[True] > 1).float().mean().item()
    assert 0.05 < raised < 0.16


def test_floating_point_exceptions_stop_the_program():
    class Divides(torch.nn.Module):
        def forward(self, x):
            return 1 / x

    options = quiet()
    options.Precision.enableFloatingPointExceptions(True)
    model = poptorch.inferenceModel(Divides(), options)
    with pytest.raises(Exception, match=r"(?i)floating|division"):
        model(torch.zeros(4))
    model.destroy()
    assert torch.isinf(poptorch.inferenceModel(Divides(), quiet())(torch.zeros(4))).all()


def operations(tmp_path, module, options, name):
    """Names of the steps of a report."""
    model = poptorch.inferenceModel(module, options.enableProfiling(tmp_path).modelName(name))
    model(torch.ones(2, 4))
    model.destroy()
    report = pva.openReport(str(tmp_path / name / "profile.pop"))
    return "\n".join(step.program.name for step in report.execution.steps)


def test_operators_are_named_after_modules_and_scopes(tmp_path):
    class Scoped(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 3)

        def forward(self, x):
            with poptorch.NameScope("outer"), poptorch.NameScope("inner"):
                return torch.relu(self.layer(x))

    assert "outer/inner/layer/" in operations(tmp_path, Scoped(), quiet(), "named")
    plain = operations(tmp_path, Scoped(), quiet().disableModuleNamescope(), "plain")
    assert "outer/inner/" in plain
    assert "layer/" not in plain


PROGRAM = """
import torch
from simulator.frontends import poptorch
net = torch.nn.Sequential(torch.nn.Linear(2, 2))
model = poptorch.inferenceModel(net, poptorch.Options().showCompilationProgressBar(False))
model(torch.ones(1, 2))
model(torch.ones(1, 2))
model.copyWeightsToHost()
model.destroy()
"""


def test_a_models_work_is_in_the_host_trace(tmp_path):
    options = f'{{"enable":"true","directory":"{tmp_path}"}}'
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PVTI_OPTIONS": options},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    (file,) = tmp_path.glob("*.pvti")

    def labels(events):
        for event in events:
            yield event.label
            yield from labels(event.children())

    found = [
        label.removeprefix("poptorch.inferenceModel.")
        for process in pva.openTrace(str(file)).processes
        for thread in process.threads
        for label in labels(thread.events)
        if label.startswith("poptorch.inferenceModel.")
    ]
    assert found.count("modelExecution") == 2
    for name in ("modelCompilation", "graphPreprocessing", "loadExecutable", "copyWeightsToHost", "destroy"):
        assert found.count(name) == 1
