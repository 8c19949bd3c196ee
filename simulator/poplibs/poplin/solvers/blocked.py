"""What both solvers share: the option blockSize, matrices stored by blocks, and the checks of shapes.

A matrix of blocks lies block after block, so that the elements of a block share tiles."""

from __future__ import annotations

from typing import Any

from simulator.base.errors import invalid_option, type_error
from simulator.base.types import FLOAT, HALF, Type
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context
from simulator.graph.tensor import Tensor
from simulator.poplibs.poplin.planning.options import parse_options
from simulator.poplibs.poputil import mapTensorLinearly
from simulator.poplibs.poputil.exceptions import poplibs_error

Options = dict[str, Any] | None

DEFAULT_BLOCK = 64


def block_size(api: str, options: Options) -> tuple[int, dict[str, Any]]:
    """(blockSize, the options that are left for products). Raises `invalid_option` for what is no positive number, and
    for what is no option of products."""
    left = dict(options or {})
    wanted = left.pop("blockSize", DEFAULT_BLOCK)
    if not str(wanted).isdecimal() or int(wanted) < 1:
        raise invalid_option(f"{api}: blockSize is {wanted!r}; it is a number of rows, at least 1.")
    parse_options(left)
    return int(wanted), left


def check_types(api: str, *types: Type) -> None:
    """Raises `type_error` for elements that are not all FLOAT or all HALF."""
    if len(set(types)) > 1 or types[0] not in (FLOAT, HALF):
        names = " and ".join(map(str, types))
        raise type_error(f"{api}: the elements are {names}; all must be FLOAT or all HALF.")


def check_square(api: str, shape: list[int]) -> None:
    """Raises poplibs_error for a shape that is not [..., n, n]."""
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise poplibs_error(f"{api}: A has shape {shape}; it must be [..., n, n].")


def by_batch(tensor: Tensor) -> Tensor:
    """[..., rows, columns] as [batches, rows, columns]."""
    rows, columns = tensor.shape()[-2:]
    batches = 1
    for size in tensor.shape()[:-2]:
        batches *= size
    return tensor.reshape([batches, rows, columns])


def matrix_of_blocks(
    graph: Graph, type_: Type, shape: list[int], block: int, minimum: int, name: Context, turned: bool
) -> Tensor:
    """A new [batches, rows, columns] tensor stored by blocks of `block` rows and columns, mapped linearly with at least
    `minimum` elements on a tile. `turned`: blocks and rows of the transposed matrix follow each other."""
    batches, rows, columns = (shape[0], shape[2], shape[1]) if turned else shape
    down, along = -(-rows // block), -(-columns // block)
    tensor = graph.addVariable(type_, [batches, down, along, block, block], name)
    mapTensorLinearly(graph, tensor, minimum, graph.getTarget().getVectorWidth(type_))
    whole = tensor.dimShuffle([0, 1, 3, 2, 4]).reshape([batches, down * block, along * block])
    cut = whole.slice([0, 0, 0], [batches, rows, columns])
    return cut.dimShuffle([0, 2, 1]) if turned else cut
