"""What options do to a model that runs: each option of the table that works has its test here or in test_models."""

import copy
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
    """Sharded: a pipeline would need more micro-batches than one."""
    made = poptorch.Options().showCompilationProgressBar(False)
    return made.setExecutionStrategy(poptorch.ShardedExecution())


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
    return model._state.connection.attached


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


def test_options_without_effect_are_told_and_are_in_the_report(tmp_path, capsys):
    options = quiet().enableProfiling(tmp_path).syncPattern(poptorch.SyncPattern.SinglePipeline)
    options.TensorLocations.numIOTiles(32)
    inferred(options)
    (line,) = capsys.readouterr().err.splitlines()
    assert "[warning] Options without effect on the simulated IPU (docs/poptorch.md): " in line
    assert line.endswith(": syncPattern, TensorLocations.numIOTiles")
    debug = (tmp_path / "debug.cbor").read_bytes()
    assert b"optionsWithoutEffect" in debug
    assert b"TensorLocations.numIOTiles" in debug


def test_unknown_attributes_of_an_optimizer(capsys):
    for relaxed, lines in ((False, 1), (True, 0)):
        net = Net()
        first, second = (torch.optim.SGD(net.parameters(), lr=0.1) for _ in range(2))
        second.param_groups[0]["warmup"] = 1
        model = poptorch.trainingModel(net, quiet().relaxOptimizerAttributesChecks(relaxed), first)
        model(torch.ones(2, 4), torch.zeros(2, 2))
        model.setOptimizer(first)
        model.setOptimizer(second)
        model.destroy()
        assert capsys.readouterr().err.count("Ignoring unexpected group 0 attribute") == lines


def test_the_bar_is_shown_unless_it_is_turned_off(capsys):
    inferred(poptorch.Options().setExecutionStrategy(poptorch.ShardedExecution()))
    assert "\rGraph compilation: 100%|##########| 100/100 [" in capsys.readouterr().err
    inferred(quiet())
    assert capsys.readouterr().err == ""


class Tenth(torch.nn.Module):
    """Half sums that fall between two halves."""

    def forward(self, x):
        return x + 0.0001


@pytest.mark.parametrize(
    ("kind", "order"),
    [(poptorch.CommGroupType.Consecutive, [0, 0, 1, 1]), (poptorch.CommGroupType.Orthogonal, [0, 1, 0, 1])],
)
def test_replicas_of_a_group_get_the_same_inputs(kind, order):
    options = quiet().replicationFactor(4).inputReplicaGrouping(2, kind).deviceIterations(2)
    model = poptorch.inferenceModel(torch.nn.Identity(), options)
    rows = torch.arange(8.0).reshape(4, 2)
    result = model(rows)
    model.destroy()
    expected = torch.cat([rows[:2][order], rows[2:][order]])
    assert torch.equal(result, expected)


def test_groups_must_divide_the_replicas():
    with pytest.raises(ValueError, match="size 3 does not divide the replication factor 4"):
        poptorch.inferenceModel(Net(), quiet().replicationFactor(4).inputReplicaGrouping(3))


@pytest.mark.parametrize("reduction", [poptorch.ReductionType.Mean, poptorch.ReductionType.Sum])
def test_gradients_of_replicas_and_micro_batches_are_reduced(reduction):
    def options():
        made = quiet().replicationFactor(2)
        made.Training.gradientAccumulation(3).accumulationAndReplicationReductionType(reduction)
        return made.setExecutionStrategy(poptorch.ShardedExecution(["front", "back"]))

    torch.manual_seed(3)
    x, y = torch.randn(12, 4), torch.randn(12, 2)
    net, twin = Net(), Net()
    model = poptorch.trainingModel(net, options(), torch.optim.SGD(net.parameters(), lr=0.1))
    model(x, y)
    optimizer = torch.optim.SGD(twin.parameters(), lr=0.1)
    losses = [twin(a, b)[1] for a, b in zip(x.chunk(6), y.chunk(6), strict=True)]
    total = sum(losses) / (6 if reduction == poptorch.ReductionType.Mean else 1)
    total.backward()
    optimizer.step()
    assert torch.allclose(net.first.weight, twin.first.weight, rtol=1e-4, atol=1e-6)
    model.destroy()


