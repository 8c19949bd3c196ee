"""createConstantMetadataTensor and createVariableMetadataTensor: metadata tensors made by the program."""

from __future__ import annotations

from typing import Any, overload

import numpy as np

from simulator.base.errors import application_runtime_error, tensor_metadata_error
from simulator.base.quarter import MAX_SCALE, MIN_SCALE, QuarterMetadata
from simulator.base.types import INT, QUARTER_METADATA
from simulator.base.wrong_arguments import checks_arguments
from simulator.building.graph import Graph
from simulator.codelets.vertex import Input, Output, Vertex
from simulator.graph.debug_context import Context
from simulator.graph.program import Execute, Sequence
from simulator.graph.tensor import Tensor


class _SetMetadata(Vertex):
    """Packs a scale that the program computes, and a format, into the byte of a metadata tensor."""

    name = "poplar_rt::SetQuarterMetadata"
    scale = Input(INT)
    out = Output(QUARTER_METADATA)
    unscaled = QUARTER_METADATA  # the format with scale 0

    def compute(self) -> None:
        scale, unscaled = int(self.scale), QuarterMetadata(int(self.unscaled))  # type: ignore[call-overload]
        if not MIN_SCALE <= scale <= MAX_SCALE:
            raise application_runtime_error(
                f"The scale of QUARTER metadata is {MIN_SCALE} to {MAX_SCALE}, but the program computed {scale}."
            )
        self.out = QuarterMetadata(unscaled.getFormat(), scale).getBinary()

    @classmethod
    def estimate(cls, sizes: Any, values: Any, target: Any) -> int:
        return 8  # a guess: two loads, and, or, a byte put into its word (load, insert, store), return


@checks_arguments
def createConstantMetadataTensor(
    graph: Graph, fmt: QuarterMetadata.Format, scale: int, debugContext: Context = "<const>"
) -> Tensor:
    """A constant metadata tensor (shape [], on tile 0) for QUARTER tensors of a format and scale."""
    out = graph.addConstant(QUARTER_METADATA, [], QuarterMetadata(fmt, scale), debugContext)
    graph.setTileMapping(out, 0)
    return out


@overload
def createVariableMetadataTensor(
    graph: Graph, fmt: QuarterMetadata.Format, scale: int, debugContext: Context = ""
) -> Tensor: ...
@overload
def createVariableMetadataTensor(
    graph: Graph, fmt: QuarterMetadata.Format, scale: Tensor, prog: Sequence, debugContext: Context = ""
) -> Tensor: ...
@checks_arguments
def createVariableMetadataTensor(
    graph: Graph, fmt: QuarterMetadata.Format, scale: Any, *arguments: Any, prog: Any = None, debugContext: Context = ""
) -> Tensor:
    """A variable metadata tensor (shape []): with a format and scale as initial value, on tile 0; or, where `scale` is
    an INT scalar that the program computes, with the value that `prog` then writes into it, on the tile of the scale.

    Raises `tensor_metadata_error` for scales outside -32 to 31, and for tensors that hold no scale. A run in which the
    scale is outside ends with `application_runtime_error`."""
    rest = list(arguments)
    if isinstance(scale, Tensor):
        prog = rest.pop(0) if rest else prog
        return _computed(graph, fmt, scale, prog, rest.pop(0) if rest else debugContext)
    value = QuarterMetadata(fmt, scale)
    out = graph.addVariable(QUARTER_METADATA, [], rest.pop(0) if rest else debugContext)
    graph.setTileMapping(out, 0)
    graph.setInitialValue(out, value)
    return out


def _computed(graph: Graph, fmt: QuarterMetadata.Format, scale: Tensor, prog: Any, context: Context) -> Tensor:
    if scale.elementType() is not INT or scale.numElements() != 1:
        raise tensor_metadata_error(
            f"createVariableMetadataTensor: {scale!r} holds no scale; give an INT scalar, the exponent of two."
        )
    if not isinstance(prog, Sequence):
        raise tensor_metadata_error(
            f"createVariableMetadataTensor: a computed scale needs the Sequence to add to, not {prog!r}; give one."
        )
    unscaled = QuarterMetadata(fmt, 0).getBinary()
    mapping = graph.getTileMapping(scale)
    info = graph.addDebugInfo(context, "poplar", api="createVariableMetadataTensor")
    out = graph.addVariable(QUARTER_METADATA, [], (info, "metadata"))
    graph.addCodelets(_SetMetadata)
    cs = graph.addComputeSet((info, "setMetadata"))
    fields = {"scale": scale.reshape([]), "out": out, "unscaled": unscaled}
    vertex = graph.addVertex(cs, _SetMetadata.name, fields)
    on = np.flatnonzero([len(intervals) for intervals in mapping])
    graph.setTileMapping(out, int(on[0]))
    graph.setTileMapping(vertex, int(on[0]))
    prog.add(Execute(cs, info))
    return out
