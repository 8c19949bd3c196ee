"""Errors of TensorFlow's driver: its exception types and words for what Poplar and the device connection raise.

`[Poplar][Compile engine] invalid_option: ...` is tf.errors.InternalError, and so are all errors of Poplar.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import tensorflow as tf

from simulator.base.errors import poplar_error, runtime_error
from simulator.frontends.session.connection import CompilationOnlyError, DeviceUnavailableError

_DEVICE = "TensorFlow virtual device /device:IPU:0"


@contextmanager
def as_tensorflow(origin: str) -> Iterator[None]:
    """Raise errors of Poplar as tf.errors.InternalError; `origin` says where they happened, such as "Load engine"."""
    try:
        yield
    except poplar_error as error:
        prefix = f"[Poplar][{origin}] {type(error).__name__}: "
        reset = isinstance(error, runtime_error)
        action = "[Recovery action: IPU_RESET] " if reset else ""
        end = " IPU will be reset the next time a program is executed." if reset else ""
        raise tf.errors.InternalError(None, None, f"{prefix}{action}{error}{end}") from error


def no_such_device(ipus: int, error: DeviceUnavailableError) -> tf.errors.OpError:
    """The system has no device of this size."""
    return tf.errors.FailedPreconditionError(
        None,
        None,
        f"Unsupported number of IPUs requested - could not find an IPU device with {ipus} IPUs for the {_DEVICE}. "
        f"{error}",
    )


def no_free_device(ipus: int, device_id: int | None, error: DeviceUnavailableError) -> tf.errors.OpError:
    """ALWAYS gets no device."""
    return tf.errors.InternalError(
        None,
        None,
        f"Could not find an available device for {_DEVICE}. This device was expected to have {ipus} IPU(s). Common "
        "causes of this error include: incorrect configuration of your V-IPU partition, and another process that has "
        f"attached the device. {_not_attached(device_id)}{error}",
    )


def waited_too_long(device_id: int | None, error: DeviceUnavailableError) -> tf.errors.OpError:
    """ON_DEMAND gets no device in time."""
    return tf.errors.InternalError(
        None,
        None,
        f"Timed out trying to find an available device for {_DEVICE}. {_not_attached(device_id)}{error}",
    )


def _not_attached(device_id: int | None) -> str:
    """What the driver of the SDKs before 2.2 says where `select_ipus` names the device."""
    return "" if device_id is None else f"Could not attach to requested device configuration index {device_id}. "


def compilation_only(error: CompilationOnlyError) -> tf.errors.OpError:
    """NEVER runs nothing."""
    return tf.errors.InvalidArgumentError(None, None, str(error))