def test_an_anchored_tensor_comes_back():
    options = quiet().deviceIterations(2).anchorTensor("hidden", "first.weight", poptorch.OutputMode.All)
    net = Net()
    model = poptorch.inferenceModel(net, options.setExecutionStrategy(poptorch.ShardedExecution(["front", "back"])))
    model(torch.ones(2, 4))
    assert "first.weight" in model.getTensorNames()
    weights = model.getAnchoredTensor("hidden")
    assert torch.equal(weights.reshape(-1, 6, 4)[0], net.first.weight)
    model.destroy()


def cycles(options):
    model = poptorch.inferenceModel(torch.nn.Linear(64, 64), options.logCycleCount(True))
    model(torch.ones(4, 64))
    count = model.cycleCount()
    model.destroy()
    return count


def test_cycles_are_counted_and_logged(capsys):
    poptorch.setLogLevel("DEBUG")
    try:
        count = cycles(quiet())
    finally:
        poptorch.setLogLevel("WARN")
    assert count > 0
    assert f"[poptorch:cpp] [debug] Total number of IPU cycles: {count}" in capsys.readouterr().err
    model = poptorch.inferenceModel(torch.nn.Identity(), quiet())
    model(torch.ones(1))
    with pytest.raises(poptorch.Error, match="Cycle count logging is disabled"):
        model.cycleCount()
    model.destroy()


def test_synthetic_data_leaves_out_transfers():
    assert cycles(quiet().enableSyntheticData(True)) < cycles(quiet())


def test_partials_may_be_halves():
    def product(dtype):
        options = quiet()
        options.Precision.setPartialsType(dtype)
        torch.manual_seed(1)
        layer = torch.nn.Linear(512, 64, bias=False).half()
        model = poptorch.inferenceModel(layer, options)
        x = torch.randn(16, 512, dtype=torch.float16)
        error = (model(x).double() - x.double() @ layer.weight.double().T).abs().max()
        model.destroy()
        return error.item()

    in_half, in_float = product(torch.half), product(torch.float)
    assert in_float < in_half < 50 * in_float


@pytest.mark.parametrize("layer", [torch.nn.GroupNorm(1, 4), torch.nn.BatchNorm1d(4, track_running_stats=False)])
def test_stable_norms_of_numbers_far_from_zero(layer):
    def error(stable):
        x = torch.randn(8, 4, generator=torch.Generator().manual_seed(2)) + 300
        expected = copy.deepcopy(layer).double()(x.double())
        model = poptorch.inferenceModel(layer, quiet().enableStableNorm(stable))
        worst = (model(x).double() - expected).abs().max()
        model.destroy()
        return worst.item()

    assert 100 * error(True) < error(False)


def test_the_engine_takes_options(tmp_path):
    options = quiet()
    options._Popart.setEngineOptions({"autoReport.all": "true", "autoReport.directory": str(tmp_path)})
    inferred(options.setExecutionStrategy(poptorch.ShardedExecution(["front", "back"])))
    assert (tmp_path / "inference" / "profile.pop").exists()


def test_a_seed_repeats_random_draws():
    def drawn(seed):
        model = poptorch.trainingModel(Drops(), quiet().randomSeed(seed).outputMode(poptorch.OutputMode.All))
        values = model(torch.ones(1000))[0]
        model.destroy()
        return values

    class Drops(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(()))

        def forward(self, x):
            kept = torch.nn.functional.dropout(x * self.scale, 0.5, self.training)
            return kept, poptorch.identity_loss(kept, "mean")

    assert torch.equal(drawn(1), drawn(1))
    assert not torch.equal(drawn(1), drawn(2))


