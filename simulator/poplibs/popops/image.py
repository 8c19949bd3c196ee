"""popops.normaliseImage: images of three channels, scaled and shifted, with a fourth channel of zeros for what follows.

PopLibs has one vertex for it, whose cycles are not public. Here it is a chain of element-wise operations of this
library and a copy, which costs more than that vertex does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simulator.base.types import FLOAT, HALF, UNSIGNED_CHAR, Type
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.program import Copy
from simulator.graph.program import Sequence as ProgramSequence
from simulator.graph.tensor import Tensor
from simulator.poplibs.library_calls import operation
from simulator.poplibs.popops.casting import cast
from simulator.poplibs.popops.elementwise import binary
from simulator.poplibs.popops.filling import zero
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.poplibs.poputil.linear_mapping import mapTensorLinearly

#: Channels of the image, and of the result.
_CHANNELS, _PADDED = 3, 4
#: Bytes of a word, of which no pixel takes a part.
_WORD = 4


def createNormaliseImageInput(graph: Graph, type: Type, shape: Sequence[int], debugContext: Context = "") -> Tensor:
    """An image [..., 3] of UNSIGNED_CHAR, HALF or FLOAT, spread over the tiles so that no pixel is split and no two
    tiles share a word. Raises `poplibs_error` for another type or shape."""
    _check("createNormaliseImageInput", type, list(shape))
    call = operation(graph, debugContext, "popops", "createNormaliseImageInput", shape=list(shape))
    made = graph.addVariable(type, list(shape), (call, "createNormaliseImageInput"))
    grain = _CHANNELS * (_WORD // type.size)
    mapTensorLinearly(graph, made, grain * graph.getTarget().getNumWorkerContexts(), grain)
    return made


def normaliseImage(
    graph: Graph,
    seq: ProgramSequence,
    tIn: Tensor,
    inScale: float,
    offsets: Tensor,
    scales: Tensor,
    debugContext: Context = "",
) -> Tensor:
    """[..., 4]: (tIn[..., c] * inScale - offsets[c]) * scales[c], and 0 in the fourth channel, each pixel on the tile
    of tIn's. The result is HALF for UNSIGNED_CHAR, else of the type of tIn, which `offsets` and `scales` [3] have too.

    Raises `poplibs_error` for types and shapes that do not fit, and for an inScale of 0."""
    _check("normaliseImage", tIn.elementType(), tIn.shape())
    type_ = HALF if tIn.elementType() is UNSIGNED_CHAR else tIn.elementType()
    for name, tensor in (("offsets", offsets), ("scales", scales)):
        if tensor.elementType() is not type_ or tensor.shape() != [_CHANNELS]:
            raise poplibs_error(
                f"normaliseImage: {name} is {tensor.elementType()} of shape {tensor.shape()}; {type_} of shape [3] is "
                "needed."
            )
    if inScale == 0:
        raise poplibs_error("normaliseImage: inScale is 0; every pixel would be the same.")
    call = operation(graph, debugContext, "popops", "normaliseImage", tIn=tIn, inScale=inScale)
    scaled = tIn if tIn.elementType() is type_ else cast(graph, tIn, type_, seq, (call, "cast"))
    scaled = binary(graph, "MULTIPLY", scaled, inScale, seq, (call, "inScale"), in_place=False)
    binary(graph, "SUBTRACT", scaled, offsets, seq, (call, "offsets"), in_place=True)
    binary(graph, "MULTIPLY", scaled, scales, seq, (call, "scales"), in_place=True)
    out = _padded(graph, tIn, type_, call)
    channel = len(tIn.shape()) - 1
    seq.add(Copy(scaled, out.slice(0, _CHANNELS, channel), False, (call, "channels")))
    zero(graph, out.slice(_CHANNELS, _PADDED, channel).flatten(), seq, (call, "fourth"))
    return out


def _padded(graph: Graph, image: Tensor, type_: Type, call: DebugInfo) -> Tensor:
    """[..., 4], each pixel on the tile of its first channel in the image."""
    out = graph.addVariable(type_, [*image.shape()[:-1], _PADDED], (call, "normalise"))
    first = image.slice(0, 1, len(image.shape()) - 1).flatten()
    begins, ends, tiles = graph.getTileMappingIntervals(first)
    graph.setTileMappingIntervals(out, begins * _PADDED, ends * _PADDED, graph.state.graph_tiles(np.asarray(tiles)))
    return out


def _check(name: str, type_: Type, shape: list[int]) -> None:
    if type_ not in (UNSIGNED_CHAR, HALF, FLOAT) or len(shape) < 2 or shape[-1] != _CHANNELS:
        raise poplibs_error(
            f"{name}: {type_} of shape {shape}; an image [..., 3] of UNSIGNED_CHAR, HALF or FLOAT is needed."
        )
