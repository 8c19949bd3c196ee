"""pipelining_ops.pipeline: stages on IPUs of their own, trained as NumPy trains the whole model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from popvision.analysis.report.source import ReportSource
from simulator.base.errors import poplar_error
from simulator.frontends.tensorflow.graph_mode import compile
from simulator.frontends.tensorflow.infeed_queue import IPUInfeedQueue
from simulator.frontends.tensorflow.outfeed_queue import IPUOutfeedMode, IPUOutfeedQueue
from simulator.frontends.tensorflow.pipeline_options import PipelineSchedule, PipelineStageOptions
from simulator.frontends.tensorflow.pipelining import OptimizerFunctionOutput, pipeline

v1 = tf.compat.v1
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(6, 4, 3)).astype(np.float32)
Y = RANDOM.normal(size=(6, 4)).astype(np.float32)
FIRST = RANDOM.normal(size=(3, 5)).astype(np.float32)
SECOND = RANDOM.normal(size=(5,)).astype(np.float32)


@pytest.fixture(autouse=True)
def graph(use_ipu_model: Callable[..., None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Two IPUs of four tiles, and a graph of the session."""
    reports = f'{{"autoReport.outputExecutionProfile": "true", "autoReport.directory": "{tmp_path}"}}'
    monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", reports)
    use_ipu_model(ipus=2)
    with tf.Graph().as_default():
        yield


def weight(name: str, values: Any) -> Any:
    return v1.get_variable(name, values.shape, initializer=v1.constant_initializer(values), use_resource=True)


def stage1(rate: Any, x: Any, y: Any) -> Any:
    return rate, tf.tanh(tf.matmul(x, weight("first", FIRST))), y


def stage2(rate: Any, hidden: Any, y: Any) -> Any:
    error = tf.linalg.matvec(hidden, weight("second", SECOND)) - y
    return rate, tf.reduce_mean(error**2), error


def queue() -> IPUInfeedQueue:
    return IPUInfeedQueue(tf.data.Dataset.from_tensor_slices((X, Y)).repeat())


def train(
    optimizer: Callable[[Any], Any], outfeed: IPUOutfeedQueue, rate: float = 0.1, **options: Any
) -> tuple[dict[str, Any], Any]:
    """(weights by name, what the outfeed got) of two updates with the gradients of three micro-batches."""
    infeed, rate_of_a_run = queue(), v1.placeholder(tf.float32, [])

    def model(lr: Any) -> Any:
        def trained(rate: Any, loss: Any, _: Any) -> Any:
            return OptimizerFunctionOutput(optimizer(rate), loss)

        return pipeline(
            [stage1, stage2], 3, repeat_count=2, inputs=[lr], infeed_queue=infeed, outfeed_queue=outfeed,
            optimizer_function=trained, **options,
        )  # fmt: skip

    done = compile(model, [rate_of_a_run])
    sent = outfeed.dequeue()
    with v1.Session() as session:
        session.run([infeed.initializer, v1.global_variables_initializer()])
        session.run(done, {rate_of_a_run: rate})
        weights = {
            one.op.name: value
            for one, value in zip(v1.trainable_variables(), session.run(v1.trainable_variables()), strict=True)
        }
        return weights, session.run(sent)


def expected(update: Callable[[Any, Any], Any], scale: float = 1.0) -> tuple[dict[str, Any], list[float]]:
    """The same in NumPy: (weights, losses). `update` gives what is taken off a weight, by its number and gradient."""
    weights = [FIRST.astype(np.float64), SECOND.astype(np.float64)]
    losses = []
    for step in range(2):
        sums = [np.zeros_like(one) for one in weights]
        for x, y in zip(X[3 * step : 3 * step + 3], Y[3 * step : 3 * step + 3], strict=True):
            hidden = np.tanh(x @ weights[0])
            error = hidden @ weights[1] - y
            losses.append(float((error**2).mean()))
            slope = 2 * error / len(y)
            sums[1] += scale * hidden.T @ slope
            sums[0] += scale * x.T @ (np.outer(slope, weights[1]) * (1 - hidden**2))
        weights = [one - update(number, total) for number, (one, total) in enumerate(zip(weights, sums, strict=True))]
    return dict(zip(("first", "second"), weights, strict=True)), losses


