"""IPUConfig: the attributes that configure the IPU system of a TensorFlow process, checked when they are assigned."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, ClassVar

from simulator.frontends.session.connection import ConnectionType as DeviceConnectionType
from simulator.frontends.tensorflow.system import SystemRequest, configure


@dataclass(frozen=True)
class AttributeMetadata:
    """What `get_attribute_metadata` tells of an attribute."""

    name: str
    types: tuple[type, ...]
    default: Any
    doc: str


class _Attributes:
    """Attributes of one category; `_TABLE` has each with its types, its default and its meaning."""

    _PREFIX: ClassVar[str] = ""
    _TABLE: ClassVar[dict[str, AttributeMetadata]] = {}

    def __init__(self) -> None:
        for name, one in self._TABLE.items():
            object.__setattr__(self, name, one.default() if isinstance(one.default, type) else one.default)

    def __setattr__(self, name: str, value: Any) -> None:
        """Raises AttributeError for an unknown name and a category, TypeError for a value of another type."""
        one = self._metadata(name)
        if isinstance(getattr(self, name), _Attributes):
            raise AttributeError(f"'{one.name}' is a category of IPUConfig and cannot be assigned; set its attributes.")
        if not isinstance(value, one.types) or (isinstance(value, bool) and bool not in one.types):
            wanted = " or ".join(kind.__name__ for kind in one.types)
            raise TypeError(f"IPUConfig's '{one.name}' is {value!r} of type {type(value).__name__}; give {wanted}.")
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        """Called for names that are not there."""
        return self._metadata(name)

    def _metadata(self, name: str) -> AttributeMetadata:
        if name in self._TABLE:
            return self._TABLE[name]
        near = get_close_matches(name, self._TABLE, 1)
        hint = f"did you mean '{near[0]}'?" if near else f"it has: {', '.join(self._TABLE)}."
        raise AttributeError(f"IPUConfig has no attribute '{self._PREFIX}{name}' in this simulator; {hint}")


def _table(prefix: str, *rows: tuple[str, tuple[type, ...], Any, str]) -> dict[str, AttributeMetadata]:
    return {name: AttributeMetadata(prefix + name, types, default, doc) for name, types, default, doc in rows}


class _DeviceConnection(_Attributes):
    _PREFIX = "device_connection."
    _TABLE = _table(
        "device_connection.",
        ("type", (DeviceConnectionType,), DeviceConnectionType.ALWAYS, "When the device is attached."),
        (
            "version",
            (str,),
            "",
            "'ipu1', 'ipu2' or 'ipu21': the target of programs that are compiled without a device.",
        ),
        ("enable_remote_buffers", (bool,), False, "Whether the absent device is taken to support remote buffers."),
    )


class IPUConfig(_Attributes):
    """The configuration of the IPU system, in force after `configure_ipu_system()`."""

    _TABLE = _table(
        "",
        ("auto_select_ipus", (int,), 1, "The number of IPUs of the device; any free device of that size."),
        ("select_ipus", (int,), -1, "The id of the device, of the size that it has; -1: the device is selected."),
        ("compilation_poplar_options", (dict,), dict, "Engine options of Poplar."),
        ("device_connection", (_DeviceConnection,), _DeviceConnection, "How the device is attached."),
    )
    auto_select_ipus: int
    select_ipus: int
    compilation_poplar_options: dict[str, str]
    device_connection: Any

    def get_attribute_metadata(self, name: str) -> AttributeMetadata:
        """Types, default and meaning of an attribute such as 'device_connection.type'. Raises AttributeError."""
        category, _, rest = name.rpartition(".")
        owner: _Attributes = getattr(self, category) if category else self
        return owner._metadata(rest)

    def configure_ipu_system(self, device: str = "cpu") -> None:
        """Put the configuration into force; type ALWAYS attaches the device now. `device` is TensorFlow's and must be
        "cpu". Raises ValueError where the type needs a version."""
        if device != "cpu":
            raise ValueError(f"configure_ipu_system runs on the device 'cpu', not on {device!r}.")
        connection = self.device_connection
        if connection.type in (DeviceConnectionType.NEVER, DeviceConnectionType.PRE_COMPILE) and not connection.version:
            raise ValueError(
                "device_connection.version must be set when device_connection.type is DeviceConnectionType.NEVER or "
                "DeviceConnectionType.PRE_COMPILE"
            )
        configure(
            SystemRequest(
                connection.type,
                self.auto_select_ipus,
                None if self.select_ipus < 0 else self.select_ipus,
                connection.version,
                connection.enable_remote_buffers,
                dict(self.compilation_poplar_options),
            )
        )
