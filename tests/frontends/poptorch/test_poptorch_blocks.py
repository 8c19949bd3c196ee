"""Blocks and strategies: which operators of a captured module belong to which block, stage and IPU."""

import pytest
import torch

from simulator.frontends import poptorch
from simulator.frontends.capture.modules import capture
from simulator.frontends.poptorch.blocks import capturing
from simulator.frontends.poptorch.strategies import PipelinedExecution, ShardedExecution, Stage


class Two(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

    def forward(self, x):
        with poptorch.Block("A", ipu_id=0):
            x = torch.relu(self.first(x))
        with poptorch.Block("B", ipu_id=1):
            x = torch.tanh(self.second(x))
        return x.sum()


def marked(module, strategy, *inputs):
    """(operator, block, stage, IPU) of each operator, and the capture's record."""
    with capturing(strategy) as record:
        program = capture(module, inputs, {}, training=False).program
    rows = [
        (one.name.split(".")[1], *(one.place.annotations.get(key) for key in ("ipu_block", "ipu_stage", "ipu")))
        for one in program.operators
    ]
    return rows, record


def test_operators_inside_a_block_are_marked_and_others_are_not():
    rows, record = marked(Two(), PipelinedExecution(), torch.ones(2, 3))
    assert rows == [
        ("linear", "A", 0, 0),
        ("relu", "A", 0, 0),
        ("linear", "B", 1, 1),
        ("tanh", "B", 1, 1),
        ("sum", None, None, None),
    ]
    assert record.ipus == 2


def test_a_strategy_with_stages_chooses_the_ipu():
    rows, record = marked(Two(), ShardedExecution(Stage("A").ipu(2), Stage("B").ipu(0)), torch.ones(2, 3))
    assert [row[1:] for row in rows[:3:2]] == [("A", 0, 2), ("B", 1, 0)]
    assert record.ipus == 3


def test_blocks_may_share_a_stage():
    rows, _ = marked(Two(), PipelinedExecution(["A", "B"]), torch.ones(2, 3))
    assert {row[2] for row in rows[:4]} == {0}


def test_the_next_stage_where_stages_count_up():
    class Back(torch.nn.Module):
        def forward(self, x):
            poptorch.Block.useAutoId()
            for ipu in (0, 1, 0):
                with poptorch.Block(ipu_id=ipu):
                    x = torch.relu(x)
            return x

    rows, _ = marked(Back(), PipelinedExecution(poptorch.AutoStage.AutoIncrement), torch.ones(2))
    assert [row[1:] for row in rows] == [("0", 0, 0), ("1", 1, 1), ("2", 2, 0)]
    rows, _ = marked(Back(), PipelinedExecution(poptorch.AutoStage.SameAsIpu), torch.ones(2))
    assert [row[1:] for row in rows] == [("0", 0, 0), ("1", 1, 1), ("2", 0, 0)]


def test_begin_block_lasts_until_the_next():
    network = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 2), torch.nn.Tanh())
    poptorch.BeginBlock(network[0], "front", ipu_id=0)
    poptorch.BeginBlock(network[2], "back", ipu_id=1)
    rows, _ = marked(network, PipelinedExecution(), torch.ones(1, 2))
    assert [row[1] for row in rows] == ["front", "front", "back", "back"]
    with pytest.raises(poptorch.Error, match="already been assigned"):
        poptorch.BeginBlock(network[0], "other")
    poptorch.removeBlocks(network)
    rows, _ = marked(network, PipelinedExecution(), torch.ones(1, 2))
    assert [row[1] for row in rows] == [None] * 4


def test_functions_may_be_blocks():
    class Functions(torch.nn.Module):
        @poptorch.BlockFunction("decorated", ipu_id=1)
        def part(self, x):
            return torch.relu(x)

        def forward(self, x):
            return self.begun(self.part(x))

        begun = staticmethod(poptorch.BeginBlock(lambda x: torch.tanh(x), "begun", ipu_id=0))

    rows, _ = marked(Functions(), PipelinedExecution(), torch.ones(2))
    assert rows == [("relu", "decorated", 1, 1), ("tanh", "begun", 0, 0)]


def test_a_capture_leaves_no_mark_for_the_next():
    class Begun(torch.nn.Module):
        def forward(self, x):
            poptorch.Block.start("lasting", ipu_id=0)
            return torch.relu(x)

    marked(Begun(), PipelinedExecution(), torch.ones(2))
    rows, _ = marked(torch.nn.ReLU(), PipelinedExecution(), torch.ones(2))
    assert rows == [("relu", None, None, None)]


def test_unknown_and_unplaced_blocks_are_refused():
    with pytest.raises(Exception, match=r"Unknown Block 'B' list of expected Blocks: \['A'\]"):
        marked(Two(), PipelinedExecution("A"), torch.ones(2, 3))
    with pytest.raises(AssertionError, match="A associated with more than one stage"):
        PipelinedExecution("A", Stage("A"))
    with pytest.raises(AssertionError, match="no IPU was specified for block Q"):
        PipelinedExecution().placement("Q", None, {})
    with pytest.raises(AssertionError, match="from 0 on, not -1"):
        Stage("A").ipu(-1)


def test_outside_a_capture_blocks_do_nothing():
    torch.manual_seed(0)
    module, x = Two(), torch.ones(2, 3)
    expected = torch.tanh(module.second(torch.relu(module.first(x)))).sum()
    assert torch.equal(module(x), expected)
    assert not poptorch.isRunningOnIpu()
    with capturing(PipelinedExecution()):
        assert poptorch.isRunningOnIpu()
        with pytest.raises(RuntimeError, match="capture is running already"), capturing(PipelinedExecution()):
            pass


def test_name_scopes_nest():
    class Scoped(torch.nn.Module):
        def forward(self, x):
            with poptorch.NameScope("outer"):
                x = torch.relu(x)
                with poptorch.NameScope("inner"):
                    return torch.tanh(x)

    with capturing(PipelinedExecution()):
        program = capture(Scoped(), (torch.ones(2),), {}, training=False).program
    assert [one.place.annotations.get("name_scope") for one in program.operators] == ["outer", "outer/inner"]
