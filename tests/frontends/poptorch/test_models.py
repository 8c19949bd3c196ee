"""trainingModel and inferenceModel: results, weights on the device and on the host, states of a model."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from popvision import pva
from simulator.base import version
from simulator.frontends import poptorch
from simulator.frontends.poptorch import OutputMode, compiled_model
from simulator.poplar import compileGraph
from simulator.runtime.recording import report_folder
from tests.frontends.poptorch.model_options import options

RATE = 0.1


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(5, 7), torch.nn.Linear(7, 3)
        self.loss = torch.nn.MSELoss()

    def forward(self, x: Any, y: Any = None) -> Any:
        out = self.second(torch.relu(self.first(x)))
        return out if y is None else (out, self.loss(out, y))


@pytest.fixture
def pair() -> Any:
    """A network, its twin in torch and a batch of 8."""
    torch.manual_seed(0)
    net = Net()
    return net, copy.deepcopy(net), torch.randn(8, 5), torch.randn(8, 3)


def train_twin(twin: Any, x: Any, y: Any, steps: int) -> list[float]:
    """Losses of torch's own descent over micro-batches."""
    optimizer = torch.optim.SGD(twin.parameters(), lr=RATE)
    losses = []
    for part, wanted in zip(x.chunk(steps), y.chunk(steps), strict=True):
        optimizer.zero_grad()
        _, loss = twin(part, wanted)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def training(net: Any, **values: Any) -> poptorch.PoplarExecutor:
    return poptorch.trainingModel(net, options(**values), torch.optim.SGD(net.parameters(), lr=RATE))


def test_losses_and_weights_are_those_of_torch(pair: Any) -> None:
    net, twin, x, y = pair
    model = training(net, deviceIterations=2, outputMode=OutputMode.All)
    for _ in range(3):
        out, losses = model(x, y)
        assert losses.tolist() == pytest.approx(train_twin(twin, x, y, 2), rel=1e-5)
    assert out.shape == (8, 3)
    for name, expected in twin.state_dict().items():
        torch.testing.assert_close(net.state_dict()[name], expected, rtol=1e-5, atol=1e-6)
    model.destroy()


@pytest.mark.parametrize(
    ("mode", "out_shape", "loss_shape"), [("Final", (4, 3), ()), ("All", (8, 3), (2,)), ("Sum", (4, 3), ())]
)
def test_output_modes(pair: Any, mode: str, out_shape: Any, loss_shape: Any) -> None:
    net, twin, x, y = pair
    model = training(net, deviceIterations=2, outputMode=OutputMode[mode])
    out, loss = model(x, y)
    losses = train_twin(twin, x, y, 2)
    expected = {"Final": losses[-1], "All": losses, "Sum": sum(losses)}[mode]
    assert (out.shape, loss.shape) == (out_shape, loss_shape)
    assert loss.tolist() == pytest.approx(expected, rel=1e-5)
    model.destroy()


