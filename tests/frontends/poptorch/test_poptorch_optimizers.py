"""poptorch.optim in PyTorch, variables and constants, saved states, and descriptions for lowering."""

import copy
import pickle

import pytest
import torch

from simulator.frontends import poptorch
from simulator.frontends.optimizer import Rule, Setting, refused_replacements
from simulator.frontends.poptorch import Options, optim
from simulator.frontends.poptorch.optimizers.description import AttributeWatch, describe_optimizer
from tests.frontends.poptorch.model_options import options

PAIRS = [
    (optim.SGD, torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}),
    (optim.Adam, torch.optim.Adam, {"lr": 0.1, "betas": (0.8, 0.9)}),
    (optim.AdamW, torch.optim.AdamW, {"weight_decay": 0.1}),
    (optim.RMSprop, torch.optim.RMSprop, {"lr": 0.1, "momentum": 0.5, "centered": True}),
]


def module(seed=0):
    torch.manual_seed(seed)
    return torch.nn.Linear(3, 2)


def trained(network, optimizer, steps=3):
    torch.manual_seed(1)
    for _ in range(steps):
        optimizer.zero_grad()
        network(torch.randn(4, 3)).square().sum().backward()
        optimizer.step()
    return [parameter.detach().clone() for parameter in network.parameters()]


@pytest.mark.parametrize(("ours", "theirs", "arguments"), PAIRS)
def test_on_the_host_they_step_as_pytorch_does(ours, theirs, arguments):
    first, second = module(), module()
    assert all(
        map(
            torch.equal,
            trained(first, ours(first.parameters(), loss_scaling=8.0, accum_type=torch.float16, **arguments)),
            trained(second, theirs(second.parameters(), **arguments)),
        )
    )


def test_lamb_follows_its_paper():
    weight = torch.nn.Parameter(torch.tensor([3.0, 4.0], dtype=torch.float64))
    optimizer = optim.LAMB([weight], lr=0.5, weight_decay=0.1, max_weight_norm=2.0)
    weight.grad = torch.tensor([1.0, -2.0], dtype=torch.float64)
    optimizer.step()
    # After one step the corrected averages are g and g*g, so that u = sign(g) + 0.1 w; norm(w) = 5 is cut to 2.
    update = torch.tensor([1 + 0.3, -1 + 0.4], dtype=torch.float64)
    expected = torch.tensor([3.0, 4.0], dtype=torch.float64) - 0.5 * 2 / update.norm() * update
    assert torch.allclose(weight.detach(), expected, rtol=1e-6)


def test_lamb_without_correction_and_without_weights():
    weight = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))
    optimizer = optim.LAMB([weight], lr=1.0, bias_correction=False, weight_decay=0.0)
    weight.grad = torch.tensor([1.0, 4.0], dtype=torch.float64)
    optimizer.step()
    # m = 0.1 g, s = 0.001 g*g; the norm of w is 0, so that the ratio is 1.
    assert torch.allclose(weight.detach(), torch.full((2,), -0.1 / 0.001**0.5, dtype=torch.float64), rtol=1e-6)


def test_given_arguments_are_variables_and_others_constants():
    optimizer = optim.SGD(module().parameters(), lr=0.1, weight_decay=0.0)
    attributes = optimizer.variable_attrs
    assert not attributes.isConstant("lr")
    assert not attributes.isConstant("weight_decay")
    assert attributes.isConstant("momentum")
    attributes.markAsConstant("lr")
    attributes.markAsVariable("momentum")
    assert attributes.isConstant("lr")
    assert not attributes.isConstant("momentum")
    with pytest.raises(AssertionError, match="Unknown attribute rate, allowed values"):
        attributes.markAsVariable("rate")


