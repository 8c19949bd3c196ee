"""popops: element-wise operations, casts, fills, scaled addition and reductions, under PopLibs' names.

Operators take (graph, operands..., prog, debugContext, options); `options` are those of `map`. Operands may be tensors
or numbers (at least one tensor) and are broadcast as NumPy broadcasts. The `...InPlace` forms write into the first
operand and return nothing.
"""

from __future__ import annotations

from typing import Protocol

from simulator.building.graph import Graph
from simulator.graph.debug_context import Context
from simulator.graph.program import Sequence
from simulator.graph.tensor import Tensor
from simulator.poplibs.host_trace import trace_calls
from simulator.poplibs.library_calls import addCodelets as addCodelets
from simulator.poplibs.popops import expr as expr
from simulator.poplibs.popops import rearrange as rearrange
from simulator.poplibs.popops.casting import cast as cast
from simulator.poplibs.popops.casting import castWithOutput as castWithOutput
from simulator.poplibs.popops.casting import checkAccuracyWhenCast as checkAccuracyWhenCast
from simulator.poplibs.popops.circular_buffer import CircBuf as CircBuf
from simulator.poplibs.popops.collectives.replicated import replicatedAllGather as replicatedAllGather
from simulator.poplibs.popops.collectives.replicated import replicatedAllReduce as replicatedAllReduce
from simulator.poplibs.popops.collectives.replicated import replicatedAllReduceInPlace as replicatedAllReduceInPlace
from simulator.poplibs.popops.collectives.replicated import (
    replicatedAllReduceWithOutput as replicatedAllReduceWithOutput,
)
from simulator.poplibs.popops.collectives.replicated import replicatedReduceScatter as replicatedReduceScatter
from simulator.poplibs.popops.elementwise import Operand
from simulator.poplibs.popops.elementwise import createOutputForElementWiseOp as createOutputForElementWiseOp
from simulator.poplibs.popops.expr.mapping import map as map
from simulator.poplibs.popops.expr.mapping import mapInPlace as mapInPlace
from simulator.poplibs.popops.expr.single import apply_operator
from simulator.poplibs.popops.filling import fill as fill
from simulator.poplibs.popops.filling import zero as zero
from simulator.poplibs.popops.image import createNormaliseImageInput as createNormaliseImageInput
from simulator.poplibs.popops.image import normaliseImage as normaliseImage
from simulator.poplibs.popops.loops import addForLoopCounterVertex as addForLoopCounterVertex
from simulator.poplibs.popops.loops import countedForLoop as countedForLoop
from simulator.poplibs.popops.loops import countedLoop as countedLoop
from simulator.poplibs.popops.one_hot import MASKED_LABEL_CODE as MASKED_LABEL_CODE
from simulator.poplibs.popops.one_hot import encodeOneHot as encodeOneHot
from simulator.poplibs.popops.one_hot import iota as iota
from simulator.poplibs.popops.padding import pad as pad
from simulator.poplibs.popops.padding import padding as padding
from simulator.poplibs.popops.reductions.reduce import Operation as Operation
from simulator.poplibs.popops.reductions.reduce import ReduceParams as ReduceParams
from simulator.poplibs.popops.reductions.reduce import SingleReduceOp as SingleReduceOp
from simulator.poplibs.popops.reductions.reduce import allTrue as allTrue
from simulator.poplibs.popops.reductions.reduce import reduce as reduce
from simulator.poplibs.popops.reductions.reduce import reduceMany as reduceMany
from simulator.poplibs.popops.reductions.reduce import reduceWithOutput as reduceWithOutput
from simulator.poplibs.popops.row_scalars import hasNaN as hasNaN
from simulator.poplibs.popops.row_scalars import hasNaNOrInf as hasNaNOrInf
from simulator.poplibs.popops.row_scalars import selectScalarFromRows as selectScalarFromRows
from simulator.poplibs.popops.row_scalars import updateScalarInRows as updateScalarInRows
from simulator.poplibs.popops.scaled import ScaledAddSpecialisation as ScaledAddSpecialisation
from simulator.poplibs.popops.scaled import scaledAddTo as scaledAddTo
from simulator.poplibs.popops.scaled import scaledSubtractFrom as scaledSubtractFrom
from simulator.poplibs.popops.slices import GatherParams as GatherParams
from simulator.poplibs.popops.slices import SlicePlan as SlicePlan
from simulator.poplibs.popops.slices import createGatherInput as createGatherInput
from simulator.poplibs.popops.slices import createIndicesTensor as createIndicesTensor
from simulator.poplibs.popops.slices import createSliceableTensor as createSliceableTensor
from simulator.poplibs.popops.slices import createSliceableTensorFromSlice as createSliceableTensorFromSlice
from simulator.poplibs.popops.slices import createSliceTensor as createSliceTensor
from simulator.poplibs.popops.slices import dynamicSlice as dynamicSlice
from simulator.poplibs.popops.slices import dynamicSliceWithOutput as dynamicSliceWithOutput
from simulator.poplibs.popops.slices import dynamicUpdate as dynamicUpdate
from simulator.poplibs.popops.slices import embedding as embedding
from simulator.poplibs.popops.slices import getSliceMapping as getSliceMapping
from simulator.poplibs.popops.slices import multiSlice as multiSlice
from simulator.poplibs.popops.slices import multiUpdate as multiUpdate
from simulator.poplibs.popops.slices import multiUpdateAdd as multiUpdateAdd
from simulator.poplibs.popops.slices import multiUpdateMax as multiUpdateMax
from simulator.poplibs.popops.slices.gather import gather as gather
from simulator.poplibs.popops.slices.scatter import scatter as scatter
from simulator.poplibs.popops.slices.sequences import sequenceSlice as sequenceSlice
from simulator.poplibs.popops.sorting import SortOrder as SortOrder
from simulator.poplibs.popops.sorting import TopKParams as TopKParams
from simulator.poplibs.popops.sorting import createTopKInput as createTopKInput
from simulator.poplibs.popops.sorting import sort as sort
from simulator.poplibs.popops.sorting import sortInPlace as sortInPlace
from simulator.poplibs.popops.sorting import sortKeyValue as sortKeyValue
from simulator.poplibs.popops.sorting import sortKeyValueInPlace as sortKeyValueInPlace
from simulator.poplibs.popops.sorting import topK as topK
from simulator.poplibs.popops.sorting import topKKeyValue as topKKeyValue
from simulator.poplibs.popops.sorting import topKWithPermutation as topKWithPermutation

