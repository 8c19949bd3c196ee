"""The public functions of poprand.

With a seed the numbers depend only on seed, modifier and the element's place in the flattened reference, not on the
tile mapping or on earlier draws. As in PopLibs the generators are saved, seeded, used and restored. Without a seed
(None) each tile continues its own generator, as the device does, and the numbers depend on the mapping.
"""

from __future__ import annotations

from math import e as EULER
from math import log
from typing import Any

import numpy as np

from simulator.base.types import FLOAT, HALF, INT, Type, numpy_type
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.program import Sequence
from simulator.graph.tensor import Tensor
from simulator.poplibs.library_calls import operation
from simulator.poplibs.popops import cast, expr, mapInPlace, mul
from simulator.poplibs.poprand.seeding import check_seed, getHwSeeds, seed_all_tiles, setHwSeeds
from simulator.poplibs.poprand.vertices import Parameters, add_draw
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.poplibs.poputil.linear_mapping import clone_mapped


def uniform(
    graph: Graph,
    seed: Tensor | None,
    seedModifier: int,
    reference: Tensor,
    outType: Type,
    minVal: float,
    maxVal: float,
    prog: Sequence,
    debugContext: Context = "",
) -> Tensor:
    """Numbers from [minVal, maxVal] in a new tensor shaped and mapped as the reference: FLOAT, HALF, or INT with both
    ends included. Raises `poplibs_error` for other types, and ranges that are empty or beyond the type."""
    if not minVal < maxVal:
        raise poplibs_error(f"uniform: maxVal {maxVal} must be greater than minVal {minVal}.")
    if outType is INT and (minVal < -(2**31) or maxVal > 2**31 - 1):
        raise poplibs_error(f"uniform: [{minVal}, {maxVal}] is beyond the range of INT.")
    parameters = {"minVal": float(minVal), "maxVal": float(maxVal)}
    return _drawn(graph, "uniform", seed, seedModifier, reference, outType, parameters, prog, debugContext)


def bernoulli(
    graph: Graph,
    seed: Tensor | None,
    seedModifier: int,
    reference: Tensor,
    outType: Type,
    prob: float,
    prog: Sequence,
    debugContext: Context = "",
) -> Tensor:
    """1 with the probability `prob` (in steps of 2^-16), else 0: FLOAT, HALF or INT."""
    _check_probability("bernoulli", prob)
    return _drawn(graph, "bernoulli", seed, seedModifier, reference, outType, {"prob": float(prob)}, prog, debugContext)


def normal(
    graph: Graph,
    seed: Tensor | None,
    seedModifier: int,
    reference: Tensor,
    outType: Type,
    mean: float,
    stdDev: float,
    prog: Sequence,
    debugContext: Context = "",
) -> Tensor:
    """Normally distributed numbers: FLOAT or HALF."""
    parameters = {"mean": float(mean), "stdDev": float(stdDev)}
    return _drawn(graph, "normal", seed, seedModifier, reference, outType, parameters, prog, debugContext)


def truncatedNormal(
    graph: Graph,
    seed: Tensor | None,
    seedModifier: int,
    reference: Tensor,
    outType: Type,
    mean: float,
    stdDev: float,
    alpha: float,
    prog: Sequence,
    debugContext: Context = "",
) -> Tensor:
    """Normally distributed numbers between mean - alpha stdDev and mean + alpha stdDev: FLOAT or HALF."""
    if not alpha > 0:
        raise poplibs_error(f"truncatedNormal: alpha {alpha} must be greater than 0.")
    parameters = {"mean": float(mean), "stdDev": float(stdDev), "alpha": float(alpha)}
    return _drawn(graph, "truncatedNormal", seed, seedModifier, reference, outType, parameters, prog, debugContext)


def logUniform(
    graph: Graph,
    seed: Tensor | None,
    seedModifier: int,
    reference: Tensor,
    outType: Type,
    minVal: float,
    maxVal: float,
    prog: Sequence,
    base: float = EULER,
    debugContext: Context = "",
) -> Tensor:
    """Numbers whose logarithm is uniform, from the values of the type within [minVal, maxVal]: FLOAT, HALF or INT.

    Raises `poplibs_error` unless 1 <= minVal < maxVal, and where the type has no two values between them."""
    if minVal < 1 or maxVal <= minVal or not base > 1:
        raise poplibs_error(
            f"logUniform: minVal {minVal}, maxVal {maxVal}, base {base}; 1 <= minVal < maxVal and base > 1 is needed."
        )
    low, high = _squeezed(minVal, maxVal, outType)
    call = operation(graph, debugContext, "poprand", "logUniform", reference=reference, outType=str(outType))
    ends = log(minVal, base), log(maxVal, base)
    out = uniform(graph, seed, seedModifier, reference, FLOAT, *ends, prog, (call, "logUniform"))
    power: Any = expr.Exp(expr._1) if base == EULER else expr.Pow(expr.Const(float(base)), expr._1)
    mapInPlace(graph, expr.Clamp(power, expr.Const(low), expr.Const(high)), [out], prog, call)
    return out if outType is FLOAT else cast(graph, out, outType, prog, call)