@pytest.mark.parametrize(
    "function", [torch.sum, torch.mean, torch.amax, torch.linalg.vector_norm, torch.argmax, torch.any]
)
def test_a_reduction_to_one_number_has_no_dimension(function: Any) -> None:
    class Reduces(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return function(x)

    x = torch.tensor([[1.0, 2.0], [4.0, 3.0]])
    for iterations in (1, 2):
        model = poptorch.inferenceModel(Reduces(), options(deviceIterations=iterations))
        got, parts = model(x), x.chunk(iterations)
        expected = torch.stack([function(part) for part in parts]) if iterations > 1 else function(x)
        assert got.shape == expected.shape
        torch.testing.assert_close(got, expected, check_dtype=False)
        model.destroy()


def test_every_n_returns_the_last_of_each_n(pair: Any) -> None:
    net, twin, x, y = pair
    chosen = options(deviceIterations=4).outputMode(OutputMode.EveryN, 2)
    model = poptorch.trainingModel(net, chosen, torch.optim.SGD(net.parameters(), lr=RATE))
    _, losses = model(x, y)
    assert losses.tolist() == pytest.approx(train_twin(twin, x, y, 4)[1::2], rel=1e-5)
    model.destroy()


def test_accumulated_gradients_are_those_of_the_whole_batch(pair: Any) -> None:
    net, twin, x, y = pair
    chosen = options()
    chosen.Training.gradientAccumulation(4)
    model = poptorch.trainingModel(net, chosen, torch.optim.SGD(net.parameters(), lr=RATE))
    model(x, y)
    train_twin(twin, x, y, 1)
    for name, expected in twin.state_dict().items():
        torch.testing.assert_close(net.state_dict()[name], expected, rtol=1e-5, atol=1e-6)
    model.destroy()


def test_inference_sees_what_training_learnt(pair: Any) -> None:
    net, _, x, y = pair
    trainer, infers = training(net), poptorch.inferenceModel(net, options())
    before = infers(x)
    trainer(x, y)
    after = infers(x)
    assert not torch.allclose(before, after)
    torch.testing.assert_close(after, net(x).detach(), rtol=1e-5, atol=1e-6)
    trainer.destroy()


def test_weights_written_on_the_host_reach_the_device(pair: Any) -> None:
    net, _, x, y = pair
    trainer = training(net)
    trainer(x, y)
    saved = {name: value.clone() for name, value in net.state_dict().items()}
    trainer(x, y)
    net.load_state_dict(saved)
    twin = Net()
    twin.load_state_dict(saved)
    trainer(x, y)
    train_twin(twin, x, y, 1)
    torch.testing.assert_close(net.first.weight.detach(), twin.first.weight.detach(), rtol=1e-5, atol=1e-6)
    with torch.no_grad():
        net.second.weight.zero_()
    out, _ = trainer(x, y)
    torch.testing.assert_close(out, net.second.bias.detach().expand(8, 3), rtol=1, atol=1)
    trainer.destroy()


def test_a_model_detaches_and_attaches_again(pair: Any) -> None:
    net, twin, x, y = pair
    model = poptorch.trainingModel(net, options(), torch.optim.SGD(net.parameters(), lr=RATE, momentum=0.9))
    other = torch.optim.SGD(twin.parameters(), lr=RATE, momentum=0.9)
    for step in range(4):
        other.zero_grad()
        twin(x, y)[1].backward()
        other.step()
        model(x, y)
        if step == 1:
            model.detachFromDevice()
            assert not model.isAttachedToDevice()
    torch.testing.assert_close(net.first.weight.detach(), twin.first.weight.detach(), rtol=1e-5, atol=1e-6)
    model.destroy()
    with pytest.raises(poptorch.Error, match="has not been compiled or has been destroyed"):
        model.detachFromDevice()


def test_another_rate_needs_no_compilation(pair: Any) -> None:
    net, twin, x, y = pair
    model = training(net)
    model(x, y)
    train_twin(twin, x, y, 1)
    compiled = model._state.model
    model.setOptimizer(torch.optim.SGD(net.parameters(), lr=0.5))
    model(x, y)
    assert model._state.model is compiled
    optimizer = torch.optim.SGD(twin.parameters(), lr=0.5)
    optimizer.zero_grad()
    twin(x, y)[1].backward()
    optimizer.step()
    torch.testing.assert_close(net.first.weight.detach(), twin.first.weight.detach(), rtol=1e-5, atol=1e-6)
    model.destroy()


class Divergence(torch.nn.Module):
    """A recurrent layer; the loss is a divergence over the batch, which torch writes as a sum and a division."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.LSTM(5, 3, batch_first=True)
        self.loss = torch.nn.KLDivLoss(reduction="batchmean")

    def forward(self, x: Any, y: Any) -> Any:
        out = torch.log_softmax(self.layer(x)[0][:, -1], 1)
        return out, self.loss(out, torch.softmax(y, 1))


def test_divergence_over_the_batch() -> None:
    torch.manual_seed(0)
    net, x, y = Divergence(), torch.randn(8, 4, 5), torch.randn(8, 3)
    twin = copy.deepcopy(net)
    model = training(net, deviceIterations=2, outputMode=OutputMode.All)
    _, losses = model(x, y)
    assert losses.tolist() == pytest.approx(train_twin(twin, x, y, 2), rel=1e-4)
    torch.testing.assert_close(net.layer.weight_ih_l0.detach(), twin.layer.weight_ih_l0.detach(), rtol=1e-4, atol=1e-6)
    model.destroy()


class TestRefusals:
    def test_batch_that_does_not_divide(self, pair: Any) -> None:
        net, _, x, y = pair
        with pytest.raises(poptorch.Error, match=r"Invalid batch dimension: In the input x, .* \(8\) .* = 3\."):
            training(net, deviceIterations=3)(x, y)

    def test_no_loss(self, pair: Any) -> None:
        net, _, x, _ = pair
        with pytest.raises(poptorch.Error, match="Couldn't find a loss in graph!"):
            training(net)(x)

    def test_two_trainers(self, pair: Any) -> None:
        net, *_ = pair
        first = training(net)
        with pytest.raises(poptorch.Error, match=r"already been wrapped in 'poptorch\.trainingModel'"):
            training(net)
        first.destroy()
        training(net)

    def test_other_shapes_after_compiling(self, pair: Any) -> None:
        net, _, x, y = pair
        model = training(net)
        model(x, y)
        with pytest.raises(poptorch.Error, match=r"compiled for \(float32\[8, 5\], .*cannot take \(float32\[4, 5\]"):
            model(x[:4], y[:4])
        model.destroy()

    def test_a_tensor_that_is_not_there(self, pair: Any) -> None:
        net, _, x, y = pair
        chosen = options()
        chosen.anchorTensor("w", "third.weight")
        model = poptorch.trainingModel(net, chosen, torch.optim.SGD(net.parameters(), lr=RATE))
        with pytest.raises(poptorch.Error, match=r"no tensor 'third\.weight' to observe; it has first\.weight"):
            model(x, y)

    def test_a_period_that_does_not_divide_the_iterations(self, pair: Any) -> None:
        net, _, x, y = pair
        chosen = options(deviceIterations=4).outputMode(OutputMode.EveryN, 3)
        with pytest.raises(poptorch.Error, match="every 3 iterations do not divide the 4 iterations"):
            poptorch.trainingModel(net, chosen, torch.optim.SGD(net.parameters(), lr=RATE))(x, y)

    def test_a_period_of_its_own(self, pair: Any) -> None:
        net, _, x, y = pair
        chosen = options(deviceIterations=4)
        chosen.anchorTensor("w", "first.weight", OutputMode.EveryN, 2)
        with pytest.raises(poptorch.Error, match="is observed every 2 iterations, which the outputs are not"):
            poptorch.trainingModel(net, chosen, torch.optim.SGD(net.parameters(), lr=RATE))(x, y)

    def test_unknown_operator(self) -> None:
        class Odd(torch.nn.Module):
            def forward(self, x: Any) -> Any:
                return torch.linalg.svdvals(x)

        with pytest.raises(
            poptorch.Error, match=r"aten\.\w*svd.*test_models\.py:\d+.* cannot be lowered.*poptorch\.md"
        ):
            poptorch.inferenceModel(Odd(), options())(torch.randn(3, 3))

    def test_a_branch_on_data(self) -> None:
        class Branch(torch.nn.Module):
            def forward(self, x: Any) -> Any:
                return x if x.sum() > 0 else -x

        with pytest.raises(poptorch.Error, match="depends on the data of a tensor"):
            poptorch.inferenceModel(Branch(), options())(torch.randn(3, 3))


def test_the_second_model_takes_the_cached_executable(pair: Any, tmp_path: Any) -> None:
    net, twin, x, y = pair
    chosen = options().enableExecutableCaching(str(tmp_path))
    for model_of in (net, twin):
        model = poptorch.trainingModel(model_of, chosen, torch.optim.SGD(model_of.parameters(), lr=RATE))
        for _ in range(2):
            out, _ = model(x, y)
        model.destroy()
    assert [path.suffix for path in tmp_path.iterdir() if path.suffix != ".compile_lock"] == [".popef"]
    torch.testing.assert_close(net.first.weight.detach(), twin.first.weight.detach())
    entry = next(path for path in tmp_path.iterdir() if path.suffix == ".popef")
    assert entry.stem.isdecimal()
    entry.write_bytes(entry.read_bytes()[: entry.stat().st_size // 2])
    again = poptorch.trainingModel(net, chosen, torch.optim.SGD(net.parameters(), lr=RATE))
    assert again(x, y)[0].shape == out.shape
    again.destroy()


def test_a_hit_of_the_cache_writes_the_report_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of programs that are compiled alike, each with its own folder, or without a report."""
    chosen = options().enableExecutableCaching(str(tmp_path / "cache"))
    compiled = []
    monkeypatch.setattr(
        compiled_model, "compileGraph", lambda *arguments: compiled.append(1) or compileGraph(*arguments)
    )
    for name in ("one", "", "two"):
        alike = {"debug.instrument": "true", "debug.allowOutOfMemory": "false"}
        asked = {"autoReport.all": "true", "autoReport.directory": str(tmp_path / name)} if name else {}
        monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", json.dumps(alike | asked))
        report_folder._directories.clear()
        model = poptorch.inferenceModel(torch.nn.ReLU(), chosen)
        assert model(torch.tensor([-1.0, 2.0])).tolist() == [0, 2]
        model.destroy()
    assert len(compiled) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "one", "two"]
    profiles = [next((tmp_path / name).rglob("profile.pop")) for name in ("one", "two")]
    first, second = (pva.openReport(profile) for profile in profiles)
    assert len(first.execution.runs) == len(second.execution.runs) > 0
    assert first.compilation.loweredVariables.forTile(0)
    kept = [[(v.name, v.offset) for v in one.compilation.loweredVariables.forTile(0)] for one in (first, second)]
    assert kept[0] == kept[1]


