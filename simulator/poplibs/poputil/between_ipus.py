"""Move tensors from IPU to IPU; elements keep the number of their tile within the IPU."""

from __future__ import annotations

import numpy as np

from simulator.base import regions
from simulator.base.types import TensorCloneMethod
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context
from simulator.graph.program import Copy, Sequence
from simulator.graph.tensor import Tensor, taken
from simulator.poplibs.poputil.exceptions import poplibs_error

_UNLESS = TensorCloneMethod.PRESERVE_ORDER_UNLESS_ALIASES


def cloneToIpu(
    graph: Graph,
    t: Tensor,
    dstIPU: int,
    debugContext: Context = "",
    method: TensorCloneMethod = _UNLESS,
) -> Tensor:
    """A clone of a tensor on another IPU, each element on the tile with the same number within its IPU.

    Raises `poplibs_error` for an IPU that the graph does not have and for a tensor on several IPUs."""
    target = graph.getTarget()
    tiles_per_ipu = target.getNumTiles() // max(target.getNumIPUs(), 1)
    if not 0 <= dstIPU < target.getNumIPUs():
        raise poplibs_error(f"cloneToIpu: there is no IPU {dstIPU}; the graph has {target.getNumIPUs()} IPUs.")
    begins, ends, device = graph.getTileMappingIntervals(t)
    tiles = graph.state.graph_tiles(device)
    if (tiles < 0).any():
        raise poplibs_error(f"cloneToIpu: a tensor of shape {t.shape()} is not mapped; call setTileMapping.")
    ipus = np.unique(tiles // tiles_per_ipu)
    if len(ipus) > 1:
        raise poplibs_error(f"cloneToIpu: a tensor of shape {t.shape()} lies on IPUs {ipus.tolist()}; split it.")
    clone = graph.clone(t, debugContext, method)
    # An element that occurs several times gets the tile of its first place.
    elements = regions.elements(*clone.regions())
    _, first = np.unique(elements, return_index=True)
    tile_of = np.repeat(tiles, ends - begins)[first] % tiles_per_ipu + dstIPU * tiles_per_ipu
    flat = clone.flatten()
    order = np.argsort(first)
    graph.setTileMappingIntervals(flat, first[order], first[order] + 1, tile_of[order])
    return clone


def createIpuCopy(
    graph: Graph,
    t: Tensor,
    dstIpu: int,
    debugContext: Context = "",
    method: TensorCloneMethod = TensorCloneMethod.PRESERVE_ORDER_AND_ALIASES,
) -> tuple[Tensor, Tensor, Tensor]:
    """(the tensor on another IPU, copySrc, copyDst). Nothing moves until a Copy of copySrc to copyDst is added. The two
    are flat and name each element once."""
    clone = cloneToIpu(graph, t, dstIpu, debugContext, method)
    source, destination = t.flatten(), clone.flatten()
    elements = regions.elements(*destination.regions())
    _, first = np.unique(elements, return_index=True)
    if len(first) < len(elements):
        first = np.sort(first)
        source, destination = taken(source, first), taken(destination, first)
    return clone, source, destination


def copyToIpu(
    masterGraph: Graph,
    t: Tensor,
    prog: Sequence,
    dstIPU: int,
    debugContext: Context = "",
    method: TensorCloneMethod = _UNLESS,
) -> Tensor:
    """The tensor on another IPU, with a Copy of its values appended to `prog`."""
    clone, source, destination = createIpuCopy(masterGraph, t, dstIPU, debugContext, method)
    prog.add(Copy(source, destination, False, debugContext))
    return clone


def dimIsSplitOverTiles(graph: Graph, t: Tensor, dimension: int) -> bool:
    """Whether elements along the dimension are on different tiles."""
    return _split(graph, t, dimension, 1)


def dimIsSplitOverIPUs(graph: Graph, t: Tensor, dimension: int) -> bool:
    """Whether elements along the dimension are on different IPUs."""
    target = graph.getTarget()
    return _split(graph, t, dimension, max(target.getNumTiles() // max(target.getNumIPUs(), 1), 1))


def _split(graph: Graph, t: Tensor, dimension: int, tiles_together: int) -> bool:
    if not 0 <= dimension < t.rank():
        raise poplibs_error(f"A tensor of shape {t.shape()} has no dimension {dimension}.")
    begins, ends, device = graph.getTileMappingIntervals(t)
    where = (np.repeat(device, ends - begins) // tiles_together).reshape(t.shape())
    return bool((where != where.take([0], dimension)).any())
