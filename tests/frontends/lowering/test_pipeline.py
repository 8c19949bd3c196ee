"""Pipelined execution: the results of one IPU, in G + P - 1 cycles of stages that work at the same time."""

from collections import Counter
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from simulator.frontends.captured import Program, Weight, WeightKind
from simulator.frontends.lowering.lowered import Observed, Outputs, Settings
from simulator.frontends.lowering.shards import PlacementError
from tests.frontends.lowering.written_programs import (
    UNPLACED,
    Blocks,
    Result,
    Writer,
    assert_equal,
    lower,
    perceptron,
    run,
    tied_network,
)

TWO: Blocks = ((0, 0), (1, 1), (1, 1))
THREE: Blocks = ((0, 0), (1, 1), (2, 2))
#: the last stage shares an IPU with the first
RETURNING: Blocks = ((0, 1), (1, 0), (2, 1))
#: (blocks, their IPUs, stages of the pipeline)
PIPELINES = [(TWO, 2, 3), (THREE, 3, 5), (RETURNING, 2, 5)]


def _settings(accumulation: int, pipelined: bool = True, **others) -> Settings:
    return Settings(iterations=2, accumulation=accumulation, pipelined=pipelined, **others)


@cache
def _trained_on_one_ipu(network: Callable[[], Program], accumulation: int) -> Result:
    return run(network(), _settings(accumulation, pipelined=False))


@cache
def _inferred_on_one_ipu(outputs: Outputs) -> Result:
    return run(perceptron(training=False), Settings(iterations=8, outputs=outputs, period=4), training=False)


@pytest.mark.parametrize("accumulation", [6, 7])
@pytest.mark.parametrize(("blocks", "ipus", "stages"), PIPELINES)
@pytest.mark.parametrize("network", [perceptron, tied_network])
def test_training_equals_that_of_one_ipu(network, blocks, ipus, stages, accumulation):
    one = _trained_on_one_ipu(network, accumulation)
    assert np.isfinite(one.outputs["d2h_loss"]).all()
    assert_equal(run(network(blocks), _settings(accumulation), ipus), one)


def test_as_many_micro_batches_as_stages():
    one = _trained_on_one_ipu(perceptron, 5)
    assert_equal(run(perceptron(THREE), _settings(5), 3), one)


def test_backward_passes_draw_the_numbers_of_their_own_micro_batch():
    one = run(perceptron(drop=0.5), _settings(6, pipelined=False))
    assert len(np.unique(one.outputs["d2h_loss"])) == len(one.outputs["d2h_loss"])
    assert_equal(run(perceptron(THREE, drop=0.5), _settings(6), 3), one)


@pytest.mark.parametrize("outputs", list(Outputs))
@pytest.mark.parametrize(("blocks", "ipus", "stages"), PIPELINES)
def test_inference_equals_that_of_one_ipu(blocks, ipus, stages, outputs):
    one = _inferred_on_one_ipu(outputs)
    pipelined = Settings(iterations=8, outputs=outputs, period=4, pipelined=True)
    assert_equal(run(perceptron(blocks, training=False), pipelined, ipus, training=False), one)


@pytest.mark.parametrize("outputs", list(Outputs))
def test_outputs_of_training(outputs):
    wanted = {"outputs": outputs, "period": 2}
    one = run(perceptron(), _settings(6, pipelined=False, **wanted))
    assert_equal(run(perceptron(THREE), _settings(6, **wanted), 3), one)


@pytest.mark.parametrize("outputs", [Outputs.ALL, Outputs.FINAL])
def test_observed_gradients_are_those_of_each_micro_batch(outputs):
    observed = tuple(
        Observed(f"seen{number}", f"Gradient___layer{number}.weight", outputs) for number in range(len(THREE))
    )
    one = run(perceptron(), _settings(6, pipelined=False, observed=observed))
    assert_equal(run(perceptron(THREE), _settings(6, observed=observed), 3), one)


def test_values_live_only_at_their_addresses():
    """The address-accurate mode runs each vertex on the bytes of its tile. It sums in another order than whole-array
    kernels do, so both sides run in it."""
    options = {"popvision.addressAccurate": "true", "debug.verify": "true"}
    one = run(tied_network(), _settings(6, pipelined=False), options=options)
    assert_equal(run(tied_network(THREE), _settings(6), 3, options=options), one)


def _counting_program(blocks: Blocks):
    """A buffer adds up the first block's results; the second block reads them."""
    write = Writer()
    x, target = write.input("x", 4, 12), write.input("target", 4, 12)
    write.at = blocks[0]
    y = write.linear("layer0", x, 12)
    total = write.value(4, 12)
    write.weights.append(Weight("total", total, WeightKind.BUFFER))
    after = write.add("aten.add.Tensor", (4, 12), this=total, other=y, alpha=1)
    write.at = blocks[1]
    program = _with_loss(write, y, target)
    return type(program)(**{**vars(program), "updates": (("total", after),)})


