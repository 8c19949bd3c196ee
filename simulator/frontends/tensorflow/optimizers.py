"""Optimisers of TensorFlow 1 that wrap another one: gradients that several mini-batches add up, and gradients that a
function changes.

The wrapped optimiser does the updates; sums of gradients are variables of the session, and a branch of the program
updates weights after the last mini-batch. Those for replicas take the mean of their gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import tensorflow as tf
from tensorflow.python.training.optimizer import Optimizer

from simulator.base.errors import poplar_error
from simulator.frontends.tensorflow.replication import cross_replica_mean

_v1 = tf.compat.v1


class GradientAccumulationReductionMethod(Enum):
    """What becomes of the gradients of the mini-batches of an update."""

    SUM = 0
    MEAN = 1
    RUNNING_MEAN = 2


class IpuOptimizer(Optimizer):
    """An optimiser that asks another one for all that it does not change."""

    def __init__(self, opt: Any, name: str | None = None) -> None:
        """Raises TypeError for what is no optimiser of TensorFlow 1."""
        if not isinstance(opt, Optimizer):
            raise TypeError(
                f"{type(self).__name__} wraps optimizers of tf.compat.v1.train, not {type(opt).__name__}; Keras models "
                "take set_gradient_accumulation_options."
            )
        super().__init__(False, name or type(self).__name__)
        self._opt = opt

    def compute_gradients(self, loss: Any, var_list: Any = None, **options: Any) -> Any:
        return self._opt.compute_gradients(loss, var_list=var_list, **options)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        return self._opt.apply_gradients(grads_and_vars, global_step, name)

    def _create_slots(self, var_list: Any) -> None:
        self._opt._create_slots(var_list)

    def get_slot(self, var: Any, name: str) -> Any:
        return self._opt.get_slot(var, name)

    def get_slot_names(self) -> Any:
        return self._opt.get_slot_names()

    def variables(self) -> Any:
        return self._opt.variables()


class CrossReplicaOptimizer(IpuOptimizer):
    """The wrapped optimiser gets the means of gradients over all replicas."""

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        means = [(None if one is None else cross_replica_mean(one), variable) for one, variable in grads_and_vars]
        return super().apply_gradients(means, global_step, name)


class ShardedOptimizer(IpuOptimizer):
    """The wrapped optimiser: gradients and updates go to the IPU of what they belong to in any case."""


class MapGradientOptimizer(IpuOptimizer):
    """Gradients are what a function of gradient and variable gives."""

    def __init__(
        self,
        wrapped_optimizer: Any,
        gradient_mapping_function: Callable[[Any, Any], Any],
        name: str = "MapGradientOptimizer",
    ) -> None:
        super().__init__(wrapped_optimizer, name)
        self._function = gradient_mapping_function

    def compute_gradients(self, loss: Any, var_list: Any = None, **options: Any) -> Any:
        """(gradient, variable) with the changed gradients; one that is None stays None."""
        computed = super().compute_gradients(loss, var_list, **options)
        return [(None if one is None else self._function(one, variable), variable) for one, variable in computed]


class GradientAccumulationOptimizerV2(IpuOptimizer):
    """Gradients of `num_mini_batches` calls are added up, then the wrapped optimiser updates the weights."""

    def __init__(
        self,
        opt: Any,
        num_mini_batches: int,
        offload_weight_update_variables: bool | None = None,
        replicated_optimizer_state_sharding: bool = False,
        dtype: Any = None,
        reduction_method: Any = GradientAccumulationReductionMethod.SUM,
        name: str = "GradientAccumulationOptimizerV2",
    ) -> None:
        """`dtype`: of the sums, or a function of the variable that gives it; None for that of the gradient.

        Raises ValueError for a number below 1, poplar_error for offloaded or sharded variables and a running mean."""
        super().__init__(opt, name)
        if num_mini_batches < 1:
            raise ValueError("num_mini_batches must be a positive number.")
        if offload_weight_update_variables or replicated_optimizer_state_sharding:
            raise poplar_error(
                f"{name} keeps all variables on the chip of one replica here; leave offload_weight_update_variables "
                "and replicated_optimizer_state_sharding out."
            )
        reduction = str(getattr(reduction_method, "name", reduction_method)).upper()
        if reduction not in ("SUM", "MEAN"):
            raise poplar_error(f"{name} cannot reduce gradients by {reduction} here; take SUM or MEAN.")
        self._batches, self._dtype = num_mini_batches, dtype
        self._scale = 1.0 / num_mini_batches if reduction == "MEAN" else 1.0

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """The operation that adds gradients up and, with the last of the mini-batches, updates."""
        given = [(tf.convert_to_tensor(one), variable) for one, variable in grads_and_vars if one is not None]
        variables = [variable for _, variable in given]
        sums = [self._sum_of(variable, gradient) for gradient, variable in given]
        count = _v1.get_variable(
            f"{self._name}/count", [], tf.int32, _v1.zeros_initializer(), trainable=False, use_resource=True
        )
        self._opt._create_slots(variables)
        added = [
            one.assign_add(tf.cast(gradient, one.dtype) * tf.cast(self._scale, one.dtype), read_value=False)
            for one, (gradient, _) in zip(sums, given, strict=True)
        ]
        with tf.control_dependencies(added):
            number = count.assign_add(1)

        def update() -> Any:
            gradients = [one.read_value() for one in sums]
            applied = self._opt.apply_gradients(list(zip(gradients, variables, strict=True)), global_step, name)
            with tf.control_dependencies([applied]):
                zeroed = [one.assign(tf.zeros_like(one), read_value=False) for one in (*sums, count)]
            with tf.control_dependencies(zeroed):
                return tf.constant(True)

        return tf.cond(tf.equal(number, self._batches), update, lambda: tf.constant(False)).op

    def _sum_of(self, variable: Any, gradient: Any) -> Any:
        wanted = self._dtype(variable) if callable(self._dtype) else self._dtype
        return _v1.get_variable(
            f"{self._name}/{variable.op.name}",
            variable.shape,
            gradient.dtype if wanted is None else wanted,
            _v1.zeros_initializer(),
            trainable=False,
            use_resource=True,
        )


class GradientAccumulationOptimizer(GradientAccumulationOptimizerV2):
    """The first form, for gradient descent with or without momentum."""

    def __init__(
        self, opt: Any, num_mini_batches: int, verify_usage: bool = True, name: str = "GradientAccumulationOptimizer"
    ) -> None:
        """Raises ValueError for other optimisers, unless `verify_usage` is off."""
        super().__init__(opt, num_mini_batches, name=name)
        usual = (_v1.train.GradientDescentOptimizer, _v1.train.MomentumOptimizer, IpuOptimizer)
        if verify_usage and not isinstance(opt, usual):
            raise ValueError(f"{name} takes gradient descent or momentum, not {type(opt).__name__}; take its V2.")


class CrossReplicaGradientAccumulationOptimizerV2(GradientAccumulationOptimizerV2):
    """The same for replicas: the wrapped optimiser gets the means of the sums over all of them."""

    def __init__(self, opt: Any, num_mini_batches: int, *options: Any, **named: Any) -> None:
        named.setdefault("name", "CrossReplicaGradientAccumulationOptimizerV2")
        super().__init__(CrossReplicaOptimizer(opt), num_mini_batches, *options, **named)


class CrossReplicaGradientAccumulationOptimizer(GradientAccumulationOptimizer):
    """The first form for replicas."""

    def __init__(self, opt: Any, num_mini_batches: int, verify_usage: bool = True, name: str | None = None) -> None:
        super().__init__(opt, num_mini_batches, verify_usage, name or "CrossReplicaGradientAccumulationOptimizer")
        self._opt = CrossReplicaOptimizer(opt)
