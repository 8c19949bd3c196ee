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

from collections.abc import Sequence
from dataclasses import dataclass
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
class ErrorInfo:
    """One error of a run: its code, where it happened, and whether it was inserted by the user."""

    code: ErrorCode
    location: str
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


class unrecoverable_runtime_error(system_runtime_error): ...


class unknown_runtime_error(system_runtime_error): ...
