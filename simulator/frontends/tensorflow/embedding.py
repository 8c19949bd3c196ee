"""`embedding_ops`: rows of a table on the device, and of one that stays on the host.

A table of the host is a NumPy array while it is registered with a session. Each lookup of a program calls the host in
its middle for the rows, and each gradient gives the host their slopes, which SGD takes off the table at once, or after
some mini-batches the sum of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np
import tensorflow as tf

from simulator.arrays import AnyArray
from simulator.base.errors import poplar_error
from simulator.frontends.tensorflow.host_scope import outside_compilation_scope

_v1 = tf.compat.v1


def embedding_lookup(
    params: Any,
    ids: Any,
    name: str | None = None,
    serialization_factor: int = 1,
    one_hot_threshold: int = 0,
    min_encoding_size: int = 1216,
) -> Any:
    """Rows of the tensor `params` by the numbers `ids`, of shape [*ids, *row]. A `serialization_factor` above 1 changes
    memory and no result in upstream, and nothing here; the last two are deprecated there.

    Raises ValueError for a factor that does not divide the number of rows."""
    rows = tf.convert_to_tensor(params)
    factor = int(serialization_factor)
    if factor < 1:
        raise ValueError(f"serialization_factor has to be at least 1, but was {factor}.")
    if rows.shape[0] % factor:
        raise ValueError(
            f"The serialization_factor ({factor}) must divide the size of the 0th dimension of params "
            f"({rows.shape[0]})."
        )
    return tf.gather(rows, ids, name=name or "embedding_lookup")


class HostEmbeddingOptimizerSpec:
    """SGD with a rate, for the rows of a table of the host: the only optimizer that upstream has for them."""

    batches = 1  #: mini-batches whose gradients are added up for an update

    def __init__(self, learning_rate: float, optimizer_name: str | None = None) -> None:
        """Raises poplar_error for another optimizer and for a rate that is no number."""
        if optimizer_name not in (None, "SGD") or not isinstance(learning_rate, int | float):
            raise poplar_error(
                f"HostEmbedding is trained by SGD with a number as its rate here, not by {optimizer_name or 'SGD'} "
                f"with {learning_rate!r}; for others make the table a variable and take embedding_lookup."
            )
        self._rate = float(learning_rate)

    def get_learning_rate(self) -> float:
        return self._rate


class HostEmbeddingSGDGAOptimizerSpec(HostEmbeddingOptimizerSpec):
    """SGD with the sum of the gradients of `accumulation_factor` mini-batches. Mini-batches of an update that is not
    complete when the session's registration ends are dropped, as on the device."""

    def __init__(self, learning_rate: float, accumulation_factor: int) -> None:
        """Raises poplar_error for a factor that is no whole number from 1 on."""
        super().__init__(learning_rate)
        if not isinstance(accumulation_factor, int) or accumulation_factor < 1:
            raise poplar_error(f"accumulation_factor is a whole number from 1 on, but it is {accumulation_factor!r}.")
        self.batches = accumulation_factor

    def get_accumulation_factor(self) -> int:
        return self.batches