def test_a_changed_source_misses_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file more among the sources stands for a changed rule. Without a change the entry is used again."""
    added, cache = tmp_path / "added", tmp_path / "cache"
    added.mkdir()
    folders = {**version.source_folders(), "added": added}
    monkeypatch.setattr(version, "source_folders", lambda: folders)
    counts = []
    for text in ("one", "one", "two"):
        (added / "rule.py").write_text(text)
        version.packageHash.cache_clear()
        model = poptorch.inferenceModel(torch.nn.ReLU(), options().enableExecutableCaching(str(cache)))
        assert model(torch.tensor([-1.0, 2.0])).tolist() == [0, 2]
        model.destroy()
        counts.append(len(list(cache.glob("*.popef"))))
    version.packageHash.cache_clear()
    assert counts == [1, 1, 2]


def test_counters_share_the_cycles_of_a_run(pair: Any) -> None:
    net, _, x, y = pair
    model = training(net, deviceIterations=2, outputMode=OutputMode.All, logCycleCount=True)
    assert model.getPerfCounters()["input"] == [[]]
    model(x, y)
    counters, cycles = model.getPerfCounters(), model.cycleCount()
    assert [len(one) for one in counters["input"]] == [2, 2]
    assert [len(one) for one in counters["output"]] == [2, 2]
    clock = model._need_on_device().program.engine.getTimeStamp().clock_hz
    assert counters["output"][0][-1] == pytest.approx(cycles / clock)
    assert counters["input"][0] == [0.0, counters["output"][0][0]]
    assert model.getLatency()[2] == pytest.approx(cycles / clock / 2)
    model.destroy()


def test_an_exported_model_runs_without_compilation(pair: Any, tmp_path: Any) -> None:
    net, twin, x, y = pair
    file = tmp_path / "net.poptorch"
    model = training(net)
    model.compileAndExport(file, x, y)
    model.destroy()
    loaded = poptorch.load(file, lambda chosen: chosen.showCompilationProgressBar(False))
    assert loaded.isCompiled()
    _, loss = loaded(x, y)
    assert loss.item() == pytest.approx(train_twin(twin, x, y, 1)[0], rel=1e-5)
    torch.testing.assert_close(
        loaded.state_dict()["first.weight"], twin.state_dict()["first.weight"], rtol=1e-5, atol=1e-6
    )
    loaded.destroy()
    infers = poptorch.inferenceModel(net, options())
    with pytest.raises(poptorch.Error, match="holds a model for training, this one is for inference"):
        infers.loadExecutable(file)
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(poptorch.Error, match="cannot be loaded: The file holds no executable"):
        poptorch.load(file)


def test_hooks_run_around_a_compilation(pair: Any) -> None:
    net, _, x, _ = pair
    seen: list[str] = []
    handles = [
        poptorch.registerPreCompileHook(lambda: seen.append("before")),
        poptorch.registerPostCompileHook(lambda: seen.append("after")),
    ]
    model = poptorch.inferenceModel(net, options())
    model(x)
    model(x)
    assert seen == ["before", "after"]
    for handle in handles:
        handle.remove()
    poptorch.inferenceModel(net, options())(x)
    assert seen == ["before", "after"]
    with pytest.raises(RuntimeError, match="Pre-compile hook must be callable"):
        poptorch.registerPreCompileHook(3)


class Pair:
    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second


class PairParser(poptorch.ICustomArgParser):
    def yieldTensors(self, struct: Any) -> Any:
        yield struct.first
        yield struct.second

    def reconstruct(self, original_structure: Any, tensor_iterator: Any) -> Any:
        return Pair(next(tensor_iterator), next(tensor_iterator))


class OfPairs(torch.nn.Module):
    def forward(self, pair: Any) -> Any:
        return Pair(pair.first + pair.second, pair.second * 2)


def test_objects_of_the_users_are_arguments_and_results() -> None:
    poptorch.registerCustomArgParser(Pair, PairParser())
    model = poptorch.inferenceModel(OfPairs(), options())
    for _ in range(2):
        x, y = torch.randn(3), torch.randn(3)
        made = model(Pair(x, y))
        assert type(made) is Pair
        torch.testing.assert_close(made.first, x + y)
        torch.testing.assert_close(made.second, y * 2)
    with pytest.raises(poptorch.Error, match=r"an instance of a poptorch\.ICustomArgParser"):
        poptorch.registerCustomArgParser(Pair, PairParser)


def test_a_model_describes_itself_as_its_module(pair: Any) -> None:
    net = pair[0]
    assert repr(poptorch.inferenceModel(net, options())) == repr(net)


@pytest.mark.parametrize("trains", [False, True])
def test_a_model_compiled_offline_runs_where_it_is_loaded(pair: Any, trains: bool, tmp_path: Path) -> None:
    net, twin, x, y = pair
    chosen = options().useOfflineIpuTarget()
    model = (
        poptorch.trainingModel(net, chosen, torch.optim.SGD(net.parameters(), lr=RATE))
        if trains
        else poptorch.inferenceModel(net, chosen)
    )
    model.compileAndExport(tmp_path / "model.poptorch", x, y)
    with pytest.raises(poptorch.Error, match=r"offline device \(ConnectionType\.Never\)"):
        model(x, y)
    loaded = poptorch.load(tmp_path / "model.poptorch")
    assert float(loaded(x, y)[1]) == pytest.approx(train_twin(twin, x, y, 1)[0], rel=1e-4)
    assert loaded.isAttachedToDevice()
    loaded.destroy()
    with pytest.raises(poptorch.Error, match="offline device"):
        poptorch.load(tmp_path / "model.poptorch", lambda found: found.connectionType(poptorch.ConnectionType.Never))(
            x, y
        )
