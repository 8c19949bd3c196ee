"""Sharded execution: the blocks of a module on several IPUs compute what one IPU computes, each on its own tiles."""

import numpy as np
import pytest

from simulator.frontends.lowering.lowered import Settings
from simulator.frontends.lowering.programs import ModuleLowering
from simulator.frontends.lowering.shards import PlacementError
from simulator.poplar import IPUModel
from tests.frontends.lowering.written_programs import (
    TILES,
    Blocks,
    Writer,
    assert_equal,
    ipus_of_tensor,
    perceptron,
    run,
    tied_network,
)
from tests.frontends.sgd_without_state import sgd_without_state

STEPS = Settings(iterations=2, accumulation=3)
TWO: Blocks = ((0, 0), (1, 1), (1, 1))
FOUR: Blocks = ((0, 3), (1, 1), (2, 2))
BACK_AND_FORTH: Blocks = (None, (1, 1), (2, 0))


@pytest.mark.parametrize(("blocks", "ipus"), [(TWO, 2), (BACK_AND_FORTH, 2), (FOUR, 4)])
@pytest.mark.parametrize("network", [perceptron, tied_network])
def test_several_ipus_compute_what_one_computes(network, blocks, ipus):
    one = run(network(), STEPS)
    assert np.isfinite(one.outputs["d2h_loss"]).all()
    assert_equal(run(network(blocks), STEPS, ipus), one)


def test_several_ipus_draw_the_same_random_numbers_as_one():
    one = run(perceptron(drop=0.5), STEPS)
    assert len(np.unique(one.outputs["d2h_loss"])) == len(one.outputs["d2h_loss"])
    assert_equal(run(perceptron(TWO, drop=0.5), STEPS, 2), one)


def test_inference_on_two_ipus():
    settings = Settings(iterations=4)
    one = run(perceptron(training=False), settings, training=False)
    assert_equal(run(perceptron(TWO, training=False), settings, 2, training=False), one)


def _lowered(program, ipus):
    model = IPUModel()
    model.numIPUs, model.tilesPerIPU = ipus, TILES
    lowering = ModuleLowering(model.createDevice().getTarget(), program, STEPS, sgd_without_state(0.05))
    return lowering, lowering.lower()


def test_every_tensor_lies_on_the_ipu_of_its_block():
    lowering, lowered = _lowered(tied_network(FOUR), 4)
    tape, program = lowering.tape, lowering.captured
    for number, tensor in {**tape.tensors}.items():
        assert ipus_of_tensor(lowered, tensor) == {tape.homes[number].ipu}, number
    for number, slope in tape.slopes.items():
        assert ipus_of_tensor(lowered, slope) <= {tape.homes[number].ipu}, number
    where = {one.name: tape.homes[one.value.number].ipu for one in (*program.weights, *program.inputs)}
    assert where == {
        "x": 3,
        "layer0.weight": 3,
        "layer0.bias": 3,
        "layer1.weight": 1,
        "layer1.bias": 1,
        "layer2.weight": 2,
        "layer2.bias": 2,
        "tied.bias": 2,
        "target": 2,
    }


def test_the_vertices_of_an_operator_lie_on_its_ipu():
    _, lowered = _lowered(perceptron(FOUR), 4)
    store = lowered.graph.store
    modules = {"layer0": 3, "layer1": 1, "layer2": 2, "loss": 2}
    counted = dict.fromkeys(modules, 0)
    for block in store.blocks:
        name = store.compute_set_names[block.compute_set]
        for module, ipu in modules.items():
            if name.startswith(f"{module}/"):
                assert set(block.tiles // TILES) == {ipu}, name
                counted[module] += len(block)
    assert all(counted.values()), counted


def test_a_value_crosses_once_to_each_ipu():
    """The first block's result has two readers on the second IPU."""
    write = Writer()
    x = write.input("x", 4, 12)
    write.at = (0, 0)
    first = write.relu(write.linear("layer0", x, 12))
    write.at = (1, 1)
    joined = write.product(write.linear("layer1", first, 12), write.linear("layer2", first, 12))
    program = write.program({"y": joined}, None)
    model = IPUModel()
    model.numIPUs, model.tilesPerIPU = 2, TILES
    lowered = ModuleLowering(model.createDevice().getTarget(), program, Settings()).lower()
    copies = [name for name in lowered.graph.store.variables.name if "IpuCopy" in name]
    assert copies == ["layer1/MatMul/IpuCopy"]


def test_an_ipu_that_the_device_does_not_have_is_refused():
    with pytest.raises(PlacementError, match=r"use IPU 3, but a replica has 2 IPUs"):
        _lowered(perceptron(FOUR), 2)
