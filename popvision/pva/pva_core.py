"""All classes under the name of libpva's compiled module; scripts annotate with `pva.pva_core.Report`."""

from popvision.pva.block import Block
from popvision.pva.compilation import CompilationReport
from popvision.pva.debug_context import DebugContext, SourceLocation
from popvision.pva.errors import AbsentError, FormatError
from popvision.pva.execution import ExecutionReport, HostInterval, Run, TotalCycles
from popvision.pva.liveness import LiveMemory, LivenessProgramStep
from popvision.pva.lowered import BriefVar, EquivalenceClass, Interval, LoweredVar, LoweredVariables, Variable
from popvision.pva.operations import Operation, OperationAnalysis
from popvision.pva.program import (
    DoExchangeProgram,
    GlobalExchangeProgram,
    OnTileExecuteProgram,
    Program,
    ProgramVisitor,
    StreamCopyBeginProgram,
    StreamCopyEndProgram,
    StreamCopyMidProgram,
    StreamCopyProgram,
)
from popvision.pva.report import Report, openReport
from popvision.pva.step import CycleWindow, ExecutionStep, MinMax, StepIpu
from popvision.pva.target import IPU, Graph, Target
from popvision.pva.tile import Categories, CategoryMemory, MemorySum, RegionMemory, Tile, TileMemory, TileVertex
from popvision.pva.trace import Event, Heatmap, LineGraph, LineGraphSeries, Process, Thread, Trace, openTrace
from popvision.pva.versions import InstrumentationSettings, PoplarVersion, ProfileReportVersion
from popvision.pva.vertices import ComputeSet, VertexInstances, VertexType

__all__ = [
    "IPU",
    "AbsentError",
    "Block",
    "BriefVar",
    "Categories",
    "CategoryMemory",
    "CompilationReport",
    "ComputeSet",
    "CycleWindow",
    "DebugContext",
    "DoExchangeProgram",
    "EquivalenceClass",
    "Event",
    "ExecutionReport",
    "ExecutionStep",
    "FormatError",
    "GlobalExchangeProgram",
    "Graph",
    "Heatmap",
    "HostInterval",
    "InstrumentationSettings",
    "Interval",
    "LineGraph",
    "LineGraphSeries",
    "LiveMemory",
    "LivenessProgramStep",
    "LoweredVar",
    "LoweredVariables",
    "MemorySum",
    "MinMax",
    "OnTileExecuteProgram",
    "Operation",
    "OperationAnalysis",
    "PoplarVersion",
    "Process",
    "ProfileReportVersion",
    "Program",
    "ProgramVisitor",
    "RegionMemory",
    "Report",
    "Run",
    "SourceLocation",
    "StepIpu",
    "StreamCopyBeginProgram",
    "StreamCopyEndProgram",
    "StreamCopyMidProgram",
    "StreamCopyProgram",
    "Target",
    "Thread",
    "Tile",
    "TileMemory",
    "TileVertex",
    "TotalCycles",
    "Trace",
    "Variable",
    "VertexInstances",
    "VertexType",
    "openReport",
    "openTrace",
]
