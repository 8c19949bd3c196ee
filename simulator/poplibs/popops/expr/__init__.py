"""popops::expr: expressions that `popops.map` applies to the elements of tensors."""

from typing import Any as _Any

from simulator.poplibs.popops.expr.named import CLASSES as _CLASSES
from simulator.poplibs.popops.expr.named import (
    _1 as _1,
)
from simulator.poplibs.popops.expr.named import (
    _2 as _2,
)
from simulator.poplibs.popops.expr.named import (
    _3 as _3,
)
from simulator.poplibs.popops.expr.named import (
    _4 as _4,
)
from simulator.poplibs.popops.expr.named import (
    _5 as _5,
)
from simulator.poplibs.popops.expr.named import (
    _6 as _6,
)
from simulator.poplibs.popops.expr.named import (
    _7 as _7,
)
from simulator.poplibs.popops.expr.named import (
    _8 as _8,
)
from simulator.poplibs.popops.expr.named import (
    _9 as _9,
)
from simulator.poplibs.popops.expr.named import (
    _10 as _10,
)
from simulator.poplibs.popops.expr.named import (
    _11 as _11,
)
from simulator.poplibs.popops.expr.named import (
    _12 as _12,
)
from simulator.poplibs.popops.expr.named import (
    _13 as _13,
)
from simulator.poplibs.popops.expr.named import (
    _14 as _14,
)
from simulator.poplibs.popops.expr.named import (
    _15 as _15,
)
from simulator.poplibs.popops.expr.named import (
    _16 as _16,
)
from simulator.poplibs.popops.expr.named import (
    _17 as _17,
)
from simulator.poplibs.popops.expr.named import (
    _18 as _18,
)
from simulator.poplibs.popops.expr.named import (
    _19 as _19,
)
from simulator.poplibs.popops.expr.named import (
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

globals().update(_CLASSES)  # Add, Tanh, Select, ...


def __getattr__(name: str) -> _Any:
    raise AttributeError(f"popops.expr has no '{name}'; its operators are {', '.join(sorted(_CLASSES))}")
