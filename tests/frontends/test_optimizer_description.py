"""Neutral descriptions of optimizers: names, variables, and what a compiled program accepts in exchange."""

from dataclasses import replace

import pytest

from simulator.frontends.optimizer import VALUES, Group, Optimizer, Rule, Setting, refused_replacements


def sgd(rate: float = 0.1, momentum: float = 0.9, constant_momentum: bool = True) -> Optimizer:
    numbers = {"learning_rate": rate, "momentum": momentum, "dampening": 0.0, "weight_decay": 0.0}
    values = {name: Setting(value, constant_momentum and name != "learning_rate") for name, value in numbers.items()}
    values["velocity_scaling"] = Setting(1.0, True)
    return Optimizer(Rule.SGD, (Group(("weight", "bias"), values),))


def test_variables_are_what_is_streamed():
    assert sgd(0.1).variables() == {"0.learning_rate": 0.1}
    assert set(sgd(constant_momentum=False).variables()) == {
        "0.learning_rate",
        "0.momentum",
        "0.dampening",
        "0.weight_decay",
    }


def test_a_parameter_belongs_to_one_group_or_none():
    assert sgd().group_of("bias") == 0
    assert sgd().group_of("other") is None


def test_values_must_be_those_of_the_rule():
    with pytest.raises(ValueError, match="A group of adam has values"):
        Optimizer(Rule.ADAM, sgd().groups)


def test_state_types_are_checked():
    with pytest.raises(ValueError, match="accumulator_type is 'float64'"):
        replace(sgd(), accumulator_type="float64")


def test_a_variable_may_change_and_a_constant_may_not():
    assert refused_replacements(sgd(0.1), sgd(0.01)) == []
    (sentence,) = refused_replacements(sgd(), sgd(momentum=0.5))
    assert sentence == "0.momentum is compiled in as the constant 0.9 and cannot become 0.5."
    assert "cannot become a variable" in refused_replacements(sgd(), sgd(constant_momentum=False))[0]


def test_another_rule_or_other_groups_are_refused():
    other = Optimizer(Rule.ADAM, (Group(("weight", "bias"), {name: Setting(0.1, True) for name in VALUES[Rule.ADAM]}),))
    assert "compiled for sgd, the new optimizer is adam" in refused_replacements(sgd(), other)[0]
    fewer = replace(sgd(), groups=(replace(sgd().groups[0], parameters=("weight",)),))
    assert "other groups" in refused_replacements(sgd(), fewer)[0]


def test_what_holds_for_all_groups_is_compiled_in():
    (sentence,) = refused_replacements(sgd(), replace(sgd(), max_grad_norm=1.0))
    assert sentence == "max_grad_norm is compiled in as inf and cannot become 1.0."
