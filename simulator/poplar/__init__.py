"""The simulated IPU under Poplar's names."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from simulator.poplar import program
from simulator.poplar.debug_context import DebugContext, DebugInfo, DebugNameAndId, SourceLocation
from simulator.poplar.errors import *  # noqa: F403
from simulator.poplar.graph import Graph
from simulator.poplar.graph_objects import (
    ComputeSet,
    DataStream,
    FieldRef,
    Function,
    VertexIntrospector,
    VertexPerfEstimate,
    VertexRef,
)
from simulator.poplar.target import IpuLinkConfiguration, IpuLinkTopology, Target, TargetType
from simulator.poplar.tensor import Tensor, append, concat
from simulator.poplar.types import (
    BOOL,
    CHAR,
    FLOAT,
    HALF,
    INT,
    LONGLONG,
    QUARTER,
    SHORT,
    SIGNED_CHAR,
    UNSIGNED_CHAR,
    UNSIGNED_INT,
    UNSIGNED_LONGLONG,
    UNSIGNED_SHORT,
    CodeletFileType,
    Interval,
    ReplicatedStreamMode,
    SyncType,
    TensorCloneMethod,
    Type,
    UpsampleMethod,
    VariableInterval,
    VariableMappingMethod,
    VariableRef,
)

if TYPE_CHECKING:
    from simulator.poplar.engine import Engine
    from simulator.poplar.executable import Executable, compileGraph

#: Loaded when first asked for: the compiler and the runtime are not needed to build a graph.
_LATER = {
    "Engine": "simulator.poplar.engine",
    "Executable": "simulator.poplar.executable",
    "compileGraph": "simulator.poplar.executable",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'simulator.poplar' has no attribute '{name}'")
