"""Poplar's exceptions, under Poplar's names.

    poplar_error (RuntimeError)
     ├─ graph_program_compilation_error     a codelet's source does not compile
     ├─ graph_object_creation_error         an object cannot be made, or is of another graph
     ├─ graph_object_load_error             a codelet's class or object file cannot be used
     ├─ no_environment                      (not raised here)
     ├─ unknown_vertex_type
     ├─ unknown_field                       a vertex has no such field
     ├─ control_program_error               a program is made of what cannot run
     ├─ type_error                          another element type, or no numbers
     ├─ index_error (IndexError)            outside a tensor, a field or a dimension
     ├─ no_size_specified                   a vector field has no size yet
     ├─ graph_connection_error              a field is not connected, twice, or to what it cannot take
     ├─ graph_cycle_error                   a vertex reads what another of its compute set writes
     ├─ graph_recursion_error               a function calls itself
     ├─ graph_replication_error             a replication factor, or values by replica, do not fit
     ├─ profiling_disabled                  no execution was recorded
     ├─ missing_profile_data                (not raised here)
     ├─ missing_graph_profile               the options keep no graph profile
     ├─ missing_perf_estimate               a vertex type cannot estimate its cycles
     ├─ invalid_tile_mapping                no such tile, or elements without one
     ├─ tensor_creation_error               a shape or a number of values does not fit
     ├─ tensor_io_state_error               (not raised here)
     ├─ tensor_metadata_error               QUARTER without metadata, or with what is none
     ├─ stream_connection_error             a stream exists twice, or is not connected
     ├─ overflow_error                      a number does not fit an integer type
     ├─ memory_elem_constraints_error       a memory constraint of a codelet cannot be kept
     ├─ stream_memory_allocation_error      the host has no room for streams or remote buffers
     ├─ invalid_machine_model               a target that cannot be
     ├─ invalid_option                      an unknown option, or a value that it does not take
     ├─ symbol_error                        a module has no such external variable
     ├─ file_load_error                     a file is missing or of another format
     ├─ parse_error                         text or a message that does not fit together
     ├─ link_error                          a symbol is not defined, or defined twice
     │   └─ graph_memory_allocation_error   the program does not fit into tile memory
     └─ runtime_error                       a run stopped; `errors` says where
         ├─ application_runtime_error       the program's own error
         └─ system_runtime_error            the machine's
             ├─ recoverable_runtime_error   a reset repairs it
             ├─ unrecoverable_runtime_error
             └─ unknown_runtime_error

Every message is one sentence that names the object, its value and the way out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum


class poplar_error(RuntimeError):
    """The base of all errors of the API. Its message is one line: values that print over several, as arrays of rank 2
    do, are put on one."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(_on_one_line(each) if isinstance(each, str) else each for each in arguments))


def _on_one_line(text: str) -> str:
    return re.sub(r"\s*\n\s*", " ", text.strip()) if "\n" in text else text


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
    called `vertex`. Valid only for the executable that gave it (`owner`)."""

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


#: The reset that repairs an error of the machine. Poplar's pages name the classes and the actions; which error needs
#: which action is our choice.
_REPAIRED_BY = {
    ErrorCode.EXCHANGE_ERROR: RecoveryAction.IPU_RESET,
    ErrorCode.MEMORY_ERROR: RecoveryAction.IPU_RESET,
    ErrorCode.IPUSOFTERR: RecoveryAction.IPU_RESET,
    ErrorCode.LINK_DOWN: RecoveryAction.PARTITION_RESET,
    ErrorCode.HOST_LINK_DOWN: RecoveryAction.FULL_RESET,
}


def raised_for(code: ErrorCode) -> Callable[[str, Sequence[ErrorInfo]], runtime_error]:
    """The exception of a run that stops at this error, as (message, errors) -> exception."""
    action = _REPAIRED_BY.get(code)
    if action is not None:
        return lambda message, errors: recoverable_runtime_error(message, action, errors)
    if code is ErrorCode.IPU_MEMORY_FAILURE:
        return unrecoverable_runtime_error
    if code in (ErrorCode.UNKNOWN, ErrorCode.HOST_SYNC_TIMEOUT):
        return unknown_runtime_error
    return application_runtime_error