def momentum(rate: float) -> Callable[[int, Any], Any]:
    velocity: dict[int, Any] = {}

    def update(number: int, gradient: Any) -> Any:
        velocity[number] = 0.9 * velocity.get(number, 0) + gradient
        return rate * velocity[number]

    return update


def adam(rate: float) -> Callable[[int, Any], Any]:
    states: dict[int, Any] = {}

    def update(number: int, gradient: Any) -> Any:
        mean, square, count = states.get(number, (0, 0, 0))
        mean, square, count = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2, count + 1
        states[number] = mean, square, count
        return rate * np.sqrt(1 - 0.999**count) / (1 - 0.9**count) * mean / (np.sqrt(square) + 1e-8)

    return update


def check(trained: dict[str, Any], weights: dict[str, Any]) -> None:
    assert set(trained) == set(weights)
    for name, values in weights.items():
        np.testing.assert_allclose(trained[name], values, rtol=1e-4, atol=1e-6)


def test_stages_train_on_ipus_of_their_own(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    trained, sent = train(lambda rate: v1.train.MomentumOptimizer(rate, 0.9), IPUOutfeedQueue(), outfeed_loss=True)
    weights, losses = expected(momentum(0.1))
    check(trained, weights)
    np.testing.assert_allclose(sent, losses, rtol=1e-4)
    assert "popvision: pipeline_schedule of pipelining_ops.pipeline changes nothing here" in capfd.readouterr().err
    busy = [computing_on(tmp_path, ipu) for ipu in (0, 1)]
    assert "pipeline_stage_0/Tanh/tanh/Op/Tanh" in busy[0] - busy[1]
    assert "Momentum/update_first/SGD1VarUpdate/velocity" in busy[0] - busy[1]
    assert "pipeline_stage_1/Pow/pow/Op/Square" in busy[1] - busy[0]
    assert "pipeline_stage_1/MatVec/MatMulGrad/matmulGrouped/Conv_1/Convolve" in busy[1] - busy[0]
    assert "Momentum/update_second/SGD1VarUpdate/velocity" in busy[1] - busy[0]


def test_the_report_has_the_options_without_effect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use_ipu_model: Callable[..., None]
) -> None:
    reports = {"autoReport.outputDebugInfo": "true", "autoReport.directory": str(tmp_path)}
    monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", json.dumps(reports))
    use_ipu_model(ipus=2)
    chosen = {"pipeline_schedule": PipelineSchedule.Interleaved, "offload_activations": True}
    train(v1.train.GradientDescentOptimizer, IPUOutfeedQueue(), **chosen)
    recorded = (tmp_path / "debug.json").read_text()
    assert "pipelining_ops.pipeline.pipeline_schedule" in recorded
    assert "Interleaved" in recorded
    assert "pipelining_ops.pipeline.offload_activations" in recorded


def computing_on(folder: Path, ipu: int) -> set[str]:
    """Names of the programs with tiles of an IPU that compute."""
    reader = ReportSource(next(folder.rglob("profile.pop")).parent).reader
    programs, steps = reader.programs(), reader.steps()
    active = steps.program[reader.steps_on_ipu(ipu).active_tiles > 0]
    return {programs.name[one] for one in np.unique(active).tolist() if programs.type[one] == "OnTileExecute"}


def test_each_ipu_updates_with_the_states_of_the_optimizer() -> None:
    options = {"reduction_method": "MEAN", "pipeline_schedule": PipelineSchedule.Sequential}
    trained, sent = train(v1.train.AdamOptimizer, IPUOutfeedQueue(), 0.01, outfeed_mask=[True, False, True], **options)
    weights, losses = expected(adam(0.01), 1 / 3)
    check(trained, weights)
    np.testing.assert_allclose(sent, losses, rtol=1e-4)


def test_what_the_outfeed_gets_can_be_summed_over_an_update() -> None:
    options = {"accumulate_outfeed": True, "outfeed_loss": True}
    _, sent = train(v1.train.GradientDescentOptimizer, IPUOutfeedQueue(), **options)
    _, losses = expected(lambda number, gradient: 0.1 * gradient)
    np.testing.assert_allclose(sent, [sum(losses[:3]), sum(losses[3:])], rtol=1e-4)


