"""Metadata of QUARTER streams on the host: the user's objects that hold it, by stream and replica."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulator.base.errors import tensor_metadata_error
from simulator.base.quarter import QuarterMetadata
from simulator.base.types import Type
from simulator.runtime.host.stream_callback import StreamCallback, StreamCallbackHandle, StreamCallbackWithMetadata


def is_metadata(given: Any) -> bool:
    """True for metadata, or a list of it, one per replica."""
    if isinstance(given, list | tuple):
        return bool(given) and all(isinstance(part, QuarterMetadata) for part in given)
    return isinstance(given, QuarterMetadata)


class QuarterEnds:
    """Metadata of streams, `replicas` objects for each."""

    def __init__(self, replicas: int) -> None:
        self._replicas = replicas
        self._known: dict[str, Sequence[QuarterMetadata]] = {}
        self._made: dict[str, Sequence[QuarterMetadata]] = {}  #: for callbacks

    def connect(self, handle: str, type_: Type, metadata: Any) -> None:
        """Connect the objects of a stream. Raises tensor_metadata_error for missing or superfluous objects, and where
        their number differs from that of the replicas."""
        what = f"Stream '{handle}'"
        given = checked(what, type_, metadata)
        if given is not None:
            objects = given if isinstance(given, list | tuple) else [given]
            if len(objects) != self._replicas:
                raise tensor_metadata_error(
                    f"{what} has {self._replicas} replicas, but {len(objects)} metadata objects were given."
                )
            self._known[handle] = objects

    def metadata_of_callbacks(self, handle: str, type_: Type, callback: Any, shared: bool) -> Sequence[QuarterMetadata]:
        """The objects in which callbacks of a stream leave their metadata, one per replica or one for all; none where
        the type has no metadata. Raises tensor_metadata_error for a callback of the other kind."""
        callback = callback.callback if isinstance(callback, StreamCallbackHandle) else callback
        with_metadata = isinstance(callback, StreamCallbackWithMetadata)
        if with_metadata and not type_.requiresMetadata():
            raise tensor_metadata_error(
                f"Stream '{handle}' holds {type_}, which has no metadata; derive {type(callback).__name__} from "
                "StreamCallback."
            )
        if isinstance(callback, StreamCallback) and type_.requiresMetadata() and not with_metadata:
            raise tensor_metadata_error(
                f"Stream '{handle}' holds {type_}; derive {type(callback).__name__} from StreamCallbackWithMetadata."
            )
        if not type_.requiresMetadata():
            return ()
        if handle not in self._made:
            one = QuarterMetadata()
            self._made[handle] = [one if shared else QuarterMetadata() for _ in range(self._replicas)]
        self._known[handle] = self._made[handle]
        return self._made[handle]

    def get(self, handle: str, replica: int) -> int:
        """The metadata byte of a transfer to the device."""
        return self._connected(handle, replica).getBinary()

    def put(self, handle: str, replica: int, byte: int) -> None:
        """Store the metadata byte of a transfer from the device."""
        self._connected(handle, replica).set(QuarterMetadata(byte))

    def _connected(self, handle: str, replica: int) -> QuarterMetadata:
        if handle not in self._known:
            raise tensor_metadata_error(
                f"Stream '{handle}' moves quarter values, but no metadata is connected; give it to connectStream."
            )
        return self._known[handle][replica]


def checked(what: str, type_: Type, metadata: Any) -> Any:
    """The metadata given for a stream or tensor of this type. Raises tensor_metadata_error where it is missing or
    superfluous."""
    if type_.requiresMetadata() and metadata is None:
        raise tensor_metadata_error(f"{what} holds {type_}: give a QuarterMetadata in front of the buffer.")
    if not type_.requiresMetadata() and metadata is not None:
        raise tensor_metadata_error(f"{what} holds {type_}, which has no metadata; leave {metadata!r} out.")
    return metadata