def test_description_of_sgd():
    network = module()
    description = describe_optimizer(
        optim.SGD(
            [
                {"params": [network.weight], "lr": 0.5},
                {"params": [network.bias], "weight_decay": 0.25},
            ],
            lr=0.1,
            momentum=0.9,
            loss_scaling=128.0,
            accum_type=torch.float16,
            max_grad_norm=2.0,
        ),
        network.named_parameters(),
    )
    assert description.rule is Rule.SGD
    assert [group.parameters for group in description.groups] == [("weight",), ("bias",)]
    assert [group.number("learning_rate") for group in description.groups] == [0.5, 0.1]
    assert description.groups[0].values["momentum"] == Setting(0.9, False)
    assert description.groups[1].values["weight_decay"] == Setting(0.25, True)
    assert description.loss_scaling == Setting(128.0, False)
    assert (description.accumulator_type, description.first_state_type) == ("float16", "float32")
    assert (description.max_grad_norm, description.combined_accumulator) == (2.0, False)


def test_a_combined_accumulator_has_a_velocity_scaling(capsys):
    network = module()
    made = optim.SGD(network.parameters(), lr=0.1, momentum=0.9, use_combined_accum=True, velocity_scaling=4.0)
    description = describe_optimizer(made, network.named_parameters())
    assert description.groups[0].values["velocity_scaling"] == Setting(4.0, False)
    assert description.combined_accumulator
    assert capsys.readouterr().err == ""
    optim.SGD(network.parameters(), lr=0.1, velocity_scaling=4.0)
    assert "velocity_scaling value ignored" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("made", "rule"),
    [
        (lambda p: torch.optim.SGD(p, 0.1), Rule.SGD),
        (lambda p: torch.optim.Adam(p), Rule.ADAM),
        (lambda p: torch.optim.AdamW(p), Rule.ADAMW),
        (lambda p: torch.optim.Adam(p, decoupled_weight_decay=True, weight_decay=0.01), Rule.ADAMW),
        (lambda p: torch.optim.RMSprop(p), Rule.RMSPROP),
        (lambda p: optim.LAMB(p, lr=0.1), Rule.LAMB),
        (lambda p: optim.AdamW(p, lr=0.1), Rule.ADAMW),
    ],
)
def test_defaults_of_torch_are_constants_and_the_rate_a_variable(made, rule):
    network = module()
    description = describe_optimizer(made(network.parameters()), network.named_parameters())
    assert description.rule is rule
    assert list(description.variables()) == ["0.learning_rate"]
    assert description.group_of("bias") == 0


def test_other_values_of_torch_are_variables():
    network = module()
    made = torch.optim.Adam(network.parameters(), betas=(0.8, 0.999), eps=1e-6, weight_decay=0.1)
    variables = describe_optimizer(made, network.named_parameters()).variables()
    assert variables == {
        "0.learning_rate": 1e-3,
        "0.beta1": 0.8,
        "0.beta2": 0.999,
        "0.eps": 1e-6,
        "0.weight_decay": 0.1,
    }


def test_flags_of_the_rules():
    network = module()
    named = dict(network.named_parameters())
    rmsprop = describe_optimizer(optim.RMSprop(named.values(), centered=True, use_tf_variant=True), named)
    assert (rmsprop.centered, rmsprop.tensorflow_variant) == (True, True)
    adamw = describe_optimizer(optim.AdamW(named.values(), bias_correction=False), named)
    assert not adamw.bias_correction


def test_a_scheduler_changes_a_variable_only():
    network = module()
    made = torch.optim.SGD(network.parameters(), 0.1)
    before = describe_optimizer(made, network.named_parameters())
    scheduler = torch.optim.lr_scheduler.StepLR(made, 1, 0.5)
    made.step()
    scheduler.step()
    after = describe_optimizer(made, network.named_parameters())
    assert after.variables() == {"0.learning_rate": 0.05}
    assert refused_replacements(before, after) == []


def test_parameters_that_the_optimizer_lacks_are_in_no_group():
    network = module()
    description = describe_optimizer(torch.optim.SGD([network.bias], 0.1), network.named_parameters())
    assert description.group_of("weight") is None


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (
            lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True),
            "Nesterov momentum is currently not supported",
        ),
        (lambda p: torch.optim.Adam(p, amsgrad=True), "Only non-amsgrad"),
        (lambda p: torch.optim.SGD(p, 0.1, maximize=True), "Only optimizers that minimise"),
        (lambda p: torch.optim.Adagrad(p), "Unsupported optimizer type Adagrad"),
        (lambda p: optim.SGD(p, lr=0.1, max_grad_norm=float("nan")), "max_grad_norm must not be NaN"),
        (
            lambda p: torch.optim.RMSprop([{"params": [one], "centered": n > 0} for n, one in enumerate(p)]),
            "the same value for the 'centered' attribute",
        ),
    ],
)
def test_what_poptorch_does_not_support_is_refused(made, sentence):
    network = module()
    with pytest.raises(ValueError, match=sentence):
        describe_optimizer(made(network.parameters()), network.named_parameters())