def _squeezed(low: float, high: float, type_: Type) -> tuple[float, float]:
    """The smallest and the largest value of the type within the interval."""
    dtype = numpy_type(type_)
    if dtype.kind == "i":
        first, last = float(np.ceil(low)), float(np.floor(high))
    else:
        first, last = (float(np.asarray(v).astype(dtype)) for v in (low, high))
        first = float(np.nextafter(dtype.type(first), dtype.type(np.inf))) if first < low else first
        last = float(np.nextafter(dtype.type(last), dtype.type(0))) if last > high else last
    if not (np.isfinite(last) and first < last):
        raise poplibs_error(f"logUniform: {type_} has no two values in [{low}, {high}].")
    return first, last


def dropout(
    graph: Graph,
    seed: Tensor | None,
    seedModifier: int,
    input: Tensor,
    reference: Tensor,
    keepProbability: float,
    scale: float,
    *rest: Any,
    **named: Any,
) -> Tensor:
    """dropout(graph, seed, seedModifier, input, reference, keepProbability, scale, [outputClonesRef=True,] prog,
    debugContext="") -> the kept elements of the input times `scale`, 0 for the others.

    The result is laid out like the reference, or like the input when `outputClonesRef` is false. Raises `poplibs_error`
    where shapes differ or the probability is not between 0 and 1."""
    arguments = list(rest)
    clones_reference = arguments.pop(0) if arguments and isinstance(arguments[0], bool) else True
    clones_reference = named.pop("outputClonesRef", clones_reference)
    prog = arguments.pop(0) if arguments else named.pop("prog")
    context = arguments.pop(0) if arguments else named.pop("debugContext", "")
    if input.shape() != reference.shape():
        raise poplibs_error(
            f"dropout: the input {input.shape()} and the reference {reference.shape()} must have one shape."
        )
    _check_probability("dropout", keepProbability)
    parameters = {"prob": float(keepProbability), "scale": float(scale)}
    model = reference if clones_reference else input
    type_ = input.elementType()
    return _drawn(graph, "dropout", seed, seedModifier, model, type_, parameters, prog, context, input)


def shapedDropout(
    graph: Graph,
    seed: Tensor | None,
    seedModifier: int,
    input: Tensor,
    reference: Tensor,
    keepProbability: float,
    scale: float,
    prog: Sequence,
    debugContext: Context = "",
) -> Tensor:
    """Dropout of rows, columns, ...: the mask has the shape of the reference, which must broadcast to the input."""
    _check_probability("shapedDropout", keepProbability)
    try:
        fits = np.broadcast_shapes(tuple(input.shape()), tuple(reference.shape())) == tuple(input.shape())
    except ValueError:
        fits = False
    if not fits:
        raise poplibs_error(f"shapedDropout: {reference.shape()} does not broadcast to the input {input.shape()}.")
    call = operation(graph, debugContext, "poprand", "shapedDropout", input=input, reference=reference)
    mask = bernoulli(graph, seed, seedModifier, reference, input.elementType(), keepProbability, prog, (call, "mask"))
    mapInPlace(graph, expr._1 * expr.Const(float(scale)), [mask], prog, (call, "scale"))
    return mul(graph, input, mask, prog, (call, "dropout"))


def _check_probability(name: str, probability: float) -> None:
    if not 0 <= probability <= 1:
        raise poplibs_error(f"{name}: the probability {probability} is not between 0 and 1.")


_TYPES = {"uniform": (FLOAT, HALF, INT), "bernoulli": (FLOAT, HALF, INT)}


def _drawn(
    graph: Graph,
    kind: str,
    seed: Tensor | None,
    modifier: int,
    model: Tensor,
    type_: Type,
    parameters: Parameters,
    prog: Sequence,
    context: Context,
    given: Tensor | None = None,
) -> Tensor:
    allowed = _TYPES.get(kind, (FLOAT, HALF))
    if type_ not in allowed:
        raise poplibs_error(f"{kind} draws no {type_}; it draws {', '.join(map(str, allowed))}.")
    arguments: dict[str, Any] = {"seedModifier": modifier, "reference": model, "outType": str(type_)}
    call = operation(graph, context, "poprand", kind, **arguments, **parameters)
    out = clone_mapped(graph, model, type_, (call, f"{kind}/out"))
    if seed is None:
        add_draw(graph, kind, out, given, parameters, prog, (call, kind), alike=False)
        return out
    check_seed(seed)
    saved = _seeded(graph, seed, modifier, prog, call, kind)
    add_draw(graph, kind, out, given, parameters, prog, (call, kind), alike=True)
    setHwSeeds(graph, saved, prog, (call, kind))
    return out


def _seeded(graph: Graph, seed: Tensor, modifier: int, prog: Sequence, call: DebugInfo, kind: str) -> Tensor:
    saved = getHwSeeds(graph, prog, (call, kind))
    seed_all_tiles(graph, seed, modifier, prog, (call, f"{kind}/setMasterSeed"), salted=False)
    return saved
