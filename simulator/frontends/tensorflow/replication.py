"""Replicas of a program: how many the IPUs of the device hold, and sums over them.

A program that takes or gives elements of queues is replicated: each replica takes the next element, and weights stay
equal where their gradients are summed over all replicas (`CrossReplicaOptimizer`). One that changes variables without
such a sum would let them drift apart, so it runs once, and a line says so.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from simulator.base.errors import poplar_error
from simulator.frontends.captured import Program, operators_within
from simulator.frontends.lowering.shards import ipus_of
from simulator.frontends.lowering.tensorflow.host_transfers import transfers
from simulator.frontends.tensorflow.host_calls import CrossReplicaSum, calling


def cross_replica_sum(x: Any, replica_group_size: int | None = None, name: str | None = None) -> Any:
    """The sum of a tensor over all replicas, or over each group of successive ones; outside a program on the device the
    tensor itself. Its gradient is the sum of gradients."""
    return _combined(x, CrossReplicaSum(replica_group_size, False), name)


def cross_replica_mean(x: Any, replica_group_size: int | None = None, name: str | None = None) -> Any:
    """The mean of a tensor over replicas, as `cross_replica_sum`."""
    return _combined(x, CrossReplicaSum(replica_group_size, True), name)


def _combined(x: Any, meaning: CrossReplicaSum, name: str | None) -> Any:
    if tf.executing_eagerly():
        return tf.identity(x)

    @tf.custom_gradient
    def combined(value: Any) -> Any:
        [result] = calling(meaning, lambda array: array, [value], [value.dtype], name or "cross_replica_sum")
        result.set_shape(value.shape)
        return result, lambda slope: _combined(slope, meaning, name)

    return combined(tf.convert_to_tensor(x))


def replicas_of(program: Program, ipus: int) -> int:
    """The replicas that a device of so many IPUs runs of a program. Raises poplar_error where those of one replica do
    not divide them."""
    names = {one.name for one in transfers(program.operators)}
    if not names or "tf.HostCall" in names or not (_is_summed(program) or not program.updates):
        return 1
    used = ipus_of(program)
    if ipus % used:
        raise poplar_error(
            f"A replica of the program takes {used} IPUs, which do not divide the {ipus} IPUs of the device; configure "
            "a multiple (auto_select_ipus)."
        )
    return ipus // used


def why_not_replicated(program: Program) -> str:
    """Why a program runs once on a device that could hold replicas of it."""
    names = {one.name for one in transfers(program.operators)}
    if not names:
        return "it takes no elements of a queue; a batch that is as many times as large gives what replicas would"
    if "tf.HostCall" in names:
        return "parts of it run on the host"
    return "it changes variables without a sum over replicas; wrap its optimizer in CrossReplicaOptimizer"


def _is_summed(program: Program) -> bool:
    return any(one.name == "tf.CrossReplicaSum" for one in operators_within(program.operators))