def test_state_types_are_checked():
    with pytest.raises(AssertionError, match="accum_type is torch"):
        optim.Adam(module().parameters(), accum_type=torch.float64)


def test_states_of_the_device_are_saved_and_loaded():
    network = module()
    made = optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
    assert not made.has_state()
    made.take_device_state({"velocity.weight": torch.ones(2, 3)}, {"learning_rate": 0.1})
    saved = copy.deepcopy(made.state_dict())
    other = optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
    other.load_state_dict(saved)
    assert other.has_state()
    assert other.ipu_state_is_dirty
    assert torch.equal(other.state_dict()["ipu_state"]["velocity.weight"], torch.ones(2, 3))
    with pytest.raises(RuntimeError, match="Only IPU optimizer states"):
        other.load_state_dict(torch.optim.SGD(network.parameters(), 0.1).state_dict())
    with pytest.raises(RuntimeError, match="because it is empty"):
        other.load_state_dict({})


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam, optim.AdamW, optim.RMSprop, optim.LAMB])
def test_optimizers_are_pickled(kind):
    made = kind(module().parameters(), lr=0.5, loss_scaling=4.0)
    torch.optim.lr_scheduler.StepLR(made, 1)
    again = pickle.loads(pickle.dumps(made))
    assert again.loss_scaling == 4.0
    assert again.param_groups[0]["lr"] == 0.5
    assert not again.variable_attrs.isConstant("lr")
    assert again.variable_attrs.isConstant("weight_decay")


def test_an_optimizer_of_other_weights_is_told(capsys):
    class Loss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = module()

        def forward(self, x):
            return poptorch.identity_loss(self.layer(x), "mean")

    network = Loss()
    for parameters, count in ((module().parameters(), 1), (network.parameters(), 0)):
        model = poptorch.trainingModel(network, options(), torch.optim.SGD(parameters, 0.1))
        model.compile(torch.ones(4, 3))
        told = "The optimizer has none of the module's weights: no step changes them."
        assert capsys.readouterr().err.count(told) == count
        model.destroy()


def test_new_attributes_are_told_once(capsys):
    network = module()
    first, second = (torch.optim.SGD(network.parameters(), 0.1) for _ in range(2))
    second.param_groups[0]["warmup"] = 3
    watch = AttributeWatch(Options())
    watch.check(first)
    watch.check(second)
    watch.check(second)
    assert capsys.readouterr().err.count("Ignoring unexpected group 0 attribute in SGD2 optimizer: ['warmup']") == 1
    second.warmup = 3
    torch.optim.lr_scheduler.StepLR(second, 1)
    watch.check(second)
    told = capsys.readouterr().err
    assert "Ignoring unexpected optimizer attribute in SGD2 optimizer: ['warmup']" in told
    assert "Ignoring unexpected group 0 attribute in SGD2 optimizer: ['warmup', 'initial_lr']" in told
    relaxed = AttributeWatch(Options().relaxOptimizerAttributesChecks())
    relaxed.check(first)
    relaxed.check(second)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("kind", [None, poptorch.optim.SGD, poptorch.optim.Adam, poptorch.optim.LAMB])
def test_a_module_without_weights_has_a_training_model(kind, monkeypatch):
    monkeypatch.setenv("POPVISION_TILES", "4")

    class Mean(torch.nn.Module):
        def forward(self, x):
            return poptorch.identity_loss(x.pow(2), "mean")

    net = Mean()
    options = poptorch.Options().showCompilationProgressBar(False)
    model = poptorch.trainingModel(net, options, kind and kind(net.parameters(), lr=0.1))
    assert float(model(torch.full((3,), 2.0))) == 4.0
    model.destroy()