def test_buffers_that_the_host_writes_reach_the_device():
    class Buffered(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("offset", torch.zeros(2))

        def forward(self, x):
            return x + self.offset

    net = Buffered()
    model = poptorch.inferenceModel(net, quiet().updatableNamedBuffers(["offset"]))
    assert model(torch.zeros(2)).tolist() == [0, 0]
    net.offset.copy_(torch.tensor([1.0, 2.0]))
    model.copyNamedBuffersToDevice()
    assert model(torch.zeros(2)).tolist() == [1, 2]
    model.destroy()
    wrong = poptorch.inferenceModel(Buffered(), quiet().updatableNamedBuffers(["absent"]))
    wrong(torch.zeros(2))
    with pytest.raises(poptorch.Error, match="names 'absent', which the module does not have"):
        wrong.copyNamedBuffersToDevice()
    wrong.destroy()


def test_an_offline_target_compiles_and_does_not_run():
    model = poptorch.inferenceModel(torch.nn.Identity(), quiet().useOfflineIpuTarget(1))
    model.compile(torch.ones(2))
    assert model.isCompiled()
    assert not model.isAttachedToDevice()
    with pytest.raises(Exception, match="Trying to run a model on an offline device"):
        model(torch.ones(2))
    model.destroy()


def test_a_device_is_attached_when_the_connection_says():
    def attached(kind):
        model = poptorch.inferenceModel(torch.nn.Identity(), quiet().connectionType(kind))
        model.compile(torch.ones(2))
        before = model.isAttachedToDevice()
        model(torch.ones(2))
        after = model.isAttachedToDevice()
        model.destroy()
        return before, after

    assert attached(poptorch.ConnectionType.Always) == (True, True)
    assert attached(poptorch.ConnectionType.OnDemand) == (False, True)


def test_one_device_is_taken_by_its_id():
    model = poptorch.inferenceModel(torch.nn.Identity(), quiet().useIpuId(3))
    model(torch.ones(2))
    assert poptorch_device(model).getId() == 3
    model.destroy()


def test_the_ipu_model_in_place_of_hardware(monkeypatch):
    for name, value, tiles in (("POPTORCH_IPU_MODEL", "1", 1472), ("POPTORCH_SMALL_IPU_MODEL", "1", 4)):
        with monkeypatch.context() as patched:
            patched.setenv(name, value)
            model = poptorch.inferenceModel(torch.nn.Identity(), quiet())
            model(torch.ones(2))
            target = poptorch_device(model).getTarget()
            model.destroy()
        assert (target.getTargetType().name, target.getNumTiles()) == ("IPU_MODEL", tiles)


def test_memory_proportions_reach_the_planner():
    counts = {share: cycles_of_product(share) for share in (0.02, 0.9)}
    assert counts[0.02] > counts[0.9]


def cycles_of_product(share):
    options = quiet().setAvailableMemoryProportion({"IPU0": share}).logCycleCount(True)
    model = poptorch.inferenceModel(torch.nn.Linear(2048, 2048), options)
    model(torch.ones(256, 2048))
    count = model.cycleCount()
    model.destroy()
    return count


def test_excluded_files_are_not_the_users(tmp_path):
    model = poptorch.inferenceModel(Net(), quiet().appendToLocationExcludes("test_option_effects"))
    model.compile(torch.ones(2, 4))
    files = {one.place.file for one in model._state.model.captured.program.operators}
    assert not any("test_option_effects" in file for file in files)
    model.destroy()


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
        label
        for process in pva.openTrace(str(file)).processes
        for thread in process.threads
        for label in labels(thread.events)
    ]
    assert found.count("poptorch.inferenceModel.modelExecution") == 2
    for name in ("modelCompilation", "graphPreprocessing", "loadExecutable"):
        assert found.count(f"poptorch.inferenceModel.{name}") == 1
    for name in ("copyWeightsToHost", "destroy"):  # as `instrument` names the methods of PopTorch's class
        assert found.count(f"poptorch._poplar_executor.PoplarExecutor.{name}") == 1
