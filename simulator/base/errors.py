"""Poplar's exceptions, under Poplar's names.

    poplar_error (RuntimeError)
      graph_program_compilation_error  graph_object_creation_error  graph_object_load_error  no_environment
      unknown_vertex_type  unknown_field  control_program_error  type_error  index_error (also IndexError)
      no_size_specified  graph_connection_error  graph_cycle_error  graph_recursion_error  graph_replication_error
      profiling_disabled  missing_profile_data  missing_graph_profile  missing_perf_estimate  invalid_tile_mapping
      tensor_creation_error  tensor_io_state_error  tensor_metadata_error  stream_connection_error  overflow_error
      memory_elem_constraints_error  stream_memory_allocation_error  invalid_machine_model  invalid_option
      symbol_error  file_load_error  parse_error
      link_error -> graph_memory_allocation_error
      runtime_error -> application_runtime_error
                       system_runtime_error -> recoverable_runtime_error, unrecoverable_runtime_error,
                                               unknown_runtime_error

Every message is one sentence that names the thing, its value and the way out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum


class poplar_error(RuntimeError):
    """The base of all errors of the API."""


class graph_program_compilation_error(poplar_error): ...


class graph_object_creation_error(poplar_error): ...


class graph_object_load_error(poplar_error): ...


class no_environment(poplar_error): ...


class unknown_vertex_type(poplar_error): ...


class unknown_field(poplar_error): ...


class control_program_error(poplar_error): ...


class type_error(poplar_error): ...


class index_error(poplar_error, IndexError): ...


class no_size_specified(poplar_error): ...


class graph_connection_error(poplar_error): ...


class graph_cycle_error(poplar_error): ...


class graph_recursion_error(poplar_error): ...


class graph_replication_error(poplar_error): ...


class profiling_disabled(poplar_error): ...


class missing_profile_data(poplar_error): ...


class missing_graph_profile(poplar_error): ...


class missing_perf_estimate(poplar_error): ...


class invalid_tile_mapping(poplar_error): ...


class tensor_creation_error(poplar_error): ...


class tensor_io_state_error(poplar_error): ...


class tensor_metadata_error(poplar_error): ...


class stream_connection_error(poplar_error): ...


class overflow_error(poplar_error): ...


class memory_elem_constraints_error(poplar_error): ...


class stream_memory_allocation_error(poplar_error): ...


class invalid_machine_model(poplar_error): ...


class invalid_option(poplar_error): ...


class symbol_error(poplar_error): ...


class file_load_error(poplar_error): ...


class parse_error(poplar_error): ...


class link_error(poplar_error):
    """Linking failed. `output` is what the linker printed."""

    def __init__(self, message: str, output: str = "") -> None:
        super().__init__(message)
        self.output = output


class graph_memory_allocation_error(link_error):
    """The program does not fit into tile memory. `profile_path` is the saved profile, if there is one."""

    def __init__(self, message: str, profile_path: str = "") -> None:
        super().__init__(message)
        self.profile_path = profile_path


class ErrorCode(Enum):
    NONE = 0
    UNKNOWN = 1
    TRAP = 2
    FLOATING_POINT_INVALID_OPERATION = 3
    FLOATING_POINT_DIVIDE_BY_ZERO = 4
    FLOATING_POINT_OVERFLOW = 5
    TILE_MEMORY_BANK_CONFLICT = 6
    INVALID_EXCHANGE_CONFIGURATION = 7
    INVALID_ADDRESS = 8
    INVALID_OPERAND = 9
    INVALID_PROGRAM_COUNTER = 10
    INVALID_INSTRUCTION = 11
    EXCHANGE_ERROR = 12
    MEMORY_ERROR = 13
    IPUSOFTERR = 14
    LINK_DOWN = 15
    HOST_LINK_DOWN = 16
    HOST_SYNC_TIMEOUT = 17
    IPU_MEMORY_FAILURE = 18


@dataclass(frozen=True)
class ErrorLocation:
    """Where an error happens: a tile of the device, with the lowered program of this id or the code of the vertices
    called `vertex`. It holds for the executable that gave it (`owner`) only."""

    tile: int
    program: int = -1
    vertex: str = ""
    owner: int = field(default=0, repr=False)

    def __str__(self) -> str:
        return f"tile {self.tile}, " + (f"vertex {self.vertex}" if self.vertex else f"program {self.program}")


@dataclass(frozen=True)
class ErrorInfo:
    """One error of a run: its code, where it happened (None: not known), and whether it was inserted by the user."""

    code: ErrorCode
    location: ErrorLocation | None
    isSimulated: bool = False


class runtime_error(poplar_error):
    """A run failed; `errors` says where."""

    def __init__(self, message: str, errors: Sequence[ErrorInfo] = ()) -> None:
        super().__init__(message)
        self.errors = tuple(errors)


class application_runtime_error(runtime_error): ...


class system_runtime_error(runtime_error): ...


class RecoveryAction(Enum):
    IPU_RESET = "ipu reset"
    LINK_RESET = "link reset"
    PARTITION_RESET = "partition reset"
    FULL_RESET = "full reset"


class recoverable_runtime_error(system_runtime_error):
    def __init__(self, message: str, action: RecoveryAction, errors: Sequence[ErrorInfo] = ()) -> None:
        super().__init__(message, errors)
        self.recoveryAction = action

    def getRecoveryAction(self) -> RecoveryAction:
        """What makes the device usable again."""
        return self.recoveryAction


class unrecoverable_runtime_error(system_runtime_error): ...


class unknown_runtime_error(system_runtime_error): ...


#: Errors of the machine that a reset of this kind repairs. Poplar's pages name the classes and the actions, not which
#: error is which: our choice.
_REPAIRED = {
    ErrorCode.EXCHANGE_ERROR: RecoveryAction.IPU_RESET,
    ErrorCode.MEMORY_ERROR: RecoveryAction.IPU_RESET,
    ErrorCode.IPUSOFTERR: RecoveryAction.IPU_RESET,
    ErrorCode.LINK_DOWN: RecoveryAction.PARTITION_RESET,
    ErrorCode.HOST_LINK_DOWN: RecoveryAction.FULL_RESET,
}


def raised_for(code: ErrorCode) -> Callable[[str, Sequence[ErrorInfo]], runtime_error]:
    """How a run that stops at this error says so: (message, errors) -> exception."""
    action = _REPAIRED.get(code)
    if action is not None:
        return lambda message, errors: recoverable_runtime_error(message, action, errors)
    if code is ErrorCode.IPU_MEMORY_FAILURE:
        return unrecoverable_runtime_error
    if code in (ErrorCode.UNKNOWN, ErrorCode.HOST_SYNC_TIMEOUT):
        return unknown_runtime_error
    return application_runtime_error