Options = dict[str, str] | None


class Unary(Protocol):
    def __call__(
        self, graph: Graph, A: Tensor, prog: Sequence, debugContext: Context = "", options: Options = None
    ) -> Tensor: ...


class UnaryInPlace(Protocol):
    def __call__(
        self, graph: Graph, A: Tensor, prog: Sequence, debugContext: Context = "", options: Options = None
    ) -> None: ...


class Binary(Protocol):
    def __call__(
        self, graph: Graph, A: Operand, B: Operand, prog: Sequence, debugContext: Context = "", options: Options = None
    ) -> Tensor: ...


class BinaryInPlace(Protocol):
    def __call__(
        self, graph: Graph, A: Tensor, B: Operand, prog: Sequence, debugContext: Context = "", options: Options = None
    ) -> None: ...


class Ternary(Protocol):
    def __call__(
        self,
        graph: Graph,
        A: Tensor,
        B: Tensor,
        C: Tensor,
        prog: Sequence,
        debugContext: Context = "",
        options: Options = None,
    ) -> Tensor: ...


class TernaryInPlace(Protocol):
    def __call__(
        self,
        graph: Graph,
        A: Tensor,
        B: Tensor,
        C: Tensor,
        prog: Sequence,
        debugContext: Context = "",
        options: Options = None,
    ) -> None: ...


def _unary(op: str) -> tuple[Unary, UnaryInPlace]:
    def function(
        graph: Graph, A: Tensor, prog: Sequence, debugContext: Context = "", options: Options = None
    ) -> Tensor:
        return apply_operator(graph, op, [A], prog, debugContext, options, in_place=False)

    def in_place(graph: Graph, A: Tensor, prog: Sequence, debugContext: Context = "", options: Options = None) -> None:
        apply_operator(graph, op, [A], prog, debugContext, options, in_place=True)

    return function, in_place


def _binary(op: str) -> tuple[Binary, BinaryInPlace]:
    def function(
        graph: Graph, A: Operand, B: Operand, prog: Sequence, debugContext: Context = "", options: Options = None
    ) -> Tensor:
        return apply_operator(graph, op, [A, B], prog, debugContext, options, in_place=False)

    def in_place(
        graph: Graph, A: Tensor, B: Operand, prog: Sequence, debugContext: Context = "", options: Options = None
    ) -> None:
        apply_operator(graph, op, [A, B], prog, debugContext, options, in_place=True)

    return function, in_place