def test_inference_sends_the_results_of_each_micro_batch() -> None:
    infeed, outfeed = queue(), IPUOutfeedQueue()

    def last(hidden: Any) -> Any:
        return tf.linalg.matvec(hidden, weight("second", SECOND))

    def model() -> Any:
        stages = [lambda x, _: tf.tanh(tf.matmul(x, weight("first", FIRST))), last]
        return pipeline(stages, 2, infeed_queue=infeed, outfeed_queue=outfeed, device_mapping=[1, 0])

    done = compile(model)
    sent = outfeed.dequeue()
    with v1.Session() as session:
        session.run([infeed.initializer, v1.global_variables_initializer()])
        session.run(done)
        np.testing.assert_allclose(session.run(sent), np.tanh(X[:2] @ FIRST) @ SECOND, rtol=1e-4, atol=1e-5)


STAGES: list[Any] = [stage1, stage2]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: pipeline(STAGES), ValueError, "gradient_accumulation_count must be specified"),
        (lambda: pipeline(STAGES, 0), ValueError, "gradient_accumulation_count is a whole number from 1 on here"),
        (lambda: pipeline(STAGES[:1], 1), ValueError, "requires at least two computational stages"),
        (lambda: pipeline(STAGES, 1, device_mapping=[0]), ValueError, "1 mappings != 2 stages"),
        (lambda: pipeline(STAGES, 1, infeed_queue=3), TypeError, "infeed_queue is not an instance of"),  # type: ignore[arg-type]
        (lambda: pipeline(STAGES, 1, outfeed_loss=True), ValueError, "An optimizer_function must be provided"),
        (lambda: pipeline(STAGES, 1, accumulate_outfeed=True), ValueError, "An outfeed_queue must be provided"),
        (
            lambda: pipeline(
                STAGES, 1, accumulate_outfeed=True, outfeed_queue=IPUOutfeedQueue(outfeed_mode=IPUOutfeedMode.LAST)
            ),
            ValueError,
            "it must be in IPUOutfeedMode ALL",
        ),
        (lambda: pipeline(STAGES, 1, reduction_method="MAX"), ValueError, "reduction_method must be SUM, MEAN or"),
        (lambda: pipeline(STAGES, 1, depth=2), TypeError, "pipelining_ops.pipeline has no option 'depth'"),
        (lambda: pipeline(STAGES, 1, continuous_weight_updates=True), NotImplementedError, "Continuous weight updates"),
        (
            lambda: pipeline(STAGES, 1, batch_serialization_iterations=2, device_mapping=[0, 1]),
            NotImplementedError,
            "mapped to a single IPU",
        ),
        (lambda: pipeline(STAGES, 1, pipeline_schedule="Grouped"), TypeError, "not a member of the PipelineSchedule"),  # type: ignore[arg-type]
        (lambda: pipeline(STAGES, 1, recomputation_mode=1), TypeError, "not a member of the RecomputationMode"),  # type: ignore[arg-type]
        (lambda: pipeline(STAGES, 1, offload_weights="yes"), TypeError, "offload_weights is a bool, but it is 'yes'"),
        (lambda: PipelineStageOptions(matmul_options=[1]), TypeError, "matmul_options must be dictionary"),
        (lambda: OptimizerFunctionOutput("sgd", 0), TypeError, "opt is not an optimizer of tf.compat.v1.train"),
    ],
    ids=[*"abcdefghijklmnopq"],
)
def test_arguments_that_do_not_fit_are_refused(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        compile(call)


def test_a_pipeline_stands_once_in_a_function_for_the_device() -> None:
    with pytest.raises(poplar_error, match=r"stands once in a function that ipu_compiler\.compile takes"):
        pipeline(STAGES, 1)


def test_a_variable_of_two_stages_needs_them_on_one_ipu() -> None:
    def shared(value: Any) -> Any:
        return tf.reduce_mean(value * v1.get_variable("shared", [], use_resource=True))

    def trained(loss: Any) -> Any:
        return OptimizerFunctionOutput(v1.train.GradientDescentOptimizer(1.0), loss)

    def model(x: Any) -> Any:
        outfeed = IPUOutfeedQueue()
        with v1.variable_scope("", reuse=v1.AUTO_REUSE):
            return pipeline([shared, shared], 1, inputs=[x], outfeed_queue=outfeed, optimizer_function=trained)

    with pytest.raises(poplar_error, match=r"'shared:0' is read by pipeline stages on the IPUs \[0, 1\]; put these"):
        compile(model, [tf.ones([2])])
