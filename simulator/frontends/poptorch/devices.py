"""The device of a model: what Options and the environment ask of the machine, as a request to a session."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.base.errors import poplar_error
from simulator.frontends.poptorch import environment
from simulator.frontends.poptorch.enums import ConnectionType
from simulator.frontends.poptorch.errors import Error
from simulator.frontends.poptorch.logging import device_logger, logger
from simulator.frontends.poptorch.options import Options
from simulator.frontends.session import connection
from simulator.frontends.session.connection import DeviceConnection, DeviceRequest, DeviceUnavailableError
from simulator.poplar import Device, IPUModel, Target

#: seconds between two looks for a free device: with POPTORCH_WAIT_FOR_IPU, as PopTorch waits, and on demand
_POLL, _POLL_ON_DEMAND = 15.0, 1.0
_TYPES = {
    ConnectionType.Always: connection.ConnectionType.ALWAYS,
    ConnectionType.OnDemand: connection.ConnectionType.ON_DEMAND,
    ConnectionType.Never: connection.ConnectionType.NEVER,
}


@dataclass
class ModelConnection:
    """A connection to an IPU Model, which no other process can take."""

    device: Device
    attached: Device | None = None

    @property
    def target(self) -> Target:
        return self.device.getTarget()

    def attach(self) -> Device:
        self.attached = self.device
        return self.device

    def detach(self) -> None:
        self.attached = None


Connection = DeviceConnection | ModelConnection


def ipus_to_reserve(ipus: int, replicas: int, rounds_up: bool) -> int:
    """IPUs that a model takes: a power of two. Raises Error where rounding up is needed and not allowed."""
    wanted = ipus * replicas
    power = 1 << (wanted - 1).bit_length()
    if power != wanted and not rounds_up:
        raise Error(
            f"The model specifies the use of {wanted} IPUs, however PopTorch must reserve a minimum of {power} in "
            "order to allocate a power of two: use poptorch.Options().autoRoundNumIPUs(True) to allow it."
        )
    return power


def connection_for(options: Options, ipus: int) -> Connection:
    """A connection to devices of `ipus` IPUs; attaches at once for ConnectionType.Always. Raises Error as PopTorch
    does where there is no device."""
    if options.uses_ipu_model:
        if options.connection_type == ConnectionType.Never:
            raise Error("Options.useIpuModel and ConnectionType.Never exclude each other: the model needs no device.")
        return ModelConnection(ipu_model(ipus))
    version = options.offline_version if options.connection_type == ConnectionType.Never else ""
    waits = environment.waits_for_ipu() and not version
    type_ = connection.ConnectionType.ON_DEMAND if waits else _TYPES[options.connection_type]
    device_id = options.ipu_id if options.exists("ipu_id") else None
    request = DeviceRequest(ipus, version, device_id, _POLL if waits else _POLL_ON_DEMAND)

    def note_attached(device: Device) -> None:
        device_logger.debug("Acquired %d IPU(s): running on device Id %d.", ipus, device.getId())

    def note_waiting() -> None:
        logger.warning("No device of %d IPU(s) is free; waiting for one.", ipus)

    try:
        return DeviceConnection(type_, request, note_attached, note_waiting)
    except DeviceUnavailableError as error:
        raise Error(acquisition_failed(ipus, error.system_is_empty)) from error
    except poplar_error as error:  # a device id that the system lacks
        raise Error(str(error)) from error


def attached_device(connection: Connection) -> Device:
    """The device of a connection, attached now; on demand and with POPTORCH_WAIT_FOR_IPU this waits for a free one.
    Raises Error as PopTorch does where there is none."""
    if isinstance(connection, ModelConnection):
        return connection.attach()
    try:
        return connection.attach()
    except DeviceUnavailableError as error:
        raise Error(acquisition_failed(connection.request.ipus, error.system_is_empty)) from error


def acquisition_failed(ipus: int, system_is_empty: bool) -> str:
    """PopTorch's own texts: where there is no IPU, as outside an allocation of Slurm, and where no device is free."""
    in_use = "" if system_is_empty else " or all of them are in use"
    return (
        f"Failed to acquire {ipus} IPU(s)\nNo IPU detected in the system{in_use}. \nFor more "
        "information use the Graphcore command-line tool `gc-monitor`."
    )


def ipu_model(ipus: int) -> Device:
    """The IPU Model that POPTORCH_IPU_MODEL and its kin ask for."""
    model = IPUModel(environment.ipu_model_version())
    model.numIPUs = ipus
    if environment.uses_small_ipu_model():
        model.tilesPerIPU = 4
    return model.createDevice()