class HostEmbedding:
    """A table [rows, width] that stays on the host. Its values are the session's variable outside `register`."""

    def __init__(
        self,
        name: str,
        embedding_tensor: Any,
        partition_strategy: str = "TOKEN",
        optimizer_spec: HostEmbeddingOptimizerSpec | None = None,
    ) -> None:
        """Without `optimizer_spec` it is not trained. `partition_strategy`, TOKEN or ENCODING, says how replicas
        share a table; there is one. Raises ValueError for what is no variable of two dimensions, no optimizer and no
        strategy."""
        if optimizer_spec is not None and not isinstance(optimizer_spec, HostEmbeddingOptimizerSpec):
            raise ValueError("HostEmbedding optimizer_spec is not a HostEmbeddingOptimizerSpec or None")
        if partition_strategy not in ("TOKEN", "ENCODING"):
            raise ValueError(f"Unknown partition strategy {partition_strategy}")
        if len(getattr(embedding_tensor, "shape", ())) != 2 or not hasattr(embedding_tensor, "load"):
            raise ValueError(f"The table of the HostEmbedding '{name}' is a variable of two dimensions.")
        self._name, self._variable, self._spec = name, embedding_tensor, optimizer_spec
        self._table: AnyArray | None = None
        self._waiting: list[tuple[AnyArray, AnyArray]] = []  #: (rows, slopes) of mini-batches of the next update

    def get_embedding_tensor(self) -> Any:
        """The variable of the session."""
        return self._variable

    def __call__(self, *arguments: Any, **named: Any) -> NoReturn:
        """Raises poplar_error: sessions register the table."""
        raise poplar_error(
            f"The HostEmbedding '{self._name}' is no operation to fetch here; run the session in "
            "`with embedding.register(session):`."
        )

    @contextmanager
    def register(self, session: Any) -> Iterator[None]:
        """Programs that the session runs within look rows up; then the session's variable gets the table."""
        self._table = np.array(session.run(self._variable))
        try:
            yield
        finally:
            self._variable.load(self._table, session)
            self._table = None
            self._waiting.clear()

    def lookup(self, indices: Any, clip_indices: bool = True) -> Any:
        """Rows by the numbers `indices`, [*indices, width], in a function for the device. With `clip_indices` numbers
        beyond the table are those of its ends."""
        rows, width = self._variable.shape.as_list()
        numbers = tf.clip_by_value(indices, 0, rows - 1) if clip_indices else indices
        shape = [*indices.shape.as_list(), width]
        dtype = self._variable.dtype.base_dtype
        if self._spec is None:
            return self._rows(numbers, shape, dtype)
        with _v1.variable_scope(self._name, reuse=_v1.AUTO_REUSE):
            # Gradients of the loss reach the lookup on the way to this variable.
            anchor = _v1.get_variable("__dummy", [], dtype, _v1.zeros_initializer(), use_resource=True)

        @tf.custom_gradient
        def trained(_: Any) -> Any:
            def gradient(slope: Any) -> Any:
                with outside_compilation_scope():
                    done = tf.numpy_function(self._descend, [numbers, slope], dtype)
                    done.set_shape([])
                return done

            return self._rows(numbers, shape, dtype), gradient

        return trained(anchor.read_value())

    def _rows(self, numbers: Any, shape: list[int], dtype: Any) -> Any:
        with outside_compilation_scope():
            rows = tf.numpy_function(lambda given: self._registered()[given], [numbers], dtype)
            rows.set_shape(shape)
        return rows

    def _descend(self, numbers: AnyArray, slope: AnyArray) -> AnyArray:
        assert self._spec is not None
        table = self._registered()
        self._waiting.append((numbers, slope))
        if len(self._waiting) == self._spec.batches:
            for rows, slopes in self._waiting:
                np.subtract.at(table, rows, (self._spec.get_learning_rate() * slopes).astype(table.dtype))
            self._waiting.clear()
        return np.zeros((), table.dtype)

    def _registered(self) -> AnyArray:
        if self._table is None:
            raise poplar_error(
                f"The HostEmbedding '{self._name}' is not registered; run the session in "
                "`with embedding.register(session):`."
            )
        return self._table


def create_host_embedding(
    name: str,
    shape: Any,
    dtype: Any,
    partition_strategy: str = "TOKEN",
    optimizer_spec: HostEmbeddingOptimizerSpec | None = None,
    initializer: Any = None,
) -> HostEmbedding:
    """A table of the host with a variable of its own."""
    with tf.device("cpu"):
        variable = _v1.get_variable(name, shape, dtype, initializer, trainable=False, use_resource=True)
    return HostEmbedding(name, variable, partition_strategy, optimizer_spec)
