"""`embedding_ops.embedding_lookup`: rows of a table on the device."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


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