def _ternary(op: str) -> tuple[Ternary, TernaryInPlace]:
    def function(
        graph: Graph,
        A: Tensor,
        B: Tensor,
        C: Tensor,
        prog: Sequence,
        debugContext: Context = "",
        options: Options = None,
    ) -> Tensor:
        return apply_operator(graph, op, [A, B, C], prog, debugContext, options, in_place=False)

    def in_place(
        graph: Graph,
        A: Tensor,
        B: Tensor,
        C: Tensor,
        prog: Sequence,
        debugContext: Context = "",
        options: Options = None,
    ) -> None:
        apply_operator(graph, op, [A, B, C], prog, debugContext, options, in_place=True)

    return function, in_place


abs, absInPlace = _unary("ABSOLUTE")
asin, asinInPlace = _unary("ASIN")
bitwiseNot, bitwiseNotInPlace = _unary("BITWISE_NOT")
cbrt, cbrtInPlace = _unary("CBRT")
ceil, ceilInPlace = _unary("CEIL")
countLeadingZeros, countLeadingZerosInPlace = _unary("COUNT_LEADING_ZEROS")
cos, cosInPlace = _unary("COS")
erf, erfInPlace = _unary("ERF")
exp, expInPlace = _unary("EXPONENT")
expm1, expm1InPlace = _unary("EXPONENT_MINUS_ONE")
floor, floorInPlace = _unary("FLOOR")
geluErf, geluErfInPlace = _unary("GELU_ERF")
inv, invInPlace = _unary("INVERSE")
isFinite = _unary("IS_FINITE")[0]
isInf = _unary("IS_INF")[0]
isNaN = _unary("IS_NAN")[0]
log, logInPlace = _unary("LOGARITHM")
log1p, log1pInPlace = _unary("LOGARITHM_ONE_PLUS")
logicalNot, logicalNotInPlace = _unary("LOGICAL_NOT")
nearbyInt, nearbyIntInPlace = _unary("NEARBY_INT")
neg, negInPlace = _unary("NEGATE")
popcount, popcountInPlace = _unary("POPCOUNT")
relu, reluInPlace = _unary("RELU")
round, roundInPlace = _unary("ROUND")
rsqrt, rsqrtInPlace = _unary("RSQRT")
sigmoid, sigmoidInPlace = _unary("SIGMOID")
signum, signumInPlace = _unary("SIGNUM")
sin, sinInPlace = _unary("SIN")
sqrt, sqrtInPlace = _unary("SQRT")
square, squareInPlace = _unary("SQUARE")
tan, tanInPlace = _unary("TAN")
tanh, tanhInPlace = _unary("TANH")
trunc, truncInPlace = _unary("TRUNC")

add, addInPlace = _binary("ADD")
atan2, atan2InPlace = _binary("ATAN2")
bitwiseAnd, bitwiseAndInPlace = _binary("BITWISE_AND")
bitwiseOr, bitwiseOrInPlace = _binary("BITWISE_OR")
bitwiseXnor, bitwiseXnorInPlace = _binary("BITWISE_XNOR")
bitwiseXor, bitwiseXorInPlace = _binary("BITWISE_XOR")
div, divInPlace = _binary("DIVIDE")
eq, eqInPlace = _binary("EQUAL")
gt, gtInPlace = _binary("GREATER_THAN")
gteq, gteqInPlace = _binary("GREATER_THAN_EQUAL")
invStdDevToVariance, invStdDevToVarianceInPlace = _binary("INV_STD_DEV_TO_VARIANCE")
logicalAnd, logicalAndInPlace = _binary("LOGICAL_AND")
logicalOr, logicalOrInPlace = _binary("LOGICAL_OR")
lt, ltInPlace = _binary("LESS_THAN")
lteq, lteqInPlace = _binary("LESS_THAN_EQUAL")
max, maxInPlace = _binary("MAXIMUM")
min, minInPlace = _binary("MINIMUM")
mul, mulInPlace = _binary("MULTIPLY")
neq, neqInPlace = _binary("NOT_EQUAL")
pow, powInPlace = _binary("POWER")
rem, remInPlace = _binary("REMAINDER")
shiftLeft, shiftLeftInPlace = _binary("SHIFT_LEFT")
shiftRight, shiftRightInPlace = _binary("SHIFT_RIGHT")
shiftRightSignExtend, shiftRightSignExtendInPlace = _binary("SHIFT_RIGHT_SIGN_EXTEND")
sub, subInPlace = _binary("SUBTRACT")
varianceToInvStdDev, varianceToInvStdDevInPlace = _binary("VARIANCE_TO_INV_STD_DEV")

clamp, clampInPlace = _ternary("CLAMP")
select, selectInPlace = _ternary("SELECT")

trace_calls("popops", globals())
