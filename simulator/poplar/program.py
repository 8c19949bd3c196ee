"""`poplar::program`: control programs under Poplar's names, and `dumpProgram`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator.graph.program import (
    Abort,
    AbortOnCondition,
    AssumeEqualAcrossReplicas,
    Block,
    Call,
    Copy,
    CrossReplicaCopy,
    ErrorProgram,
    Execute,
    FloatFormat,
    If,
    LibraryGroup,
    Loop,
    PrintTensor,
    PrintTensorFmt,
    Program,
    Repeat,
    RepeatWhile,
    RepeatWhileFalse,
    RepeatWhileTrue,
    Sequence,
    Switch,
    Sync,
    SyncType,
    WriteUndef,
)

if TYPE_CHECKING:
    from simulator.engine.dumps import dumpProgram

__all__ = [
    "Abort",
    "AbortOnCondition",
    "AssumeEqualAcrossReplicas",
    "Block",
    "Call",
    "Copy",
    "CrossReplicaCopy",
    "ErrorProgram",
    "Execute",
    "FloatFormat",
    "If",
    "LibraryGroup",
    "Loop",
    "PrintTensor",
    "PrintTensorFmt",
    "Program",
    "Repeat",
    "RepeatWhile",
    "RepeatWhileFalse",
    "RepeatWhileTrue",
    "Sequence",
    "Switch",
    "Sync",
    "SyncType",
    "WriteUndef",
    "dumpProgram",
]


def __getattr__(name: str) -> Any:
    if name == "dumpProgram":
        from simulator.engine import dumps  # loads the compiler, which building a graph does not need

        return dumps.dumpProgram
    raise AttributeError(f"module 'simulator.poplar.program' has no attribute '{name}'")
