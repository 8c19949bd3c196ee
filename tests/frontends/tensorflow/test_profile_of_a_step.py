"""The profile of a training step names compute sets after the layers of the model."""

from pathlib import Path

import keras
import tensorflow as tf

from popvision import pva
from popvision.analysis.execution.once import set_apart
from popvision.analysis.report.source import ReportSource
from simulator.frontends.tensorflow.capture.lowered_function import lower_function
from simulator.frontends.tensorflow.device_function import DeviceFunction
from simulator.frontends.tensorflow.device_variables import installed
from simulator.poplar import compileGraph
from tests.frontends.tensorflow.tensorflow_twin import captured, device, numbers


def test_compute_sets_bear_layers_and_gradients_those_of_their_layer(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="first")], name="net")
    model.compile(optimizer="sgd", loss="mse")

    def step(x: tf.Tensor, y: tf.Tensor) -> dict[str, tf.Tensor]:
        return model.train_step((x, y))

    x, y = numbers(2, 4), numbers(2, 3)
    program = captured(step, x, y)
    lowered = lower_function(program, device().getTarget())
    options = {"autoReport.all": "true", "autoReport.directory": str(tmp_path)}
    executable = compileGraph(lowered.graph, list(lowered.programs), options)
    loaded = DeviceFunction(program, executable, lowered.interface, options, installed())
    loaded.load(device())
    loaded.run([x, y])
    loaded.close()
    names = {one.name for one in pva.openReport(str(tmp_path / "profile.pop")).compilation.computeSets}
    assert "net/first/MatMul/matmulGrouped/Conv_1/Convolve" in names
    assert "net/first/MatMulGrad/matmulGrouped/Conv_1/Convolve" in names
    assert "net/first/BiasAddGrad/ReduceSum/Reduce" in names
    assert any(one.startswith("compile_loss/mse/") for one in names)
    apart = set_apart(ReportSource(tmp_path))
    assert {"weightsFromHost", "randomSeedFromHost"} <= set(apart.cycles)
    assert not apart.runs.all()