def _with_loss(write: Writer, y, target):
    y = write.linear("layer1", y, 12)
    loss = write.mse(y, target)
    return write.program({"y": y, "loss": loss}, loss)


def test_buffers_are_updated_once_for_each_micro_batch():
    one = run(_counting_program(UNPLACED), _settings(6, pipelined=False))
    assert np.abs(one.weights["total"]).max() > 1
    assert_equal(run(_counting_program(TWO), _settings(6), 2), one)


def _executed(report) -> Counter[str]:
    return Counter(step.program.name for step in report.execution.steps)


def _children(report, name: str) -> list[str]:
    (program,) = (one for one in report.compilation.programs if one.name == name)
    return [child.name for child in program.children]


@pytest.mark.parametrize("accumulation", [6, 7])
@pytest.mark.parametrize(("blocks", "ipus", "stages"), PIPELINES)
def test_the_report_shows_fill_main_and_drain(tmp_path, blocks, ipus, stages, accumulation):
    options = {"autoReport.all": "true", "autoReport.directory": str(tmp_path)}
    settings = Settings(accumulation=accumulation, pipelined=True)
    report = run(perceptron(blocks), settings, ipus, options=options).report
    assert _children(report, "pipeline")[1:4] == ["pipelineFill", "pipelineMain", "pipelineDrain"]
    assert _children(report, "pipelineFill") == ["pipelineCycle"] * (stages - 1)
    assert _children(report, "pipelineMain") == ["pipelineCycle"]
    assert _children(report, "pipelineDrain") == ["pipelineCycle"] * (stages - 1)
    executed = _executed(report)
    # The first stage's counter goes on in each cycle: G + P - 1 of them in each of two runs.
    (counter,) = (name for name in executed if "stage0/stashIndex/next" in name)
    assert executed[counter] == 2 * (accumulation + stages - 1)
    for name in ("layer0/MatMul/addBias/Op/Add", "layer0/ReluGrad/NonLinearityGrad", "layer2/MatMul/addBias/Op/Add"):
        assert executed[name] == 2 * accumulation, name


def test_stages_work_at_the_same_time():
    """Of 6 micro-batches, fill and drain take the most; of 24, three blocks of about equal size at least halve the
    time of sharded execution."""
    for accumulation, share in ((6, 0.7), (24, 0.5)):
        sharded, pipelined = (run(perceptron(THREE), _settings(accumulation, one), 3).cycles for one in (False, True))
        assert pipelined < share * sharded


def test_inference_stages_work_at_the_same_time():
    one = run(perceptron(training=False), Settings(iterations=24), training=False).cycles
    settings = Settings(iterations=24, pipelined=True)
    assert run(perceptron(THREE, training=False), settings, 3, training=False).cycles < 0.7 * one


def test_a_pipeline_of_one_stage_is_no_pipeline():
    one = run(perceptron(), _settings(2, pipelined=False))
    assert_equal(run(perceptron(), _settings(2)), one)


# What is refused


def _refused(program, settings: Settings, ipus: int, training: bool = True) -> str:
    with pytest.raises(PlacementError) as raised:
        lower(program, settings, ipus, training)
    return str(raised.value)


def test_less_accumulation_than_stages_is_refused():
    assert _refused(perceptron(THREE), _settings(4), 3) == (
        "The gradient accumulation is 4, but the pipeline has 5 stages (backward stages included); it must be at least "
        "as large."
    )


def test_fewer_device_iterations_than_stages_are_refused():
    settings = Settings(iterations=2, pipelined=True)
    assert _refused(perceptron(THREE, training=False), settings, 3, training=False) == (
        "The number of device iterations is 2, but the pipeline has 3 stages; it must be at least as large."
    )


def test_a_loss_before_the_last_stage_is_refused():
    write = Writer()
    x, target = write.input("x", 4, 12), write.input("target", 4, 12)
    write.at = (0, 0)
    y = write.linear("layer0", x, 12)
    loss = write.mse(y, target)
    write.at = (1, 1)
    y = write.linear("layer1", y, 12)
    program = write.program({"y": y, "loss": loss}, loss)
    assert _refused(program, _settings(6), 2) == (
        "The loss is in stage 0 of the pipeline; put it into the last one, stage 1, where the backward passes begin."
    )


def test_data_that_flows_to_an_earlier_stage_is_refused():
    message = _refused(perceptron(((0, 0), (1, 1), (0, 0))), _settings(6), 2)
    assert message == (
        "The operator aten.linear.default of module 'layer2' is in stage 0 of the pipeline and needs a result of stage "
        "1; order the blocks so that data flows to later stages only."
    )


def test_a_stage_on_two_ipus_is_refused():
    message = _refused(perceptron(((0, 0), (1, 1), (1, 2))), _settings(6), 3)
    assert message == (
        "Stage 1 of the pipeline has blocks on IPU 1 and on IPU 2; a stage runs on one IPU, so put them on the same or "
        "into stages of their own."
    )
