"""The name under which libpva's compiled module holds its classes; scripts annotate with `pva.pva_core.Report`."""

from popvision.pva.block import Block
from popvision.pva.compilation import CompilationReport
from popvision.pva.debug_context import DebugContext
from popvision.pva.errors import FormatError
from popvision.pva.execution import ExecutionReport, ExecutionStep, Run
from popvision.pva.lowered import LoweredVar
from popvision.pva.operations import Operation, OperationAnalysis
from popvision.pva.program import (
    DoExchangeProgram,
    GlobalExchangeProgram,
    OnTileExecuteProgram,
    Program,
    ProgramVisitor,
    StreamCopyProgram,
)
from popvision.pva.report import Report, openReport
from popvision.pva.target import IPU, Graph, Target
from popvision.pva.tile import Tile
from popvision.pva.trace import Event, Trace, openTrace
from popvision.pva.versions import InstrumentationSettings, PoplarVersion, ProfileReportVersion
from popvision.pva.vertices import ComputeSet

__all__ = [
    "IPU",
    "Block",
    "CompilationReport",
    "ComputeSet",
    "DebugContext",
    "DoExchangeProgram",
    "Event",
    "ExecutionReport",
    "ExecutionStep",
    "FormatError",
    "GlobalExchangeProgram",
    "Graph",
    "InstrumentationSettings",
    "LoweredVar",
    "OnTileExecuteProgram",
    "Operation",
    "OperationAnalysis",
    "PoplarVersion",
    "ProfileReportVersion",
    "Program",
    "ProgramVisitor",
    "Report",
    "Run",
    "StreamCopyProgram",
    "Target",
    "Tile",
    "Trace",
    "openReport",
    "openTrace",
]
