"""popops::expr: expressions that `popops.map` applies to the elements of tensors."""

from simulator.poplibs.popops.expr.named import *  # noqa: F403, I001
from simulator.poplibs.popops.expr.named import (
    _1 as _1,
    _2 as _2,
    _3 as _3,
    _4 as _4,
    _5 as _5,
    _6 as _6,
    _7 as _7,
    _8 as _8,
    _9 as _9,
    _10 as _10,
    _11 as _11,
    _12 as _12,
    _13 as _13,
    _14 as _14,
    _15 as _15,
    _16 as _16,
    _17 as _17,
    _18 as _18,
    _19 as _19,
    _20 as _20,
)
from simulator.poplibs.popops.expr.nodes import Any_ as Any  # noqa: F401
from simulator.poplibs.popops.expr.nodes import BinaryOp as BinaryOp
from simulator.poplibs.popops.expr.nodes import Cast as Cast
from simulator.poplibs.popops.expr.nodes import Const as Const
from simulator.poplibs.popops.expr.nodes import ConstHalf as ConstHalf
from simulator.poplibs.popops.expr.nodes import Expr as Expr
from simulator.poplibs.popops.expr.nodes import PlaceHolder as PlaceHolder
from simulator.poplibs.popops.expr.nodes import TernaryOp as TernaryOp
from simulator.poplibs.popops.expr.nodes import UnaryOp as UnaryOp
from simulator.poplibs.popops.expr.op_types import BinaryOpType as BinaryOpType
from simulator.poplibs.popops.expr.op_types import TernaryOpType as TernaryOpType
from simulator.poplibs.popops.expr.op_types import UnaryOpType as UnaryOpType
